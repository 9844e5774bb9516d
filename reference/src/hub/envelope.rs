//! The two forms of an answer (contract, "Response Schema") and the codes of errors with their statuses.

use std::time::Duration;

use axum::Json;
use axum::http::header::{ALLOW, CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// What went wrong. The first six are the contract's table; the others are for conditions that it does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Code {
    IntegrationNotConnected,
    IntegrationExpired,
    IntegrationPermissionDenied,
    ToolNotFound,
    ExternalApiError,
    RateLimited,
    /// The service secret was not shown.
    Unauthorized,
    /// The request does not have the contract's form.
    InvalidRequest,
    /// The inputs are not those of the tool.
    InvalidInput,
    /// No such customer.
    CustomerNotFound,
    /// The provider has no such event, message, thread or calendar; or the Hub has no such path.
    NotFound,
    MethodNotAllowed,
    PayloadTooLarge,
    RequestTimeout,
    /// A fault of ours.
    Internal,
}

impl Code {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::IntegrationNotConnected => "INTEGRATION_NOT_CONNECTED",
            Self::IntegrationExpired => "INTEGRATION_EXPIRED",
            Self::IntegrationPermissionDenied => "INTEGRATION_PERMISSION_DENIED",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::ExternalApiError => "EXTERNAL_API_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::Unauthorized => "UNAUTHORIZED",
            Self::InvalidRequest => "INVALID_REQUEST",
            Self::InvalidInput => "INVALID_INPUT",
            Self::CustomerNotFound => "CUSTOMER_NOT_FOUND",
            Self::NotFound => "NOT_FOUND",
            Self::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Self::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Self::RequestTimeout => "REQUEST_TIMEOUT",
            Self::Internal => "INTERNAL_ERROR",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            Self::IntegrationNotConnected | Self::InvalidRequest | Self::InvalidInput => {
                StatusCode::BAD_REQUEST
            }
            Self::IntegrationExpired | Self::Unauthorized => StatusCode::UNAUTHORIZED,
            Self::IntegrationPermissionDenied => StatusCode::FORBIDDEN,
            Self::ToolNotFound | Self::CustomerNotFound | Self::NotFound => StatusCode::NOT_FOUND,
            Self::ExternalApiError => StatusCode::BAD_GATEWAY,
            Self::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::RequestTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Why a request gets no result. Its text never repeats a secret, a token, or what a provider wrote.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Refusal {
    pub(super) code: Code,
    message: String,
    /// Boxed, since refusals are returned from everywhere.
    details: Option<Box<Value>>,
    retry_after: Option<Duration>,
    allow: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), details: None, retry_after: None, allow: None }
    }

    /// Adds `error.details`, an object.
    pub(super) fn with_details(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Adds the `Retry-After` header.
    pub(super) fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Adds the `Allow` header.
    pub(super) fn allow(mut self, methods: &'static str) -> Self {
        self.allow = Some(methods);
        self
    }

    /// An input that is missing or of the wrong form; `member` is its path in the request.
    pub(super) fn input(member: &str, expected: &str) -> Self {
        Self::new(Code::InvalidInput, format!("`{member}` {expected}"))
            .with_details(json!({ "member": member }))
    }

    /// The error envelope, with the tool that the request named.
    pub(super) fn answer(&self, tool: Option<&str>) -> Response {
        let mut body = json!({"success": false});
        if let Some(tool) = tool {
            body["tool"] = tool.into();
        }
        body["error"] = json!({"code": self.code.name(), "message": self.message});
        if let Some(details) = &self.details {
            body["error"]["details"] = Value::clone(details);
        }
        let mut response = (self.code.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(wait) = self.retry_after {
            // Whole seconds, rounded up: an early retry would be refused again.
            let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
            headers.insert(RETRY_AFTER, seconds.max(1).into());
        }
        if let Some(methods) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        match self.code {
            Code::Unauthorized => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("ServiceSecret"));
            }
            // The rest of the body is still on its way.
            Code::PayloadTooLarge | Code::RequestTimeout => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// The success envelope. `metadata` is about the execution: what was measured, and what it is known by.
pub(super) fn success(tool: &str, result: Value, metadata: Value) -> Response {
    let mut body = json!({"success": true, "tool": tool});
    body["result"] = result;
    body["metadata"] = metadata;
    Json(body).into_response()
}
