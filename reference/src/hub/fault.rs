//! The contract's code for every fault of the provider, and of the store.

use serde_json::json;

use super::envelope::{Code, Refusal};
use super::error::HubError;
use super::record::Integration;
use super::upstream::{Refused, UpstreamFault};
use crate::log::Log;

/// The contract's code for what the provider did.
pub(super) fn explain(fault: &UpstreamFault, integration: Integration) -> Refusal {
    let external =
        |message: String| Refusal::new(Code::ExternalApiError, format!("{}: {message}", integration.name()));
    match fault {
        UpstreamFault::Refused(refused) => explain_refused(refused, integration),
        UpstreamFault::Late(deadline) => external(format!("no answer within {deadline:?}")),
        UpstreamFault::Unreachable => external("the connection failed".to_owned()),
        UpstreamFault::Unreadable(status) => {
            external(format!("an answer that cannot be read, with status {status}"))
        }
    }
}

/// The refusal where the store does not answer; what it says is for the log.
pub(super) fn without_store(log: &Log, error: &HubError) -> Refusal {
    let source = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    log(&format!("{error}: {source}"));
    Refusal::new(Code::Internal, "the store of the Hub does not answer")
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
        401 => expired(integration),
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

/// The customer has to connect the integration again.
pub(super) fn expired(integration: Integration) -> Refusal {
    Refusal::new(
        Code::IntegrationExpired,
        format!("the grant for {} has expired and could not be renewed", integration.name()),
    )
    .with_details(json!({"integration": integration.slug()}))
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::explain_refused;
    use crate::hub::envelope::Code;
    use crate::hub::record::Integration;
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
