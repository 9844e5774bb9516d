//! Whether a tool takes its configuration from where `config_id` points (Universal Tool Invocation L43-44).

use serde_json::Value;

use super::model::{offline, requests};
use super::tool::is_number;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures::Config;
use crate::transcript::Frame;

/// What is known of the configurations of a scenario.
pub struct Known<'a> {
    /// All that the scenario stored, what only looks like one included.
    pub configs: &'a [Config],
    /// The keys of the run.
    pub keys: &'a [String],
    /// Where the custom setting shows.
    pub pointer: &'a str,
}

impl Known<'_> {
    fn of(&self, call: &Call) -> Option<&Config> {
        self.configs.iter().find(|config| call.config_id.as_ref() == Some(&config.id))
    }

    /// Which keys stand in a request.
    fn keys_in(&self, frame: &Frame) -> Vec<usize> {
        let body = frame.body.to_string();
        let is_in = |key: &str| {
            let texts = frame.headers.values().chain([&frame.channel, &body]);
            texts.into_iter().any(|text| text.contains(key))
        };
        (0..self.keys.len()).filter(|key| is_in(&self.keys[*key])).collect()
    }
}

/// The provider gets the key of the configuration, and no other.
pub fn has_key(frames: &[Frame], call: &Call, known: &Known<'_>) -> Judgement {
    let requests = requests(frames, call);
    let (Some(config), Some(first)) = (known.of(call), requests.first()) else { return Err(offline(call)) };
    match requests.iter().find(|frame| known.keys_in(frame) != [config.key]) {
        None => Ok(()),
        Some(frame) => {
            let found = known.keys_in(frame);
            let actual = if found.is_empty() { "none of the configured keys" } else { "the key of another" };
            Err(Finding::new(
                "the provider does not get the key of the configuration that the call names",
                "take the key from the `tool.config.v1` to which `config_id` points, for this call and no other",
            )
            .expected("the key of the configuration")
            .actual(Some(&Value::from(actual)))
            .at("/config_id")
            .frame(first)
            .into())
        }
    }
}

/// The provider is asked for the model of the configuration.
pub fn has_model(frames: &[Frame], call: &Call, known: &Known<'_>) -> Judgement {
    let requests = requests(frames, call);
    let Some(config) = known.of(call) else { return Err(offline(call)) };
    let answer = Answer::of(frames, call);
    let reported = answer.and_then(|answer| answer.at("/model")).and_then(Value::as_str);
    let is_asked_for = |frame: &&Frame| frame.text("/model") == Some(&config.model);
    let is_right =
        if requests.is_empty() { reported == Some(&config.model) } else { requests.iter().all(is_asked_for) };
    if is_right {
        return Ok(());
    }
    let mut finding = Finding::new(
        "the model is not that of the configuration that the call names",
        "where the input names no model, take it from the `tool.config.v1` to which `config_id` points",
    )
    .expected(config.model.as_str())
    .at("/model");
    if let Some(frame) = requests.first() {
        finding = finding.actual(frame.member("/model")).frame(frame);
    }
    Err(finding.into())
}

/// The provider gets the custom setting.
pub fn has_custom(frames: &[Frame], call: &Call, known: &Known<'_>) -> Judgement {
    let requests = requests(frames, call);
    let (Some(config), Some(frame)) = (known.of(call), requests.first()) else { return Err(offline(call)) };
    // Providers know the same setting by several names.
    let usual = ["/max_completion_tokens", "/max_tokens", "/options/num_predict"];
    let pointers = std::iter::once(known.pointer).chain(usual);
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let wanted = config.custom as f64;
    let is_it = |value: Option<&Value>| {
        is_number(value, wanted) || value.and_then(Value::as_str) == Some(config.custom.to_string().as_str())
    };
    if pointers.into_iter().any(|pointer| is_it(frame.member(pointer))) {
        return Ok(());
    }
    Err(Finding::new(
        "the tool's own setting of the configuration does not reach the provider",
        "take all settings of the tool from the `tool.config.v1` to which `config_id` points; where it \
         shows elsewhere, say so with `custom_pointer` of `[breadcrumb.tools.config]`",
    )
    .expected(config.custom)
    .actual(Some(&frame.body))
    .at(known.pointer)
    .frame(frame)
    .into())
}

/// A call that names no configuration runs with nothing of any.
pub fn has_nothing_of_others(frames: &[Frame], call: &Call, known: &Known<'_>) -> Judgement {
    for frame in requests(frames, call) {
        let model = frame.text("/model").unwrap_or_default();
        let is_others = known.configs.iter().any(|config| config.model == model);
        if !known.keys_in(frame).is_empty() || is_others {
            return Err(Finding::new(
                "a call whose `config_id` leads to no configuration runs with the values of another",
                "answer such a call with an error, or run it with the tool's own defaults",
            )
            .expected("no key and no model of a configuration")
            .actual(frame.member("/model"))
            .at("/model")
            .frame(frame)
            .into());
        }
    }
    Ok(())
}

/// The call before it ran with the configuration that it named; without that nothing can be concluded.
pub fn has_been_seen(frames: &[Frame], call: &Call, known: &Known<'_>) -> Judgement {
    has_key(frames, call, known).or_else(|_| has_model(frames, call, known)).map_err(|_| {
        CheckFailure::NotObserved("no configuration was seen to reach the provider on this path".to_owned())
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::runner::fixtures::CUSTOM;
    use crate::transcript::Kind;

    #[test]
    fn one_pointer_does_for_providers_that_have_the_setting_in_different_places() {
        let check = |tool: &str, pointer: &str, body: Value, expect: bool| {
            let mut body = body;
            body["messages"] = json!([{"role": "user", "content": "colour? (c-1)"}]);
            let channel = format!("POST /{tool}/api/chat");
            let frame = Frame {
                n: 1,
                at_us: 0,
                direction: Direction::FromTarget,
                kind: Kind::Upstream,
                channel,
                headers: BTreeMap::new(),
                body,
            };
            let config = Config { id: "cfg".to_owned(), key: 0, model: "m".to_owned(), custom: CUSTOM };
            let known = Known { configs: &[config], keys: &[], pointer };
            let call =
                Call { config_id: Some("cfg".to_owned()), ..Call::new(tool, json!({}), "c-1".to_owned()) };
            let holds = has_custom(std::slice::from_ref(&frame), &call, &known).is_ok();
            assert_eq!(holds, expect, "{tool} {pointer} {}", frame.body);
        };
        let (of_chat, of_ollama) =
            (json!({"max_tokens": CUSTOM}), json!({"options": {"num_predict": CUSTOM}}));
        for pointer in ["/max_tokens", "/options/num_predict", "/settings/limit"] {
            check("openrouter", pointer, of_chat.clone(), true);
            check("ollama_local", pointer, of_ollama.clone(), true);
            check("venice", pointer, json!({"max_completion_tokens": CUSTOM.to_string()}), true);
            check("openrouter", pointer, json!({"max_tokens": CUSTOM + 1}), false);
            check("ollama_local", pointer, json!({}), false);
        }
        check("venice", "/settings/limit", json!({"settings": {"limit": CUSTOM}}), true);
    }
}
