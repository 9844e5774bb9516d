//! What a provider is asked: the messages as they came, and the settings under the provider's names.

use serde_json::{Map, Value, json};

use super::provider::Provider;
use crate::breadcrumb::tool::{ToolCall, ToolFailure};

/// A setting by its three names. A call says it by the second; a configuration by the first or the second.
struct Setting {
    camel: &'static str,
    openai: &'static str,
    ollama: Option<&'static str>,
}

const fn setting(camel: &'static str, openai: &'static str, ollama: Option<&'static str>) -> Setting {
    Setting { camel, openai, ollama }
}

/// The settings that are passed on. What else a configuration holds is not for the provider.
const SETTINGS: &[Setting] = &[
    setting("temperature", "temperature", Some("temperature")),
    setting("maxTokens", "max_tokens", Some("num_predict")),
    setting("topP", "top_p", Some("top_p")),
    setting("topK", "top_k", Some("top_k")),
    setting("seed", "seed", Some("seed")),
    setting("stop", "stop", Some("stop")),
    setting("frequencyPenalty", "frequency_penalty", Some("frequency_penalty")),
    setting("presencePenalty", "presence_penalty", Some("presence_penalty")),
    setting("responseFormat", "response_format", None),
];

/// The model that is asked.
pub(super) fn model(call: &ToolCall, provider: Provider) -> String {
    let said = call.input.get("model").and_then(Value::as_str);
    let configured = call.config.as_ref().and_then(|config| config.model.as_deref());
    said.or(configured).filter(|name| !name.is_empty()).unwrap_or(provider.default_model()).to_owned()
}

/// The body of the request.
pub(super) fn body(call: &ToolCall, provider: Provider, model: &str) -> Result<Value, ToolFailure> {
    // The runner has checked it against the schema; a workflow's step may not have been.
    let messages = call
        .input
        .get("messages")
        .filter(|messages| messages.as_array().is_some_and(|messages| !messages.is_empty()))
        .ok_or_else(|| ToolFailure::new("`messages` must be an array with at least one message"))?;
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    let mut options = Map::new();
    for setting in SETTINGS {
        let name = match provider {
            Provider::OpenRouter | Provider::Venice => Some(setting.openai),
            Provider::Ollama => setting.ollama,
        };
        if let (Some(name), Some(value)) = (name, value(call, setting)) {
            options.insert(name.to_owned(), value.clone());
        }
    }
    match provider {
        Provider::OpenRouter | Provider::Venice => {
            for (name, value) in options {
                body[name] = value;
            }
            if provider == Provider::OpenRouter {
                // OpenRouter says what an answer cost when it is asked to.
                body["usage"] = json!({"include": true});
            }
        }
        Provider::Ollama if options.is_empty() => {}
        Provider::Ollama => body["options"] = Value::Object(options),
    }
    Ok(body)
}

fn value<'a>(call: &'a ToolCall, setting: &Setting) -> Option<&'a Value> {
    let settings = call.config.as_ref().map(|config| &config.settings);
    let configured = |name| settings.and_then(|settings| settings.get(name));
    call.input
        .get(setting.openai)
        .filter(|value| !value.is_null())
        .or_else(|| configured(setting.camel).filter(|value| !value.is_null()))
        .or_else(|| configured(setting.openai).filter(|value| !value.is_null()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Provider, body, model};
    use crate::breadcrumb::tool::{ToolCall, ToolConfig};

    fn check(provider: Provider, input: &Value, settings: &Value, expect: &Value) {
        let config = ToolConfig {
            model: Some("m-configured".to_owned()),
            settings: settings.as_object().expect("an object").clone(),
            ..ToolConfig::default()
        };
        let mut input = input.as_object().expect("an object").clone();
        input.insert("messages".to_owned(), json!([{"role": "user", "content": "hej"}]));
        let call = ToolCall::new(input).with_config(Some(config));
        let mut asked = body(&call, provider, &model(&call, provider)).expect("a body");
        let members = asked.as_object_mut().expect("an object");
        assert_eq!(members.remove("messages"), Some(json!([{"role": "user", "content": "hej"}])));
        assert_eq!(members.remove("stream"), Some(json!(false)));
        assert_eq!(&asked, expect);
    }

    #[test]
    fn the_call_comes_before_its_configuration() {
        let settings = json!({"temperature": 0.2, "maxTokens": 17, "topP": 0.5, "colour": "red"});
        check(
            Provider::Venice,
            &json!({"model": "m-said", "temperature": 0.9, "max_tokens": null}),
            &settings,
            &json!({"model": "m-said", "temperature": 0.9, "max_tokens": 17, "top_p": 0.5}),
        );
        check(
            Provider::Ollama,
            &json!({"max_tokens": 5}),
            &settings,
            &json!({"model": "m-configured",
                    "options": {"temperature": 0.2, "num_predict": 5, "top_p": 0.5}}),
        );
        check(
            Provider::OpenRouter,
            &json!({}),
            &json!({"max_tokens": 3}),
            &json!({"model": "m-configured", "max_tokens": 3, "usage": {"include": true}}),
        );
        check(Provider::Ollama, &json!({}), &json!({}), &json!({"model": "m-configured"}));
    }

    #[test]
    fn there_are_messages_and_a_model() {
        let call = ToolCall::default();
        assert_eq!(model(&call, Provider::Ollama), "llama3.2");
        assert!(body(&call, Provider::Ollama, "m").is_err());
    }
}
