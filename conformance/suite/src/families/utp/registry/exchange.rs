//! A request to a management API and its answer, as the transcript shows them; and the rows that an answer shows.

use serde_json::Value;

use super::definition::Definition;
use crate::engine::judge::Finding;
use crate::families::utp::message::mentions;
use crate::net::wire::{EXCHANGE, STATUS};
use crate::transcript::{Frame, Kind};

/// Where an answer may keep a row, or rows.
pub(super) const PLACES: [&str; 5] = ["tool", "tools", "items", "data", "item"];
/// Members of a row, apart from its name and project, that the word of a definition stands in.
const MARKED: [&str; 4] = ["target_subject", "description", "parameters", "options"];

/// One exchange.
#[derive(Clone, Copy, Debug)]
pub struct Exchange<'a> {
    /// The request.
    pub request: &'a Frame,
    /// The answer; none where the target gave none.
    pub answer: Option<&'a Frame>,
    /// Why there is none.
    pub closed: Option<&'a Frame>,
}

/// What a request that reads showed of a tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading<'a> {
    /// Its row.
    Row(&'a Value),
    /// That it is not there.
    None,
    /// Nothing: the answer is a failure, or none.
    Unknown,
}

impl<'a> Exchange<'a> {
    /// The exchange with this number.
    pub fn of(frames: &'a [Frame], number: u64) -> Option<Self> {
        let number = number.to_string();
        let own = |kind: Kind| {
            frames.iter().find(|frame| frame.kind == kind && frame.headers.get(EXCHANGE) == Some(&number))
        };
        Some(Self {
            request: own(Kind::RegistryRequest)?,
            answer: own(Kind::RegistryResponse),
            closed: own(Kind::Closed),
        })
    }

    /// HTTP status; none where there is no answer.
    pub fn status(&self) -> Option<u16> {
        self.answer?.headers.get(STATUS)?.parse().ok()
    }

    /// The body: JSON where it is JSON, else a text.
    pub fn body(&self) -> &'a Value {
        self.answer.map_or(&Value::Null, |answer| &answer.body)
    }

    /// Whether the status is of the 200s.
    pub fn is_2xx(&self) -> bool {
        self.status().is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the status is of the 400s.
    pub fn is_4xx(&self) -> bool {
        self.status().is_some_and(|status| (400..500).contains(&status))
    }

    /// What it shows of a tool.
    pub fn reading(&self, definition: &Definition) -> Reading<'a> {
        if self.is_2xx() {
            row(self.body(), definition).map_or(Reading::None, Reading::Row)
        } else if self.is_4xx() {
            Reading::None
        } else {
            Reading::Unknown
        }
    }

    /// What came, in a few words.
    pub fn summary(&self) -> String {
        let Some(status) = self.status() else {
            let why = self.closed.and_then(|closed| closed.body.as_str());
            return why.unwrap_or("there was no answer").to_owned();
        };
        if status == 429 {
            return "the registry answers 429: `requests_per_second` under `[target.manners]` keeps the suite below its limit"
                .to_owned();
        }
        match reason(self.body()) {
            Some(reason) => format!("the registry answers {status}, `{reason}`"),
            None => format!("the registry answers {status}"),
        }
    }

    /// The finding, with the frames of this exchange.
    pub fn shown_in(&self, finding: Finding) -> Finding {
        let finding = finding.frame(self.request);
        match self.answer.or(self.closed) {
            Some(frame) => finding.frame(frame),
            None => finding,
        }
    }
}

/// What an answer says is wrong, where it has one of the usual forms.
fn reason(body: &Value) -> Option<&str> {
    let pointers = ["/error/message", "/detail/error_message", "/message", "/detail", "/error"];
    let text = pointers.iter().find_map(|pointer| body.pointer(pointer).and_then(Value::as_str))?;
    // The rest of a long one is in the frame.
    text.lines().next().filter(|line| !line.is_empty() && line.len() <= 160)
}

/// Whether a row shows what only the definition said.
pub fn is_made_of(row: &Value, definition: &Definition) -> bool {
    MARKED.iter().any(|name| row.get(name).is_some_and(|member| mentions(member, &definition.word)))
}

/// The row of a tool in an answer: the answer itself, or what is in one of its usual places.
///
/// A row that shows what the definition said comes before one that has only its name.
fn row<'a>(body: &'a Value, definition: &Definition) -> Option<&'a Value> {
    let mut candidates = Vec::new();
    gather(body, &mut candidates);
    for own in places(body) {
        gather(own, &mut candidates);
        places(own).for_each(|inner| gather(inner, &mut candidates));
    }
    let named = |row: &&&Value| row.get("tool_name").and_then(Value::as_str) == Some(definition.name());
    let made = candidates.iter().find(|row| is_made_of(row, definition));
    made.or_else(|| candidates.iter().find(named)).copied()
}

/// What an answer keeps in the usual places.
fn places(value: &Value) -> impl Iterator<Item = &Value> {
    PLACES.iter().filter_map(|name| value.get(*name))
}

fn gather<'a>(value: &'a Value, candidates: &mut Vec<&'a Value>) {
    match value {
        Value::Object(_) => candidates.push(value),
        Value::Array(items) => candidates.extend(items.iter().filter(|item| item.is_object())),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_is_found_wherever_it_usually_is() {
        let definition = Definition::full("v1r3", "tide_1", "wabc");
        let own = json!({"tool_name": "tide_1", "target_subject": "cmd.tool.wabc"});
        let other = json!({"tool_name": "tide_2", "target_subject": "cmd.tool.wdef"});
        let nameless = json!({"target_subject": "cmd.tool.wabc"});
        let bare = json!({"tool_name": "tide_1"});
        let check = |body: Value, expect: Option<&Value>| {
            assert_eq!(row(&body, &definition), expect, "{body}");
        };
        check(own.clone(), Some(&own));
        check(json!({"tool": own}), Some(&own));
        check(json!([other, own]), Some(&own));
        for place in ["tools", "items", "data"] {
            check(json!({place: [other, own], "total": 2}), Some(&own));
        }
        check(json!({"data": own}), Some(&own));
        check(json!({"data": {"tools": [other, own]}}), Some(&own));
        check(nameless.clone(), Some(&nameless));
        check(bare.clone(), Some(&bare));
        check(json!({"tools": [bare, own]}), Some(&own));
        check(other.clone(), None);
        check(json!({"path": "/projects/p/tools/tide_1"}), None);
        check(json!({}), None);
        check(Value::Null, None);
        check(json!("tool_name: tide_1\ntarget_subject: cmd.tool.wabc"), None);
    }
}
