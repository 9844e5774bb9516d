//! What a component answers when it does not do what was asked, over either binding.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use super::MAX_REQUEST;
use crate::log::Log;
use crate::utp::error::ReferenceError;
use crate::utp::message::error_reply;

/// A refusal, or the news that something behind us failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Denial {
    /// An HTTP status; also the number in the NATS error header.
    pub(crate) status: u16,
    pub(crate) code: &'static str,
    pub(crate) message: String,
}

impl Denial {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self { status: 400, code: "bad_request", message: message.into() }
    }

    /// A message breaks the protocol, in one of the ways that have a code of their own.
    pub(crate) fn refused(code: &'static str, message: impl Into<String>) -> Self {
        Self { status: 409, code, message: message.into() }
    }

    pub(crate) fn not_found(what: &str, id: &str) -> Self {
        Self { status: 404, code: "not_found", message: format!("no {what} `{id}`") }
    }

    pub(crate) fn too_long() -> Self {
        Self { status: 413, code: "too_long", message: format!("longer than {MAX_REQUEST} bytes") }
    }

    /// The store failed; why is for the log alone.
    #[expect(clippy::needless_pass_by_value, reason = "the shape that `map_err` takes")]
    pub(crate) fn store(log: &Log, error: ReferenceError) -> Self {
        let cause = std::error::Error::source(&error).map(ToString::to_string);
        log(&format!("{error}: {}", cause.unwrap_or_default()));
        Self { status: 503, code: "store_unavailable", message: error.to_string() }
    }
}

impl IntoResponse for Denial {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, Json(error_reply(self.code, &self.message))).into_response()
    }
}

/// Reads a JSON body.
pub(crate) fn json_body(body: &[u8]) -> Result<Value, Denial> {
    serde_json::from_slice(body)
        .map_err(|error| Denial::bad_request(format!("the body is not JSON: {error}")))
}
