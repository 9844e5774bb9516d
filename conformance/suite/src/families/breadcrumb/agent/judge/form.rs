//! The form of an invocation (Universal Tool Invocation L5-26).

use serde_json::Value;

use super::Seen;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::engine::parameters::vocabulary;
use crate::families::breadcrumb::agent::agent_output::Utterance;
use crate::families::breadcrumb::agent::ledger::belongs;
use crate::families::breadcrumb::crumb::{INVOCATION, SESSION};

/// The tag of what an agent says.
const TAG: &str = "agent:response";
/// What stands for the session in the standard's template.
const PLACEHOLDER: &str = "session:SESSION_ID";

vocabulary! {
    /// A part of an invocation, as features name it.
    pub(in crate::families::breadcrumb::agent) enum Part "part" {
        "JSON" => Json,
        "action" => Action,
        "breadcrumb" => Breadcrumb,
        "schema name" => SchemaName,
        "title" => Title,
        "tag" => Tag,
        "session" => Session,
        "list of calls" => Calls,
        "kind of message" => KindOfMessage,
        "message" => Message,
    }
}

/// A part of every invocation is as the standard shows it.
pub(in crate::families::breadcrumb::agent) fn has(seen: &Seen<'_>, part: Part) -> Judgement {
    match part {
        Part::Json => {
            seen.invocations()?;
            // A last word in plain words is none of the documents'; one that was to be JSON is.
            let is_meant = |utterance: &&Utterance<'_>| !utterance.inner().is_string();
            seen.utterances.iter().filter(is_meant).try_for_each(json)?;
            seen.each_form(json)
        }
        Part::Action => seen.each_form(action),
        Part::Breadcrumb => seen.each_form(breadcrumb),
        Part::SchemaName => {
            seen.invocations()?;
            // What the store refuses does not reach the user.
            seen.utterances.iter().filter(|utterance| !utterance.is_envelope()).try_for_each(is_stored)?;
            seen.each_form(schema_name)
        }
        Part::Title => seen.each_form(title),
        Part::Tag => seen.each_form(tag),
        Part::Calls => seen.invocations()?.into_iter().try_for_each(calls),
        Part::Message => seen.invocations()?.into_iter().try_for_each(message),
        // These two are about the user too, who gets the last word.
        Part::Session => {
            seen.invocations()?;
            // Who is answered first differs from run to run.
            let mut utterance: Vec<_> = seen.utterances.iter().collect();
            utterance.sort_by_key(|utterance| meant(seen, utterance).first().copied());
            utterance.into_iter().try_for_each(|utterance| session(seen, utterance))
        }
        Part::KindOfMessage => {
            seen.invocations()?;
            seen.utterances.iter().try_for_each(kind_of_message)
        }
    }
}

/// A finding about a member of the breadcrumb.
fn of_member(utterance: &Utterance<'_>, name: &str, finding: Finding) -> CheckFailure {
    let member = utterance.inner().get(name);
    let absent = Value::from("absent");
    finding
        .actual(member.or(Some(&absent)))
        .at(format!("{}/{name}", utterance.place()))
        .frame(utterance.frame)
        .into()
}

fn json(utterance: &Utterance<'_>) -> Judgement {
    if !utterance.frame.body.is_string() {
        return Ok(());
    }
    Err(Finding::new(
        "what the agent says is no JSON",
        "write strict JSON: no comments, no ellipses, no alternatives such as `true|false`, no fence around it and no \
         words before or after it",
    )
    .expected("one JSON object")
    .actual(Some(&utterance.frame.body))
    .frame(utterance.frame)
    .into())
}

fn action(utterance: &Utterance<'_>) -> Judgement {
    let is_list = utterance.frame.body.is_array();
    let actual = utterance.whole().get("action");
    if actual.is_some_and(|action| action == "create") && !is_list {
        return Ok(());
    }
    let absent = Value::from(if is_list { "an array" } else { "absent" });
    Err(Finding::new(
        "an invocation is no object whose `action` is `create`",
        "say one JSON object with `\"action\": \"create\"` and the breadcrumb beside it",
    )
    .expected("create")
    .actual(actual.filter(|_| !is_list).or(Some(&absent)))
    .at("/action")
    .frame(utterance.frame)
    .into())
}

fn breadcrumb(utterance: &Utterance<'_>) -> Judgement {
    let hint = "put everything but `action` into the one member `breadcrumb`";
    let body = utterance.whole();
    let beside = ["context", "tool_requests"].into_iter().find(|name| body.get(*name).is_some());
    if let Some(name) = beside {
        let finding = Finding::new(format!("`{name}` stands beside `action`, outside the breadcrumb"), hint);
        return Err(finding.at(format!("/{name}")).actual(body.get(name)).frame(utterance.frame).into());
    }
    // A breadcrumb that is a text was read all the same.
    let sent = utterance.frame.body.get("breadcrumb").or_else(|| body.get("breadcrumb"));
    if sent.is_some_and(Value::is_object) {
        return Ok(());
    }
    Err(Finding::new("an invocation has no object `breadcrumb`", hint)
        .expected("an object")
        .actual(sent.or(Some(&Value::from("absent"))))
        .at("/breadcrumb")
        .frame(utterance.frame)
        .into())
}

/// What goes to the store as a breadcrumb can be read there.
fn is_stored(utterance: &Utterance<'_>) -> Judgement {
    if utterance.frame.body.is_object() {
        return Ok(());
    }
    Err(Finding::new(
        "the body of `POST /breadcrumbs` is no JSON object, so the store has no breadcrumb of schema `agent.response.v1`",
        "post strict JSON: one object, with no words, fences or comments around or in it, and look at the status of the \
         answer",
    )
    .expected("one JSON object")
    .actual(Some(&utterance.frame.body))
    .frame(utterance.frame)
    .into())
}

fn schema_name(utterance: &Utterance<'_>) -> Judgement {
    if utterance.inner()["schema_name"] == INVOCATION {
        return Ok(());
    }
    let finding = Finding::new(
        "an invocation is a breadcrumb of another schema",
        format!("write `\"schema_name\": \"{INVOCATION}\"`"),
    );
    Err(of_member(utterance, "schema_name", finding.expected(INVOCATION)))
}

fn title(utterance: &Utterance<'_>) -> Judgement {
    if utterance.inner()["title"].as_str().is_some_and(|title| !title.trim().is_empty()) {
        return Ok(());
    }
    let finding = Finding::new(
        "an invocation has no title",
        "give every breadcrumb a `title`, a string with words of its own",
    );
    Err(of_member(utterance, "title", finding.expected("a string that is not empty")))
}

fn tag(utterance: &Utterance<'_>) -> Judgement {
    let tags = utterance.inner()["tags"].as_array();
    if tags.is_some_and(|tags| tags.iter().all(Value::is_string) && tags.iter().any(|tag| tag == TAG)) {
        return Ok(());
    }
    let hint = format!("write `tags` as an array of strings, one of them `{TAG}`");
    let finding =
        Finding::new(format!("the tags of an invocation are no array of strings with `{TAG}`"), hint);
    Err(of_member(utterance, "tags", finding.expected(TAG)))
}

/// Tags, however they are written down.
fn tags(utterance: &Utterance<'_>) -> Vec<String> {
    match &utterance.inner()["tags"] {
        Value::Array(tags) => tags.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => serde_json::from_str(text)
            .unwrap_or_else(|_| text.split([',', ' ']).map(|tag| tag.trim().to_owned()).collect()),
        _ => Vec::new(),
    }
}

/// The tasks that something was said about, else those of the user to whom it was said.
fn meant(seen: &Seen<'_>, utterance: &Utterance<'_>) -> Vec<usize> {
    let text = utterance.whole().to_string();
    let all = 0..seen.tasks.len();
    let about: Vec<usize> = all.clone().filter(|task| text.contains(&seen.tasks[*task].mark)).collect();
    if about.is_empty() { all.filter(|task| belongs(utterance, seen.tasks, *task)).collect() } else { about }
}

fn session(seen: &Seen<'_>, utterance: &Utterance<'_>) -> Judgement {
    let tags = tags(utterance);
    let of = |own: &str| tags.iter().any(|tag| tag.strip_prefix(SESSION) == Some(own));
    let mut sessions: Vec<&str> = seen.tasks.iter().map(|task| task.session.as_str()).collect();
    if sessions.is_empty() {
        // Which message it answers is not known.
        sessions = seen.sessions();
    }
    if sessions.is_empty() {
        return Err(CheckFailure::NotObserved("the user's message names no session".to_owned()));
    }
    let meant = meant(seen, utterance);
    let right = meant.iter().any(|task| of(sessions[*task]))
        || (meant.is_empty() && sessions.iter().any(|own| of(own)));
    let wrong = tags.iter().any(|tag| tag == PLACEHOLDER)
        || (0..sessions.len()).any(|task| {
            !meant.is_empty()
                && !meant.iter().any(|own| sessions[*own] == sessions[task])
                && of(sessions[task])
        });
    if right && !wrong {
        return Ok(());
    }
    let own = meant.first().map_or(sessions[0], |task| sessions[*task]);
    let finding = Finding::new(
        "what the agent says does not carry the session of the user's message",
        "put the tag `session:<id>` of the user's message, with its id, on everything that answers it",
    );
    Err(of_member(utterance, "tags", finding.expected(format!("{SESSION}{own}"))))
}

fn calls(utterance: &Utterance<'_>) -> Judgement {
    let sent = |body: &Value| {
        let inner = body.get("breadcrumb").filter(|inner| inner.is_object()).unwrap_or(body);
        inner.pointer("/context/tool_requests").cloned()
    };
    // What was read from a text has no other form than the text's.
    let is_renamed = utterance.place().is_empty() && !std::ptr::eq(utterance.inner(), utterance.whole());
    let place = match &utterance.frame.body {
        Value::Object(_) if is_renamed => sent(utterance.inner()),
        body @ Value::Object(_) if !body.get("breadcrumb").is_some_and(Value::is_string) => sent(body),
        _ => sent(utterance.whole()),
    };
    let is_list =
        place.as_ref().and_then(Value::as_array).is_some_and(|all| all.iter().all(Value::is_object));
    // Calls that stand beside the breadcrumb break the rule on the breadcrumb.
    let is_beside = place.is_none()
        && ["context", "tool_requests"].iter().any(|name| utterance.whole().get(*name).is_some());
    if is_list || (is_beside && utterance.is_envelope() && utterance.place() == "/breadcrumb") {
        return Ok(());
    }
    Err(Finding::new(
        "the calls of an invocation are no array of objects in `context.tool_requests`",
        "list calls as objects in the array `tool_requests` of the breadcrumb's `context`, a single one too",
    )
    .expected("an array of objects")
    .actual(place.as_ref().or(Some(&Value::from("absent"))))
    .at(format!("{}/context/tool_requests", utterance.place()))
    .frame(utterance.frame)
    .into())
}

fn kind_of_message(utterance: &Utterance<'_>) -> Judgement {
    match utterance.context().get("message") {
        // Typed clients write null for what they leave out.
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(other) => Err(Finding::new(
            "the message to the user is no string",
            "write `context.message` as a string for the user, or leave it out",
        )
        .expected("a string")
        .actual(Some(other))
        .at(format!("{}/context/message", utterance.place()))
        .frame(utterance.frame)
        .into()),
    }
}

fn message(utterance: &Utterance<'_>) -> Judgement {
    // While it thinks, there is nothing to report.
    if utterance.message().is_some() || utterance.calls().is_empty() {
        return Ok(());
    }
    Err(Finding::new(
        "an invocation says nothing to the user",
        "say in `context.message` what is being done while the tool works",
    )
    .expected("a text")
    .actual(utterance.context().get("message").or(Some(&Value::from("absent"))))
    .at(format!("{}/context/message", utterance.place()))
    .frame(utterance.frame)
    .into())
}
