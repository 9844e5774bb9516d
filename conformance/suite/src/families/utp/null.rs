//! Null targets: implementations that do nothing of what they should. None of them may score a pass.

use std::collections::BTreeMap;

use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::message;
use super::platform::nats;

/// A way of doing nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Null {
    /// Answers every command with an error of the kind "no such thing", on the reply subject and as a report.
    NotFound,
    /// Reports empty objects.
    Empty,
    /// Reports the command itself.
    Echo,
    /// Is there and says nothing.
    Silence,
    /// Reports a well-formed failure for every command without reading its card.
    AlwaysError,
    /// Reports a well-formed success for every command without reading its card.
    AlwaysSuccess,
    /// Reports success with the arguments of the card as the result, and has nobody do anything: right for an echo, and
    /// no built-in of a PMO.
    Parrot,
}

impl Null {
    /// All that do no work of any tool.
    pub const ALL: [Self; 6] =
        [Self::NotFound, Self::Empty, Self::Echo, Self::Silence, Self::AlwaysError, Self::AlwaysSuccess];
}

/// Serves a null target on the bus until the set is dropped.
///
/// # Errors
/// When the subscription cannot be made.
pub async fn serve(
    client: &Client,
    version: &str,
    null: Null,
) -> Result<JoinSet<()>, async_nats::SubscribeError> {
    let mut commands = client.subscribe(format!("cg.{version}.*.*.cmd.>")).await?;
    nats::settle(client).await;
    let client = client.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(command) = commands.next().await {
            let tokens: Vec<&str> = command.subject.split('.').collect();
            let [_, _, project, channel, ..] = tokens.as_slice() else { continue };
            let body = message::body(&command.payload);
            let headers = nats::headers(&command);
            let Some(mut answer) = answer(null, &body) else { continue };
            if let (Null::Parrot, Some(card)) = (null, &mut answer.card) {
                card["content"]["result"] = arguments(&client, project, &body["tool_call_card_id"]).await;
            }
            if let Some(card) = answer.card {
                let subject = format!("l0.v1.{project}.cards.save");
                let _ = client.request(subject, Bytes::from(json!({"card": card}).to_string())).await;
            }
            let subject = format!("l0.v1.{project}.{channel}.report");
            let report = Bytes::from(answer.report.to_string());
            let _ = client.publish_with_headers(subject, traced(&headers), report).await;
        }
    });
    Ok(tasks)
}

/// The arguments of a tool.call card.
async fn arguments(client: &Client, project: &str, card_id: &Value) -> Value {
    let request = Bytes::from(json!({"card_ids": [card_id]}).to_string());
    let reply = client.request(format!("l0.v1.{project}.cards.get"), request).await;
    let body = reply.map(|reply| message::body(&reply.payload)).unwrap_or_default();
    body.pointer("/cards/0/content/arguments").cloned().unwrap_or_default()
}

struct NullResponse {
    card: Option<Value>,
    report: Value,
}

fn answer(null: Null, command: &Value) -> Option<NullResponse> {
    let bare = |report: Value| Some(NullResponse { card: None, report });
    match null {
        Null::Silence => None,
        Null::NotFound => bare(json!({"error": {"code": "not_found", "message": "no such thing"}})),
        Null::Empty => bare(json!({})),
        Null::Echo => bare(json!({
            "message_type": "tool_result", "correlation_id": command["tool_call_id"], "payload": command,
        })),
        Null::AlwaysError => {
            Some(formal(command, "failed", &json!({"code": "internal_error", "message": "no"})))
        }
        Null::AlwaysSuccess | Null::Parrot => Some(formal(command, "success", &Value::Null)),
    }
}

/// A card and a report that are right in form and say nothing.
fn formal(command: &Value, status: &str, error: &Value) -> NullResponse {
    let id = format!("card_of_{}", command["tool_call_id"]);
    let result = match error.get("code") {
        Some(code) => json!({"error_code": code, "error_message": error["message"]}),
        None => json!({}),
    };
    let card = json!({
        "card_id": id, "type": "tool.result", "tool_call_id": command["tool_call_id"],
        "content": {"status": status, "after_execution": command["after_execution"], "result": result, "error": error},
        "metadata": {},
    });
    let report = json!({
        "message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": "null",
        "payload": {
            "tool_call_id": command["tool_call_id"], "agent_turn_id": command["agent_turn_id"],
            "turn_epoch": command["turn_epoch"], "agent_id": command["agent_id"],
            "after_execution": command["after_execution"], "status": status, "tool_result_card_id": id,
            "step_id": "step_3",
        },
    });
    NullResponse { card: Some(card), report }
}

fn traced(headers: &BTreeMap<String, String>) -> HeaderMap {
    let mut out = HeaderMap::new();
    if let Some(trace) = headers.get("traceparent") {
        out.insert("traceparent", trace.as_str());
    }
    out
}
