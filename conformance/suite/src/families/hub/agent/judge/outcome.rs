//! What the agent makes of an answer: a success with the result, or a failure that says what went wrong (Tool
//! Execution Contract L43-85). Meaning decides, never wording (resolution A31).

use serde_json::Value;

use super::words::{hides_failure, is_empty, means, parsed, says_failure};
use super::{CHAT, CallRecord, DRIVEN_BY, LOST};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::agent::mock::results;
use crate::families::hub::contract;
use crate::net::wire::STATUS;
use crate::transcript::{Frame, Kind};

/// What became of a call, as the agent reports it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reported<'a> {
    /// Nothing came.
    Missing,
    /// The hook or the chat failed; why.
    Lost(&'a str),
    /// Something that is no outcome.
    Other(&'a Value),
    /// The hook's answer.
    Hook {
        /// `ok`.
        ok: bool,
        /// `outcome`.
        outcome: &'a Value,
    },
    /// What the model reads.
    Chat(&'a Value),
}

impl<'a> Reported<'a> {
    /// What was reported of a call.
    pub fn of(call_record: &CallRecord<'a>) -> Self {
        let Some(frame) = call_record.own(Kind::Outcome).last() else { return Self::Missing };
        Self::in_frame(frame)
    }

    fn in_frame(frame: &'a Frame) -> Self {
        let header = |name: &str| frame.headers.get(name).map(String::as_str);
        if header(STATUS) == Some(LOST) {
            let why = frame.body.get("lost").unwrap_or(&frame.body);
            return Self::Lost(why.as_str().unwrap_or_default());
        }
        let outcome = frame.body.get("outcome");
        match (header(DRIVEN_BY) == Some(CHAT), frame.body.get("ok").and_then(Value::as_bool), outcome) {
            (true, _, Some(outcome)) => Self::Chat(outcome),
            (false, Some(ok), outcome) => Self::Hook { ok, outcome: outcome.unwrap_or(&Value::Null) },
            _ => Self::Other(&frame.body),
        }
    }

    /// Everything that it says, in lower case.
    fn text(&self) -> String {
        let mut all = String::new();
        match self {
            Self::Missing => {}
            Self::Lost(why) => all.push_str(why),
            Self::Other(value) | Self::Chat(value) | Self::Hook { outcome: value, .. } => {
                gather(value, &mut all);
            }
        }
        all.replace("\\/", "/").to_lowercase()
    }

    fn shown(&self) -> Value {
        match self {
            Self::Missing => Value::from("no outcome"),
            Self::Lost(why) => Value::from(format!("no outcome: {why}")),
            Self::Other(value) | Self::Chat(value) => Value::clone(value),
            Self::Hook { ok, outcome } => serde_json::json!({"ok": ok, "outcome": outcome}),
        }
    }
}

/// All text and numbers within a value.
fn gather(value: &Value, all: &mut String) {
    match value {
        Value::String(text) => all.push_str(text),
        Value::Array(items) => items.iter().for_each(|item| gather(item, all)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            all.push_str(name);
            all.push(' ');
            gather(member, all);
        }),
        plain => all.push_str(&plain.to_string()),
    }
    all.push('\n');
}

/// What the model or the user was sent, in lower case: the outcome and, in a chat, the reply.
fn reported_to_anyone(call_record: &CallRecord<'_>) -> String {
    let mut all = String::new();
    let reply = call_record
        .own(Kind::Outcome)
        .last()
        .filter(|_| is_chat(call_record))
        .and_then(|frame| frame.body.get("reply"));
    if let Some(reply) = reply {
        gather(reply, &mut all);
    }
    Reported::of(call_record).text() + &all.replace("\\/", "/").to_lowercase()
}

/// Whether the agent reports a call as failed without having asked the Hub.
pub fn is_refused_by_the_agent(call_record: &CallRecord<'_>) -> bool {
    call_record.executions().is_empty()
        && matches!(Reported::of(call_record), Reported::Hook { ok: false, .. } | Reported::Chat(_))
        && is_a_failure(call_record).is_ok()
}

/// Tools whose results the contract does not specify (resolution A12).
const WITHOUT_A_RESULT: [&str; 2] = ["calendar_update_event", "calendar_delete_event"];

/// Whether the outcome holds a text, anywhere.
pub fn holds(call_record: &CallRecord<'_>, text: &str) -> bool {
    Reported::of(call_record).text().contains(&text.to_lowercase())
}

/// The call succeeds. What a model reads has no flag for that: it holds the `mark` of the Hub's or the web's answer, or,
/// of a local tool, does not speak of a failure.
pub fn is_a_success(call_record: &CallRecord<'_>, mark: &str) -> Judgement {
    let reported = Reported::of(call_record);
    let hint = "do what the call asks for and report its outcome; if the agent has no such tool, or other inputs, say so in \
                the manifest";
    let succeeds = match &reported {
        Reported::Hook { ok, .. } => *ok,
        Reported::Chat(outcome) if WITHOUT_A_RESULT.contains(&call_record.tool()) => !says_failure(outcome),
        Reported::Chat(_)
            if call_record.own(Kind::HubResponse).chain(call_record.own(Kind::Web)).next().is_some() =>
        {
            reported.text().contains(&mark.to_lowercase())
        }
        Reported::Chat(outcome) => !says_failure(outcome),
        Reported::Missing | Reported::Lost(_) | Reported::Other(_) => {
            return Err(unreported(call_record, &reported).into());
        }
    };
    if succeeds {
        return Ok(());
    }
    Err(call_record
        .finding(format!("the agent's call of `{}` fails", call_record.tool()), hint)
        .expected("a success")
        .actual(Some(&reported.shown()))
        .into())
}

/// No outcome in a form that can be read.
fn unreported(call_record: &CallRecord<'_>, reported: &Reported<'_>) -> Finding {
    call_record.finding(
        format!("the agent does not report what became of its call of `{}`", call_record.tool()),
        "answer every call with `{\"ok\": true or false, \"outcome\": …}`; in a chat, bring the outcome to the model as the \
         tool's message",
    )
    .expected("the outcome of the call")
    .actual(Some(&reported.shown()))
}

/// The outcome holds what the Hub's result holds, and is not the envelope.
pub fn is_the_result(call_record: &CallRecord<'_>, mark: &str) -> Judgement {
    is_a_success(call_record, mark)?;
    let reported = Reported::of(call_record);
    if !reported.text().contains(&mark.to_lowercase()) {
        let sent = call_record.answers().last();
        let Some(sent) = sent else {
            return Err(CheckFailure::NotObserved(format!(
                "the Hub was not asked to execute `{}`",
                call_record.tool()
            )));
        };
        if !WITHOUT_A_RESULT.contains(&call_record.tool()) {
            return Err(call_record
                .finding(
                    "the outcome does not hold what the Hub's result holds",
                    "take the content of `result` as what the tool achieved",
                )
                .expected(sent.body.get("result").cloned().unwrap_or_default())
                .actual(Some(&reported.shown()))
                .into());
        }
    }
    let (Reported::Hook { outcome, .. } | Reported::Chat(outcome)) = reported else { return Ok(()) };
    if is_envelope(&parsed(outcome), mark) {
        return Err(call_record
            .finding(
                "the outcome is the Hub's whole answer, not its result",
                "unwrap the answer: `success`, `tool` and `metadata` are between agent and Hub",
            )
            .expected("the content of `result`")
            .actual(Some(&reported.shown()))
            .into());
    }
    Ok(())
}

/// Whether a value is the Hub's whole answer, as such or one level down, where the `mark` of the result stands nowhere
/// beside it. What an agent says by itself may have `success` and `result` too, but neither `tool` nor `metadata` beside
/// them.
fn is_envelope(value: &Value, mark: &str) -> bool {
    let is_one = |value: &Value| {
        let has = |name: &str| value.get(name).is_some();
        has("success") && has("result") && (has("tool") || has("metadata"))
    };
    let parts: Vec<&Value> = match value {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    let (whole, rest): (Vec<&Value>, Vec<&Value>) = parts.into_iter().partition(|part| is_one(&parsed(part)));
    let holds_the_mark = |part: &&Value| part.to_string().to_lowercase().contains(&mark.to_lowercase());
    is_one(value) || (!whole.is_empty() && !rest.iter().any(holds_the_mark))
}

/// The call fails, and nothing is made up in place of a result.
pub fn is_a_failure(call_record: &CallRecord<'_>) -> Judgement {
    let reported = Reported::of(call_record);
    let outcome = match &reported {
        Reported::Hook { ok: true, .. } => {
            return Err(call_record
                .finding(
                    format!(
                        "the agent reports success for a call of `{}` that the Hub did not execute",
                        call_record.tool()
                    ),
                    "take an answer with `success: false`, and one outside the contract, as a failed call",
                )
                .expected("a failure")
                .actual(Some(&reported.shown()))
                .into());
        }
        Reported::Hook { outcome, .. } | Reported::Chat(outcome) => *outcome,
        // A chat that ends in an error reports a failure, in its way.
        Reported::Lost(_) if is_chat(call_record) => return Ok(()),
        Reported::Missing | Reported::Lost(_) | Reported::Other(_) => {
            return Err(unreported(call_record, &reported).into());
        }
    };
    let outcome = parsed(outcome);
    let is_read_by_a_model = matches!(reported, Reported::Chat(_));
    if is_read_by_a_model && hides_failure(&outcome) {
        return Err(call_record
            .finding(
                format!("the model does not learn that the call of `{}` failed", call_record.tool()),
                "bring the failure to the model: the code, the message and the link of the error",
            )
            .expected("a failure")
            .actual(Some(&reported.shown()))
            .into());
    }
    // Where nothing else says that the call failed, an empty result is one too.
    if is_invented(call_record.tool(), &outcome, !is_read_by_a_model || says_failure(&outcome)) {
        return Err(call_record
            .finding(
                format!("the agent makes up a result of `{}`", call_record.tool()),
                "hand on the failure, and nothing that looks like a result",
            )
            .expected("a failure without a result")
            .actual(Some(&reported.shown()))
            .into());
    }
    Ok(())
}

fn is_chat(call_record: &CallRecord<'_>) -> bool {
    let mut outcomes = call_record.own(Kind::Outcome);
    outcomes.any(|frame| frame.headers.get(DRIVEN_BY).is_some_and(|by| by == CHAT))
}

/// Whether a value claims success, or has the members of the tool's result. Of what is reported as a failure, members
/// that hold nothing are none.
fn is_invented(tool: &str, outcome: &Value, is_a_failure: bool) -> bool {
    let claims = ["success", "ok"].into_iter().any(|name| outcome.get(name) == Some(&Value::Bool(true)));
    let has_the_members = |value: &Value| {
        let result = results::result(tool, "").unwrap_or_default();
        let names: Vec<&String> = result.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        let is_there = |name: &str, own: &Value| {
            let fails =
                name == "status" && own.as_str().is_some_and(|own| ["failed", "error"].contains(&own));
            if is_a_failure { !is_empty(own) && !fails } else { !own.is_null() && !fails }
        };
        !names.is_empty()
            && names.iter().all(|name| value.get(name.as_str()).is_some_and(|own| is_there(name, own)))
    };
    claims || has_the_members(outcome) || outcome.get("result").is_some_and(has_the_members)
}

/// A call whose every request the Hub answered with one of the six errors failed, and its outcome says with which.
pub fn reports_what_the_hub_answered(call_record: &CallRecord<'_>) -> Judgement {
    let code = |frame: &Frame| {
        let code = frame.text("/error/code")?;
        contract::status_of(code).map(|_| code.to_owned())
    };
    let executed: Vec<u32> = call_record.executions().iter().map(|frame| frame.n).collect();
    let answers: Option<Vec<String>> = call_record.answers().map(code).collect();
    match answers.as_deref() {
        Some([.., last]) if !executed.is_empty() => gives_reason(call_record, last),
        _ => Err(CheckFailure::NotObserved("the Hub answered something else than an error".to_owned())),
    }
}

/// The failure says what the Hub's error means. Where it does not, that is a warning.
pub fn gives_reason(call_record: &CallRecord<'_>, code: &str) -> Judgement {
    is_a_failure(call_record)?;
    let reported = Reported::of(call_record);
    if means(&reported_to_anyone(call_record), code) {
        return Ok(());
    }
    Err(call_record
        .finding(
            format!("the failure does not say what `{code}` means"),
            "pass the code, or the message of the error, on to the model or the user",
        )
        .expected(results::message(code))
        .actual(Some(&reported.shown()))
        .recommended("what an agent shows its user is not said (ambiguity A31)")
        .into())
}

/// An expired integration is reported as such, and not as a secret of the agent's own that is wrong.
pub fn blames_the_integration(call_record: &CallRecord<'_>) -> Judgement {
    let reported = Reported::of(call_record);
    if matches!(reported, Reported::Missing | Reported::Other(_))
        || (matches!(reported, Reported::Lost(_)) && !is_chat(call_record))
    {
        return Err(unreported(call_record, &reported).into());
    }
    let text = reported_to_anyone(call_record);
    let speaks = ["integration", "expired", "reconnect", "google", "calendar", "mailbox", "gmail"];
    if speaks.into_iter().any(|word| text.contains(word)) {
        return Ok(());
    }
    Err(call_record
        .finding(
            "an expired integration is not reported as one",
            "read the code of a 401: with `INTEGRATION_EXPIRED` the customer has to connect again, and the agent's secret \
             is fine",
        )
        .expected(results::message("INTEGRATION_EXPIRED"))
        .actual(Some(&reported.shown()))
        .into())
}

/// The link under which a customer connects the integration reaches the user.
pub fn passes_the_link_on(call_record: &CallRecord<'_>) -> Judgement {
    let reported = Reported::of(call_record);
    if reported_to_anyone(call_record).contains(results::SETUP_URL) {
        return Ok(());
    }
    Err(call_record
        .finding(
            "the link under which the integration is connected is not passed on",
            "show `error.details.setup_url` to the user",
        )
        .expected(results::SETUP_URL)
        .actual(Some(&reported.shown()))
        .into())
}

/// After a failure the agent makes the next call as ever.
pub fn still_works(call_record: &CallRecord<'_>, mark: &str) -> Judgement {
    let reported = Reported::of(call_record);
    let works = match &reported {
        Reported::Hook { ok, .. } => *ok && holds(call_record, mark),
        Reported::Chat(_) => holds(call_record, mark),
        Reported::Missing | Reported::Lost(_) | Reported::Other(_) => false,
    };
    if works {
        return Ok(());
    }
    Err(call_record
        .finding(
            "after a failed call the agent does not make the next one",
            "catch what goes wrong in a call, report it as that call's failure, and go on",
        )
        .expected("a success")
        .actual(Some(&reported.shown()))
        .into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_result_that_nobody_gave_is_invented() {
        let check = |outcome: Value, expect: bool| {
            assert_eq!(is_invented("email_send", &outcome, true), expect, "{outcome}");
        };
        check(json!({"message_id": "m", "thread_id": "t", "status": "sent"}), true);
        check(json!({"success": true}), true);
        check(json!({"result": {"message_id": "m", "thread_id": "t", "status": "sent"}}), true);
        check(json!({"code": "RATE_LIMITED", "status": 429}), false);
        check(json!("rate limited"), false);
        let empty = json!({"message_id": "", "thread_id": "", "status": "failed", "error": "rate limited"});
        check(empty, false);
        let free = json!({"busy_periods": [], "working_hours": {}});
        assert!(is_invented("calendar_get_availability", &free, false));
        assert!(!is_invented("calendar_get_availability", &free, true));
    }

    #[test]
    fn the_envelope_is_known_in_all_its_forms() {
        let check = |outcome: Value, expect: bool| {
            assert_eq!(is_envelope(&parsed(&outcome), "tok-1"), expect, "{outcome}");
        };
        let whole = results::success("email_send", &json!({"status": "sent"}));
        check(whole.clone(), true);
        check(Value::from(whole.to_string()), true);
        check(json!({"data": whole}), true);
        check(json!({"status": "ok", "data": whole}), true);
        check(json!([whole]), true);
        check(json!({"status": "ok", "data": whole.to_string()}), true);
        // Who keeps the answer beside its result has unwrapped it.
        check(json!({"message_id": "m_tok-1", "raw": whole}), false);
        check(json!({"success": true, "result": {}, "metadata": {}}), true);
        check(json!({"success": true, "result": {"status": "sent"}}), false);
        check(json!({"status": "sent", "metadata": {}}), false);
    }
}
