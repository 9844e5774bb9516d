//! Whether the breadcrumb tools do to the store what they say (Universal Tool Invocation L90-95).

use serde_json::Value;

use super::tool::{is_number, output, wrong};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::FIRST;
use crate::transcript::{Frame, Kind};

/// The store holds the new breadcrumb, as it was asked for, under the id that the tool gives.
pub fn is_created(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    let id = new_id(call, *answer)?;
    let Some(held) = held(frames, id) else {
        return Err(wrong(
            answer,
            "/id",
            "an id that the store knows",
            "the store holds nothing under this id",
        ));
    };
    let wanted = wanted(call);
    for name in ["schema_name", "title", "tags", "context"] {
        let pointer = format!("/{name}");
        let is_right = wanted.get(name).is_none_or(|wish| is_in(wish, held.body.pointer(&pointer)));
        if !is_right {
            return Err(Finding::new(
                format!("the new breadcrumb has another `{name}` than was asked for"),
                "store the breadcrumb with the members of the call's input",
            )
            .expected(wanted[name].clone())
            .actual(held.member(&pointer))
            .at(pointer)
            .frame(held)
            .into());
        }
    }
    Ok(())
}

fn new_id<'a>(call: &Call, answer: Answer<'a>) -> Result<&'a str, CheckFailure> {
    output(call, &answer)?;
    let id = answer.at("/id").and_then(Value::as_str).filter(|id| is_uuid(id));
    id.ok_or_else(|| wrong(&answer, "/id", "a UUID", "the tool does not give the UUID of the new breadcrumb"))
}

/// What a breadcrumb was asked to be: the members of the input by their values, whatever they are called there.
fn wanted(call: &Call) -> &Value {
    call.sign.as_ref().unwrap_or(&Value::Null)
}

/// Whether a wish is met: further tags and further members are the tool's own affair.
fn is_in(wish: &Value, held: Option<&Value>) -> bool {
    match (wish, held) {
        (Value::Array(items), Some(Value::Array(held))) => items.iter().all(|item| held.contains(item)),
        (Value::Object(members), Some(held)) => {
            members.iter().all(|(name, member)| is_in(member, held.get(name)))
        }
        (wish, held) => held == Some(wish),
    }
}

/// The last that the suite saw of a breadcrumb in the store.
fn held<'a>(frames: &'a [Frame], id: &str) -> Option<&'a Frame> {
    let looked = |frame: &&Frame| frame.kind == Kind::Stored && frame.channel.starts_with("GET");
    // Digits of a UUID may be written either way.
    let own = |frame: &&Frame| frame.text("/id").is_some_and(|own| own.eq_ignore_ascii_case(id));
    frames.iter().rev().filter(looked).find(own).filter(|frame| frame.member("/missing").is_none())
}

/// `success` is the boolean true.
pub fn succeeds(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    if answer.at("/success") == Some(&Value::Bool(true)) {
        return Ok(());
    }
    Err(wrong(answer, "/success", true, "the tool does not say `true` for what succeeded"))
}

/// `new_version` is the store's, and higher than the one before.
pub fn is_newer(frames: &[Frame], call: &Call, answer: &Answer<'_>, id: &str) -> Judgement {
    let reported = higher_version(call, *answer)?;
    let held = held(frames, id).ok_or_else(|| unseen("the breadcrumb that was to be changed"))?;
    if is_number(held.member("/version"), reported) {
        return Ok(());
    }
    Err(Finding::new(
        "the tool gives another version than the store has",
        "change the breadcrumb, and give the version that the store then has in `output.new_version`",
    )
    .expected(held.member("/version").cloned().unwrap_or_default())
    .actual(answer.at("/new_version"))
    .at("/context/output/new_version")
    .frame(answer.frame)
    .frame(held)
    .into())
}

/// `new_version` is higher than what the change before gave.
pub fn is_above(frames: &[Frame], call: &Call, answer: &Answer<'_>, earlier: Option<&Call>) -> Judgement {
    let reported = higher_version(call, *answer)?;
    let before = earlier.and_then(|earlier| Answer::of(frames, earlier)?.at("/new_version")?.as_f64());
    if before.is_none_or(|before| reported > before) {
        return Ok(());
    }
    Err(wrong(
        answer,
        "/new_version",
        before.map(|before| format!("a number above {before}")).unwrap_or_default(),
        "the tool does not give a higher version after a further change",
    ))
}

/// `new_version` is higher than that of a breadcrumb that nobody has changed.
pub fn gives_higher_version(call: &Call, answer: &Answer<'_>) -> Judgement {
    higher_version(call, *answer).map(|_| ())
}

fn higher_version(call: &Call, answer: Answer<'_>) -> Result<f64, CheckFailure> {
    output(call, &answer)?;
    let reported = answer.at("/new_version").and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "versions of a run are small")]
    let before = FIRST as f64;
    reported.filter(|reported| *reported > before).ok_or_else(|| {
        wrong(
            &answer,
            "/new_version",
            "a number above the version before",
            "the tool does not give a higher version",
        )
    })
}

/// `breadcrumbs` lists everything that was stored under the tag.
pub fn finds(call: &Call, answer: &Answer<'_>, stored: &[String]) -> Judgement {
    output(call, answer)?;
    let Some(found) = answer.at("/breadcrumbs").and_then(Value::as_array) else {
        return Err(wrong(answer, "/breadcrumbs", "an array", "what was found is no array"));
    };
    let texts: Vec<String> = found.iter().map(Value::to_string).collect();
    match stored.iter().find(|id| !texts.iter().any(|text| text.contains(id.as_str()))) {
        Some(missing) => Err(wrong(
            answer,
            "/breadcrumbs",
            missing.as_str(),
            "a breadcrumb with the tag, stored just before, is not found",
        )),
        None => Ok(()),
    }
}

/// `count` is the number of results.
pub fn counts(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let list = answer.at("/breadcrumbs");
    let results = list.and_then(Value::as_array).map(Vec::len);
    let results = results.or_else(|| list.and_then(Value::as_object).map(serde_json::Map::len));
    let results = results.ok_or_else(|| unseen("the results that are to be counted"))?;
    #[expect(clippy::cast_precision_loss, reason = "lists are bounded")]
    let expected = results as f64;
    if is_number(answer.at("/count"), expected) {
        return Ok(());
    }
    Err(wrong(answer, "/count", results, "the count is not the number of results"))
}

fn unseen(what: &str) -> CheckFailure {
    CheckFailure::NotObserved(format!("{what} cannot be seen"))
}

/// 8-4-4-4-12 hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths: Vec<usize> = text.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}
