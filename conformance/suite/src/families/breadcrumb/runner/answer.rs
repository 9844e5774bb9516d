//! The answer to a call, found in a transcript leniently, so that one fault breaks one rule.

use serde_json::Value;

use super::call::Call;
use crate::families::breadcrumb::crumb::RESPONSE;
use crate::transcript::{Frame, Kind};

/// Words for a call that is not finished.
const UNDER_WAY: [&str; 8] =
    ["running", "pending", "queued", "started", "accepted", "processing", "in_progress", "executing"];

/// What a runner answered to a call.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The breadcrumb.
    pub frame: &'a Frame,
}

impl<'a> Answer<'a> {
    /// All answers to a call, in the order in which they came.
    ///
    /// An answer is a breadcrumb of the target that names the call's `requestId` as such, however it spells the key and
    /// wherever that stands, and that is of the schema of answers or has the members of one.
    pub fn all(frames: &'a [Frame], call: &Call) -> Vec<Self> {
        Self::without_records(frames, |answer| answer.is_to(call.id()))
    }

    /// All answers of the target, to whatever call.
    pub fn received(frames: &'a [Frame]) -> Vec<Self> {
        Self::without_records(frames, |_| true)
    }

    /// Beside answers of the right schema, what else names the same calls is the target's own record.
    fn without_records(frames: &'a [Frame], is_meant: impl Fn(&Self) -> bool) -> Vec<Self> {
        let own = frames.iter().filter(|frame| frame.kind == Kind::Crumb).map(|frame| Self { frame });
        let mut own: Vec<Self> = own.filter(|answer| answer.is_one() && is_meant(answer)).collect();
        if own.iter().any(Self::has_schema) {
            own.retain(Self::has_schema);
        }
        own
    }

    /// The first answer to a call, else one that has its tool and names no call at all: an answer with a broken id must
    /// not look like silence.
    pub fn of(frames: &'a [Frame], call: &Call) -> Option<Self> {
        Self::any(frames, call).into_iter().next()
    }

    /// All that may be answers to a call: those that name it, then those that name none.
    pub fn any(frames: &'a [Frame], call: &Call) -> Vec<Self> {
        let mut all = Self::all(frames, call);
        let request_ids: Vec<&str> =
            frames.iter().filter(|frame| frame.kind == Kind::Put).flat_map(request_ids).collect();
        let own = frames.iter().filter(|frame| frame.kind == Kind::Crumb).map(|frame| Self { frame });
        all.extend(own.filter(|answer| {
            let is_of_the_tool =
                answer.member("tool").is_none_or(|tool| tool.as_str().is_none_or(|tool| tool == call.tool()));
            answer.is_one() && is_of_the_tool && !request_ids.iter().any(|id| answer.is_to(id))
        }));
        all
    }

    /// Whether a breadcrumb of the target is an answer to any call: one without any content is still to be filled, and one
    /// of another schema that says no more than how far a call is reports its progress.
    pub fn is_one(&self) -> bool {
        let has = |names: &[&str]| names.iter().any(|name| self.member(name).is_some());
        if self.has_schema() {
            return has(&["status", "output", "error"]);
        }
        let schema = self.frame.text("/schema_name").unwrap_or_default();
        // A record that is begun with the call has nothing to say yet.
        let is_empty = |value: &Value| match value {
            Value::Object(members) => members.is_empty(),
            Value::String(text) => text.is_empty(),
            _ => false,
        };
        let says = |name: &str| self.member(name).is_some_and(|value| !is_empty(value));
        let is_under_way = UNDER_WAY.contains(&self.status().to_ascii_lowercase().as_str());
        schema.starts_with("tool.") && !is_under_way && (says("output") || says("error"))
    }

    /// Whether it is of the schema of answers.
    pub fn has_schema(&self) -> bool {
        self.frame.text("/schema_name") == Some(RESPONSE)
    }

    /// Whether it names this id.
    pub fn is_to(&self, id: &str) -> bool {
        let keys = ["request_id", "requestId", "id", "correlation_id"];
        let named = keys.iter().any(|name| self.member(name).and_then(Value::as_str) == Some(id));
        let tagged = self.frame.body.get("tags").and_then(Value::as_array).into_iter().flatten();
        !id.is_empty()
            && (named || tagged.filter_map(Value::as_str).any(|tag| tag == format!("request:{id}")))
    }

    /// A member of the answer: of the `context`, else of the breadcrumb itself. Null is none.
    pub fn member(&self, name: &str) -> Option<&'a Value> {
        let body = &self.frame.body;
        let own = |place: Option<&'a Value>| place.and_then(|place| place.get(name));
        own(body.get("context")).or_else(|| own(Some(body))).filter(|value| !value.is_null())
    }

    /// `status`, as far as it is a word.
    pub fn status(&self) -> &'a str {
        self.member("status").and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether it reports a success, in whatever words.
    pub fn succeeded(&self) -> bool {
        match self.member("status").and_then(Value::as_str) {
            Some("success") => true,
            Some("error") => false,
            // No word of the standard: what it brings decides.
            _ => self.output().is_some() && self.error().is_none(),
        }
    }

    /// `output`.
    pub fn output(&self) -> Option<&'a Value> {
        self.member("output")
    }

    /// The member of the output at a JSON Pointer.
    pub fn at(&self, pointer: &str) -> Option<&'a Value> {
        self.output()?.pointer(pointer)
    }

    /// `error`, unless it is empty.
    pub fn error(&self) -> Option<&'a Value> {
        self.member("error").filter(|error| error.as_str() != Some(""))
    }
}

/// Whether several breadcrumbs of the suite have a call of this id, each in a session of its own.
pub fn is_shared(frames: &[Frame], call: &Call) -> bool {
    let puts = frames.iter().filter(|frame| frame.kind == Kind::Put);
    puts.filter(|frame| request_ids(frame).contains(&call.id())).nth(1).is_some()
}

/// The ids that a breadcrumb of the suite asks under.
fn request_ids(frame: &Frame) -> Vec<&str> {
    let several = frame.member("/context/tool_requests").and_then(Value::as_array);
    let ids = several.into_iter().flatten().map(|request| request.get("requestId"));
    ids.chain([frame.member("/context/requestId")]).filter_map(|id| id?.as_str()).collect()
}
