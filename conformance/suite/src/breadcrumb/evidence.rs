//! What a runner or an agent makes up differs from run to run; in reports a name stands for it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::made_up::MadeUp;
use crate::transcript::{Frame, Kind};

const MADE_UP: MadeUp = MadeUp {
    ids: &["id", "breadcrumb_id", "requestId", "request_id"],
    measured: &["execution_time_ms", "timestamp", "updated_at", "created_at", "ts"],
    // A word that a person chose has no digit.
    is_made: |id| id.bytes().any(|byte| byte.is_ascii_digit()),
};

/// Names for the ids that the frames show, in the order of their first appearance.
pub fn minted(frames: &[Frame]) -> BTreeMap<String, String> {
    // What the suite itself stores has names of its own.
    MADE_UP.minted(frames.iter().filter(|frame| frame.kind != Kind::Put))
}

/// A body with a name in place of what is measured.
pub fn steady(body: &Value) -> Value {
    MADE_UP.steady(body)
}
