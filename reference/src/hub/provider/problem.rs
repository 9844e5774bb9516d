//! An error of the provider in the form that Google gives it.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error in the form that Google gives it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Problem {
    status: u16,
    reason: &'static str,
    message: &'static str,
}

/// What a handler returns.
pub(super) type JsonResult = Result<Json<Value>, Problem>;

impl Problem {
    pub(super) fn new(status: u16, reason: &'static str, message: &'static str) -> Self {
        Self { status, reason, message }
    }

    pub(super) fn not_found() -> Self {
        Self::new(404, "notFound", "Not Found")
    }

    pub(super) fn invalid(message: &'static str) -> Self {
        Self::new(400, "invalid", message)
    }

    pub(super) fn full() -> Self {
        Self::new(403, "quotaExceeded", "The account is full.")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = json!({"error": {
            "code": self.status,
            "message": self.message,
            "errors": [{"domain": "global", "reason": self.reason, "message": self.message}],
        }});
        (status, Json(body)).into_response()
    }
}
