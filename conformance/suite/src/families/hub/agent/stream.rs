//! The model's answers for an agent that asks for them as a stream: whole, in as few events as the two APIs allow.

use serde_json::{Value, json};

use super::manifest::ModelKind;
use crate::net::http_server::HttpReply;

/// An answer of `model` as server-sent events.
pub(super) fn streamed(kind: ModelKind, answer: &Value) -> HttpReply {
    let events = match kind {
        ModelKind::Openai => chunks(answer),
        ModelKind::Anthropic => blocks(answer),
    };
    HttpReply::text(200, "text/event-stream", &events)
}

fn chunks(answer: &Value) -> String {
    let chunk = |delta: &Value, reason: &Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        let chunk = json!({
            "id": answer["id"], "object": "chat.completion.chunk", "created": answer["created"],
            "model": answer["model"], "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let choice = &answer["choices"][0];
    let mut delta = choice["message"].clone();
    for (index, call) in delta["tool_calls"].as_array_mut().into_iter().flatten().enumerate() {
        call["index"] = Value::from(index);
    }
    let whole = chunk(&delta, &Value::Null);
    format!("{whole}{}data: [DONE]\n\n", chunk(&json!({}), &choice["finish_reason"]))
}

fn blocks(answer: &Value) -> String {
    let mut begun = answer.clone();
    begun["content"] = json!([]);
    begun["stop_reason"] = Value::Null;
    let mut events = vec![json!({"type": "message_start", "message": begun})];
    for (index, block) in answer["content"].as_array().into_iter().flatten().enumerate() {
        let mut start = block.clone();
        let delta = if block["type"] == "tool_use" {
            start["input"] = json!({});
            json!({"type": "input_json_delta", "partial_json": block["input"].to_string()})
        } else {
            start["text"] = json!("");
            json!({"type": "text_delta", "text": block["text"]})
        };
        events.push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let end = json!({"stop_reason": answer["stop_reason"], "stop_sequence": null});
    events.push(json!({"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}));
    events.push(json!({"type": "message_stop"}));
    let named = |event: &Value| {
        let name = event["type"].as_str().unwrap_or_default();
        format!("event: {name}\ndata: {event}\n\n")
    };
    events.iter().map(named).collect::<Vec<String>>().concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_comes_in_events() {
        let message =
            json!({"role": "assistant", "content": null, "tool_calls": [{"id": "c", "function": {}}]});
        let answer = json!({"choices": [{"message": message, "finish_reason": "tool_calls"}]});
        let events = chunks(&answer);
        assert!(events.contains(r#""index":0"#) && events.ends_with("data: [DONE]\n\n"), "{events}");
        let block =
            json!({"type": "tool_use", "id": "c", "name": "email_read", "input": {"message_id": "m"}});
        let events = blocks(&json!({"content": [block], "stop_reason": "tool_use"}));
        assert!(
            events.contains("event: content_block_delta") && events.contains("input_json_delta"),
            "{events}"
        );
        assert!(events.ends_with("data: {\"type\":\"message_stop\"}\n\n"), "{events}");
    }
}
