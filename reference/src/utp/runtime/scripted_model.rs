//! A scripted model: an OpenAI-compatible server with a small script, for use where there is no model.
//!
//! It calls the offered tool that fits the words of the user best, and hands over what the tool said.
//! Deterministic: the same conversation gets the same answer, ids of calls included.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::offer::SUBMIT_RESULT;
use crate::log::{Log, no_log};
use crate::utp::error::ReferenceError;
use crate::utp::serving::{Body, Denial, body_bytes, ended, guarded, json_body, listen};

/// The tool that is called when none fits.
const FAVOURITE: &str = "tide_table";

const REQUEST_DEADLINE: Duration = Duration::from_secs(10);

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct ScriptedModel {
    address: SocketAddr,
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl ScriptedModel {
    /// Listens; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn start(address: SocketAddr) -> Result<Self, ReferenceError> {
        Self::start_with_log(address, no_log()).await
    }

    /// As [`ScriptedModel::start`]; a line goes to `log` for each request: what was said last, and what is answered.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn start_with_log(address: SocketAddr, log: Log) -> Result<Self, ReferenceError> {
        let routes = Router::new().route("/v1/chat/completions", post(complete)).with_state(log);
        let (closing, closed) = watch::channel(false);
        let routes = guarded(routes, REQUEST_DEADLINE);
        let (address, task) = listen(routes, address, no_log(), closed).await?;
        Ok(Self { address, closing, task })
    }

    /// The base URL, with `/v1` at its end.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.closing.send_replace(true);
        ended(vec![self.task]).await;
    }
}

async fn complete(State(log): State<Log>, body: Body) -> Result<Json<Value>, Denial> {
    let request = json_body(&body_bytes(body)?)?;
    let completion = completion(&request);
    let last = request["messages"].as_array().and_then(|messages| messages.last());
    let answer = &completion["choices"][0]["message"];
    log(&format!("model receives {}, answers {answer}", last.unwrap_or(&Value::Null)));
    Ok(Json(completion))
}

/// The script.
fn completion(request: &Value) -> Value {
    let empty = Vec::new();
    let messages = request["messages"].as_array().unwrap_or(&empty);
    let tools: Vec<&Value> =
        request["tools"].as_array().unwrap_or(&empty).iter().map(|tool| &tool["function"]).collect();
    let text_of = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    let message = match messages.last() {
        Some(last) if last["role"] == "tool" => {
            let answer = format!("The tool answered: {}", text_of(last));
            if tools.iter().any(|tool| tool["name"] == SUBMIT_RESULT) {
                call(messages.len(), SUBMIT_RESULT, &json!({"text": answer}))
            } else {
                said(&answer)
            }
        }
        Some(last) if last["role"] == "user" => {
            let asked = text_of(last);
            match chosen(&tools, &asked) {
                Some(tool) => {
                    let name = tool["name"].as_str().unwrap_or_default();
                    call(messages.len(), name, &Value::Object(arguments(tool, &asked)))
                }
                None => said(&format!("I have no tool for this: {asked}")),
            }
        }
        _ => said("Nothing was asked."),
    };
    let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    })
}

fn said(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn call(number: usize, name: &str, arguments: &Value) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [{
        "id": format!("call_{number}"), "type": "function",
        "function": {"name": name, "arguments": arguments.to_string()},
    }]})
}

/// The tool whose name and description share the most words with what was asked.
fn chosen<'a>(tools: &[&'a Value], asked: &str) -> Option<&'a Value> {
    let asked = words(asked);
    let fit = |tool: &Value| {
        let text = |member: &str| tool[member].as_str().unwrap_or_default().to_owned();
        let shared = |text: &str, weight: usize| {
            weight * words(text).iter().filter(|word| asked.contains(word)).count()
        };
        // A word of the name says more than one of the description.
        shared(&text("name"), 3) + shared(&text("description"), 1)
    };
    let mut best: Option<(usize, &Value)> = None;
    for tool in tools.iter().copied().filter(|tool| tool["name"] != SUBMIT_RESULT) {
        let fit = fit(tool);
        if fit > best.map_or(0, |(most, _)| most) {
            best = Some((fit, tool));
        }
    }
    let favourite = || tools.iter().copied().find(|tool| tool["name"] == FAVOURITE);
    best.map(|(_, tool)| tool).or_else(favourite)
}

/// The words of a text that say something, in lower case and without a plural's `s`.
fn words(text: &str) -> Vec<String> {
    text.split(|character: char| !character.is_alphanumeric())
        .map(|word| word.to_lowercase().trim_end_matches('s').to_owned())
        .filter(|word| word.len() > 3)
        .collect()
}

/// Something for each required parameter.
fn arguments(tool: &Value, asked: &str) -> Map<String, Value> {
    let parameters = &tool["parameters"];
    let required = parameters["required"].as_array().cloned().unwrap_or_default();
    let names = required.iter().filter_map(Value::as_str);
    names
        .map(|name| {
            let schema = &parameters["properties"][name];
            (name.to_owned(), value(schema, asked))
        })
        .collect()
}

fn value(schema: &Value, asked: &str) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    let number =
        asked.split(|character: char| !character.is_ascii_digit()).find_map(|it| it.parse::<u32>().ok());
    match schema["type"].as_str() {
        Some("integer" | "number") => json!(number.unwrap_or(3)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!(name_in(asked).unwrap_or(asked)),
    }
}

/// The last word that begins with a capital, unless it is the first word of all.
fn name_in(asked: &str) -> Option<&str> {
    let mut words = asked.split(|character: char| !character.is_alphanumeric() && character != '-');
    words.next();
    words.rfind(|word| word.chars().next().is_some_and(char::is_uppercase))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::completion;

    fn tools() -> Value {
        let tool = |name: &str, description: &str, parameter: &str| {
            json!({"type": "function", "function": {
                "name": name, "description": description,
                "parameters": {"type": "object", "properties": {parameter: {"type": "string"}},
                               "required": [parameter]},
            }})
        };
        json!([
            tool("probe.echo", "Returns its arguments.", "k"),
            tool("tide_table", "High and low water of a harbour.", "harbour"),
        ])
    }

    fn asked(text: &str) -> Value {
        let request = json!({"messages": [{"role": "user", "content": text}], "tools": tools()});
        completion(&request)["choices"][0]["message"]["tool_calls"][0]["function"].clone()
    }

    #[test]
    fn it_calls_what_fits() {
        let tides = json!({"name": "tide_table", "arguments": "{\"harbour\":\"Brest\"}"});
        assert_eq!(asked("When is high water in Brest?"), tides);
        assert_eq!(asked("Something in Brest"), tides);
        assert_eq!(asked("echo this, please")["name"], "probe.echo");
    }

    #[test]
    fn it_hands_over_what_the_tool_said() {
        let messages =
            json!([{"role": "user", "content": "tides"}, {"role": "tool", "content": "{\"a\":1}"}]);
        let mut request = json!({"messages": messages, "tools": tools()});
        let answer = completion(&request)["choices"][0]["message"]["content"].clone();
        assert_eq!(answer, "The tool answered: {\"a\":1}");
        request["tools"] = json!([{"type": "function", "function": {"name": "submit_result"}}]);
        let call = completion(&request)["choices"][0]["message"]["tool_calls"][0]["function"].clone();
        assert_eq!(call["name"], "submit_result");
        assert_eq!(completion(&json!({}))["choices"][0]["message"]["content"], "Nothing was asked.");
    }
}
