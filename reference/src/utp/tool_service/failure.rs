//! Why a call has no result.

use serde_json::Value;

use crate::utp::message::ErrorCode;

/// Why a tool has nothing to give; becomes the error structure of the result card (UTP §5, Guide §3.1).
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolFailure {
    /// The code to act on.
    pub code: ErrorCode,
    /// The sentence to read.
    pub message: String,
    /// What else there is to say.
    pub detail: Option<Value>,
}

impl ToolFailure {
    /// A failure without detail.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), detail: None }
    }

    /// Adds detail.
    #[must_use]
    pub fn with_detail(mut self, detail: Value) -> Self {
        self.detail = Some(detail);
        self
    }

    /// The caller's arguments are at fault; `field` is the one.
    pub(crate) fn bad_argument(field: &str, message: impl Into<String>, allowed: &Value) -> Self {
        let detail = serde_json::json!({"field": field, "allowed": allowed});
        Self::new(ErrorCode::BadRequest, message).with_detail(detail)
    }
}
