//! The requests of the store: who may make them, how long they may be, and what is answered.
//!
//! A web page must not reach a store on the loopback: `Host` has to be a loopback name there, which keeps out pages
//! whose own name was made to point here, and so has the `Origin` of a request that has one.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, HOST, IF_MATCH, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::context::StoreContext;
use super::query::{Query, WriteError};
use super::record::{Parts, new_id};
use crate::http::body::{self, BodyFault};
use crate::http::head::is_loopback;

/// No header that the store keeps may be longer.
const KEY_BYTES: usize = 256;
/// How many breadcrumbs a list has, and may have.
const LISTED: u32 = 50;
const MOST_LISTED: u32 = 1000;
/// The contexts of a list end after so many bytes.
const LISTED_BYTES: usize = 4 * 1024 * 1024;
/// How many a search finds.
const FOUND: u32 = 10;
/// How long a token is said to hold; the store itself asks for nothing or for one that does not change.
const TOKEN_SECONDS: i64 = 3600;
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

type SharedContext = State<Arc<StoreContext>>;
type HttpResult = Result<Response, Refusal>;

pub(super) fn router(context: Arc<StoreContext>) -> Router {
    Router::new()
        .route("/health", get(async || "ok").fallback(async || not_allowed("GET")))
        .route("/auth/token", post(token).fallback(async || not_allowed("POST")))
        .route("/breadcrumbs", get(list).post(create).fallback(async || not_allowed("GET, POST")))
        .route("/breadcrumbs/search", get(search).fallback(async || not_allowed("GET")))
        .route("/breadcrumbs/{id}", get(full).patch(change).fallback(async || not_allowed("GET, PATCH")))
        .route("/breadcrumbs/{id}/full", get(full).fallback(async || not_allowed("GET")))
        .route("/events/stream", get(stream).fallback(async || not_allowed("GET")))
        .route("/secrets", get(secrets).fallback(async || not_allowed("GET")))
        .route("/secrets/{id}/decrypt", post(decrypt).fallback(async || not_allowed("POST")))
        .fallback(async || Refusal::new(StatusCode::NOT_FOUND, "nothing is served at this path"))
        .layer(from_fn_with_state(Arc::clone(&context), admitted))
        .with_state(context)
}

/// An answer other than the one asked for.
struct Refusal {
    status: StatusCode,
    text: String,
}

impl Refusal {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    fn unprocessable(text: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, text)
    }

    fn database() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "the database failed")
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, axum::Json(json!({"error": self.text}))).into_response()
    }
}

impl From<WriteError> for Refusal {
    fn from(error: WriteError) -> Self {
        let status = match &error {
            WriteError::Unknown => StatusCode::NOT_FOUND,
            WriteError::Version { .. } => StatusCode::PRECONDITION_FAILED,
            WriteError::KeyUsed => StatusCode::CONFLICT,
            WriteError::Members(_) => StatusCode::UNPROCESSABLE_ENTITY,
            WriteError::TooLong { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            WriteError::Database(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(status, error.to_string())
    }
}

fn not_allowed(methods: &'static str) -> Response {
    let refusal = Refusal::new(StatusCode::METHOD_NOT_ALLOWED, format!("this path takes `{methods}`"));
    ([("allow", methods)], refusal).into_response()
}

async fn admitted(State(context): SharedContext, request: Request, next: Next) -> Response {
    let refused = refusal(&context, request.headers(), request.uri());
    let Some(refusal) = refused else { return next.run(request).await };
    body::discard(request.into_body()).await;
    refusal.into_response()
}

fn refusal(context: &StoreContext, headers: &HeaderMap, uri: &Uri) -> Option<Refusal> {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if context.loopback {
        if !header(HOST).is_some_and(is_loopback) {
            return Some(Refusal::new(StatusCode::FORBIDDEN, "`Host` is no loopback name"));
        }
        if headers.contains_key(ORIGIN)
            && !header(ORIGIN)
                .and_then(|origin| origin.split_once("://"))
                .is_some_and(|(_, host)| is_loopback(host))
        {
            return Some(Refusal::new(StatusCode::FORBIDDEN, "`Origin` is no loopback name"));
        }
    }
    let token = context.token.as_ref().filter(|_| uri.path() != "/health")?;
    let shown = header(AUTHORIZATION)
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, shown)| shown.to_owned());
    let shown = shown.or_else(|| {
        let pairs = pairs(uri.query().unwrap_or_default());
        pairs.into_iter().find(|(name, _)| name == "token" || name == "access_token").map(|(_, value)| value)
    });
    // Digests are of equal length, so that the duration of a comparison reveals nothing.
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    let known = shown.is_some_and(|shown| bool::from(digest(&shown).ct_eq(&digest(token.expose()))));
    (!known).then(|| Refusal::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong"))
}

async fn token(State(context): SharedContext, body: Body) -> HttpResult {
    let bytes = read(body, &context).await?;
    let asked: Map<String, Value> = serde_json::from_slice(&bytes).unwrap_or_default();
    let named = |name: &str| asked.get(name).cloned().unwrap_or_else(|| json!(context.owner_id));
    let token = context.token.as_ref().map_or_else(new_id, |token| token.expose().to_owned());
    Ok(axum::Json(json!({
        "token": token,
        "owner_id": named("owner_id"),
        "agent_id": named("agent_id"),
        "roles": asked.get("roles").cloned().unwrap_or_else(|| json!(["curator", "emitter", "subscriber"])),
        "exp": Timestamp::now().as_second() + TOKEN_SECONDS,
    }))
    .into_response())
}

async fn create(State(context): SharedContext, headers: HeaderMap, body: Body) -> HttpResult {
    let members = unwrapped(object(&read(body, &context).await?)?);
    let parts = Parts::read(members).map_err(Refusal::unprocessable)?;
    let key = match headers.get(IDEMPOTENCY_KEY).map(|key| key.to_str()) {
        None => None,
        Some(Ok(key)) if key.len() <= KEY_BYTES => Some(key.to_owned()),
        Some(_) => return Err(Refusal::unprocessable("the idempotency key cannot be used")),
    };
    let id = new_id();
    let answer = json!({"id": id});
    blocking(&context, move |context| {
        context.database.create(id, parts, key.as_deref(), |record| {
            context.fanout.publish(&record.event(&context.owner_id));
        })
    })
    .await?;
    Ok(axum::Json(answer).into_response())
}

/// The breadcrumb of an agent's whole envelope (Standard, "Universal Tool Invocation"), or the body as it is.
fn unwrapped(mut body: Map<String, Value>) -> Map<String, Value> {
    if body.get("action").and_then(Value::as_str) == Some("create") && !body.contains_key("context") {
        match body.remove("breadcrumb") {
            Some(Value::Object(breadcrumb)) => return breadcrumb,
            Some(other) => {
                body.insert("breadcrumb".to_owned(), other);
            }
            None => {}
        }
    }
    body
}

async fn change(
    State(context): SharedContext,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> HttpResult {
    let members = object(&read(body, &context).await?)?;
    let version = match headers.get(IF_MATCH) {
        None => None,
        Some(value) => {
            let value = value.to_str().unwrap_or_default().trim().trim_matches('"');
            match value {
                "*" => None,
                value => Some(value.parse().map_err(|_| Refusal::unprocessable("`If-Match` is no version"))?),
            }
        }
    };
    blocking(&context, move |context| {
        context
            .database
            .change(&id, members, version, |record| context.fanout.publish(&record.event(&context.owner_id)))
    })
    .await?;
    Ok(axum::Json(json!({"ok": true})).into_response())
}

async fn full(State(context): SharedContext, Path(id): Path<String>) -> HttpResult {
    let found = blocking(&context, move |context| Ok(context.database.find(&id)?)).await?;
    let record = found.ok_or_else(|| Refusal::from(WriteError::Unknown))?;
    Ok(axum::Json(record.full()).into_response())
}

async fn list(State(context): SharedContext, RawQuery(query): RawQuery) -> HttpResult {
    found(&context, query.as_deref(), LISTED).await
}

async fn search(State(context): SharedContext, RawQuery(query): RawQuery) -> HttpResult {
    found(&context, query.as_deref(), FOUND).await
}

async fn found(context: &Arc<StoreContext>, query: Option<&str>, limit: u32) -> HttpResult {
    let mut wanted = Query { limit, bytes: LISTED_BYTES, ..Query::default() };
    let mut with_context = false;
    for (name, value) in pairs(query.unwrap_or_default()) {
        let number = || {
            value.parse::<u32>().map_err(|_| Refusal::unprocessable(format!("`{name}` is no whole number")))
        };
        match name.as_str() {
            "tag" if !value.is_empty() => wanted.tag = Some(value),
            "schema_name" if !value.is_empty() => wanted.schema_name = Some(value),
            "q" => wanted.words = Some(value),
            "limit" | "nn" => wanted.limit = number()?.min(MOST_LISTED),
            "offset" => wanted.offset = number()?,
            "include_context" => with_context = value == "true" || value == "1",
            _ => {}
        }
    }
    let records = blocking(context, move |context| Ok(context.database.list(&wanted)?)).await?;
    let listed: Vec<_> = records.iter().map(|record| record.listed(with_context)).collect();
    Ok(axum::Json(listed).into_response())
}

async fn stream(State(context): SharedContext) -> HttpResult {
    let events = context
        .fanout
        .open(context.limits.ping)
        .ok_or_else(|| Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "there are too many event streams"))?;
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-cache")];
    Ok((headers, Body::from_stream(events)).into_response())
}

async fn secrets(State(context): SharedContext) -> Response {
    let listed: Vec<_> =
        context.secrets.values().map(|secret| json!({"id": secret.id, "name": secret.name})).collect();
    axum::Json(listed).into_response()
}

async fn decrypt(State(context): SharedContext, Path(id): Path<String>, body: Body) -> HttpResult {
    let asked = object(&read(body, &context).await?)?;
    let reason = asked.get("reason").and_then(Value::as_str).unwrap_or_default();
    let secret = context
        .secrets
        .get(&id)
        .ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, "there is no such secret"))?;
    (context.log)(&format!(
        "decrypted secret={:?} reason={:?}",
        secret.name,
        reason.chars().take(64).collect::<String>()
    ));
    Ok(([(CACHE_CONTROL, "no-store")], axum::Json(json!({"value": secret.value.expose()}))).into_response())
}

/// Uses the database where waiting does no harm.
async fn blocking<T: Send + 'static>(
    context: &Arc<StoreContext>,
    work: impl FnOnce(&StoreContext) -> Result<T, WriteError> + Send + 'static,
) -> Result<T, Refusal> {
    let shared = Arc::clone(context);
    let done = tokio::task::spawn_blocking(move || work(&shared)).await.map_err(|_| Refusal::database())?;
    done.map_err(|error| {
        if let WriteError::Database(cause) = &error {
            (context.log)(&format!("the database failed: {cause}"));
        }
        error.into()
    })
}

fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn object(bytes: &[u8]) -> Result<Map<String, Value>, Refusal> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(_) => Err(Refusal::unprocessable("the body is no object")),
        Err(error) => Err(Refusal::unprocessable(format!("the body is no JSON: {error}"))),
    }
}

/// The whole body, if it is short enough and comes in time.
async fn read(body: Body, context: &StoreContext) -> Result<Bytes, Refusal> {
    let limit = context.limits.body_bytes;
    body::read(body, limit, context.limits.body_deadline).await.map_err(|fault| match fault {
        BodyFault::Broken => Refusal::new(StatusCode::BAD_REQUEST, "the body broke off"),
        BodyFault::TooLong => {
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is longer than {limit} bytes"))
        }
        BodyFault::Late => Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"),
    })
}
