//! What the agent makes of an answer: a success with the result, or a failure that says what went wrong (Tool
//! Execution Contract L43-85). Meaning decides, never wording (resolution A31).

use serde_json::Value;

use super::Deed;
use crate::hub::agent::mock::results;
use crate::judge::{Finding, Judgement, Trouble};
use crate::transcript::{Frame, Kind, shorten};
use crate::wire::STATUS;

/// Header of an outcome that says how the agent was driven.
pub const DRIVEN_BY: &str = "driven-by";
/// Its value where the suite played the model.
pub const CHAT: &str = "chat";
/// In place of a status where no answer came.
pub const LOST: &str = "lost";

/// What became of a call, as the agent tells it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Told<'a> {
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

impl<'a> Told<'a> {
    /// What was told of a call.
    pub fn of(deed: &Deed<'a>) -> Self {
        let Some(frame) = deed.own(Kind::Outcome).last() else { return Self::Missing };
        Self::in_frame(frame)
    }

    fn in_frame(frame: &'a Frame) -> Self {
        let header = |name: &str| frame.headers.get(name).map(String::as_str);
        if header(STATUS) == Some(LOST) {
            return Self::Lost(frame.body.as_str().unwrap_or_default());
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
            Self::Other(value) | Self::Chat(value) => shorten(value),
            Self::Hook { ok, outcome } => serde_json::json!({"ok": ok, "outcome": shorten(outcome)}),
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

/// Whether the outcome holds a text, anywhere.
pub fn holds(deed: &Deed<'_>, text: &str) -> bool {
    Told::of(deed).text().contains(&text.to_lowercase())
}

/// The call succeeds. What a model reads has no flag for that: it holds the `mark` of the Hub's or the web's answer, or,
/// of a local tool, does not speak of a failure.
pub fn is_a_success(deed: &Deed<'_>, mark: &str) -> Judgement {
    let told = Told::of(deed);
    let hint = "do what the call asks for and tell its outcome; if the agent has no such tool, or other inputs, say so in \
                the manifest";
    let succeeds = match &told {
        Told::Hook { ok, .. } => *ok,
        Told::Chat(_) if deed.own(Kind::HubResponse).chain(deed.own(Kind::Web)).next().is_some() => {
            told.text().contains(&mark.to_lowercase())
        }
        Told::Chat(outcome) => !says_failure(outcome),
        Told::Missing | Told::Lost(_) | Told::Other(_) => return Err(untold(deed, &told).into()),
    };
    if succeeds {
        return Ok(());
    }
    Err(deed
        .finding(format!("the agent's call of `{}` fails", deed.tool()), hint)
        .expected("a success")
        .actual(Some(&told.shown()))
        .into())
}

/// No outcome in a form that can be read.
fn untold(deed: &Deed<'_>, told: &Told<'_>) -> Finding {
    deed.finding(
        format!("the agent does not tell what became of its call of `{}`", deed.tool()),
        "answer every call with `{\"ok\": true or false, \"outcome\": …}`; in a chat, bring the outcome to the model as the \
         tool's message",
    )
    .expected("the outcome of the call")
    .actual(Some(&told.shown()))
}

/// Words of which one stands in a sentence on a failure.
const FAILURES: [&str; 7] = ["error", "fail", "unknown", "not found", "unavailable", "refused", "no such"];

/// Whether what a model reads says by itself that the call failed.
fn says_failure(outcome: &Value) -> bool {
    let outcome = &parsed(outcome);
    if let Some(text) = outcome.as_str() {
        let text = text.to_lowercase();
        return FAILURES.into_iter().any(|word| text.contains(word));
    }
    let denies = |name: &str| outcome.get(name) == Some(&Value::Bool(false));
    let raises = |name: &str| outcome.get(name).is_some_and(|member| !member.is_null() && member != false);
    denies("success") || denies("ok") || ["error", "is_error"].into_iter().any(raises)
}

/// JSON within a text, else the value.
fn parsed(value: &Value) -> Value {
    value.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_else(|| value.clone())
}

/// The outcome holds what the Hub's result holds, and is not the envelope.
pub fn is_the_result(deed: &Deed<'_>, mark: &str) -> Judgement {
    is_a_success(deed, mark)?;
    let told = Told::of(deed);
    if !told.text().contains(&mark.to_lowercase()) {
        let sent = deed.own(Kind::HubResponse).last();
        let Some(sent) = sent else {
            return Err(Trouble::NotObserved(format!("the Hub was not asked to execute `{}`", deed.tool())));
        };
        return Err(deed
            .finding(
                "the outcome does not hold what the Hub's result holds",
                "take the content of `result` as what the tool achieved",
            )
            .expected(sent.body.get("result").cloned().unwrap_or_default())
            .actual(Some(&told.shown()))
            .into());
    }
    let Told::Hook { outcome, .. } = told else { return Ok(()) };
    if ["success", "tool", "result"].into_iter().all(|name| outcome.get(name).is_some()) {
        return Err(deed
            .finding(
                "the outcome is the Hub's whole answer, not its result",
                "unwrap the answer: `success`, `tool` and `metadata` are between agent and Hub",
            )
            .expected("the content of `result`")
            .actual(Some(&told.shown()))
            .into());
    }
    Ok(())
}

/// The call fails, and nothing is made up in place of a result.
pub fn is_a_failure(deed: &Deed<'_>) -> Judgement {
    let told = Told::of(deed);
    let outcome = match &told {
        Told::Hook { ok: true, .. } => {
            return Err(deed
                .finding(
                    format!(
                        "the agent reports success for a call of `{}` that the Hub did not execute",
                        deed.tool()
                    ),
                    "take an answer with `success: false`, and one outside the contract, as a failed call",
                )
                .expected("a failure")
                .actual(Some(&told.shown()))
                .into());
        }
        Told::Hook { outcome, .. } | Told::Chat(outcome) => *outcome,
        // A chat that ends in an error tells of a failure, in its way.
        Told::Lost(_) if is_chat(deed) => return Ok(()),
        Told::Missing | Told::Lost(_) | Told::Other(_) => return Err(untold(deed, &told).into()),
    };
    if is_invented(deed.tool(), &parsed(outcome)) {
        return Err(deed
            .finding(
                format!("the agent makes up a result of `{}`", deed.tool()),
                "hand on the failure, and nothing that looks like a result",
            )
            .expected("a failure without a result")
            .actual(Some(&told.shown()))
            .into());
    }
    Ok(())
}

fn is_chat(deed: &Deed<'_>) -> bool {
    let mut outcomes = deed.own(Kind::Outcome);
    outcomes.any(|frame| frame.headers.get(DRIVEN_BY).is_some_and(|by| by == CHAT))
}

/// Whether a value claims success, or has the members of the tool's result.
fn is_invented(tool: &str, outcome: &Value) -> bool {
    let claims = ["success", "ok"].into_iter().any(|name| outcome.get(name) == Some(&Value::Bool(true)));
    let has_the_members = |value: &Value| {
        let result = results::result(tool, "").unwrap_or_default();
        let names: Vec<&String> = result.as_object().into_iter().flatten().map(|(name, _)| name).collect();
        !names.is_empty()
            && names.iter().all(|name| value.get(name.as_str()).is_some_and(|own| !own.is_null()))
    };
    claims || has_the_members(outcome) || outcome.get("result").is_some_and(has_the_members)
}

/// Words that carry no meaning of their own.
const SHORT: usize = 4;

/// The failure tells what the Hub's error means. Where it does not, that is a warning.
pub fn tells_why(deed: &Deed<'_>, code: &str) -> Judgement {
    is_a_failure(deed)?;
    let told = Told::of(deed);
    if means(&told.text(), code) {
        return Ok(());
    }
    Err(deed
        .finding(
            format!("the failure does not tell what `{code}` means"),
            "pass the code, or the message of the error, on to the model or the user",
        )
        .expected(results::message(code))
        .actual(Some(&told.shown()))
        .recommended()
        .into())
}

/// The code, its words, half of the message's words, or the link.
fn means(text: &str, code: &str) -> bool {
    let code = code.to_lowercase();
    let has_words = code.split('_').filter(|word| word.len() >= SHORT).all(|word| text.contains(word));
    let message = results::message(&code.to_uppercase()).to_lowercase();
    let words: Vec<&str> =
        message.split(|letter: char| !letter.is_alphanumeric()).filter(|word| word.len() > SHORT).collect();
    let said = words.iter().filter(|word| text.contains(**word)).count();
    text.contains(&code)
        || has_words
        || said * 2 >= words.len()
        || (code == "integration_not_connected" && text.contains(results::SETUP_URL))
}

/// An expired integration is told as such, and not as a secret of the agent's own that is wrong.
pub fn blames_the_integration(deed: &Deed<'_>) -> Judgement {
    let told = Told::of(deed);
    if matches!(told, Told::Missing | Told::Other(_)) || (matches!(told, Told::Lost(_)) && !is_chat(deed)) {
        return Err(untold(deed, &told).into());
    }
    let text = told.text();
    let speaks = ["integration", "expired", "reconnect", "google", "calendar", "mailbox", "gmail"];
    if speaks.into_iter().any(|word| text.contains(word)) {
        return Ok(());
    }
    Err(deed
        .finding(
            "an expired integration is not told as one",
            "read the code of a 401: with `INTEGRATION_EXPIRED` the customer has to connect again, and the agent's secret \
             is fine",
        )
        .expected(results::message("INTEGRATION_EXPIRED"))
        .actual(Some(&told.shown()))
        .into())
}

/// The link under which a customer connects the integration reaches the user.
pub fn passes_the_link_on(deed: &Deed<'_>) -> Judgement {
    let told = Told::of(deed);
    if told.text().contains(results::SETUP_URL) {
        return Ok(());
    }
    Err(deed
        .finding(
            "the link under which the integration is connected is not passed on",
            "show `error.details.setup_url` to the user",
        )
        .expected(results::SETUP_URL)
        .actual(Some(&told.shown()))
        .into())
}

/// After a failure the agent makes the next call as ever.
pub fn still_works(deed: &Deed<'_>, mark: &str) -> Judgement {
    let told = Told::of(deed);
    let works = match &told {
        Told::Hook { ok, .. } => *ok && holds(deed, mark),
        Told::Chat(_) => holds(deed, mark),
        Told::Missing | Told::Lost(_) | Told::Other(_) => false,
    };
    if works {
        return Ok(());
    }
    Err(deed
        .finding(
            "after a failed call the agent does not make the next one",
            "catch what goes wrong in a call, tell it as that call's failure, and go on",
        )
        .expected("a success")
        .actual(Some(&told.shown()))
        .into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hub::contract;

    #[test]
    fn a_code_and_a_message_both_carry_the_meaning() {
        for (code, _) in contract::CODES {
            assert!(means(&code.to_lowercase(), code), "{code}");
            assert!(means(&results::message(code).to_lowercase(), code), "{code}");
            assert!(!means("something went wrong", code), "{code}");
        }
        assert!(means("you were rate-limited", "RATE_LIMITED"));
    }

    #[test]
    fn a_result_that_nobody_gave_is_invented() {
        let check = |outcome: Value, expect: bool| {
            assert_eq!(is_invented("email_send", &outcome), expect, "{outcome}");
        };
        check(json!({"message_id": "m", "thread_id": "t", "status": "sent"}), true);
        check(json!({"success": true}), true);
        check(json!({"result": {"message_id": "m", "thread_id": "t", "status": "sent"}}), true);
        check(json!({"code": "RATE_LIMITED", "status": 429}), false);
        check(json!("rate limited"), false);
    }
}
