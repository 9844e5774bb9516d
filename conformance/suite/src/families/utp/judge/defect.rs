//! What is wrong with a command that is not to be carried out, so that a finding names the part to look at.

use serde_json::Value;

use super::callback::AFTER_EXECUTION;
use super::inline_arguments::INLINE;
use crate::families::utp::call::Call;
use crate::families::utp::revision::Revision;

/// What a command is not carried out without (UTP §4.1, Guide §1).
const NEEDED: [&str; 7] = [
    "agent_id",
    "agent_turn_id",
    "tool_call_id",
    "turn_epoch",
    "tool_call_card_id",
    "after_execution",
    "tool_name",
];

/// What is wrong, as the end of "although …", and what to do about it; nothing where it is not the command itself.
pub(super) fn of_command(call: &Call) -> Option<(String, String)> {
    missing(call).or_else(|| misaddressed(call)).or_else(|| no_number(call)).or_else(|| unexpected(call))
}

/// A member as the command's revision has it.
fn name(call: &Call, member: &str) -> String {
    match call.revision.header(member) {
        Some(header) => format!("header `{header}`"),
        None => format!("`{member}`"),
    }
}

/// Its value there, unless it is null.
fn value(call: &Call, member: &str) -> Option<Value> {
    call.revision.repeated(member, call.command.get(member)).filter(|value| !value.is_null())
}

fn missing(call: &Call) -> Option<(String, String)> {
    let is_missing = |member: &&str| value(call, member).is_none_or(|value| value == "");
    // Without an epoch a command of v1r4 may be carried out.
    let may_lack = |member: &&str| call.revision == Revision::V1r4 && *member == "turn_epoch";
    let member = NEEDED.into_iter().filter(|member| !may_lack(member)).find(is_missing)?;
    let name = name(call, member);
    let state = if value(call, member).is_none() { "missing" } else { "empty" };
    let elsewhere = match call.revision.header(member) {
        Some(_) => "no member of the payload makes up for it",
        None => "nothing else makes up for it",
    };
    let hint = format!("refuse a command without its {name} before anything else: {elsewhere}");
    Some((format!("the command's {name} is {state}"), hint))
}

fn misaddressed(call: &Call) -> Option<(String, String)> {
    let mut tokens = call.subject.split('.').skip(2);
    let wrong = |member: &str, token: Option<&str>| {
        let (header, own) = (call.revision.header(member)?, value(call, member)?);
        (own.as_str() != token).then(|| {
            let token = token.unwrap_or_default();
            let hint = format!(
                "compare `{header}` with the subject on which the command came, letter for letter, before anything else"
            );
            (format!("the command's header `{header}` is {own}, and its subject says \"{token}\""), hint)
        })
    };
    let (project, channel) = (tokens.next(), tokens.next());
    wrong("project_id", project).or_else(|| wrong("channel_id", channel))
}

fn no_number(call: &Call) -> Option<(String, String)> {
    ["turn_epoch", "recursion_depth"].into_iter().find_map(|member| {
        let (header, own) = (call.revision.header(member)?, value(call, member)?);
        let is_number = own
            .as_str()
            .is_some_and(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
        (!is_number).then(|| {
            let hint = format!(
                "read `{header}` as decimal digits alone, and refuse a command with anything else there"
            );
            (format!("the command's header `{header}` is {own}"), hint)
        })
    })
}

fn unexpected(call: &Call) -> Option<(String, String)> {
    if let Some(member) = call.misplaced.keys().next() {
        let hint = format!("refuse a command with `{member}` in its payload: its headers say that");
        return Some((format!("the command's payload has the control member `{member}`"), hint));
    }
    if let Some(member) = INLINE.into_iter().find(|member| call.command.contains_key(*member)) {
        let hint = format!(
            "refuse a command with `{member}` in its payload: arguments stand in the tool.call card alone"
        );
        return Some((format!("the command carries `{member}` inline"), hint));
    }
    let own = call.command.get("after_execution")?;
    (!own.as_str().is_some_and(|text| AFTER_EXECUTION.contains(&text))).then(|| {
        let hint = "refuse a command whose `after_execution` is neither `suspend` nor `terminate`".to_owned();
        (format!("the command's `after_execution` is {own}"), hint)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::utp::judge::example;
    use crate::families::utp::tool::Tool;

    fn check(revision: Revision, change: impl Fn(&mut Call), expected: Option<&str>) {
        let mut call = example::call(revision, Tool::Echo, 1);
        change(&mut call);
        assert_eq!(of_command(&call).map(|(reason, _)| reason).as_deref(), expected);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value() {
        use Revision::{V1r3, V1r4};
        for revision in Revision::ALL {
            check(revision, |_| (), None);
            check(revision, |call| call.remove("tool_name"), Some("the command's `tool_name` is missing"));
        }
        check(V1r3, |call| call.set("agent_id", json!("")), Some("the command's `agent_id` is empty"));
        check(V1r4, |call| call.remove("agent_id"), Some("the command's header `CG-Agent-Id` is missing"));
        check(V1r4, |call| call.remove("turn_epoch"), None);
        let epoch = |call: &mut Call| call.set("turn_epoch", json!("0x6"));
        check(V1r4, epoch, Some("the command's header `CG-Turn-Epoch` is \"0x6\""));
        check(V1r3, epoch, None);
        let elsewhere = "the command's header `CG-Channel-Id` is \"PUBLIC\", and its subject says \"public\"";
        check(V1r4, |call| call.set("channel_id", json!("PUBLIC")), Some(elsewhere));
        let member = |call: &mut Call| drop(call.misplaced.insert("agent_id".to_owned(), json!("ag_pilot")));
        check(V1r4, member, Some("the command's payload has the control member `agent_id`"));
        check(V1r3, |call| call.set("args", json!({})), Some("the command carries `args` inline"));
    }
}
