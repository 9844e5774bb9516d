//! What a Hub or an agent makes up differs from run to run; in reports a name stands for it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::made_up::MadeUp;
use crate::transcript::Frame;

const MADE_UP: MadeUp = MadeUp {
    ids: &["event_id", "message_id", "thread_id", "request_id", "html_link"],
    measured: &["execution_time_ms", "expires_at"],
    is_made: |_| true,
};

/// Names for the ids that the frames show, in the order of their first appearance.
pub fn minted(frames: &[Frame]) -> BTreeMap<String, String> {
    MADE_UP.minted(frames.iter())
}

/// A body with a name in place of what is measured.
pub fn steady(body: &Value) -> Value {
    MADE_UP.steady(body)
}
