//! One message of a transcript.

use std::collections::BTreeMap;
use std::sync::Mutex;

use callmark_reports::record::{Direction, FrameExcerpt};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::excerpt::{shorten, shorten_text};
use super::kind::Kind;

/// Bytes of a message that are kept from then on.
pub(super) const LATE_MESSAGE: usize = 4 * 1024;
/// Bytes of a channel or of a header's value that are kept.
pub(super) const MAX_TEXT: usize = 2 * 1024;

/// One message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Frame {
    /// Number within the transcript, from 1.
    pub n: u32,
    /// Microseconds since the transcript began.
    pub at_us: u64,
    /// Seen from the target.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Subject, or HTTP method and path.
    pub channel: String,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

impl Frame {
    /// The member at a JSON Pointer, unless it is absent or null.
    pub fn member(&self, pointer: &str) -> Option<&Value> {
        member_at(&self.body, pointer).filter(|value| !value.is_null())
    }

    /// The string at a JSON Pointer.
    pub fn text(&self, pointer: &str) -> Option<&str> {
        member_at(&self.body, pointer).and_then(Value::as_str)
    }

    /// Token `index` of the subject, from 0.
    pub fn token(&self, index: usize) -> Option<&str> {
        self.channel.split('.').nth(index)
    }

    /// The frame, shortened for a report.
    pub fn excerpt(&self) -> FrameExcerpt {
        FrameExcerpt {
            n: self.n,
            direction: self.direction,
            party: self.kind.party().to_owned(),
            channel: shorten_text(&self.channel),
            headers: self
                .headers
                .iter()
                .filter(|(name, _)| is_shown(name))
                .map(|(name, value)| (name.clone(), shorten_text(value)))
                .collect(),
            body: shorten(&self.body),
        }
    }
}

/// Headers that a rule is about: those of traces, of UTP and of MCP, and what HTTP says of a request or an answer.
fn is_shown(name: &str) -> bool {
    name.starts_with("trace")
        || name.starts_with("callmark-")
        || name.to_ascii_lowercase().starts_with("cg-")
        || name.starts_with("mcp-")
        || name == "http-status"
        || ["status", "authorization", "content-type"].contains(&name)
}

/// A message before it is numbered and timed.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Seen from the target.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// Subject, or HTTP method and path.
    pub channel: String,
    /// Headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

impl From<Message> for Frame {
    /// Neither numbered nor timed.
    fn from(message: Message) -> Self {
        let Message { direction, kind, channel, headers, body } = message;
        Self { n: 0, at_us: 0, direction, kind, channel, headers, body }
    }
}

impl From<Frame> for Message {
    fn from(frame: Frame) -> Self {
        let Frame { direction, kind, channel, headers, body, .. } = frame;
        Self { direction, kind, channel, headers, body }
    }
}

/// Locks even when another thread panicked meanwhile: the data stay readable, and a panic is reported elsewhere.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
/// The value at a JSON Pointer. Judgements ask for thousands, and nearly none has an escaped character.
pub fn member_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v Value> {
    let Some(path) = pointer.strip_prefix('/').filter(|path| !path.contains('~')) else {
        return value.pointer(pointer);
    };
    path.split('/').try_fold(value, |value, token| match value {
        Value::Object(members) => members.get(token),
        Value::Array(_) => value.pointer(&format!("/{token}")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pointer_leads_where_it_leads_elsewhere() {
        let value = json!({"a": {"b": ["x", {"c": "y"}]}, "": {"": "z"}, "s/t": "u", "m~n": "v", "t": "w"});
        for pointer in [
            "", "/", "//", "/a", "/a/b/0", "/a/b/1/c", "/a/b/01", "/a/b/-", "/a/b/2", "/s~1t", "/m~0n",
            "/t/x", "a",
        ] {
            assert_eq!(member_at(&value, pointer), value.pointer(pointer), "{pointer}");
        }
    }
}
