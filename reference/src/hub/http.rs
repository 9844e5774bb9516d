//! The two endpoints of the contract: who may ask, how long and how large a request may be, and the answer.
//!
//! Nothing of a request is looked at before its secret is. Neighbour: `execution` is what happens after that.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::context::HubContext;
use super::envelope::{self, Code, Refusal};
use super::execution;
use super::record::Integration;
use super::request::{ExecuteRequest, uuid};
use super::upstream::RequestCounter;
use crate::http::body::{self, BodyFault};

pub(super) fn router(context: Arc<HubContext>) -> Router {
    Router::new()
        .route("/api/internal/tools/execute/", post(execute).fallback(|| async { not_allowed("POST") }))
        .route(
            "/api/internal/integrations/status/{customer_id}/",
            get(status).fallback(|| async { not_allowed("GET") }),
        )
        .fallback(|| async { Refusal::new(Code::NotFound, "nothing is served at this path").answer(None) })
        .with_state(context)
}

fn not_allowed(methods: &'static str) -> Response {
    Refusal::new(Code::MethodNotAllowed, format!("this path takes `{methods}`")).allow(methods).answer(None)
}

async fn execute(State(context): State<Arc<HubContext>>, request: Request) -> Response {
    let started = Instant::now();
    let (head, body) = request.into_parts();
    if let Err(refusal) = admit(&context, &head.headers) {
        body::discard(body).await;
        return refusal.answer(None);
    }
    let bytes = match read(body, &context).await {
        Ok(bytes) => bytes,
        Err(refusal) => return refusal.answer(None),
    };
    let request = match ExecuteRequest::parse(&bytes) {
        Ok(request) => request,
        Err(malformed) => return malformed.refusal.answer(malformed.tool.as_deref()),
    };
    let calls = RequestCounter::default();
    let executed = execution::execute(&context, &request, &calls).await;
    let elapsed = started.elapsed();
    let outcome = executed.as_ref().map_or_else(|refusal| refusal.code.name(), |_| "success");
    // The tool's name is the client's until it is known, and could hold anything; the id is a UUID.
    (context.log)(&format!(
        "tool={:?} customer={} outcome={outcome} provider_calls={} elapsed={elapsed:?}",
        request.tool.chars().take(64).collect::<String>(),
        request.customer_id,
        calls.made(),
    ));
    match executed {
        Ok(result) => {
            let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
            let metadata = json!({"execution_time_ms": milliseconds, "api_calls": calls.made()});
            envelope::success(&request.tool, result, metadata)
        }
        Err(refusal) => refusal.answer(Some(&request.tool)),
    }
}

async fn status(
    State(context): State<Arc<HubContext>>,
    Path(customer_id): Path<String>,
    headers: HeaderMap,
) -> Response {
    if let Err(refusal) = admit(&context, &headers) {
        return refusal.answer(None);
    }
    match integrations(&context, &customer_id).await {
        Ok(answer) => axum::Json(answer).into_response(),
        Err(refusal) => refusal.answer(None),
    }
}

/// Which integrations a customer has connected (contract, "Integration Status Endpoint").
async fn integrations(context: &HubContext, customer_id: &str) -> Result<Value, Refusal> {
    let id = uuid(customer_id)
        .ok_or_else(|| Refusal::new(Code::InvalidRequest, "`customer_id` must be a UUID"))?;
    let customer = execution::customer(context, &id).await?;
    let entry = |integration: Integration| match customer.grant_for(integration) {
        Some(grant) => json!({
            "connected": true,
            "scopes": grant.scopes_of(integration),
            "email": grant.email,
            "expires_at": grant.expires_at.to_string(),
        }),
        None => json!({"connected": false, "setup_url": context.setup_url}),
    };
    let entries: serde_json::Map<String, Value> = Integration::ALL
        .into_iter()
        .map(|integration| (integration.slug().to_owned(), entry(integration)))
        .collect();
    Ok(json!({"customer_id": customer_id, "integrations": entries}))
}

fn admit(context: &HubContext, headers: &HeaderMap) -> Result<(), Refusal> {
    if context.secret.is_shown_in(headers) {
        return Ok(());
    }
    (context.log)("refused a request without the service secret");
    Err(Refusal::new(Code::Unauthorized, "the service secret is missing or wrong"))
}

/// The whole body, if it is short enough and comes in time.
async fn read(body: Body, context: &HubContext) -> Result<Bytes, Refusal> {
    let limit = context.limits.body_bytes;
    body::read(body, limit, context.limits.body_deadline).await.map_err(|fault| match fault {
        BodyFault::Broken => Refusal::new(Code::InvalidRequest, "the body broke off"),
        BodyFault::TooLong => {
            Refusal::new(Code::PayloadTooLarge, format!("the body is longer than {limit} bytes"))
        }
        BodyFault::Late => Refusal::new(Code::RequestTimeout, "the body did not come in time"),
    })
}
