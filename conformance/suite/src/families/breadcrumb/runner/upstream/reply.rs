//! How providers put what a model says: the chat completions of `OpenRouter`, Venice and others, and Ollama's own two forms,
//! plain or in pieces.

use std::collections::BTreeSet;

use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use serde_json::{Value, json};

/// When all answers were made.
const CREATED: u64 = 1_767_225_600;
/// What a provider says of its own trouble.
pub(super) const TROUBLE: &str = "the provider cannot serve this request";
/// The same as Ollama has it.
const CREATED_AT: &str = "2026-01-01T00:00:00Z";

/// The form of a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `POST …/chat/completions`.
    Completions,
    /// `POST /api/chat`.
    Chat,
    /// `POST /api/generate`.
    Generate,
}

impl Dialect {
    /// What is spoken at a path.
    pub fn of(path: &str) -> Option<Self> {
        let known = [
            ("/chat/completions", Self::Completions),
            ("/api/chat", Self::Chat),
            ("/api/generate", Self::Generate),
        ];
        known.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, dialect)| dialect)
    }

    /// Whether an answer comes in pieces unless it is asked for otherwise.
    pub(super) fn streams(self) -> bool {
        self != Self::Completions
    }

    /// The response for what is said: `status`, `text`, `model`, `prompt_tokens`, `completion_tokens`.
    pub(super) fn render(self, said: &Value, is_streamed: bool) -> Response {
        let status = said.get("status").and_then(Value::as_u64).and_then(|status| u16::try_from(status).ok());
        let status = status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::OK);
        let plain = |body: &Value| {
            (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
        };
        if let Some(trouble) = said.get("trouble").and_then(Value::as_str) {
            return self.spoilt(trouble);
        }
        match (self, status.is_success(), is_streamed) {
            (_, false, _) => plain(&self.error(&said["text"], status)),
            (Self::Completions, true, false) => plain(&completion(said)),
            (_, true, false) => plain(&self.whole(said)),
            (Self::Completions, true, true) => {
                ([(header::CONTENT_TYPE, "text/event-stream")], events(said)).into_response()
            }
            (_, true, true) => {
                ([(header::CONTENT_TYPE, "application/x-ndjson")], self.lines(said)).into_response()
            }
        }
    }

    /// An error, as the provider puts it.
    fn error(self, text: &Value, status: StatusCode) -> Value {
        match self {
            Self::Completions => json!({"error": {"message": text, "code": status.as_u16()}}),
            Self::Chat | Self::Generate => json!({"error": text}),
        }
    }

    /// A response with a status that reports nothing of the trouble.
    fn spoilt(self, trouble: &str) -> Response {
        let typed = |media_type: &'static str, body: String| {
            ([(header::CONTENT_TYPE, media_type)], body).into_response()
        };
        match trouble {
            "page" => typed("text/html", "<html><body><h1>Please wait</h1></body></html>".to_owned()),
            "empty" => typed("application/json", String::new()),
            "breaks off" => {
                let parts = [Ok("{\"choices\": [{\"message\": "), Err(std::io::ErrorKind::ConnectionReset)];
                let parts = stream::iter(parts.map(|part| part.map_err(std::io::Error::from)));
                ([(header::CONTENT_TYPE, "application/json")], Body::from_stream(parts)).into_response()
            }
            _ => {
                let error = self.error(&Value::from(TROUBLE), StatusCode::BAD_GATEWAY);
                typed("application/json", error.to_string())
            }
        }
    }

    /// An answer of Ollama.
    fn whole(self, said: &Value) -> Value {
        let mut answer = json!({
            "model": said["model"], "created_at": CREATED_AT, "done": true, "done_reason": "stop",
            "prompt_eval_count": said["prompt_tokens"], "eval_count": said["completion_tokens"],
            "total_duration": 1_000_000, "eval_duration": 500_000,
        });
        self.speak(&mut answer, &said["text"]);
        answer
    }

    /// The same in pieces, one line each.
    fn lines(self, said: &Value) -> String {
        let mut lines = Vec::new();
        for piece in pieces(said) {
            let mut line = json!({"model": said["model"], "created_at": CREATED_AT, "done": false});
            self.speak(&mut line, &Value::from(piece));
            lines.push(line);
        }
        let mut last = self.whole(said);
        self.speak(&mut last, &Value::from(""));
        lines.push(last);
        together(lines.iter().map(|line| format!("{line}\n")))
    }

    fn speak(self, answer: &mut Value, text: &Value) {
        if self == Self::Generate {
            answer["response"] = text.clone();
        } else {
            answer["message"] = json!({"role": "assistant", "content": text});
        }
    }
}

fn usage(said: &Value) -> Value {
    let count = |name: &str| said.get(name).and_then(Value::as_u64).unwrap_or_default();
    let (prompt, completion) = (count("prompt_tokens"), count("completion_tokens"));
    json!({
        "prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
        "cost": 0.000_02,
    })
}

fn completion(said: &Value) -> Value {
    let message = json!({"role": "assistant", "content": said["text"]});
    json!({
        "id": "gen-suite", "object": "chat.completion", "created": CREATED, "model": said["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage(said),
    })
}

/// A completion in pieces, as server-sent events.
fn events(said: &Value) -> String {
    let chunk = |delta: Value, reason: Value| {
        json!({
            "id": "gen-suite", "object": "chat.completion.chunk", "created": CREATED, "model": said["model"],
            "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
        })
    };
    let mut chunks: Vec<Value> = vec![chunk(json!({"role": "assistant", "content": ""}), Value::Null)];
    chunks.extend(pieces(said).into_iter().map(|piece| chunk(json!({"content": piece}), Value::Null)));
    let mut last = chunk(json!({}), json!("stop"));
    last["usage"] = usage(said);
    chunks.push(last);
    together(chunks.iter().map(|chunk| format!("data: {chunk}\n\n"))) + "data: [DONE]\n\n"
}

fn together(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().concat()
}

/// A text word by word.
fn pieces(said: &Value) -> Vec<&str> {
    said["text"].as_str().unwrap_or_default().split_inclusive(' ').collect()
}

/// All models, as most providers list them.
pub(super) fn models(models: &BTreeSet<String>) -> Value {
    let pricing = json!({"prompt": "0.000001", "completion": "0.000002", "request": "0"});
    let one = |model: &String| json!({"id": model, "name": model, "object": "model", "context_length": 8192, "pricing": pricing});
    json!({"object": "list", "data": models.iter().map(one).collect::<Vec<_>>()})
}

/// All models, as Ollama lists them: one that is named without a tag has `latest`.
pub(super) fn tags(models: &BTreeSet<String>) -> Value {
    let one = |model: String| json!({"name": model, "model": model, "size": 1, "modified_at": CREATED_AT});
    let names = models.iter().flat_map(|model| {
        let latest = (!model.contains(':')).then(|| format!("{model}:latest"));
        latest.into_iter().chain([model.clone()])
    });
    json!({"models": names.map(one).collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said() -> Value {
        json!({"status": 200, "text": "Jet black.", "model": "m", "prompt_tokens": 20, "completion_tokens": 17})
    }

    #[test]
    fn pieces_make_up_the_whole() {
        let events = events(&said());
        let chunks: Vec<Value> = events
            .lines()
            .filter_map(|line| line.strip_prefix("data: "))
            .filter_map(|data| serde_json::from_str(data).ok())
            .collect();
        let text: String =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(text, "Jet black.");
        assert_eq!(chunks.last().map(|chunk| &chunk["usage"]["total_tokens"]), Some(&json!(37)));
        assert!(events.ends_with("data: [DONE]\n\n"), "{events}");
    }

    #[test]
    fn each_form_has_its_place_for_the_text() {
        assert_eq!(completion(&said())["choices"][0]["message"]["content"], "Jet black.");
        assert_eq!(Dialect::Chat.whole(&said())["message"]["content"], "Jet black.");
        assert_eq!(Dialect::Generate.whole(&said())["response"], "Jet black.");
        assert_eq!(Dialect::Generate.lines(&said()).lines().count(), 3);
    }
}
