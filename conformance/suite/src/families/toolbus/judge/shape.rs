//! Output shaping: what of a result comes back (Tool bus v1 L19).

use serde_json::Value;

use super::Reply;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::answer::Answer;

/// The result is this value.
pub fn is(reply: &Reply<'_>, expected: &Value) -> Judgement {
    let result = reply.result()?;
    if result.as_ref().is_some_and(|result| answer::same(result, expected)) {
        return Ok(());
    }
    let output = reply.made.call.arguments.get("output");
    let message = match output {
        Some(output) => format!("the result is not shaped as `output` asks: {output}"),
        None => "the result is not the whole value".to_owned(),
    };
    Err(reply
        .finding(
            message,
            "apply `path`, `pick`, `omit` and `map` to the tool's result, and only where they are given",
        )
        .expected(expected.clone())
        .actual(result.as_ref().or(Some(&Value::from("absent"))))
        .at(reply.result_pointer)
        .into())
}

/// The result of an echo, below the place where the target puts it.
pub fn is_echoed(reply: &Reply<'_>, base: &str) -> Judgement {
    let expected = &reply.made.call.value;
    let result = reply.result()?;
    let value = result.as_ref().and_then(|result| result.pointer(base));
    if value.is_some_and(|value| answer::same(value, expected)) {
        return Ok(());
    }
    Err(reply
        .finding(
            "the result is not what the call asked for",
            "hand `params.arguments` to the tool, and its whole result back",
        )
        .expected(expected.clone())
        .actual(value.or(Some(&Value::from("absent"))))
        .at(format!("{}{base}", reply.result_pointer))
        .into())
}

/// The result has only the key that was picked.
pub fn has_only_the_picked(reply: &Reply<'_>) -> Judgement {
    let picked = reply.made.call.picked.clone().unwrap_or_default();
    let result = reply.result()?;
    let members = result.as_ref().and_then(Value::as_object);
    if members.is_some_and(|members| members.len() == 1 && members.contains_key(&picked)) {
        return Ok(());
    }
    Err(not_shaped(reply, result.as_ref(), format!("an object with `{picked}` and no other key")))
}

/// The result is an object without the key that was omitted, and has others.
pub fn lacks_the_omitted(reply: &Reply<'_>) -> Judgement {
    let omitted = reply.made.call.picked.clone().unwrap_or_default();
    let result = reply.result()?;
    let members = result.as_ref().and_then(Value::as_object);
    if members.is_some_and(|members| !members.is_empty() && !members.contains_key(&omitted)) {
        return Ok(());
    }
    Err(not_shaped(reply, result.as_ref(), format!("an object without `{omitted}` and with the other keys")))
}

/// The result is what stood under the key that was followed, and no more the object that has the key.
pub fn is_below_the_followed(reply: &Reply<'_>) -> Judgement {
    let followed = reply.made.call.picked.clone().unwrap_or_default();
    let result = reply.result()?;
    if result.as_ref().is_some_and(|result| result.get(&followed).is_none()) {
        return Ok(());
    }
    Err(not_shaped(reply, result.as_ref(), format!("what stands under `{followed}`, alone")))
}

fn not_shaped(reply: &Reply<'_>, result: Option<&Value>, expected: String) -> CheckFailure {
    reply
        .finding(
            format!("`output` does not shape the result of `{}`", reply.tool()),
            "shape the results of every tool in one place",
        )
        .expected(expected)
        .actual(result.or(Some(&Value::from("absent"))))
        .at(reply.result_pointer)
        .into()
}

/// After a call that picked one key, the same call without `output` gives more than that key again.
pub fn is_whole_again(picked: &Reply<'_>, reply: &Reply<'_>, at_first: &Value) -> Judgement {
    let key = picked.made.call.picked.clone().unwrap_or_default();
    let result = reply.result()?;
    let (Some(now), Some(before)) =
        (result.as_ref().and_then(Value::as_object), at_first.pointer(reply.result_pointer))
    else {
        return Err(CheckFailure::NotObserved("the result is no object at `result_pointer`".to_owned()));
    };
    if now.keys().any(|name| *name != key) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("`output` of one call of `{}` takes members out of the result of the next", reply.tool()),
            "shape a copy: what a tool keeps for later calls must stay whole",
        )
        .expected(before.clone())
        .actual(result.as_ref())
        .at(reply.result_pointer)
        .into())
}

/// A shape that does not fit never gives the whole value as a success.
pub fn is_not_the_whole(reply: &Reply<'_>) -> Judgement {
    match &*reply.answer {
        Answer::Error(_) | Answer::ToolError(_) => return Ok(()),
        Answer::Success(_) => {}
        _ => return super::call::succeeds(reply),
    }
    let envelope = reply.lasting()?;
    if answer::find_echo(&envelope, &reply.made.call.value).is_none() {
        return Ok(());
    }
    Err(reply
        .finding(
            "a shape that does not fit the result gives the whole result",
            "answer with an error, or with null or nothing as the result; the caller asked for a part",
        )
        .expected("an MCP error, null, or nothing")
        .actual(envelope.pointer(reply.result_pointer))
        .at(reply.result_pointer)
        .into())
}

/// The key that lets a `pick` show something: the first of several.
///
/// # Errors
/// Why picking would show nothing.
pub fn key_to_pick(result: &Value) -> Result<String, CheckFailure> {
    match result.as_object() {
        Some(members) if members.len() > 1 => Ok(members.keys().next().cloned().unwrap_or_default()),
        Some(_) => Err(CheckFailure::NotObserved(
            "the result has one key, so picking one shows nothing; name a call whose result has several"
                .to_owned(),
        )),
        None => Err(CheckFailure::NotObserved(
            "the result is no object at `result_pointer`, so there is no key to pick".to_owned(),
        )),
    }
}

/// The key that lets a `path` show something: one of letters, that whatever stands under it does not have, too.
///
/// # Errors
/// Why following it would show nothing.
pub fn key_to_follow(result: &Value) -> Result<String, CheckFailure> {
    let is_plain = |key: &str| key.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
    let shows = |key: &str, value: &Value| is_plain(key) && !value.is_null() && value.get(key).is_none();
    let mut members = result.as_object().into_iter().flatten();
    members.find(|(key, value)| shows(key, value)).map(|(key, _)| key.clone()).ok_or_else(|| {
        let why = "the result has no key of small letters, so there is none to follow";
        CheckFailure::NotObserved(why.to_owned())
    })
}
