//! What all calls of built-ins share.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use serde_json::json;

use crate::utp::message::ErrorCode;
use crate::utp::platform::{Platform, PlatformError};
use crate::utp::subject::WorkerTarget;
use crate::utp::tool_service::ToolFailure;

/// What all calls share.
pub(super) struct PmoContext {
    pub(super) client: Client,
    pub(super) platform: Arc<dyn Platform>,
    /// In `v1r4` no turn is started at this depth or above.
    pub(super) max_depth: u64,
    pub(super) worker_target: WorkerTarget,
    pub(super) child_deadline: Duration,
    pub(super) delivery_deadline: Duration,
}

/// What a failure of the platform is to the caller, once attempts are used up.
pub(super) fn missed(error: &PlatformError) -> ToolFailure {
    let code = if error.is_transient() {
        ErrorCode::UpstreamUnavailable
    } else if is_absent(error) {
        // The platform does not know what the arguments name.
        ErrorCode::BadRequest
    } else {
        ErrorCode::InternalError
    };
    ToolFailure::new(code, error.to_string()).with_detail(json!({"retryable": error.is_transient()}))
}

/// Whether the platform says that there is no such thing.
pub(super) fn is_absent(error: &PlatformError) -> bool {
    matches!(error, PlatformError::Refused { status: 404, .. })
}
