//! What came back from a call, as judgements look at it.

use serde::de::{Deserialize, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::wire_format::{BYTES, STRUCTURED_BYTES};
use crate::net::wire::{CALL, STATUS};
use crate::transcript::{Frame, Kind};

/// What came back from one request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A result that does not say that it is an error (MCP, tools).
    Success(Value),
    /// A result with `isError: true`.
    ToolError(Value),
    /// A JSON-RPC error: the member `error`.
    Error(Value),
    /// No JSON-RPC: HTTP status and body.
    Other(String, Value),
    /// The server ended.
    Closed(String),
    /// Nothing.
    Missing,
}

/// The frame that answers request `id`.
pub fn frame(frames: &[Frame], id: i64) -> Option<&Frame> {
    let call = id.to_string();
    frames.iter().find(|frame| {
        matches!(frame.kind, Kind::Response | Kind::Closed) && frame.headers.get(CALL) == Some(&call)
    })
}

/// The request with this id.
pub fn request(frames: &[Frame], id: i64) -> Option<&Frame> {
    let call = id.to_string();
    frames.iter().find(|frame| frame.kind == Kind::Request && frame.headers.get(CALL) == Some(&call))
}

/// What answers request `id`.
pub fn of(frames: &[Frame], id: i64) -> Answer {
    frame(frames, id).map_or(Answer::Missing, of_frame)
}

fn of_frame(frame: &Frame) -> Answer {
    if frame.kind == Kind::Closed {
        return Answer::Closed(frame.body.as_str().unwrap_or_default().to_owned());
    }
    if let Some(status) = frame.headers.get(STATUS) {
        return Answer::Other(status.clone(), frame.body.clone());
    }
    if fault(frame).is_some() {
        return Answer::Other("200".to_owned(), frame.body.clone());
    }
    match (frame.member("/error"), frame.member("/result")) {
        (Some(error), _) => Answer::Error(error.clone()),
        // The call waits for more from its client, and has not ended.
        (None, Some(result)) if result.get("resultType").is_some_and(|kind| kind == "input_required") => {
            Answer::Other("200".to_owned(), result.clone())
        }
        (None, Some(result)) if result.get("isError") == Some(&Value::Bool(true)) => {
            Answer::ToolError(result.clone())
        }
        (None, Some(result)) => Answer::Success(result.clone()),
        (None, None) => Answer::Other("200".to_owned(), frame.body.clone()),
    }
}

/// What to change about an answer that would be a response but for its form (JSON-RPC 2.0, section 5).
pub fn fault(frame: &Frame) -> Option<&'static str> {
    let body =
        frame.body.as_object().filter(|own| own.contains_key("result") || own.contains_key("error"))?;
    if body.get("jsonrpc").is_none_or(|version| version != "2.0") {
        return Some("give every answer the member `\"jsonrpc\": \"2.0\"`");
    }
    let id = body.get("id").and_then(Value::as_str)?;
    frame.headers.get(CALL).filter(|call| *call == id)?;
    Some(
        "send the `id` of the request back as it came, type included: it is a number, and the answer has it as a text",
    )
}

impl Answer {
    /// Short, for a finding.
    pub fn shown(&self) -> Value {
        match self {
            Self::Success(value) | Self::ToolError(value) | Self::Error(value) => value.clone(),
            Self::Other(status, body) => serde_json::json!({"status": status, "body": body}),
            Self::Closed(why) => Value::from(why.clone()),
            Self::Missing => Value::from("no answer"),
        }
    }

    /// The text of the first content block.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Success(result) | Self::ToolError(result) => {
                result.pointer("/content/0/text").and_then(Value::as_str)
            }
            _ => None,
        }
    }

    /// The envelope of a success: strict JSON, an object.
    ///
    /// # Errors
    /// Why there is none.
    pub fn envelope(&self) -> Result<Value, String> {
        let Self::Success(_) = self else { return Err("the call did not succeed".to_owned()) };
        let text = self.text().ok_or("`content[0].text` is no text")?;
        let value = strict(text)?;
        if value.is_object() { Ok(value) } else { Err("the JSON of the text is no object".to_owned()) }
    }

    /// The envelope as far as it can be read, for rules that are not about its form: what follows the JSON,
    /// or stands around it, is left out.
    ///
    /// # Errors
    /// Why it cannot be read at all.
    pub fn readable(&self) -> Result<Value, String> {
        let Self::Success(result) = self else { return Err("the call did not succeed".to_owned()) };
        let blocks = result.get("content").and_then(Value::as_array);
        let text = blocks.into_iter().flatten().find_map(|block| block.get("text").and_then(Value::as_str));
        let text = text.ok_or("no content block holds text")?;
        let from = text.find('{').ok_or("the text holds no JSON object")?;
        let mut documents = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
        match documents.next() {
            Some(Ok(value)) => Ok(value),
            Some(Err(error)) => Err(format!("the text holds no JSON object: {error}")),
            None => Err("the text holds no JSON object".to_owned()),
        }
    }

    /// Whether the text of a result with `isError` is the envelope of a success: it says so, or brings results.
    pub fn claims_success(&self, result_pointer: &str) -> bool {
        let Self::ToolError(_) = self else { return false };
        let Some(Ok(envelope)) = self.text().map(serde_json::from_str::<Value>) else { return false };
        if let Some(Value::Bool(success)) = envelope.get("success") {
            return *success;
        }
        let is_there = |value: Option<&Value>| value.is_some_and(|value| !value.is_null());
        is_there(envelope.pointer(result_pointer)) && !is_there(envelope.get("error"))
    }

    /// Whether the call failed in a way that MCP knows.
    pub fn is_failure(&self) -> bool {
        matches!(self, Self::Error(_) | Self::ToolError(_))
    }

    /// Whether the call was refused, be it for its length (HTTP 413, which may cut the connection).
    pub fn is_refusal(&self) -> bool {
        self.is_failure()
            || matches!(self, Self::Closed(_))
            || matches!(self, Self::Other(status, _) if status == "413")
    }
}

/// A correlation id of a call: the one among its arguments, else the one that the envelope of its answer has in the
/// trace.
pub fn correlation_id(
    arguments: &Map<String, Value>,
    answer: &Answer,
    trace_pointer: &str,
    name: &str,
) -> Option<String> {
    let given = arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    given.or_else(|| {
        let envelope = answer.readable().ok()?;
        let id = envelope.pointer(trace_pointer)?.get(name)?.as_str()?;
        (!id.is_empty()).then(|| id.to_owned())
    })
}

/// Length of the text in bytes, as it came.
pub fn text_bytes(frame: &Frame) -> Option<usize> {
    frame.headers.get(BYTES)?.parse().ok()
}

/// Length of the structured content in bytes, where there is any.
pub fn structured_bytes(frame: &Frame) -> Option<usize> {
    frame.headers.get(STRUCTURED_BYTES)?.parse().ok()
}

/// Strict JSON from the first character to the last, without double keys.
///
/// # Errors
/// What is wrong, with its place.
pub fn strict(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Strict::deserialize(&mut deserializer).map_err(|error| error.to_string())?;
    deserializer.end().map_err(|error| error.to_string())?;
    Ok(value.0)
}

/// Whether a text has the form of JSON, and holds what this suite cannot: half of a surrogate pair, a number beyond those
/// of IEEE 754, more levels than are read.
pub fn is_beyond_reading(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok() && serde_json::from_str::<Value>(text).is_err()
}

/// JSON whose objects have each key once.
struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(Value::from(value)))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(Value::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(Value::from(value)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        let mut all = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            all.push(item);
        }
        Ok(Strict(Value::Array(all)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Strict, A::Error> {
        let mut all = Map::new();
        while let Some((name, Strict(member))) = members.next_entry::<String, Strict>()? {
            if all.contains_key(&name) {
                return Err(A::Error::custom(format!("the key `{name}` stands twice in one object")));
            }
            all.insert(name, member);
        }
        Ok(Strict(Value::Object(all)))
    }
}

/// A whole number; JSON does not distinguish `1.0` from `1`.
pub fn integer(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "only whole numbers of a safe size come this far")]
    let whole = |number: f64| (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64);
    value.as_i64().or_else(|| value.as_f64().and_then(whole))
}

/// Whether two JSON values are the same; `1` and `1.0` are.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left == right || left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, member)| right.get(name).is_some_and(|other| same(member, other)))
        }
        (left, right) => left == right,
    }
}

/// Keys under which an envelope may repeat what it was called with.
const REPEATED: [&str; 6] = ["input", "inputs", "arguments", "args", "params", "request"];

/// The JSON Pointer of what was echoed, elsewhere than where the call's own arguments are repeated.
pub fn find_echo(envelope: &Value, wanted: &Value) -> Option<String> {
    let mut results = envelope.clone();
    if let Some(members) = results.as_object_mut() {
        members.retain(|name, _| !REPEATED.contains(&name.as_str()));
    }
    find(&results, wanted)
}

/// The JSON Pointer of `wanted` within `value`, the outermost one.
pub fn find(value: &Value, wanted: &Value) -> Option<String> {
    if same(value, wanted) {
        return Some(String::new());
    }
    let below = |name: &str, member: &Value| {
        find(member, wanted).map(|rest| format!("/{}{rest}", name.replace('~', "~0").replace('/', "~1")))
    };
    match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| below(name, member)),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| below(&index.to_string(), item))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn strict_json_is_one_document_with_each_key_once() {
        assert_eq!(
            strict(r#" {"a": [1, -2, 1.5, null, true, "x"]} "#),
            Ok(json!({"a": [1, -2, 1.5, null, true, "x"]}))
        );
        for text in
            ["", "{} done", "{}\n{}", "```json\n{}\n```", r#"{"a": NaN}"#, r#"{"a": 1, "a": 2}"#, "{'a': 1}"]
        {
            assert!(strict(text).is_err() && !is_beyond_reading(text), "{text}");
        }
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for text in [r#"{"a": "\ud83d"}"#, r#"{"a": 1e400}"#, &deep] {
            assert!(strict(text).is_err() && is_beyond_reading(text), "{text}");
        }
    }

    #[test]
    fn a_response_has_its_version_and_the_id_as_it_came() {
        let check = |body: Value, expect: Option<&str>| {
            let headers = std::collections::BTreeMap::from([(CALL.to_owned(), "7".to_owned())]);
            let (direction, kind) = (callmark_reports::record::Direction::FromTarget, Kind::Response);
            let frame = Frame { n: 1, at_us: 0, direction, kind, channel: String::new(), headers, body };
            let found = fault(&frame);
            assert_eq!(found.is_some(), expect.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(expect.unwrap_or_default()), "{frame:?}");
        };
        check(json!({"jsonrpc": "2.0", "id": 7, "result": {}}), None);
        check(json!({"jsonrpc": "2.0", "id": null, "error": {}}), None);
        check(json!({"id": 7, "result": {}}), Some("jsonrpc"));
        check(json!({"jsonrpc": "1.0", "id": 7, "result": {}}), Some("jsonrpc"));
        check(json!({"jsonrpc": "2.0", "id": "7", "result": {}}), Some("it is a number"));
        check(json!({"detail": "not found"}), None);
    }

    #[test]
    fn an_error_may_be_an_envelope_but_not_that_of_a_success() {
        let check = |envelope: Value, expect: bool| {
            let content = json!([{"type": "text", "text": envelope.to_string()}]);
            let answer = Answer::ToolError(json!({"isError": true, "content": content}));
            assert_eq!(answer.claims_success("/result"), expect, "{envelope}");
        };
        check(json!("the depot is closed"), false);
        check(json!({"tool": "depot_lookup", "success": false, "result": {"reason": "closed"}}), false);
        check(json!({"tool": "depot_lookup", "error": "closed", "result": {}}), false);
        check(json!({"tool": "depot_lookup", "result": null}), false);
        check(json!({"tool": "depot_lookup", "result": {"count": 12}}), true);
        check(json!({"tool": "depot_lookup", "success": true, "error": "closed"}), true);
    }

    #[test]
    fn a_value_is_found_wherever_it_is() {
        let envelope = json!({"tool": "t", "payload": {"list": [{"k": 1.0}]}});
        assert_eq!(find(&envelope, &json!({"k": 1})), Some("/payload/list/0".to_owned()));
        assert_eq!(find(&envelope, &json!(2)), None);
    }
}
