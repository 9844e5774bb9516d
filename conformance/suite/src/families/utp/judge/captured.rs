//! Captured messages (`utp.schema`): shape rules that hold for any message, whoever sent it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::callback::{AFTER_EXECUTION, quoted};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::capture::Entry;
use crate::families::utp::revision::{CONTROL_MEMBERS, Revision, header, number};
use crate::families::utp::subject;

fn some<'a>(entries: &'a [Entry], what: &str) -> Result<&'a [Entry], CheckFailure> {
    if entries.is_empty() {
        return Err(CheckFailure::NotObserved(format!("the capture has no {what}")));
    }
    Ok(entries)
}

/// Every row has the member; `description` and others of type string are non-empty, objects are objects.
pub fn rows_carry(entries: &[Entry], member: &str) -> Judgement {
    for entry in some(entries, "`resource.tools` row")? {
        let value = entry.body.get(member);
        let sound = match member {
            "parameters" | "options" => value.is_some_and(Value::is_object),
            "after_execution" => is_one_of(value, &AFTER_EXECUTION),
            _ => value.and_then(Value::as_str).is_some_and(|text| !text.is_empty()),
        };
        if !sound {
            let tool = entry.body.get("tool_name").and_then(Value::as_str).unwrap_or("?");
            return Err(about(entry, format!("the row of tool `{tool}` has no sound `{member}`"))
                .expected(row_expectation(member))
                .actual(value)
                .at(format!("/{member}"))
                .into());
        }
    }
    Ok(())
}

/// Every row belongs to the project that it was asked for in.
pub fn rows_belong(entries: &[Entry]) -> Judgement {
    for entry in some(entries, "`resource.tools` row")? {
        let project = entry.body.get("project_id");
        let wanted = subject::project(&entry.subject);
        if let (Some(wanted), Some(own)) = (wanted, project.and_then(Value::as_str))
            && wanted != own
        {
            return Err(about(entry, "the row belongs to another project than its own".to_owned())
                .expected(wanted)
                .actual(project)
                .at("/project_id")
                .into());
        }
    }
    Ok(())
}

/// Every target_subject still has its placeholders.
pub fn rows_unexpanded(entries: &[Entry]) -> Judgement {
    let own = |entry: &Entry| entry.body.get("project_id").and_then(Value::as_str).map(str::to_owned);
    let projects: BTreeSet<String> = entries.iter().filter_map(own).collect();
    for entry in some(entries, "`resource.tools` row")? {
        let value = entry.body.get("target_subject");
        let text = value.and_then(Value::as_str).unwrap_or_default();
        // Where the form has the project: a tool or a target may be called as a project is.
        if text.split('.').nth(2).is_some_and(|token| projects.contains(token)) {
            return Err(about(entry, "the row's `target_subject` is expanded".to_owned())
                .expected("`{project_id}` and `{channel_id}` as they were uploaded")
                .actual(value)
                .at("/target_subject")
                .into());
        }
    }
    Ok(())
}

/// Every command travels on a subject of the usual form.
pub fn commands_have_form(entries: &[Entry]) -> Judgement {
    for entry in some(entries, "tool command")?.iter().filter(|entry| !entry.subject.is_empty()) {
        if !subject::is_tool_command(&entry.subject) {
            return Err(about(entry, "the subject has not the usual form of a tool command".to_owned())
                .expected("cg.<ver>.<project_id>.<channel_id>.cmd.tool.<target>…")
                .actual(Some(&Value::from(entry.subject.clone())))
                .into());
        }
    }
    Ok(())
}

/// Every command has the member.
pub fn commands_carry(entries: &[Entry], member: &str) -> Judgement {
    for entry in some(entries, "tool command")? {
        let value = entry.body.get(member);
        let there = match value {
            None | Some(Value::Null) => false,
            Some(Value::String(text)) => !text.trim().is_empty(),
            Some(_) => true,
        };
        if !there {
            return Err(about(entry, format!("the command has no `{member}`"))
                .expected("a value")
                .actual(value)
                .at(format!("/{member}"))
                .into());
        }
    }
    Ok(())
}

/// Every callback has the member.
pub fn callbacks_carry(entries: &[Entry], member: &str) -> Judgement {
    for entry in some(entries, "callback")? {
        let value = entry.body.get(member);
        if value.and_then(Value::as_str).is_none_or(|text| text.trim().is_empty()) {
            return Err(about(entry, format!("the callback has no `{member}`"))
                .expected("a value")
                .actual(value)
                .at(format!("/{member}"))
                .into());
        }
    }
    Ok(())
}

/// No payload says what its headers say since `v1r4`. `what` the messages are stands in findings.
pub fn hold_no_control_member(entries: &[Entry], what: &str) -> Judgement {
    for entry in some(entries, what)? {
        let found = CONTROL_MEMBERS.into_iter().find(|member| entry.body.get(*member).is_some());
        if let Some(member) = found {
            return Err(about(entry, format!("the payload of the {what} has the control member `{member}`"))
                .expected("no such member: headers say it")
                .actual(entry.body.get(member))
                .at(format!("/{member}"))
                .into());
        }
    }
    Ok(())
}

/// What else says what a header says.
pub enum Compared<'a> {
    /// Nothing.
    Nothing,
    /// That of these commands which is of the same call, where there is one.
    Commands(&'a [Entry]),
    /// The message's own subject.
    Subject,
}

impl<'a> Compared<'a> {
    /// The values of which a header must have one; empty where any will do.
    fn values(&self, entry: &'a Entry, (member, name): (&str, &str)) -> Vec<&'a str> {
        match self {
            Self::Nothing => Vec::new(),
            Self::Commands(commands) => sent_for(entry, name, commands),
            Self::Subject if !subject::is_tool_command(&entry.subject) => Vec::new(),
            Self::Subject => {
                entry.subject.split('.').nth(if member == "project_id" { 2 } else { 3 }).into_iter().collect()
            }
        }
    }
}

/// Every message has a member of its identity in the header that `v1r4` has for it, with the value that it is compared with.
pub fn name_in_header<'a>(
    entries: &'a [Entry],
    (what, member): (&str, &str),
    compared: &Compared<'a>,
) -> Judgement {
    let revision = Revision::V1r4;
    let name = revision.header(member).unwrap_or_default();
    // A callback that was captured on its own has no headers to be judged.
    let entries: Vec<&Entry> =
        entries.iter().filter(|entry| !entry.subject.is_empty() || !entry.headers.is_empty()).collect();
    if entries.is_empty() {
        return Err(CheckFailure::NotObserved(format!("the capture has no {what} with its headers")));
    }
    let mut is_seen = false;
    for entry in entries {
        let value = header(&entry.headers, name);
        let is_number = matches!(member, "turn_epoch" | "recursion_depth");
        let is_sound = |text: &str| {
            if is_number { number(text).is_some() } else { !text.trim().is_empty() }
        };
        let sent = compared.values(entry, (member, name));
        // A command need not have a step, and its report then has none to repeat.
        if value.is_none() && sent.is_empty() && member == "step_id" && what != "command" {
            continue;
        }
        is_seen = true;
        let expected = match (value, sent.first().copied()) {
            (Some(value), Some(_)) if sent.contains(&value) => continue,
            (Some(value), None) if is_sound(value) => continue,
            (_, Some(sent)) => sent,
            (_, None) if is_number => "a whole number of at least 0",
            (_, None) => "a value",
        };
        let message = if value.is_some_and(|value| !value.trim().is_empty()) {
            format!("the {what} names another `{member}` in `{name}` than it should")
        } else {
            format!("the {what} does not name its `{member}` in `{name}`")
        };
        return Err(about(entry, message)
            .expected(expected)
            .actual(value.map(Value::from).as_ref())
            .at(format!("header {name}"))
            .into());
    }
    if !is_seen {
        return Err(CheckFailure::NotObserved(format!(
            "no {what} of the capture has a `{member}`, nor has its command"
        )));
    }
    Ok(())
}

/// What the commands of a message's call have in a header: those of its turn, where there is one, since an id of a call may
/// be used again in another turn; else those of its agent that came before, since a capture may begin in mid-turn.
fn sent_for<'a>(entry: &Entry, name: &str, commands: &'a [Entry]) -> Vec<&'a str> {
    let of = |entry: &Entry, member: &str| {
        let name = Revision::V1r4.header(member)?;
        header(&entry.headers, name).map(str::to_owned)
    };
    let is_alike = |command: &Entry, member: &str| {
        of(entry, member).is_some() && of(command, member) == of(entry, member)
    };
    let of_call: Vec<&Entry> = commands.iter().filter(|command| is_alike(command, "tool_call_id")).collect();
    let of_turn: Vec<&Entry> =
        of_call.iter().copied().filter(|command| is_alike(command, "agent_turn_id")).collect();
    let is_before = |command: &&Entry| command.n < entry.n && is_alike(command, "agent_id");
    let own = if of_turn.is_empty() { of_call.into_iter().filter(is_before).collect() } else { of_turn };
    own.into_iter().filter_map(|command| header(&command.headers, name)).collect()
}

/// Every command is on a subject with this version.
pub fn commands_have_version(entries: &[Entry], version: &str) -> Judgement {
    for entry in some(entries, "tool command")?.iter().filter(|entry| !entry.subject.is_empty()) {
        if entry.subject.split('.').nth(1) != Some(version) {
            return Err(about(entry, "the subject has another version than the revision".to_owned())
                .expected(format!("cg.{version}.<project_id>.<channel_id>.cmd.tool.<target>…"))
                .actual(Some(&Value::from(entry.subject.clone())))
                .into());
        }
    }
    Ok(())
}

/// Every callback's after_execution is one of the two.
pub fn callbacks_name_after_execution(entries: &[Entry]) -> Judgement {
    for entry in some(entries, "callback")? {
        let value = entry.body.get("after_execution");
        if !is_one_of(value, &AFTER_EXECUTION) {
            return Err(about(
                entry,
                "the callback's `after_execution` is neither of the two values".to_owned(),
            )
            .expected(quoted(&AFTER_EXECUTION))
            .actual(value)
            .at("/after_execution")
            .into());
        }
    }
    Ok(())
}

/// The card that a callback points to, as it was when that was sent. Another project may have a card of the same id.
fn card_of<'a>(callback: &Entry, cards: &'a [Entry]) -> Option<&'a Entry> {
    let pointer = callback.body.get("tool_result_card_id")?;
    let project = subject::project(&callback.subject);
    let is_it = |card: &&Entry| {
        let own = card.body.get("project_id").and_then(Value::as_str).or(subject::project(&card.subject));
        card.body.get("card_id") == Some(pointer) && (project.is_none() || own.is_none() || own == project)
    };
    let mut before = cards.iter().filter(is_it).filter(|card| card.n < callback.n);
    before.next_back().or_else(|| cards.iter().find(is_it))
}

/// A call whose card says this status has a callback that says it too.
pub fn callbacks_keep_status(callbacks: &[Entry], cards: &[Entry], status: &str) -> Judgement {
    let says_so = |card: &Entry| is_one_of(card.body.pointer("/content/status"), &[status]);
    let pairs: Vec<(&Entry, Option<&Value>)> = callbacks
        .iter()
        .filter(|callback| {
            card_of(callback, cards).is_some_and(says_so) || is_one_of(callback.body.get("status"), &[status])
        })
        .map(|callback| (callback, callback.body.get("status")))
        .collect();
    if pairs.is_empty() {
        return Err(CheckFailure::NotObserved(format!("the capture has no call that ended as `{status}`")));
    }
    match pairs.iter().find(|(_, value)| !is_one_of(*value, &[status])) {
        None => Ok(()),
        Some((entry, value)) => {
            Err(about(entry, format!("a call that ended as `{status}` is called back otherwise"))
                .expected(status)
                .actual(*value)
                .at("/status")
                .into())
        }
    }
}

/// Members that senders added; extension is allowed, so this only reports.
pub fn extensions(entries: &[Entry], documented: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.body.as_object())
        .flat_map(|members| members.keys())
        .filter(|name| !documented.contains(&name.as_str()))
        .map(|name| crate::transcript::shorten_text(name))
        .collect();
    names.sort();
    names.dedup();
    names.truncate(20);
    names
}

/// Whether a value is exactly one of some strings.
fn is_one_of(value: Option<&Value>, values: &[&str]) -> bool {
    value.and_then(Value::as_str).is_some_and(|text| values.contains(&text))
}

fn row_expectation(member: &str) -> &'static str {
    match member {
        "parameters" => "a JSON Schema object",
        "options" => "an object, empty where there are none",
        "after_execution" => "`suspend` or `terminate`",
        _ => "a non-empty string",
    }
}

fn about(entry: &Entry, message: String) -> Finding {
    let hint = format!("look at captured message {} and correct the program that sent it", entry.n);
    let mut finding = Finding::new(message, hint);
    finding.frames.push(entry.n);
    finding
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::families::utp::capture::CapturedKind;

    fn entry(n: u32, kind: CapturedKind, subject: &str, body: Value) -> Entry {
        Entry { n, kind, subject: subject.to_owned(), headers: BTreeMap::new(), body }
    }

    #[test]
    fn a_callback_is_of_the_card_that_its_project_had_then() {
        let card = |n: u32, project: &str, status: &str| {
            let body = json!({"card_id": "c", "project_id": project, "content": {"status": status}});
            entry(n, CapturedKind::Card, "", body)
        };
        let called_back = |n: u32, project: &str, status: &str| {
            let body = json!({"tool_result_card_id": "c", "status": status});
            entry(n, CapturedKind::Callback, &format!("l0.v1.{project}.ch.report"), body)
        };
        let check = |cards: &[Entry], callback: Entry, status: &str, expect: bool| {
            let found = callbacks_keep_status(&[callback], cards, status).is_ok();
            assert_eq!(found, expect, "{cards:?}");
        };
        let of_two = [card(1, "prj_a", "failed"), card(2, "prj_b", "success")];
        check(&of_two, called_back(3, "prj_b", "success"), "success", true);
        check(&of_two, called_back(3, "prj_a", "success"), "failed", false);
        let twice = [card(1, "prj_a", "partial"), card(2, "prj_a", "success"), card(4, "prj_a", "failed")];
        check(&twice, called_back(3, "prj_a", "success"), "success", true);
        assert!(callbacks_keep_status(&[called_back(3, "prj_a", "success")], &twice, "partial").is_err());
        check(&twice, called_back(3, "prj_a", "failed"), "success", false);
    }

    #[test]
    fn a_report_is_compared_with_no_command_of_another_turn_that_came_later() {
        let sent = |n: u32, kind: CapturedKind, turn: &str, step: &str| {
            let names = ["CG-Agent-Id", "CG-Turn-Id", "CG-Step-Id", "CG-Tool-Call-Id"];
            let values = ["ag", turn, step, "call_0"];
            let headers =
                names.into_iter().zip(values).map(|(name, value)| (name.to_owned(), value.to_owned()));
            Entry { headers: headers.collect(), ..entry(n, kind, "l0.v1.prj.ch.report", json!({})) }
        };
        let check = |command: Entry, expect: bool| {
            let (report, commands) = (sent(5, CapturedKind::Callback, "turn_1", "step_1"), [command]);
            let compared = Compared::Commands(&commands);
            let judged = name_in_header(std::slice::from_ref(&report), ("callback", "step_id"), &compared);
            assert_eq!(judged.is_ok(), expect, "{commands:?}");
        };
        check(sent(4, CapturedKind::Command, "turn_1", "step_1"), true);
        check(sent(4, CapturedKind::Command, "turn_1", "step_2"), false);
        check(sent(4, CapturedKind::Command, "turn_2", "step_2"), false);
        check(sent(6, CapturedKind::Command, "turn_2", "step_2"), true);
    }

    #[test]
    fn reports_without_a_step_show_nothing_of_it() {
        let report = Entry {
            headers: BTreeMap::from([("CG-Tool-Call-Id".to_owned(), "call_0".to_owned())]),
            ..entry(1, CapturedKind::Callback, "l0.v1.prj.ch.report", json!({}))
        };
        let judged = name_in_header(&[report], ("callback", "step_id"), &Compared::Commands(&[]));
        assert!(matches!(judged, Err(CheckFailure::NotObserved(_))), "{judged:?}");
    }

    #[test]
    fn a_row_belongs_to_the_project_of_its_address() {
        let row = |subject: &str| entry(1, CapturedKind::Tool, subject, json!({"project_id": "prj_a"}));
        for (subject, expect) in [
            ("l0.v1.prj_a.tools.get", true),
            ("l0.v1.prj_b.tools.get", false),
            ("GET /projects/prj_a/tools/probe.echo.v2", true),
            ("GET http://127.0.0.1:80/projects/prj_b/tools", false),
            ("cdc.public.tools", true),
        ] {
            assert_eq!(rows_belong(&[row(subject)]).is_ok(), expect, "{subject}");
        }
    }
}
