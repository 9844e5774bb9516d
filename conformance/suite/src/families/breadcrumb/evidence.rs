//! What a runner or an agent makes up differs from run to run; in reports a name stands for it.

use crate::engine::normalize::Volatile;
use crate::transcript::Kind;

/// Names for it.
pub(crate) static NAMING: Volatile = Volatile {
    ids: &["id", "breadcrumb_id", "requestId", "request_id"],
    measured: &["execution_time_ms", "timestamp", "updated_at", "created_at", "ts"],
    // A word that a person chose has no digit.
    is_made: |id| id.bytes().any(|byte| byte.is_ascii_digit()),
    // What the suite itself stores has names of its own.
    is_foreign: |frame| frame.kind == Kind::Put,
};
