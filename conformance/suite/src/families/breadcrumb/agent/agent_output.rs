//! What an agent says, read leniently, so that one fault breaks one rule.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Value;

use super::seed_data::meant;
use crate::families::breadcrumb::crumb::REQUEST;
use crate::families::breadcrumb::manifest::LANGUAGE_MODELS;
use crate::families::breadcrumb::store::is_blank;
use crate::transcript::{Frame, Kind};

/// The member of a context that has the calls.
const CALLS: &str = "tool_requests";

/// One thing that the agent said: an invocation, or its breadcrumb alone.
#[derive(Clone, Debug)]
pub(super) struct Utterance<'a> {
    pub frame: &'a Frame,
    /// JSON, as far as it can be read as such.
    whole: Cow<'a, Value>,
    /// Whether its calls are reported, not made.
    is_report: bool,
}

impl<'a> Utterance<'a> {
    /// All that was said, in order.
    pub(super) fn all(frames: &'a [Frame]) -> Vec<Self> {
        let mut made = HashSet::new();
        let marked = |mut utterance: Self| {
            let ids: Vec<String> =
                utterance.requests().iter().filter_map(|request| request.id().map(str::to_owned)).collect();
            // Under a name of its own, an agent may list what it did.
            utterance.is_report =
                !ids.is_empty() && !utterance.lists_calls() && ids.iter().all(|id| made.contains(id));
            made.extend(ids);
            utterance
        };
        // What was filled afterwards was no more than the beginning of it: it is there with its content as well.
        let filled =
            frames.iter().rposition(|frame| frame.kind == Kind::Crumb && frame.body.get("id").is_some());
        let is_beginning = |at: usize, frame: &Frame| {
            frame.kind == Kind::Crumb && filled.is_some_and(|filled| at < filled) && is_blank(&frame.body)
        };
        let own = frames.iter().enumerate().filter(|(at, frame)| !is_beginning(*at, frame));
        own.filter_map(|(_, frame)| Self::of(frame)).map(marked).collect()
    }

    /// Whether it has the member `tool_requests` where that belongs.
    fn lists_calls(&self) -> bool {
        self.context().get(CALLS).is_some()
    }

    /// What a frame says, if it is the agent's to its user or to its tools.
    ///
    /// An agent may keep notes of its own in the store; those are neither.
    pub(super) fn of(frame: &'a Frame) -> Option<Self> {
        if !matches!(frame.kind, Kind::Said | Kind::Crumb) || is_nothing(&frame.body) {
            return None;
        }
        let utterance = Self { frame, whole: read(&frame.body), is_report: false };
        let schema = utterance.inner()["schema_name"].as_str().unwrap_or_default();
        let asks_itself = schema == REQUEST && utterance.requests().is_empty();
        let is_one = schema.starts_with("agent.response")
            || !utterance.requests().is_empty()
            || utterance.tags().any(|tag| tag == "agent:response")
            || (frame.kind == Kind::Said && utterance.whole.get("action").is_some())
            || (frame.kind == Kind::Said && !utterance.whole.is_object());
        (is_one && !asks_itself).then_some(utterance)
    }

    /// All of it.
    pub(super) fn whole(&self) -> &Value {
        &self.whole
    }

    /// Whether it is seen with what is around the breadcrumb.
    pub(super) fn is_envelope(&self) -> bool {
        self.frame.kind == Kind::Said
    }

    /// The breadcrumb, or what stands in its place.
    pub(super) fn inner(&self) -> &Value {
        let inner = self.whole.get("breadcrumb").filter(|inner| inner.is_object());
        let is_crumb =
            |member: &&Value| member.get("context").is_some() || member.get("schema_name").is_some();
        let renamed = || self.whole.as_object()?.values().find(is_crumb);
        inner.or_else(renamed).unwrap_or(&self.whole)
    }

    /// Where the breadcrumb is, for pointers.
    pub(super) fn place(&self) -> &'static str {
        if self.whole.get("breadcrumb").is_some_and(Value::is_object) { "/breadcrumb" } else { "" }
    }

    /// `context`, wherever it is.
    pub(super) fn context(&self) -> &Value {
        let context = self.inner().get("context").or_else(|| self.whole.get("context"));
        context.filter(|context| context.is_object()).unwrap_or_else(|| self.inner())
    }

    fn tags(&self) -> impl Iterator<Item = &str> {
        self.inner()["tags"].as_array().into_iter().flatten().filter_map(Value::as_str)
    }

    /// What it sends to the user.
    pub(super) fn message(&self) -> Option<String> {
        let message = self.context().get("message").or_else(|| self.whole.get("message"))?;
        let text = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
        (!message.is_null() && !text.trim().is_empty()).then_some(text)
    }

    /// The calls that it makes, wherever they stand and however they are called.
    pub(super) fn requests(&self) -> Vec<ToolRequest<'_>> {
        if self.is_report {
            return Vec::new();
        }
        let names = [CALLS, "toolRequests", "tool_request", "requests", "tool_calls"];
        let places = [self.context(), self.inner(), &self.whole];
        let found = places.iter().find_map(|place| names.iter().find_map(|name| place.get(*name)));
        match found {
            Some(Value::Array(all)) => {
                all.iter().filter(|one| one.is_object()).map(|value| ToolRequest { value }).collect()
            }
            Some(value @ Value::Object(_)) => vec![ToolRequest { value }],
            _ => Vec::new(),
        }
    }

    /// Its calls but for those by which the agent thinks, and whether it makes any.
    pub(super) fn calls(&self) -> Vec<ToolRequest<'_>> {
        self.requests().into_iter().filter(|request| !request.is_thought()).collect()
    }

    /// Whether it is the beginning of what is filled afterwards.
    pub(super) fn is_blank(&self) -> bool {
        is_blank(self.inner())
    }

    /// Whether it waits for an answer.
    pub(super) fn is_open(&self) -> bool {
        self.requests().iter().any(|request| request.returns())
    }
}

/// One call of an invocation.
#[derive(Clone, Copy, Debug)]
pub(super) struct ToolRequest<'a> {
    pub value: &'a Value,
}

impl<'a> ToolRequest<'a> {
    fn any(self, names: &[&str]) -> Option<&'a Value> {
        names.iter().find_map(|name| self.value.get(*name)).filter(|value| !value.is_null())
    }

    /// Its tool.
    pub(super) fn tool(self) -> &'a str {
        let function = self.value.pointer("/function/name");
        let named = self.any(&["tool", "tool_name", "toolName", "name"]).or(function);
        named.and_then(Value::as_str).unwrap_or_default()
    }

    /// Its id.
    pub(super) fn id(self) -> Option<&'a str> {
        self.any(&["requestId", "request_id", "requestID", "id", "call_id", "callId"])?.as_str()
    }

    /// Its input.
    pub(super) fn input(self) -> Option<&'a Value> {
        self.any(&["input", "inputs", "arguments", "args", "parameters"])
    }

    /// Whether its result is to come back. What says nothing of it is answered.
    pub(super) fn returns(self) -> bool {
        match self.any(&["return_to_llm", "returnToLlm", "return_to_agent"]) {
            Some(Value::Bool(flag)) => *flag,
            Some(Value::String(text)) => text != "false",
            _ => true,
        }
    }

    /// Whether the agent asks a language model what to do next: the whole conversation is in it.
    pub(super) fn is_thought(self) -> bool {
        LANGUAGE_MODELS.contains(&meant(self.tool()).unwrap_or_default())
            && self.input().is_some_and(|input| input.to_string().contains("Use the tool `"))
    }
}

/// Whether somebody says that there is nothing to say.
fn is_nothing(body: &Value) -> bool {
    match body {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// JSON, or what is JSON in a text but for the comments and the words around it.
fn read(body: &Value) -> Cow<'_, Value> {
    let texts = ["/breadcrumb", "/breadcrumb/context/tool_requests", "/context/tool_requests"];
    let is_text = |pointer: &&str| body.pointer(pointer).is_some_and(Value::is_string);
    if body.is_object() && !texts.iter().any(is_text) {
        return Cow::Borrowed(body);
    }
    Cow::Owned(mended(body))
}

fn mended(body: &Value) -> Value {
    let body = match body {
        Value::String(text) => {
            let plain = without_comments(text).replace("true|false", "true").replace(",...", "");
            let begin = plain.find('{').unwrap_or(plain.len());
            let first = |text: &str| {
                serde_json::Deserializer::from_str(text).into_iter::<Value>().next().and_then(Result::ok)
            };
            let plain = &plain[begin..];
            let repaired = first(plain).or_else(|| first(&in_json(plain)));
            let requoted = || first(&in_json(&plain.replace('\'', "\"")));
            repaired.or_else(requoted).unwrap_or_else(|| body.clone())
        }
        Value::Array(all) if all.len() == 1 => all[0].clone(),
        other => other.clone(),
    };
    // A breadcrumb that is a text holds one all the same.
    let mut body = body;
    if let Some(inner) = body.get("breadcrumb").and_then(Value::as_str)
        && let Ok(inner @ Value::Object(_)) = serde_json::from_str(inner)
    {
        body["breadcrumb"] = inner;
    }
    let nested = ["/breadcrumb/context", "/context"];
    if let Some(place) = nested.iter().find(|pointer| body.pointer(pointer).is_some_and(Value::is_object))
        && let Some(text) = body.pointer(&format!("{place}/tool_requests")).and_then(Value::as_str)
        && let Ok(requests) = serde_json::from_str::<Value>(text)
        && let Some(context) = body.pointer_mut(place)
    {
        context["tool_requests"] = requests;
    }
    body
}

fn without_comments(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("/*") {
        plain.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

/// The text without commas that nothing follows, and with JSON's words for those of other languages.
fn in_json(text: &str) -> String {
    let words =
        [("NaN", "null"), ("None", "null"), ("undefined", "null"), ("True", "true"), ("False", "false")];
    let mut plain = String::new();
    let (mut in_text, mut escaped) = (false, false);
    let mut skipped = 0;
    for (at, letter) in text.char_indices() {
        if skipped > 0 {
            skipped -= 1;
            continue;
        }
        let rest = &text[at..];
        if let Some((word, meant)) = words.iter().find(|(word, _)| !in_text && rest.starts_with(word)) {
            plain.push_str(meant);
            skipped = word.len() - 1;
            continue;
        }
        if !in_text && letter == ',' && rest[1..].trim_start().starts_with(['}', ']']) {
            continue;
        }
        plain.push(letter);
        in_text ^= letter == '"' && !escaped;
        escaped = letter == '\\' && !escaped;
    }
    plain
}

/// Whether a breadcrumb asks for one call outside any invocation, as behind a translator.
pub(super) fn single(frame: &Frame) -> Option<Value> {
    let whole = read(&frame.body);
    let inner = whole.get("breadcrumb").unwrap_or(&*whole);
    let is_one = inner["schema_name"] == REQUEST && inner["context"]["tool"].is_string();
    is_one.then(|| inner["context"].clone())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;

    #[test]
    fn reported_calls_are_not_made_again() {
        let call = json!({"tool": "calculator", "id": "calculator-1"});
        let again = json!({"tool": "calculator", "id": "calculator-2"});
        let utterance =
            |context: Value| frame(json!({"schema_name": "agent.response.v1", "context": context}));
        let frames = [
            utterance(json!({"tool_requests": [call]})),
            utterance(json!({"message": "42", "tool_calls": [call]})),
            utterance(json!({"tool_requests": null, "tool_calls": [call]})),
            utterance(json!({"tool_calls": [again]})),
        ];
        let counts: Vec<usize> =
            Utterance::all(&frames).iter().map(|utterance| utterance.requests().len()).collect();
        assert_eq!(counts, [1, 0, 0, 1]);
    }

    fn frame(body: Value) -> Frame {
        let (direction, kind, channel) = (Direction::FromTarget, Kind::Said, "stdout".to_owned());
        Frame { n: 1, at_us: 0, direction, kind, channel, headers: BTreeMap::new(), body }
    }

    #[test]
    fn calls_are_found_wherever_they_stand() {
        let call = json!({"tool": "calculator", "requestId": "calculator-1"});
        let check = |body: Value, expect: usize| {
            let frame = frame(body.clone());
            let found = Utterance::of(&frame).map(|utterance| utterance.requests().len());
            assert_eq!(found, Some(expect), "{body}");
        };
        check(json!({"action": "create", "breadcrumb": {"context": {"tool_requests": [call]}}}), 1);
        check(json!({"action": "create", "breadcrumb": {"context": {"tool_requests": call}}}), 1);
        check(json!({"action": "create", "context": {"tool_requests": [call, call]}}), 2);
        check(json!({"tool_requests": [call]}), 1);
        check(json!([{"tool_requests": [call]}]), 1);
        check(json!(format!("{{\"tool_requests\": [{call} /* one */]}}")), 1);
        check(json!(format!("```json\n{{\"tool_requests\": [{call}]}}\n```")), 1);
        check(json!(format!("{{\"tool_requests\": [{call},], \"text\": \"\\\",]\",}}")), 1);
        check(json!(format!("{{\"tool_requests\": [{call}], \"score\": NaN}}")), 1);
        check(json!("{'tool_requests': [{'tool': 'calculator', 'return_to_llm': True}]}"), 1);
        check(json!({"action": "create"}), 0);
        check(json!("Good morning."), 0);
    }

    #[test]
    fn notes_of_its_own_are_no_utterance() {
        let check = |body: Value| assert!(Utterance::of(&frame(body.clone())).is_none(), "{body}");
        check(json!({"schema_name": "agent.memory.v1", "title": "t", "tags": [], "context": {}}));
        check(json!({"schema_name": "tool.request.v1", "context": {"tool": "openrouter"}}));
        for nothing in [json!({}), json!([]), json!(null), json!("")] {
            check(nothing);
        }
    }
}
