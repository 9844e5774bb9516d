//! The response: one text block with strict JSON, and a stable envelope in it (Tool bus v1 L21-28).

use serde_json::{Map, Value};

use super::{Reply, call};
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::answer::Answer;
use crate::families::toolbus::reason::Alternative;
use crate::transcript::Frame;

/// Keys that the contract names.
const STABLE: [&str; 3] = ["tool", "action", "trace"];
/// What is said of JSON that is permitted and not held.
pub(super) const BEYOND_READING: &str = "the JSON holds more than this suite reads";
/// Largest text of a bounded envelope or artifact, where it grows (resolution A7).
const BOUND: usize = 512 * 1024;

/// Exactly one content block.
pub fn has_one_block(reply: &Reply<'_>) -> Judgement {
    call::succeeds(reply)?;
    let Answer::Success(result) = &*reply.answer else { return Ok(()) };
    let blocks = result.get("content").and_then(Value::as_array).map(Vec::len);
    if blocks == Some(1) {
        return Ok(());
    }
    Err(reply
        .finding("the result does not hold exactly one content block", "put everything into one text block")
        .expected(1)
        .actual(Some(&blocks.map_or_else(|| Value::from("no `content` list"), Value::from)))
        .at("/result/content")
        .into())
}

/// The block is text.
pub fn is_text(reply: &Reply<'_>) -> Judgement {
    call::succeeds(reply)?;
    let Answer::Success(result) = &*reply.answer else { return Ok(()) };
    let kind = result.pointer("/content/0/type");
    if kind == Some(&Value::from("text")) && reply.answer.text().is_some() {
        return Ok(());
    }
    Err(reply
        .finding("the content block is no text block", "answer with a block of type `text`")
        .expected("text")
        .actual(kind.or(Some(&Value::from("absent"))))
        .at("/result/content/0/type")
        .into())
}

/// The whole text is one JSON document.
pub fn is_strict_json(reply: &Reply<'_>) -> Judgement {
    call::succeeds(reply)?;
    let hint = "serialise the envelope with a JSON library and send nothing before or after it";
    let Some(text) = reply.answer.text() else {
        return Err(reply
            .finding("there is no text that could be JSON", hint)
            .expected("strict JSON")
            .at("/result/content/0/text")
            .into());
    };
    let whole = answer::frame(reply.frames, reply.made.id).and_then(answer::text_bytes);
    if whole.is_some_and(|whole| whole > text.len()) {
        return Err(Alternative::LongText.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    match answer::strict(text) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) => Err(reply
            .finding("the envelope is no JSON object", hint)
            .expected("an object")
            .actual(Some(&Value::from(text)))
            .at("/result/content/0/text")
            .into()),
        Err(why) if answer::is_beyond_reading(text) => {
            Err(CheckFailure::NotObserved(format!("{BEYOND_READING}: {why}")))
        }
        Err(why) => Err(reply
            .finding(format!("the text is not strict JSON: {why}"), hint)
            .expected("strict JSON from the first to the last character")
            .actual(Some(&Value::from(text)))
            .at("/result/content/0/text")
            .into()),
    }
}

/// `tool` names the tool that was called, or an alias of it.
pub fn names_its_tool(reply: &Reply<'_>, aliases: &[String]) -> Judgement {
    let envelope = reply.envelope()?;
    let tool = envelope.get("tool");
    let known = tool
        .and_then(Value::as_str)
        .is_some_and(|name| name == reply.tool() || aliases.iter().any(|alias| alias == name));
    if known {
        return Ok(());
    }
    Err(reply
        .finding(
            "the envelope does not name the tool that was called",
            "put the tool's name under `tool`; other names of it stand in `toolbus.tool_aliases` of the manifest",
        )
        .expected(reply.tool().to_owned())
        .actual(tool.or(Some(&Value::from("absent"))))
        .at("/tool")
        .into())
}

/// `action` is there: a string, or null; the one that was asked for.
pub fn has_its_action(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    let requested = reply.made.call.arguments.get("action").filter(|action| action.is_string());
    let finding = |message: &str, expected: Value, actual: Option<&Value>| {
        reply
            .finding(message, "put the call's `action` into the envelope, and null where the tool has none")
            .expected(expected)
            .actual(actual.or(Some(&Value::from("absent"))))
            .at("/action")
    };
    match (envelope.get("action"), requested) {
        (Some(action), Some(requested)) if action == requested => Ok(()),
        (Some(action), Some(requested)) => {
            Err(finding("the envelope names another action than the call", requested.clone(), Some(action))
                .into())
        }
        (Some(Value::String(_) | Value::Null), None) => Ok(()),
        (action, _) => {
            Err(finding("the envelope has no `action`", Value::from("a string or null"), action).into())
        }
    }
}

/// `trace` is there: an object, or a string.
pub fn has_its_trace(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    match envelope.pointer(reply.trace_pointer) {
        Some(Value::Object(_)) => Ok(()),
        Some(Value::String(text)) if !text.is_empty() => Ok(()),
        trace => Err(reply
            .finding("the envelope has no `trace`", "put the correlation ids into every envelope")
            .expected("an object with the correlation ids")
            .actual(trace.or(Some(&Value::from("absent"))))
            .at(reply.trace_pointer)
            .into()),
    }
}

/// A correlation id comes back as it was given.
pub fn returns_the_id(reply: &Reply<'_>, name: &str) -> Judgement {
    let envelope = reply.envelope()?;
    let given = reply.made.call.arguments.get(name).cloned().unwrap_or_default();
    let trace = envelope.pointer(reply.trace_pointer);
    let (actual, pointer) = match trace {
        Some(Value::Object(members)) => (members.get(name), format!("{}/{name}", reply.trace_pointer)),
        // Resolution A3: a plain string stands for the trace id.
        Some(text @ Value::String(_)) if name == "trace_id" => (Some(text), reply.trace_pointer.to_owned()),
        Some(Value::String(_)) => {
            return Err(Alternative::PlainTrace.seen_in(answer::frame(reply.frames, reply.made.id)));
        }
        _ => (None, format!("{}/{name}", reply.trace_pointer)),
    };
    if actual == Some(&given) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the `{name}` of the call does not come back"),
            format!("put the `{name}` that was given into `trace`, and make one only where none was given"),
        )
        .expected(given)
        .actual(actual.or(Some(&Value::from("absent"))))
        .at(pointer)
        .into())
}

/// The envelope carries what the tool gave back.
pub fn carries_the_result(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.lasting()?;
    if answer::find_echo(&envelope, &reply.made.call.value).is_some() {
        return Ok(());
    }
    Err(reply
        .finding(
            "the envelope does not carry the tool's result",
            "put the result into the envelope; a reference to an artifact does not replace it",
        )
        .expected(reply.made.call.value.clone())
        .actual(envelope.pointer(reply.result_pointer).or(Some(&Value::from("absent"))))
        .at(reply.result_pointer)
        .into())
}

/// The stable keys are there.
pub fn has_the_stable_keys(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    let trace_is_elsewhere = reply.trace_pointer != "/trace";
    let missing: Vec<&str> = STABLE
        .into_iter()
        .filter(|key| envelope.get(key).is_none() && !(*key == "trace" && trace_is_elsewhere))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the envelope of `{}` lacks `{}`", reply.tool(), missing.join("`, `")),
            "use the same top-level keys for every tool and every call",
        )
        .expected(Value::from(STABLE.to_vec()))
        .actual(Some(&keys(&envelope)))
        .into())
}

/// Calls of one tool with one action have the same keys.
pub fn have_the_same_keys(first: &Reply<'_>, second: &Reply<'_>) -> Judgement {
    let (left, right) = (first.envelope()?, second.envelope()?);
    if key_set(&left) == key_set(&right) {
        return Ok(());
    }
    Err(second
        .finding(
            "the same call gives an envelope with other top-level keys",
            "use the same top-level keys for every call; where there is nothing to say, null",
        )
        .expected(keys(&left))
        .actual(Some(&keys(&right)))
        .into())
}

/// The second envelope has the keys and the results of the first.
pub fn are_alike(first: &Reply<'_>, second: &Reply<'_>, hint: &str) -> Judgement {
    have_the_same_keys(first, second)?;
    has_the_same_values(first, second, hint)
}

fn has_the_same_values(first: &Reply<'_>, second: &Reply<'_>, hint: &str) -> Judgement {
    let (left, right) = (first.lasting()?, second.lasting()?);
    // Of the results only what the call asked for: times and counts may stand beside it.
    let value = format!("{}{}", first.result_pointer, first.value_base);
    for pointer in ["/tool", "/action", &value] {
        let (expected, actual) = (left.pointer(pointer), right.pointer(pointer));
        let alike = match (expected, actual) {
            (Some(expected), Some(actual)) => answer::same(expected, actual),
            (expected, actual) => expected == actual,
        };
        if !alike {
            return Err(second
                .finding("the same call gives another envelope", hint)
                .expected(expected.cloned().unwrap_or_else(|| Value::from("absent")))
                .actual(actual.or(Some(&Value::from("absent"))))
                .at(pointer)
                .into());
        }
    }
    Ok(())
}

/// `compact` is, for now, what `ai` is.
pub fn is_not_trimmed(full: &Reply<'_>, compact: &Reply<'_>) -> Judgement {
    let hint = "`compact` is reserved for future trimming; until then it gives what `ai` gives";
    let (left, right) = (full.envelope()?, compact.envelope()?);
    let lost: Vec<String> = key_set(&left).difference(&key_set(&right)).cloned().collect();
    if !lost.is_empty() {
        return Err(compact
            .finding(format!("`compact` leaves out `{}`", lost.join("`, `")), hint)
            .expected(keys(&left))
            .actual(Some(&keys(&right)))
            .into());
    }
    has_the_same_values(full, compact, hint)?;
    let kind = |value: Option<&Value>| value.map(std::mem::discriminant);
    let emptied = |value: Option<&Value>| value.and_then(Value::as_array).is_some_and(Vec::is_empty);
    let keys = key_set(&left);
    let other = keys.iter().find(|key| {
        let (left, right) = (left.get(key.as_str()), right.get(key.as_str()));
        kind(left) != kind(right) || (emptied(right) && !emptied(left))
    });
    match other {
        None => Ok(()),
        Some(key) => Err(compact
            .finding(format!("`compact` gives another kind of value for `{key}`"), hint)
            .expected(left.get(key).cloned().unwrap_or_default())
            .actual(right.get(key))
            .at(format!("/{key}"))
            .into()),
    }
}

/// An unknown mode gives an error, or the envelope; never another kind of text.
pub fn knows_no_other_form(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Success(_) => is_strict_json(reply),
        Answer::Error(_) | Answer::ToolError(_) => Ok(()),
        _ => call::succeeds(reply),
    }
}

/// The text is bounded: small enough, or not growing with the result; and so is the structured content beside it.
pub fn is_bounded(small: &Reply<'_>, large: &Reply<'_>, limit: Option<usize>) -> Judgement {
    // A server that refuses a large result has bounded it too.
    for reply in [small, large] {
        if !reply.answer.is_refusal() {
            call::succeeds(reply)?;
        }
    }
    let sizes = |bytes: fn(&Frame) -> Option<usize>| {
        [small, large].map(|reply| {
            let frame = answer::frame(reply.frames, reply.made.id).filter(|_| !reply.answer.is_refusal());
            frame.and_then(bytes).unwrap_or_default()
        })
    };
    let check = |what: &str, pointer: &str, [small, whole]: [usize; 2]| {
        bounded(small, whole, limit).map_err(|text| {
            CheckFailure::from(
                large
                    .finding(
                        format!("{what} is not bounded: {text}"),
                        "cut strings, lists and objects of a result to a fixed size and say that you did",
                    )
                    .expected(expected_bound(limit))
                    .actual(Some(&Value::from(format!("{} and {} KiB", small / 1024, whole / 1024))))
                    .at(pointer),
            )
        })
    };
    check("the envelope", "/result/content/0/text", sizes(answer::text_bytes))?;
    check("`structuredContent`", "/result/structuredContent", sizes(answer::structured_bytes))
}

/// Two sizes, the first for a result of a quarter of the second's length.
pub(super) fn bounded(small: usize, large: usize, limit: Option<usize>) -> Result<(), String> {
    let sound = match limit {
        Some(limit) => small.max(large) <= limit,
        None => (small < BOUND && large < BOUND) || large < small.saturating_mul(2),
    };
    if sound {
        return Ok(());
    }
    Err(format!("{} KiB, and {} KiB for four times the result", small / 1024, large / 1024))
}

pub(super) fn expected_bound(limit: Option<usize>) -> String {
    match limit {
        Some(limit) => format!("at most {limit} bytes, as the manifest declares"),
        None => format!("less than {BOUND} bytes, or less than double for four times the result"),
    }
}

/// A follow-up is named: a list that is not empty, or another declared place that holds something.
pub fn hints(reply: &Reply<'_>, pointer: &str) -> Result<Value, CheckFailure> {
    let envelope = reply.envelope()?;
    let hint = envelope.pointer(pointer);
    let is_named = match hint {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(members)) => !members.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        // Such as the number of the next page.
        Some(Value::Number(_) | Value::Bool(true)) => true,
        _ => false,
    };
    if is_named {
        return Ok(hint.cloned().unwrap_or_default());
    }
    Err(reply
        .finding(
            "a result that calls for a follow-up says nothing of the next step",
            "name the next calls in `next_actions`, or in a stable field that `hint_pointer` of the manifest names",
        )
        .expected("a list of next actions")
        .actual(hint.or(Some(&Value::from("absent"))))
        .at(pointer.to_owned())
        .into())
}

/// Hints have the same form each time.
pub fn hints_alike(first: &Reply<'_>, second: &Reply<'_>, pointer: &str) -> Judgement {
    let (left, right) = (hints(first, pointer)?, hints(second, pointer)?);
    if form(&left) == form(&right) {
        return Ok(());
    }
    Err(second
        .finding(
            "the same condition gives its hints in another form",
            "keep place and names of recovery hints the same for the same tool and condition",
        )
        .expected(left)
        .actual(Some(&right))
        .at(pointer.to_owned())
        .into())
}

/// Keys without values.
fn form(value: &Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.iter().map(|(name, member)| (name.clone(), form(member))).collect::<Map<_, _>>(),
        ),
        Value::Array(items) => {
            items.first().map_or(Value::Array(Vec::new()), |item| Value::from(vec![form(item)]))
        }
        _ => Value::Null,
    }
}

fn keys(envelope: &Value) -> Value {
    Value::from(key_set(envelope).into_iter().collect::<Vec<_>>())
}

fn key_set(envelope: &Value) -> std::collections::BTreeSet<String> {
    envelope.as_object().into_iter().flat_map(|members| members.keys().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use crate::families::toolbus::scene::{Call, Made};

    #[test]
    fn of_two_results_what_the_call_asked_for_is_compared() {
        let judged = |left: Value, right: Value| {
            let call = Call { value: json!({"alpha": 1}), ..Call::of("t") };
            let made = Made { call, id: 1 };
            let reply = |result: Value| {
                let envelope = json!({"tool": "t", "action": null, "result": result, "trace": {}});
                let content = json!([{"type": "text", "text": envelope.to_string()}]);
                Reply {
                    made: &made,
                    frames: &[],
                    answer: Cow::Owned(Answer::Success(json!({"content": content}))),
                    result_pointer: "/result",
                    trace_pointer: "/trace",
                    value_base: "/value",
                    revision: "2025-06-18",
                }
            };
            are_alike(&reply(left), &reply(right), "answer alike").is_ok()
        };
        let at = |time: &str, alpha: i64| json!({"value": {"alpha": alpha}, "updated_at": time});
        assert!(judged(at("2031-03-05T11:00:00Z", 1), at("2031-03-05T11:00:02Z", 1)));
        assert!(!judged(at("2031-03-05T11:00:00Z", 1), at("2031-03-05T11:00:00Z", 2)));
        assert!(!judged(at("2031-03-05T11:00:00Z", 1), json!({"updated_at": "2031-03-05T11:00:02Z"})));
    }

    #[test]
    fn small_texts_and_texts_that_do_not_grow_are_bounded() {
        let check = |small: usize, large: usize, limit: Option<usize>| bounded(small, large, limit).is_ok();
        assert!(check(60_000, 60_000, None));
        assert!(check(900_000, 1_000_000, None));
        assert!(!check(1_100_000, 4_200_000, None));
        assert!(!check(400_000, 1_600_000, None));
        assert!(!check(60_000, 60_000, Some(50_000)));
    }
}
