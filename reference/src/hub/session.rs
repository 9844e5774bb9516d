//! What a tool asks the provider through: a good token for every request, and the contract's codes for every fault.
//!
//! A request that the provider did not take because of its token is made once more with a new one; that is safe,
//! since it did nothing. No other request is repeated: a write that got no answer may have happened.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Core;
use super::customers::{Customer, Grant, Integration};
use super::envelope::{Code, Refusal};
use super::oauth;
use super::upstream::{Api, Ask, Fault, Refused};

/// How many requests an execution made to the provider, renewals of the token included.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls(Arc<AtomicU32>);

impl Calls {
    pub(super) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn made(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One execution for one customer.
pub(super) struct Session {
    core: Arc<Core>,
    pub(super) customer: Arc<Customer>,
    integration: Integration,
    calls: Calls,
}

impl Session {
    pub(super) fn new(
        core: Arc<Core>,
        customer: Arc<Customer>,
        integration: Integration,
        calls: Calls,
    ) -> Self {
        Self { core, customer, integration, calls }
    }

    /// Whose mailbox and calendar it is.
    pub(super) fn email(&self) -> String {
        self.customer.grant().map_or_else(String::new, |grant| grant.email)
    }

    pub(super) async fn get(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, Refusal> {
        self.ask(Method::GET, path, query, None).await
    }

    pub(super) async fn post(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.ask(Method::POST, path, query, Some(body)).await
    }

    pub(super) async fn patch(
        &self,
        path: &[&str],
        query: &[(&str, &str)],
        body: &Value,
    ) -> Result<Value, Refusal> {
        self.ask(Method::PATCH, path, query, Some(body)).await
    }

    pub(super) async fn delete(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value, Refusal> {
        self.ask(Method::DELETE, path, query, None).await
    }

    async fn ask(
        &self,
        method: Method,
        path: &[&str],
        query: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Value, Refusal> {
        let api = match self.integration {
            Integration::Calendar => Api::Calendar,
            Integration::Mail => Api::Mail,
        };
        let ask = Ask { method, api, path, query, body };
        let grant = oauth::usable(&self.core, &self.customer, self.integration, &self.calls).await?;
        let outcome = match self.once(&ask, &grant).await {
            Err(Fault::Refused(refused)) if refused.status == StatusCode::UNAUTHORIZED => {
                let grant = oauth::renewed(
                    &self.core,
                    &self.customer,
                    self.integration,
                    grant.generation,
                    &self.calls,
                )
                .await?;
                self.once(&ask, &grant).await
            }
            outcome => outcome,
        };
        outcome.map_err(|fault| explain(&fault, self.integration))
    }

    async fn once(&self, ask: &Ask<'_>, grant: &Grant) -> Result<Value, Fault> {
        self.calls.count();
        self.core.upstream.send(ask, &grant.access_token).await
    }
}

/// Reads an answer of the provider, which is an object; `what` is what it must have.
pub(super) fn read<T: DeserializeOwned>(answer: Value, what: &str) -> Result<T, Refusal> {
    // serde would take an empty array for an object that has only optional members.
    let object = Some(answer).filter(Value::is_object);
    object.and_then(|object| T::deserialize(object).ok()).ok_or_else(|| incomplete(what))
}

/// An answer of the provider that lacks what the tool needs.
pub(super) fn incomplete(what: &str) -> Refusal {
    Refusal::new(Code::ExternalApiError, format!("the answer of the provider has no `{what}`"))
}

/// The contract's code for what the provider did.
pub(super) fn explain(fault: &Fault, integration: Integration) -> Refusal {
    let external =
        |message: String| Refusal::new(Code::ExternalApiError, format!("{}: {message}", integration.name()));
    match fault {
        Fault::Refused(refused) => explain_refused(refused, integration),
        Fault::Late(deadline) => external(format!("no answer within {deadline:?}")),
        Fault::Unreachable => external("the connection failed".to_owned()),
        Fault::Unreadable(status) => external(format!("an answer that cannot be read, with status {status}")),
    }
}

fn explain_refused(refused: &Refused, integration: Integration) -> Refusal {
    let reason = refused.reason.as_deref();
    let status = refused.status.as_u16();
    let refusal = |code: Code, message: &str| {
        let mut details = json!({"integration": integration.slug(), "status": status});
        if let Some(reason) = reason {
            details["reason"] = reason.into();
        }
        Refusal::new(code, format!("{}: {message}", integration.name())).with_details(details)
    };
    let limited = matches!(
        reason,
        Some(
            "rateLimitExceeded"
                | "userRateLimitExceeded"
                | "dailyLimitExceeded"
                | "quotaExceeded"
                | "RATE_LIMIT_EXCEEDED"
        )
    );
    match status {
        401 => oauth::expired(integration),
        429 => limited_by(refusal(Code::RateLimited, "too many calls"), refused),
        403 if limited => limited_by(refusal(Code::RateLimited, "too many calls"), refused),
        403 if reason == Some("accessNotConfigured") => {
            refusal(Code::ExternalApiError, "the service is not enabled for this Hub")
        }
        403 => refusal(Code::IntegrationPermissionDenied, "the customer's grant does not allow this"),
        404 | 410 => refusal(Code::NotFound, "there is nothing with this id"),
        _ => refusal(Code::ExternalApiError, "the provider answered with an error"),
    }
}

fn limited_by(refusal: Refusal, refused: &Refused) -> Refusal {
    match refused.retry_after {
        Some(wait) => refusal.retry_after(wait),
        None => refusal,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::explain_refused;
    use crate::hub::customers::Integration;
    use crate::hub::envelope::Code;
    use crate::hub::upstream::Refused;

    #[test]
    fn what_the_provider_refuses_has_a_code() {
        fn check(status: u16, reason: Option<&str>, expect: Code) {
            let status = StatusCode::from_u16(status).expect("a status");
            let refused = Refused { status, reason: reason.map(str::to_owned), retry_after: None };
            assert_eq!(explain_refused(&refused, Integration::Calendar).code, expect, "{status} {reason:?}");
        }
        check(401, None, Code::IntegrationExpired);
        check(403, Some("insufficientPermissions"), Code::IntegrationPermissionDenied);
        check(403, None, Code::IntegrationPermissionDenied);
        check(403, Some("rateLimitExceeded"), Code::RateLimited);
        check(403, Some("accessNotConfigured"), Code::ExternalApiError);
        check(404, Some("notFound"), Code::NotFound);
        check(410, Some("deleted"), Code::NotFound);
        check(429, None, Code::RateLimited);
        check(400, Some("invalid"), Code::ExternalApiError);
        check(302, None, Code::ExternalApiError);
        check(500, None, Code::ExternalApiError);
        check(503, Some("backendError"), Code::ExternalApiError);
    }
}
