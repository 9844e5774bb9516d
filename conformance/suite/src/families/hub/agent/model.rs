//! The language model that the suite plays in a chat: it asks for one tool, reads what came of it, and is done.
//!
//! Two APIs are spoken, `POST …/chat/completions` and `POST …/messages`, each as a stream where one is asked for.

use serde_json::{Value, json};

use super::manifest::ModelKind;
use super::stream::streamed;
use crate::net::http_server::HttpReply;

/// Times that one call is asked for; an agent that goes on asking is answered with the end.
const MAX_ASKED: u32 = 5;

/// What the model is to ask for, and what it was sent.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    /// Id of the call.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its inputs.
    pub inputs: Value,
    /// What came of it.
    pub outcome: Option<Value>,
    attempts: u32,
}

impl Conversation {
    pub(super) fn new(id: String, tool: String, inputs: Value) -> Self {
        Self { id, tool, inputs, outcome: None, attempts: 0 }
    }
}

/// The model's next turn.
pub(super) fn answer(kind: ModelKind, request: &Value, conversation: Option<&mut Conversation>) -> HttpReply {
    let answer = turn(kind, request, conversation);
    if request["stream"] == true { streamed(kind, &answer) } else { HttpReply::json(200, &answer) }
}

fn turn(kind: ModelKind, request: &Value, conversation: Option<&mut Conversation>) -> Value {
    let Some(conversation) = conversation else { return text(kind, "There is nothing to do.") };
    if let Some(outcome) = reported_outcome(kind, request, &conversation.id) {
        conversation.outcome = Some(outcome);
        return text(kind, "That was all.");
    }
    // A request without tools is for something else, such as a title.
    let offers = request.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty());
    if !offers || conversation.attempts >= MAX_ASKED {
        return text(kind, "There is nothing more to do.");
    }
    conversation.attempts += 1;
    call(kind, conversation, offered(request, &conversation.tool))
}

/// The name under which the agent offers a tool: an agent may put its own before it, or spell it in its own way.
fn offered<'a>(request: &'a Value, tool: &'a str) -> &'a str {
    let letters = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let name = |own: &'a Value| own.pointer("/function/name").or_else(|| own.get("name"))?.as_str();
    let names: Vec<&str> = request["tools"].as_array().into_iter().flatten().filter_map(name).collect();
    let wanted = letters(tool);
    let find = |fits: &dyn Fn(&str) -> bool| names.iter().copied().find(|name| fits(name));
    find(&|name| name == tool)
        .or_else(|| find(&|name| letters(name) == wanted))
        .or_else(|| find(&|name| letters(name).ends_with(&wanted)))
        .unwrap_or(tool)
}

/// What the agent brings as the outcome of call `id`.
fn reported_outcome(kind: ModelKind, request: &Value, id: &str) -> Option<Value> {
    let messages = request.get("messages")?.as_array()?;
    match kind {
        ModelKind::Openai => {
            let ours = |message: &&Value| message["role"] == "tool" && message["tool_call_id"] == id;
            messages.iter().rev().find(ours).map(|message| flat(&message["content"]))
        }
        ModelKind::Anthropic => {
            let mut blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
            let ours = |block: &&Value| block["type"] == "tool_result" && block["tool_use_id"] == id;
            let block = blocks.rfind(ours)?;
            let content = flat(&block["content"]);
            Some(if block["is_error"] == true {
                json!({"is_error": true, "error": content})
            } else {
                content
            })
        }
    }
}

/// The text of a content that comes in blocks.
fn flat(content: &Value) -> Value {
    let Some(blocks) = content.as_array() else { return content.clone() };
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    Value::from(texts.join("\n"))
}

fn text(kind: ModelKind, text: &str) -> Value {
    match kind {
        ModelKind::Openai => completion(&json!({"role": "assistant", "content": text}), "stop"),
        ModelKind::Anthropic => message(&json!([{"type": "text", "text": text}]), "end_turn"),
    }
}

fn call(kind: ModelKind, conversation: &Conversation, name: &str) -> Value {
    let Conversation { id, inputs, .. } = conversation;
    match kind {
        ModelKind::Openai => {
            let function = json!({"name": name, "arguments": inputs.to_string()});
            let calls = json!([{"id": id, "type": "function", "function": function}]);
            completion(&json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
        }
        ModelKind::Anthropic => {
            message(&json!([{"type": "tool_use", "id": id, "name": name, "input": inputs}]), "tool_use")
        }
    }
}

fn completion(message: &Value, reason: &str) -> Value {
    json!({
        "id": "chatcmpl-suite", "object": "chat.completion", "created": 1_767_225_600, "model": "suite",
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    })
}

fn message(content: &Value, reason: &str) -> Value {
    json!({
        "id": "msg_suite", "type": "message", "role": "assistant", "model": "suite", "content": content,
        "stop_reason": reason, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(reply: HttpReply) -> Value {
        match reply {
            HttpReply::Response { body, .. } => serde_json::from_slice(&body).expect("JSON"),
            other => panic!("{other:?}"),
        }
    }

    fn conversation() -> Conversation {
        Conversation::new("call_1".to_owned(), "email_read".to_owned(), json!({"message_id": "m"}))
    }

    #[test]
    fn it_asks_once_and_reads_the_outcome() {
        let mut own = conversation();
        let first = json!({"messages": [{"role": "user", "content": "hi"}], "tools": [{}]});
        let turn = body(answer(ModelKind::Openai, &first, Some(&mut own)));
        assert_eq!(turn.pointer("/choices/0/message/tool_calls/0/id"), Some(&json!("call_1")));
        let second = json!({"messages": [{"role": "tool", "tool_call_id": "call_1", "content": "done"}], "tools": [{}]});
        let turn = body(answer(ModelKind::Openai, &second, Some(&mut own)));
        assert_eq!(turn.pointer("/choices/0/finish_reason"), Some(&json!("stop")));
        assert_eq!(own.outcome, Some(json!("done")));
    }

    #[test]
    fn a_tool_is_called_by_the_name_that_is_offered() {
        let check = |names: &[&str], expect: &str| {
            let one = |name: &&str| json!({"type": "function", "function": {"name": name}});
            let openai = json!({"tools": names.iter().map(one).collect::<Vec<_>>()});
            let anthropic =
                json!({"tools": names.iter().map(|name| json!({"name": name})).collect::<Vec<_>>()});
            assert_eq!(offered(&openai, "email_read"), expect);
            assert_eq!(offered(&anthropic, "email_read"), expect);
        };
        check(&["email_send", "email_read"], "email_read");
        check(&["hub__email_send", "hub__email_read"], "hub__email_read");
        check(&["gmail.emailRead", "emailRead"], "emailRead");
        check(&["email_reader", "x"], "email_read");
    }

    #[test]
    fn blocks_of_the_other_api_are_read_too() {
        let mut own = conversation();
        let result = json!({"type": "tool_result", "tool_use_id": "call_1", "is_error": true,
                            "content": [{"type": "text", "text": "no"}]});
        let request = json!({"messages": [{"role": "user", "content": [result]}], "tools": [{}]});
        body(answer(ModelKind::Anthropic, &request, Some(&mut own)));
        assert_eq!(own.outcome, Some(json!({"is_error": true, "error": "no"})));
    }
}
