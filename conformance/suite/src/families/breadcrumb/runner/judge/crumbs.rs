//! Whether the breadcrumb tools do to the store what they say (Universal Tool Invocation L90-95).

use serde_json::Value;

use super::tool::{is_number, output, wrong};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::FIRST;
use crate::transcript::{Frame, Kind, texts};

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

/// The call has stored the new breadcrumb, and no other one like it.
pub fn is_created_once(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    is_created(frames, call, answer)?;
    let wanted = wanted(call);
    if wanted.get("title").is_none() && wanted.get("context").is_none() {
        return Ok(());
    }
    let wish =
        |name: &str, frame: &Frame| wanted.get(name).is_none_or(|wish| is_in(wish, frame.body.get(name)));
    let is_alike = |frame: &&Frame| {
        frame.kind == Kind::Crumb
            && ["schema_name", "title", "tags", "context"].iter().all(|name| wish(name, frame))
    };
    let mut alike: Vec<&Frame> = frames.iter().filter(is_alike).collect();
    // One that is reported again has the same id.
    let id = |frame: &Frame| frame.member("/id").or_else(|| frame.member("/breadcrumb_id")).cloned();
    alike.dedup_by_key(|frame| id(frame).unwrap_or_else(|| Value::from(frame.n)));
    if alike.len() < 2 {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the call stores {} breadcrumbs of which one was asked for", alike.len()),
        "store one breadcrumb for each call; where it is not known whether an attempt arrived, repeat it with the same \
         idempotency key",
    )
    .expected(1)
    .actual(Some(&Value::from(alike.len())));
    Err(alike.into_iter().fold(finding, Finding::frame).into())
}

/// The new breadcrumb holds no text that another call alone asks for.
pub fn is_created_apart(frames: &[Frame], call: &Call, answer: &Answer<'_>, calls: &[Call]) -> Judgement {
    let id = new_id(call, *answer)?;
    let held = held(frames, id).ok_or_else(|| unseen("the new breadcrumb"))?;
    let own = texts(wanted(call));
    for other in calls.iter().filter(|other| other.id() != call.id()) {
        for name in ["tags", "context"] {
            let kept = held.body.get(name).map(texts).unwrap_or_default();
            let asked = wanted(other).get(name).map(texts).unwrap_or_default();
            if let Some(text) = asked.into_iter().find(|text| !own.contains(text) && kept.contains(text)) {
                return Err(Finding::new(
                    format!("`{name}` of the new breadcrumb has something of another call"),
                    "make every breadcrumb of the input of its own call, and keep nothing from one call to the next",
                )
                .expected(format!("no `{text}`"))
                .actual(held.body.get(name))
                .at(format!("/{name}"))
                .frame(held)
                .into());
            }
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
        return is_changed(call, *answer, held);
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

/// A breadcrumb that was changed has the title that was asked for: as its own where `updates` has it as `title`, and
/// wherever the tool's input puts it otherwise.
fn is_changed(call: &Call, answer: Answer<'_>, held: &Frame) -> Judgement {
    let Some(title) = &call.title else { return Ok(()) };
    let asked = call.input.as_ref().and_then(|input| input.pointer("/updates/title"));
    let is_changed = match asked.and_then(Value::as_str) {
        Some(asked) if asked == title => held.text("/title") == Some(title),
        _ => held.body.to_string().contains(title.as_str()),
    };
    if is_changed {
        return Ok(());
    }
    Err(Finding::new(
        "the tool gives a new version of a breadcrumb that is not changed as it was asked to be",
        "make the changes of `input` in the store before you answer with the version that it then has",
    )
    .expected(title.as_str())
    .actual(held.member("/title"))
    .at("/title")
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::crumb::RESPONSE;

    const ID: &str = "5f0c2b1e-3a47-4d9b-8e6a-1c7d90b2f4a3";

    fn frame(n: u32, kind: Kind, body: Value) -> Frame {
        let direction = if kind == Kind::Stored { Direction::ToTarget } else { Direction::FromTarget };
        let channel = if kind == Kind::Stored { "GET /breadcrumbs" } else { "POST /breadcrumbs" };
        let channel = channel.to_owned();
        Frame { n, at_us: 0, direction, kind, channel, headers: BTreeMap::new(), body }
    }

    fn call(id: &str, wish: &Value) -> Call {
        Call { sign: Some(wish.clone()), ..Call::new("breadcrumb-create", json!({}), id.to_owned()) }
    }

    fn answered() -> Frame {
        let output = json!({"id": ID, "success": true});
        let context = json!({"request_id": "c-1", "status": "success", "output": output});
        frame(9, Kind::Crumb, json!({"schema_name": RESPONSE, "context": context}))
    }

    fn held(memo: &Value) -> Frame {
        let mut held = memo.clone();
        held["id"] = json!(ID);
        frame(8, Kind::Stored, held)
    }

    #[test]
    fn copies_are_distinguished_from_other_breadcrumbs() {
        let memo =
            json!({"schema_name": "memo.v1", "title": "a", "tags": ["memo"], "context": {"text": "b"}});
        let check = |others: &[Value], expect: bool| {
            let numbers = 1_u32..;
            let stored = std::iter::once(&memo).chain(others).zip(numbers);
            let stored = stored.map(|(own, n)| frame(n, Kind::Crumb, own.clone()));
            let frames: Vec<Frame> = stored.chain([held(&memo), answered()]).collect();
            let answer = answered();
            let judged = is_created_once(&frames, &call("c-1", &memo), &Answer { frame: &answer });
            assert_eq!(judged.is_ok(), expect, "{others:?}");
        };
        check(&[], true);
        check(
            &[json!({"schema_name": "tool.log.v1", "title": "a", "tags": [], "context": {"text": "b"}})],
            true,
        );
        check(std::slice::from_ref(&memo), false);
    }

    #[test]
    fn what_another_call_asked_for_is_no_further_member() {
        let wish = json!({"tags": ["memo", "tag-2"], "context": {"note": "b"}});
        let before = json!({"tags": ["memo", "tag-1"], "context": {"text": "a"}});
        let calls = [call("c-0", &before), call("c-1", &wish)];
        let check = |memo: Value, expect: bool| {
            let (held, answer) = (held(&memo), answered());
            let judged = is_created_apart(&[held], &calls[1], &Answer { frame: &answer }, &calls);
            assert_eq!(judged.is_ok(), expect, "{memo}");
        };
        check(wish.clone(), true);
        check(json!({"tags": ["memo", "tag-2", "new"], "context": {"note": "b", "by": "a tool"}}), true);
        check(json!({"tags": ["memo", "tag-1", "tag-2"], "context": {"note": "b"}}), false);
        check(json!({"tags": ["memo", "tag-2"], "context": {"note": "b", "text": "a"}}), false);
    }
}
