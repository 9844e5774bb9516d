//! Whether a JSON artifact is of the call that left it (Tool bus v1 L28-32).

use serde_json::Value;

use super::Reply;
use super::artifact::{differing_id, one};
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::artifacts::Form;
use crate::transcript::{Frame, texts};

const URI: &str = "artifact_uri_json";
/// Longest result that no store has to cut.
const SHORT: usize = 4096;
/// Letters of a text that is more than chance.
const SHORTEST: usize = 4;

/// The artifact is of the call: it is not empty where the result is not, and names no other call in its trace. What it
/// holds is not said, so one that shows nothing of the call is only advised against.
pub fn is_of_its_call(reply: &Reply<'_>) -> Judgement {
    let (file, document) = document(reply)?;
    let envelope = reply.envelope()?;
    let result = envelope.pointer(reply.result_pointer).filter(|own| !is_empty(own));
    let result = result.filter(|own| own.to_string().len() <= SHORT);
    if is_empty(&document) {
        return if result.is_none() { Ok(()) } else { Err(empty(reply, file)) };
    }
    let written = texts(&document);
    for name in ["span_id", "trace_id"] {
        let shown = document.pointer(&format!("{}/{name}", reply.trace_pointer)).and_then(Value::as_str);
        let own = own_ids(reply, &envelope, name);
        let is_own = |shown: &str| own.contains(&shown);
        let is_named = own.iter().any(|id| written.iter().any(|text| text.contains(id)));
        if let Some(shown) = shown.filter(|shown| !own.is_empty() && !is_own(shown) && !is_named) {
            return Err(foreign(reply, file, own[0], shown));
        }
    }
    let Some(result) = result else { return Ok(()) };
    let mut words = vec![reply.tool()];
    words.extend(["span_id", "trace_id"].into_iter().flat_map(|name| own_ids(reply, &envelope, name)));
    words.extend(texts(result).into_iter().filter(|text| text.chars().count() >= SHORTEST));
    let shows = |word: &&str| written.iter().any(|text| text.contains(word));
    if words.iter().any(shows) || answer::find(&document, result).is_some() {
        return Ok(());
    }
    Err(reply
        .finding(
            "`result.json` shows neither the tool of the call, nor its ids, nor anything of its result",
            "write the envelope of the call, or its result, into its artifact",
        )
        .expected("a document of this call")
        .actual(Some(&Value::from(file.body.as_str().unwrap_or_default())))
        .frame(file)
        .recommended("what the artifact holds is not said (ambiguity A10)")
        .into())
}

/// Of two calls with ids of their own, neither artifact is that of the other, and each has a reference of its own.
pub fn are_of_their_calls(first: &Reply<'_>, second: &Reply<'_>) -> Judgement {
    let uris = [first, second].map(|reply| reply.envelope().ok().and_then(|own| own.get(URI).cloned()));
    let id = differing_id(first, second);
    if let [Some(Value::String(left)), Some(Value::String(right))] = &uris
        && left == right
    {
        return Err(second
            .finding(
                format!("two calls with different {id}s point at the same artifact"),
                format!("make the {id} part of `{URI}`, so that it leads to the artifact of one call alone"),
            )
            .expected(format!("a URI for each {id}"))
            .actual(Some(&Value::from(right.clone())))
            .at(format!("/{URI}"))
            .into());
    }
    for (reply, other) in [(first, second), (second, first)] {
        let (file, document) = document(reply)?;
        let name = format!("{id}_id");
        let given = |reply: &Reply<'_>| reply.made.call.arguments.get(&name).cloned().unwrap_or_default();
        let (own, other) = (given(reply), given(other));
        let (Some(own), Some(other)) = (own.as_str(), other.as_str()) else { continue };
        let texts = texts(&document);
        let has = |id: &str| texts.iter().any(|text| text.contains(id));
        if has(other) && !has(own) {
            return Err(foreign(reply, file, own, other));
        }
    }
    Ok(())
}

/// The JSON artifact of the call, read. That it is JSON is a rule of its own.
fn document<'a>(reply: &'a Reply<'_>) -> Result<(&'a Frame, Value), CheckFailure> {
    let file = one(reply, Form::Json)?;
    let text = file.body.as_str().unwrap_or_default();
    let document = serde_json::from_str(text);
    let unread = |_| CheckFailure::NotObserved("the JSON artifact of the call is no JSON".to_owned());
    Ok((file, document.map_err(unread)?))
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// What the call was given as this id, and what its envelope has for it.
fn own_ids<'a>(reply: &'a Reply<'_>, envelope: &'a Value, name: &str) -> Vec<&'a str> {
    let given = reply.made.call.arguments.get(name);
    let made = envelope.pointer(reply.trace_pointer).and_then(|trace| trace.get(name));
    [given, made].into_iter().flatten().filter_map(Value::as_str).filter(|id| !id.is_empty()).collect()
}

fn empty(reply: &Reply<'_>, file: &Frame) -> CheckFailure {
    reply
        .finding(
            "`result.json` holds nothing, though the call has a result",
            "write the envelope of the call, or its result, into its artifact",
        )
        .expected("an object that is not empty")
        .actual(Some(&file.body))
        .frame(file)
        .into()
}

fn foreign(reply: &Reply<'_>, file: &Frame, own: &str, other: &str) -> CheckFailure {
    reply
        .finding(
            "`result.json` is that of another call",
            "write what this call was answered with, and keep nothing of it for the next one",
        )
        .expected(format!("a document that names `{own}`"))
        .actual(Some(&Value::from(format!("a document that names `{other}`"))))
        .frame(file)
        .at(reply.trace_pointer)
        .into()
}
