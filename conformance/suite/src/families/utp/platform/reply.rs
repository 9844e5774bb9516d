//! What the platform answers, whatever the binding.

use serde_json::{Value, json};

/// Largest body of a request.
pub(super) const MAX_BODY: usize = 2 * 1024 * 1024;

/// The platform's answer.
pub type PlatformReply = Result<Value, Refusal>;

/// An error answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status, also used as `Nats-Service-Error-Code`.
    pub status: u16,
    /// Machine-readable code.
    pub code: &'static str,
    /// One sentence.
    pub message: String,
}

impl Refusal {
    /// The body `{"error": {…}}`.
    pub fn body(&self) -> Value {
        json!({"error": {"code": self.code, "message": self.message}})
    }
}

/// A request that cannot be read.
pub(super) fn bad_request(message: &str) -> Refusal {
    Refusal { status: 400, code: "bad_request", message: message.to_owned() }
}

/// A request that is too large to be read.
pub(super) fn too_large() -> Refusal {
    let message = format!("the body is larger than {MAX_BODY} bytes, or did not arrive in time");
    Refusal { status: 413, code: "too_large", message }
}
