//! What a Hub or an agent makes up differs from run to run; in reports a name stands for it.

use crate::engine::normalize::Volatile;

/// Names for it.
pub(crate) static NAMING: Volatile = Volatile {
    ids: &["event_id", "message_id", "thread_id", "request_id", "html_link"],
    measured: &["execution_time_ms", "expires_at"],
    is_made: |_| true,
    is_foreign: |_| false,
};
