//! Secrets stay secret (Tool bus v1 L27, L33).

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::Reply;
use super::artifact::around;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::call::BESIDE;
use crate::families::toolbus::manifest::CallTable;
use crate::families::toolbus::reason::Alternative;

/// What may stand in the place of a value that must not be seen.
const MARKS: [&str; 8] = ["redact", "***", "•••", "hidden", "masked", "removed", "filtered", "omitted"];
/// Keys of secrets (resolution A11), in the spelling without separators.
const KEYS: [&str; 5] = ["password", "apikey", "authorization", "clientsecret", "secret"];
/// Bytes of a secret that stands nowhere else by chance.
const SHORTEST_SECRET: usize = 8;
/// Letters of a word that is more than chance.
const SHORTEST: usize = 3;
/// Members of an envelope that are the server's own.
const FRAME: [&str; 4] = ["tool", "action", "trace", "next_actions"];

/// The call had to do with what it was given: the envelope shows a mark in the place of a secret, or what stood around
/// one. Where it shows neither, that no secret is seen shows nothing.
pub fn is_handled(reply: &Reply<'_>, call: Option<&CallTable>) -> Judgement {
    let mut results = reply.envelope()?;
    if let Some(members) = results.as_object_mut() {
        members.retain(|name, _| !FRAME.contains(&name.as_str()) && !name.starts_with("artifact_uri"));
    }
    let arguments = call.and_then(|call| call.arguments.as_ref());
    let beside: Vec<String> = arguments.map(beside).unwrap_or_default();
    let mut seen = words(&results).into_iter().map(|word| word.to_lowercase());
    let counts = |word: String| {
        let plain: String = word.chars().filter(char::is_ascii_alphanumeric).collect();
        MARKS.iter().any(|mark| word.contains(mark))
            || KEYS.iter().any(|key| plain.contains(key))
            || beside.iter().any(|own| word.contains(own))
    };
    if seen.any(counts) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!(
        "the result of `{}` shows neither a mark in the place of a secret nor anything that stood around one, so that no \
         secret is seen shows nothing; name a call that gives back what it is given",
        reply.tool()
    )))
}

/// The texts and numbers that stand under keys of secrets, and nowhere else, among these arguments.
///
/// # Errors
/// There are none.
pub fn of_arguments(arguments: &Map<String, Value>) -> Result<Vec<Cow<'_, str>>, CheckFailure> {
    let (mut secret, mut other) = (Vec::new(), Vec::new());
    arguments.iter().for_each(|(name, value)| gather(is_secret(name), value, &mut secret, &mut other));
    secret.retain(|own| own.len() >= SHORTEST_SECRET && !other.iter().any(|text| text.contains(&**own)));
    if secret.is_empty() {
        return Err(CheckFailure::NotObserved("the call is given no secret".to_owned()));
    }
    Ok(secret)
}

/// Whether a key is that of a secret.
fn is_secret(key: &str) -> bool {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect();
    KEYS.contains(&plain.to_lowercase().as_str())
}

/// Texts and numbers under keys of secrets, and all others.
fn gather<'a>(
    is_in_one: bool,
    value: &'a Value,
    secret: &mut Vec<Cow<'a, str>>,
    other: &mut Vec<Cow<'a, str>>,
) {
    let found = if is_in_one { &mut *secret } else { &mut *other };
    match value {
        Value::String(text) => found.push(text.into()),
        Value::Number(number) => found.push(number.to_string().into()),
        Value::Array(items) => items.iter().for_each(|item| gather(is_in_one, item, secret, other)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            gather(is_in_one || is_secret(name), member, secret, other);
        }),
        _ => {}
    }
}

/// The way to the secret was gone: the call `tried` with the same `output` gives what stands beside it. A server need not
/// know every kind of `output` (resolution A5), nor take one that fits nothing.
pub fn is_reached(reply: &Reply<'_>, tried: i64) -> Judgement {
    if answer::of(reply.frames, tried).shown().to_string().contains(BESIDE.1) {
        return Ok(());
    }
    let is_over_a_list =
        reply.made.call.value.as_object().is_some_and(|own| own.values().any(Value::is_array));
    if is_over_a_list || answer::of(reply.frames, tried).is_refusal() {
        return Err(Alternative::RefusesShape.seen_in(answer::frame(reply.frames, tried)));
    }
    Err(CheckFailure::NotObserved(format!(
        "`{}` does not give what stands beside the secret for the same `output` either, so that no secret is seen shows \
         nothing",
        reply.tool()
    )))
}

/// Names and texts of the objects in which a placeholder stands, in small letters.
fn beside(arguments: &Value) -> Vec<String> {
    let holds = |value: &Value| value.as_str().is_some_and(|text| text.contains('{'));
    match arguments {
        Value::Object(members) if members.values().any(holds) => words(arguments)
            .into_iter()
            .filter(|word| !word.contains('{') && word.chars().count() >= SHORTEST)
            .map(|word| word.to_lowercase())
            .collect(),
        Value::Object(members) => members.values().flat_map(beside).collect(),
        Value::Array(items) => items.iter().flat_map(beside).collect(),
        _ => Vec::new(),
    }
}

/// Names and texts of a value.
fn words(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(items) => items.iter().flat_map(words).collect(),
        Value::Object(members) => members
            .iter()
            .flat_map(|(name, member)| std::iter::once(name.clone()).chain(words(member)))
            .collect(),
        _ => Vec::new(),
    }
}

/// An error does not hold the marker. It is no result, which must be redacted.
pub fn is_not_in_the_error(reply: &Reply<'_>, marker: &str) -> Judgement {
    match shown_secret(reply, marker, "the error") {
        None => Ok(()),
        Some(finding) => Err(finding
            .recommended("the document asks for redacted results, and says nothing of errors")
            .into()),
    }
}

/// The response does not hold the marker.
pub fn is_not_in_the_response(reply: &Reply<'_>, marker: &str, what: &str) -> Judgement {
    shown_secret(reply, marker, what).map_or(Ok(()), |finding| Err(finding.into()))
}

fn shown_secret(reply: &Reply<'_>, marker: &str, what: &str) -> Option<Finding> {
    let shown = reply.answer.shown().to_string();
    if !shown.contains(marker) {
        return None;
    }
    let from = around(&shown, marker);
    let finding = reply
        .finding(
            format!("{what} shows a secret"),
            "replace values under keys such as `password`, `api_key` and `authorization` before anything else is done with a result",
        )
        .expected("no value that stood under the key of a secret")
        .actual(Some(&Value::from(&shown[from..])));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_of_a_call_are_known_by_their_keys() {
        let check = |arguments: Value, expect: &[&str]| {
            let found = of_arguments(arguments.as_object().expect("an object")).unwrap_or_default();
            assert_eq!(found, expect, "{arguments}");
        };
        check(json!({"account": {"api_key": "s3cr3t-1", "note": "plain words"}}), &["s3cr3t-1"]);
        check(json!({"accounts": [{"Client-Secret": ["s3cr3t-2"]}]}), &["s3cr3t-2"]);
        check(json!({"password": 8_151_623_420_815_u64}), &["8151623420815"]);
        check(json!({"password": "short"}), &[]);
        check(json!({"password": 4711}), &[]);
        check(json!({"password": 8_151_623_420_815_u64, "of": [8_151_623_420_815_u64]}), &[]);
        check(json!({"password": "s3cr3t-3", "note": "it is s3cr3t-3"}), &[]);
        check(json!({"note": "s3cr3t-4"}), &[]);
    }
}
