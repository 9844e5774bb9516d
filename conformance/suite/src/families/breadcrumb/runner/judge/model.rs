//! Whether a language model's tool hands on what is asked and what is answered (Universal Tool Invocation L78-82, L142).

use serde_json::Value;

use super::tool::{is_number, output, wrong};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::manifest::LANGUAGE_MODELS;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::sent;
use crate::families::breadcrumb::runner::upstream::{Dialect, Speech};
use crate::transcript::{Frame, Kind};

/// `content` is the text of the reply.
pub fn has_content(call: &Call, answer: &Answer<'_>, speech: &Speech) -> Judgement {
    output(call, answer)?;
    let text = answer.at("/content").and_then(Value::as_str).map(str::trim);
    if text == Some(speech.text.as_str()) {
        return Ok(());
    }
    Err(wrong(answer, "/content", speech.text.as_str(), "the tool does not give the text of the reply"))
}

/// `model` is the one that replied.
pub fn has_model(frames: &[Frame], call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    let reply = frames.iter().rev().find(|frame| frame.kind == Kind::UpstreamReply);
    let model = reply.and_then(|frame| frame.text("/model")).ok_or_else(|| offline(call))?;
    if answer.at("/model").and_then(Value::as_str) == Some(model) {
        return Ok(());
    }
    Err(wrong(answer, "/model", model, "the tool does not name the model that replied"))
}

/// `usage.total_tokens` is what the provider counted.
pub fn has_tokens(call: &Call, answer: &Answer<'_>, speech: &Speech) -> Judgement {
    output(call, answer)?;
    #[expect(clippy::cast_precision_loss, reason = "counts of a few dozen")]
    let total = speech.total() as f64;
    if is_number(answer.at("/usage/total_tokens"), total) {
        return Ok(());
    }
    let what = "the tool does not give the tokens that the call took";
    Err(wrong(answer, "/usage/total_tokens", speech.total(), what))
}

/// `cost_estimate` is an amount, where it is there.
pub fn cost_is_an_amount(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    match answer.at("/cost_estimate") {
        None | Some(Value::Null) => Ok(()),
        Some(cost) if cost.as_f64().is_some_and(|cost| cost >= 0.0) => Ok(()),
        Some(_) => Err(wrong(
            answer,
            "/cost_estimate",
            "a number of US dollars, 0 or more",
            "the cost is no amount of dollars",
        )),
    }
}

/// `cost_estimate` is there.
pub fn has_cost(call: &Call, answer: &Answer<'_>) -> Judgement {
    output(call, answer)?;
    match answer.at("/cost_estimate") {
        None | Some(Value::Null) => Err(wrong(
            answer,
            "/cost_estimate",
            "an estimate in US dollars",
            "there is no estimate of the cost",
        )),
        Some(_) => Ok(()),
    }
}

/// The tool that was named asked its own provider, and brings what that said.
pub fn is_the_one(frames: &[Frame], call: &Call, answer: &Answer<'_>, speech: &Speech) -> Judgement {
    let output = output(call, answer)?;
    let requests = requests(frames, call);
    let is_asked = requests.iter().any(|frame| is_of(call.tool(), &frame.channel));
    let said = Value::from(speech.text.as_str()).to_string();
    if is_asked && output.to_string().contains(said.trim_matches('"')) {
        return Ok(());
    }
    let mut finding = Finding::new(
        format!("the answer is not the work of `{}`", call.tool()),
        "run the very tool that the request names",
    )
    .expected(format!("what the model behind `{}` says", call.tool()))
    .actual(Some(output))
    .frame(answer.frame);
    for frame in requests {
        finding = finding.frame(frame);
    }
    Err(finding.into())
}

/// Whether a request is one to the provider behind a tool. Where the runner leaves out the path that distinguishes the
/// providers, the dialect decides: only Ollama has its own.
fn is_of(tool: &str, channel: &str) -> bool {
    let host = |tool: &str| format!("/{}/", if tool == "ollama_local" { "ollama" } else { tool });
    let path =
        channel.split_once(' ').map_or(channel, |(_, path)| path).split('?').next().unwrap_or_default();
    if LANGUAGE_MODELS.iter().any(|tool| path.starts_with(&host(tool))) {
        return path.starts_with(&host(tool));
    }
    match Dialect::of(path.trim_end_matches('/')) {
        Some(Dialect::Chat | Dialect::Generate) => tool == "ollama_local",
        Some(Dialect::Completions) => true,
        None => false,
    }
}

/// All messages of the call reach the model, in their order.
pub fn hands_on(frames: &[Frame], call: &Call) -> Judgement {
    let requests = requests(frames, call);
    let Some(frame) = requests.first() else { return Err(offline(call)) };
    let sent = sent(call);
    let finding = |what: &str| {
        Finding::new(
            what.to_owned(),
            "hand all of `input.messages` on to the model, each with its role, in the order of the call",
        )
        .expected(call.input.as_ref().map(Value::to_string).unwrap_or_default())
        .actual(Some(&frame.body))
        .frame(frame)
    };
    let Some(arrived) = frame.member("/messages").and_then(Value::as_array) else {
        // A provider that takes one text has all messages in it.
        let text = frame.body.to_string();
        let is_there = |(_, content): &(String, String)| {
            text.contains(Value::from(content.as_str()).to_string().trim_matches('"'))
        };
        return if sent.iter().all(is_there) {
            Ok(())
        } else {
            Err(finding("a message of the call does not reach the model").into())
        };
    };
    // Where a message begins to be looked for. Messages of a role that follow each other may arrive as one: it has all of
    // them, in their order.
    let (mut first, mut offset) = (0, 0);
    for (role, content) in &sent {
        let place = |message: &Value, offset: usize| {
            // What a provider called `system`, some call `developer`.
            let is_role = |own: &str| own == role || (own == "developer" && role == "system");
            let is_of_role = message.get("role").and_then(Value::as_str).is_some_and(is_role);
            let text = is_of_role.then(|| text_of(message))?;
            Some(offset + text.get(offset..)?.find(content.as_str())? + content.len())
        };
        let mut rest = arrived.iter().enumerate().skip(first);
        let found = rest.find_map(|(number, message)| {
            Some((number, place(message, if number == first { offset } else { 0 })?))
        });
        if let Some(found) = found {
            (first, offset) = found;
        } else {
            let is_elsewhere = arrived.iter().any(|message| place(message, 0).is_some());
            return Err(finding(if is_elsewhere {
                "the messages of the call reach the model in another order"
            } else {
                "a message of the call does not reach the model as it was"
            })
            .into());
        }
    }
    Ok(())
}

/// No message of another call reaches the model together with those of this one.
pub fn hands_on_nothing_else(frames: &[Frame], call: &Call, calls: &[Call]) -> Judgement {
    let requests = requests(frames, call);
    if requests.is_empty() {
        return Err(offline(call));
    }
    for frame in requests {
        let said = frame.member("/messages").unwrap_or(&frame.body).to_string();
        let other = calls.iter().find(|other| other.id() != call.id() && said.contains(other.id()));
        if let Some(other) = other {
            return Err(Finding::new(
                "the model gets messages of another call as well",
                "hand on `input.messages` of the call alone, and keep none from one call to the next",
            )
            .expected(format!("no message of `{}`", other.id()))
            .actual(frame.member("/messages").or(Some(&frame.body)))
            .at("/messages")
            .frame(frame)
            .into());
        }
    }
    Ok(())
}

/// The text of a message: a string, or parts.
fn text_of(message: &Value) -> String {
    match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect()
        }
        _ => String::new(),
    }
}

/// The requests to a provider that hold the messages of a call.
pub fn requests<'a>(frames: &'a [Frame], call: &Call) -> Vec<&'a Frame> {
    let own = |frame: &&Frame| frame.kind == Kind::Upstream && frame.body.to_string().contains(call.id());
    frames.iter().filter(own).collect()
}

/// Nothing was asked of the provider.
pub fn offline(call: &Call) -> CheckFailure {
    let hint = match call.tool() {
        "ollama_local" => "ask the host at `CALLMARK_OLLAMA_URL`",
        "venice" => "ask the provider at `CALLMARK_VENICE_URL`",
        _ => "ask the provider at `CALLMARK_OPENROUTER_URL`",
    };
    Finding::new(format!("`{}` asks no model with the messages of the call", call.tool()), hint)
        .expected(call.id())
        .into()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;

    fn request(messages: &Value) -> Frame {
        Frame {
            n: 1,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::Upstream,
            channel: "POST /openrouter/api/v1/chat/completions".to_owned(),
            headers: BTreeMap::new(),
            body: json!({"messages": messages}),
        }
    }

    #[test]
    fn messages_of_another_call_are_seen() {
        let calls = ["c-1", "c-2"].map(|id| Call::new("openrouter", json!({}), id.to_owned()));
        let check = |arrived: Value, expect: bool| {
            let judged = hands_on_nothing_else(&[request(&arrived)], &calls[1], &calls);
            assert_eq!(judged.is_ok(), expect, "{arrived}");
        };
        check(json!([{"role": "system", "content": "Be brief"}, {"role": "user", "content": "b c-2"}]), true);
        check(json!([{"role": "user", "content": "a c-1"}, {"role": "user", "content": "b c-2"}]), false);
        check(json!([{"role": "user", "content": "a c-1"}]), false);
    }

    #[test]
    fn messages_may_be_joined_and_not_lost() {
        let said = |role: &str, content: &str| json!({"role": role, "content": content});
        let messages = json!([said("user", "a c-1"), said("user", "b c-1"), said("assistant", "c c-1")]);
        let call = Call::new("openrouter", json!({"messages": messages}), "c-1".to_owned());
        let check = |arrived: Value, expect: bool| {
            assert_eq!(hands_on(&[request(&arrived)], &call).is_ok(), expect, "{arrived}");
        };
        check(messages.clone(), true);
        check(json!([said("user", "a c-1\n\nb c-1"), said("assistant", "c c-1")]), true);
        check(json!([said("user", "b c-1\n\na c-1"), said("assistant", "c c-1")]), false);
        check(json!([said("user", "b c-1"), said("assistant", "c c-1")]), false);
        check(json!([said("user", "a c-1"), said("assistant", "c c-1")]), false);
        check(json!([said("user", "a c-1 b c-1 c c-1")]), false);
    }

    #[test]
    fn a_provider_is_known_by_its_path_or_else_by_its_dialect() {
        let check = |tool: &str, channel: &str, expect: bool| {
            assert_eq!(is_of(tool, channel), expect, "{tool}: {channel}");
        };
        check("openrouter", "POST /openrouter/api/v1/chat/completions", true);
        check("venice", "POST /openrouter/api/v1/chat/completions", false);
        check("ollama_local", "POST /ollama/api/chat", true);
        check("ollama_local", "POST /ollama/v1/chat/completions", true);
        check("ollama_local", "POST /api/chat", true);
        check("ollama_local", "POST /v1/chat/completions?timeout=9", true);
        check("openrouter", "POST /api/chat", false);
        check("venice", "POST /api/v1/chat/completions/", true);
        check("venice", "POST /api/v1/embeddings", false);
    }
}
