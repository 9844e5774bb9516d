//! A scripted model: an OpenAI-compatible server with a small script, for use where there is no model.
//!
//! It calls the offered function that fits the user's words best, and hands over what the tools said. Deterministic:
//! the same conversation gets the same answer. Deliberately absent: several calls at once, and sense.

use std::net::SocketAddr;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Map, Value, json};
use tokio::net::TcpListener;

use super::config::AgentError;
use crate::http::listen::{Bounds, HEAD_DEADLINE, Listening};

/// No conversation may be longer.
const BODY_BYTES: usize = 8 * 1024 * 1024;
const BOUNDS: Bounds = Bounds { head: HEAD_DEADLINE, connections: 64, stall: Duration::from_secs(30) };

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct ScriptedModel {
    listening: Listening,
}

impl ScriptedModel {
    /// Listens; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the address is taken.
    pub async fn start(address: SocketAddr) -> Result<Self, AgentError> {
        let failed = |source| AgentError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let complete = async |Json(request): Json<Value>| Json(completion(&request));
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(DefaultBodyLimit::max(BODY_BYTES));
        Ok(Self { listening: Listening::start(listener, router, BOUNDS).map_err(failed)? })
    }

    /// The base URL, with `/v1` at its end.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.listening.address())
    }

    /// Answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.listening.shutdown().await;
    }
}

/// The script.
fn completion(request: &Value) -> Value {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let functions: Vec<&Value> =
        request["tools"].as_array().into_iter().flatten().map(|tool| &tool["function"]).collect();
    let message = match messages.last() {
        Some(last) if last["role"] == "tool" => assistant_message(&handed_over(messages)),
        Some(last) if last["role"] == "user" => {
            let asked = last["content"].as_str().unwrap_or_default();
            match chosen(&functions, asked) {
                Some(function) => call(messages.len(), function, asked),
                None => assistant_message(&format!("I have no tool for this: {asked}")),
            }
        }
        _ => assistant_message("Nothing was asked."),
    };
    let reason = if message.get("tool_calls").is_some() { "tool_calls" } else { "stop" };
    json!({
        "id": "chatcmpl-scripted", "object": "chat.completion", "created": 0, "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    })
}

fn assistant_message(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// What the tools said since the last call, in words.
fn handed_over(messages: &[Value]) -> String {
    let last = messages.iter().rposition(|message| message["role"] != "tool").map_or(0, |at| at + 1);
    let result = messages[last..].iter().map(|message| {
        let text = message["content"].as_str().unwrap_or_default();
        let result: Value = serde_json::from_str(text).unwrap_or_else(|_error| json!({"output": text}));
        let tool = result["tool"].as_str().unwrap_or("the tool");
        match result["error"].as_str() {
            Some(error) => format!("{tool} failed: {error}."),
            None => format!("{tool} answered: {}.", result["output"]),
        }
    });
    result.collect::<Vec<_>>().join(" ")
}

fn call(number: usize, function: &Value, asked: &str) -> Value {
    // The user says so when the model need not see the result first.
    let direct = words(asked).iter().any(|word| word == "directly");
    let properties = &function["parameters"]["properties"];
    let mut arguments = json!({"input": input(&properties["input"], asked), "return_to_llm": !direct});
    if properties.get("message").is_some() {
        arguments["message"] = json!("One moment.");
    }
    if let Some(id) =
        asked.split_whitespace().find(|word| word.len() == 36 && uuid::Uuid::try_parse(word).is_ok())
    {
        arguments["config_id"] = json!(id);
    }
    json!({"role": "assistant", "content": null, "tool_calls": [{
        "id": format!("call_{number}"), "type": "function",
        "function": {"name": function["name"], "arguments": arguments.to_string()},
    }]})
}

/// The function whose name and description share the most words with what was asked, or who takes its expression.
fn chosen<'a>(functions: &[&'a Value], asked: &str) -> Option<&'a Value> {
    let asked_words = words(asked);
    let shared = |text: &Value, weight: usize| {
        let text = words(text.as_str().unwrap_or_default());
        weight * text.iter().filter(|word| asked_words.contains(word)).count()
    };
    let computes = |function: &Value| {
        function["parameters"]["properties"]["input"]["properties"].get("expression").is_some()
            && expression(asked).is_some()
    };
    let fit = |function: &Value| {
        // A word of the name says more than one of the description.
        shared(&function["name"], 3)
            + shared(&function["description"], 1)
            + 2 * usize::from(computes(function))
    };
    let mut best: Option<(usize, &Value)> = None;
    for function in functions.iter().copied() {
        let fit = fit(function);
        if fit > best.map_or(0, |(most, _)| most) {
            best = Some((fit, function));
        }
    }
    best.map(|(_, function)| function)
}

/// The words of a text that say something, in lower case and without a plural's `s`.
fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .map(|word| word.to_lowercase().trim_end_matches('s').to_owned())
        .filter(|word| word.len() > 3)
        .collect()
}

/// Something for each parameter that is needed.
fn input(schema: &Value, asked: &str) -> Map<String, Value> {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), value(name, &schema["properties"][name], asked))).collect()
}

fn value(name: &str, schema: &Value, asked: &str) -> Value {
    if let Some(given) = schema.get("default").or_else(|| schema["enum"].get(0)) {
        return given.clone();
    }
    let number =
        asked.split(|letter: char| !letter.is_ascii_digit()).find_map(|word| word.parse::<u32>().ok());
    match (name, schema["type"].as_str()) {
        ("messages", Some("array")) => json!([{"role": "user", "content": asked}]),
        ("expression", _) => json!(expression(asked).unwrap_or(asked)),
        ("url", _) => {
            json!(asked.split_whitespace().find(|word| word.starts_with("http")).unwrap_or("about:blank"))
        }
        (_, Some("integer" | "number")) => json!(number.unwrap_or(1)),
        (_, Some("boolean")) => json!(true),
        (_, Some("array")) => json!([]),
        (_, Some("object")) => json!({}),
        _ => json!(quoted(asked).unwrap_or(asked)),
    }
}

/// The longest run of digits, operators and what is between them that computes something.
fn expression(asked: &str) -> Option<&str> {
    let part =
        |letter: char| letter.is_ascii_digit() || letter.is_whitespace() || "+-*/^().%".contains(letter);
    let computes = |text: &&str| {
        text.contains(|letter: char| letter.is_ascii_digit()) && text.contains(['+', '-', '*', '/', '^'])
    };
    asked
        .split(|letter| !part(letter))
        .map(|text| text.trim().trim_end_matches('.'))
        .filter(computes)
        .max_by_key(|text| text.len())
}

/// What is between the first two quotation marks.
fn quoted(asked: &str) -> Option<&str> {
    let mut parts = asked.split(['"', '“', '”']);
    parts.next();
    let inside = parts.next().filter(|inside| !inside.is_empty());
    inside.filter(|_| parts.next().is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::completion;

    fn function(name: &str, description: &str, input: &Value) -> Value {
        json!({"type": "function", "function": {"name": name, "description": description, "parameters": {
            "type": "object",
            "properties": {"input": input, "return_to_llm": {"type": "boolean"}, "message": {"type": "string"}},
        }}})
    }

    fn asked(text: &str) -> Value {
        let one = |name: &str| json!({"properties": {name: {"type": "string"}}, "required": [name]});
        let tools = [
            function("calculator", "Evaluates an arithmetic expression.", &one("expression")),
            function("echo", "Gives a message back.", &one("message")),
        ];
        let request = json!({"messages": [{"role": "user", "content": text}], "tools": tools});
        completion(&request)["choices"][0]["message"].clone()
    }

    #[test]
    fn it_calls_what_fits() {
        fn check(text: &str, name: &str, input: &Value, return_to_llm: bool) {
            let function = asked(text)["tool_calls"][0]["function"].clone();
            assert_eq!(function["name"], name, "{text}");
            let arguments: Value =
                serde_json::from_str(function["arguments"].as_str().expect("a text")).expect("JSON");
            assert_eq!((&arguments["input"], &arguments["return_to_llm"]), (input, &json!(return_to_llm)));
        }
        check("What is 12 * (3 + 4)?", "calculator", &json!({"expression": "12 * (3 + 4)"}), true);
        check("Tell me directly: 6*7.", "calculator", &json!({"expression": "6*7"}), false);
        check("Please echo \"good day\" to me", "echo", &json!({"message": "good day"}), true);
        assert_eq!(asked("Sing!")["content"], "I have no tool for this: Sing!");
    }

    #[test]
    fn it_hands_over_what_the_tools_said() {
        let result =
            |content: Value| json!({"role": "tool", "tool_call_id": "c", "content": content.to_string()});
        let messages = json!([
            {"role": "user", "content": "…"}, {"role": "assistant", "tool_calls": []},
            result(json!({"status": "success", "tool": "random", "output": {"numbers": [7]}})),
            result(json!({"status": "error", "tool": "echo", "error": "too loud"}))
        ]);
        let answer = completion(&json!({"messages": messages}))["choices"][0]["message"]["content"].clone();
        assert_eq!(answer, "random answered: {\"numbers\":[7]}. echo failed: too loud.");
        assert_eq!(completion(&json!({}))["choices"][0]["message"]["content"], "Nothing was asked.");
    }
}
