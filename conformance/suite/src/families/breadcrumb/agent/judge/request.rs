//! The members of a call (Universal Tool Invocation, field definitions, L28-44).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Seen;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::engine::parameters::vocabulary;
use crate::families::breadcrumb::agent::agent_output::{ToolRequest, Utterance};
use crate::families::breadcrumb::agent::seed_data::{TOOLS, meant, misfit};
use crate::families::breadcrumb::crumb::{CONFIG, RESPONSE, USER_MESSAGE};
use crate::families::breadcrumb::reason::Alternative;
use crate::transcript::{Frame, Kind};

vocabulary! {
    /// A member of a call, as features name it.
    pub(in crate::families::breadcrumb::agent) enum Member "member" {
        "tool" => Tool,
        "input" => Input,
        "request id" => RequestId,
        "form of request id" => FormOfRequestId,
        "flag" => Flag,
    }
}

/// One call and where it stands.
struct Place<'a> {
    utterance: &'a Utterance<'a>,
    number: usize,
    request: ToolRequest<'a>,
}

impl Place<'_> {
    /// A finding about one of its members.
    fn finding(&self, name: &str, finding: Finding) -> CheckFailure {
        let Self { utterance, number, request } = self;
        let absent = Value::from("absent");
        finding
            .actual(request.value.get(name).or(Some(&absent)))
            .at(format!("{}/context/tool_requests/{number}/{name}", utterance.place()))
            .frame(utterance.frame)
            .into()
    }
}

/// Judges every call of every message.
fn each(seen: &Seen<'_>, judgement: impl Fn(&Place<'_>) -> Judgement) -> Judgement {
    for utterance in seen.invocations()? {
        for (number, request) in utterance.requests().into_iter().enumerate() {
            judgement(&Place { utterance, number, request })?;
        }
    }
    Ok(())
}

/// A member of every call has its name and its type.
pub(in crate::families::breadcrumb::agent) fn has(seen: &Seen<'_>, member: Member) -> Judgement {
    each(seen, |place| {
        let value = |name: &str| place.request.value.get(name);
        let is_word =
            |name: &str| value(name).and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty());
        let (holds, name, expected, hint) = match member {
            Member::Tool => (
                is_word("tool"),
                "tool",
                "a string that is not empty",
                "name the tool of a call in the member `tool`",
            ),
            Member::Input => (
                value("input").is_some_and(Value::is_object),
                "input",
                "an object",
                "write the tool's parameters as one JSON object in `input`, `{}` where it takes none",
            ),
            Member::RequestId => (
                is_word("requestId"),
                "requestId",
                "a string that is not empty",
                "give each call an id in the member `requestId`, spelt so",
            ),
            Member::FormOfRequestId => {
                // One that is missing breaks a rule of its own.
                let is_formed = place.request.id().is_none_or(is_formed);
                (
                    is_formed,
                    "requestId",
                    "<tool>-<counter>",
                    "make ids of the tool's name, a hyphen and a counter",
                )
            }
            Member::Flag => (
                value("return_to_llm").is_some_and(Value::is_boolean),
                "return_to_llm",
                "true or false",
                "say in every call, as `true` or `false` without quotes, whether its result is to come back",
            ),
        };
        if holds {
            return Ok(());
        }
        let finding = Finding::new(format!("`{name}` of a call is not as the standard has it"), hint);
        Err(place.finding(name, finding.expected(expected)))
    })
}

/// A prefix like a name, a hyphen, and a suffix that distinguishes calls (resolution A3).
fn is_formed(id: &str) -> bool {
    let Some((prefix, suffix)) = id.rsplit_once('-') else { return false };
    // Names of tools have dots and colons too, and so have counters.
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:/".contains(&byte);
    prefix.starts_with(|first: char| first.is_ascii_alphabetic())
        && prefix.bytes().all(is_name)
        && suffix.starts_with(|first: char| first.is_ascii_alphanumeric())
        && suffix.bytes().all(is_name)
        // Digits of a UUID look like such a suffix.
        && !is_uuid(id)
}

/// Every tool is spelt as the catalog has it.
pub(in crate::families::breadcrumb::agent) fn is_of_the_catalog(
    seen: &Seen<'_>,
    further: &BTreeSet<String>,
) -> Judgement {
    each(seen, |place| {
        let name = place.request.tool();
        if name.is_empty() || TOOLS.contains(&name) || further.contains(name) {
            return Ok(());
        }
        let near = meant(name);
        let finding = Finding::new(
            "a call names a tool in another way than the catalog",
            "copy the name of the tool from the catalog letter by letter",
        );
        Err(place.finding("tool", finding.expected(near.unwrap_or("a name of the catalog"))))
    })
}

/// Every input has what its tool requires.
pub(in crate::families::breadcrumb::agent) fn fits(seen: &Seen<'_>) -> Judgement {
    each(seen, |place| {
        let (Some(tool), Some(input)) = (meant(place.request.tool()), place.request.input()) else {
            return Ok(());
        };
        // One that is no object breaks a rule of its own.
        let Some((pointer, expected)) = misfit(tool, input).filter(|_| input.is_object()) else {
            return Ok(());
        };
        let number = place.number;
        Err(Finding::new(
            format!("the input of a call does not meet the requirements of `{tool}`"),
            "write what the `input_schema` of the catalog requires, under its names and with its types",
        )
        .expected(expected)
        .actual(Some(input))
        .at(format!("{}/context/tool_requests/{number}/input{pointer}", place.utterance.place()))
        .frame(place.utterance.frame)
        .into())
    })
}

/// No two calls of one message have one id.
pub(in crate::families::breadcrumb::agent) fn are_apart(seen: &Seen<'_>) -> Judgement {
    let mut several = false;
    for utterance in seen.invocations()? {
        let requests = utterance.requests();
        several |= requests.len() > 1;
        let mut ids = BTreeSet::new();
        for (number, request) in requests.into_iter().enumerate() {
            let place = Place { utterance, number, request };
            if request.id().is_some_and(|id| !ids.insert(id.to_owned())) {
                return Err(place.finding("requestId", repeated("two calls of one message have the same id")));
            }
        }
    }
    if several {
        return Ok(());
    }
    // The user asked for one message; who makes two has nothing that distinguishes either.
    Err(Alternative::OneCall.seen_in(seen.invocations()?.into_iter().map(|utterance| utterance.frame)))
}

/// No id is used again in its session.
pub(in crate::families::breadcrumb::agent) fn stay_apart(seen: &Seen<'_>) -> Judgement {
    if seen.tasks.is_empty() && seen.sessions().len() > 1 {
        return Err(CheckFailure::NotObserved("the user speaks in several sessions".to_owned()));
    }
    let mut used: BTreeMap<String, usize> = BTreeMap::new();
    let mut messages: Vec<&Frame> = Vec::new();
    for (turn, utterance) in seen.invocations()?.into_iter().enumerate() {
        // A message that is sent twice is one message, unless the user has spoken in between, or a tool has answered it.
        let is_repeat = |earlier: &&Frame| {
            let (after, before) = (earlier.n, utterance.frame.n);
            let ids = utterance.requests().into_iter().filter_map(|request| request.id().map(str::to_owned));
            earlier.body == utterance.frame.body
                && !user_spoke(seen, after, before)
                && !ids.into_iter().any(|id| is_answered(seen, &id, after, before))
        };
        if messages.iter().any(is_repeat) {
            continue;
        }
        messages.push(utterance.frame);
        for (number, request) in utterance.requests().into_iter().enumerate() {
            let Some(id) = request.id() else { continue };
            if used.insert(id.to_owned(), turn).is_some_and(|earlier| earlier != turn) {
                let place = Place { utterance, number, request };
                return Err(place.finding("requestId", repeated("an id of an earlier message is used again")));
            }
        }
    }
    if messages.len() > 1 {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the agent made calls in one message only".to_owned()))
}

/// Whether the user said something between two frames.
fn user_spoke(seen: &Seen<'_>, after: u32, before: u32) -> bool {
    seen.frames.iter().filter(|frame| frame.n > after && frame.n < before).any(|frame| {
        let is_message = || frame.text("/schema_name") == Some(USER_MESSAGE);
        let words = || frame.body.to_string();
        frame.kind == Kind::Put
            && (is_message() || seen.tasks.iter().any(|task| words().contains(&task.words)))
    })
}

/// Whether a request was answered between two frames.
fn is_answered(seen: &Seen<'_>, id: &str, after: u32, before: u32) -> bool {
    let mut between = seen.frames.iter().filter(|frame| frame.n > after && frame.n < before);
    between.any(|frame| {
        frame.kind == Kind::Put
            && frame.text("/schema_name") == Some(RESPONSE)
            && frame.text("/context/request_id") == Some(id)
    })
}

fn repeated(message: &str) -> Finding {
    let hint = "count calls over the whole session, so that every `requestId` stands for one call";
    Finding::new(message, hint).expected("an id that no other call of the session has")
}

/// Calls that name a configuration.
fn configured(seen: &Seen<'_>, judgement: impl Fn(&Place<'_>, &Value) -> Judgement) -> Judgement {
    let mut any = false;
    for utterance in seen.invocations()? {
        for (number, request) in utterance.requests().into_iter().enumerate() {
            // Typed clients write null for what they leave out.
            if let Some(id) = request.value.get("config_id").filter(|id| !id.is_null()) {
                any = true;
                judgement(&Place { utterance, number, request }, id)?;
            }
        }
    }
    if any {
        return Ok(());
    }
    Err(Alternative::NoConfiguration
        .seen_in(seen.invocations()?.into_iter().map(|utterance| utterance.frame)))
}

/// A configuration is named by a UUID.
pub(in crate::families::breadcrumb::agent) fn configurations_are_named(seen: &Seen<'_>) -> Judgement {
    configured(seen, |place, id| {
        if id.as_str().is_some_and(is_uuid) {
            return Ok(());
        }
        let finding = Finding::new(
            "`config_id` is no UUID",
            "write the id of the configuration's breadcrumb into `config_id`, or leave the member out",
        );
        Err(place.finding("config_id", finding.expected("a UUID")))
    })
}

/// A configuration that is named is there. `schema_of` looks into the store.
pub(in crate::families::breadcrumb::agent) fn configurations_exist(
    seen: &Seen<'_>,
    schema_of: impl Fn(&str) -> Option<String>,
) -> Judgement {
    configured(seen, |place, id| {
        // What is no id at all breaks a rule of its own.
        let Some(id) = id.as_str().filter(|id| is_uuid(id)) else { return Ok(()) };
        let schema = schema_of(&id.to_ascii_lowercase());
        if schema.as_deref() == Some(CONFIG) {
            return Ok(());
        }
        let what = schema.map_or_else(
            || "`config_id` is the id of nothing in the store".to_owned(),
            |schema| format!("`config_id` is the id of a breadcrumb of schema `{schema}`"),
        );
        let hint = format!("name a configuration that is in the store, as `{CONFIG}`, or none");
        Err(place.finding("config_id", Finding::new(what, hint).expected(CONFIG)))
    })
}

/// Whether a text is a UUID in its usual form.
fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups.iter().all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_message_that_is_sent_twice_is_one_unless_the_user_spoke_in_between() {
        let frame = |n: u32, kind: Kind, body: Value| Frame {
            n,
            at_us: 0,
            direction: if kind == Kind::Put { Direction::ToTarget } else { Direction::FromTarget },
            kind,
            channel: String::new(),
            headers: BTreeMap::new(),
            body,
        };
        let user = |n: u32| {
            let context = json!({"message": "work it out"});
            frame(
                n,
                Kind::Put,
                json!({"schema_name": USER_MESSAGE, "tags": ["session:s-1"], "context": context}),
            )
        };
        let call = |n: u32, id: &str| {
            let request = json!({"tool": "calculator", "input": {"expression": "1 + 1"}, "requestId": id});
            let context = json!({"tool_requests": [request]});
            frame(n, Kind::Said, json!({"action": "create", "breadcrumb": {"context": context}}))
        };
        let check = |frames: &[Frame], expect: &str| {
            let came = match stay_apart(&Seen::of(frames, &[])) {
                Ok(()) => "holds",
                Err(CheckFailure::Broken(_)) => "broken",
                Err(CheckFailure::NotObserved(_)) => "not observed",
                Err(other) => panic!("{other:?}"),
            };
            assert_eq!(came, expect);
        };
        check(&[user(1), call(2, "calculator-1"), call(3, "calculator-1")], "not observed");
        let answer =
            json!({"schema_name": RESPONSE, "context": {"request_id": "calculator-1", "status": "error"}});
        let answered = frame(3, Kind::Put, answer);
        check(&[user(1), call(2, "calculator-1"), answered, call(4, "calculator-1")], "broken");
        check(&[user(1), call(2, "calculator-1"), user(3), call(4, "calculator-2")], "holds");
        check(&[user(1), call(2, "calculator-1"), user(3), call(4, "calculator-1")], "broken");
        check(
            &[
                user(1),
                call(2, "calculator-1"),
                user(3),
                call(4, "calculator-2"),
                user(5),
                call(6, "calculator-1"),
            ],
            "broken",
        );
    }

    #[test]
    fn an_id_has_a_prefix_and_a_suffix() {
        let check = |id: &str, expect: bool| assert_eq!(is_formed(id), expect, "{id}");
        check("llm-001", true);
        check("search-abc", true);
        check("web-notes-7f3a1", true);
        check("s1", false);
        check("-1", false);
        check("calculator-", false);
        check("calculator-1.2", true);
        check("web-notes-V1St_x", true);
        check("calculator-1 2", false);
        check("c2d29867-3d0b-4497-9191-18a9d8ee7830", false);
        check("7-1", false);
    }
}
