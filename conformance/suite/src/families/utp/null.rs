//! Null targets: implementations that do nothing of what they should. None of them may score a pass.

use std::collections::BTreeMap;

use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::message;
use super::nats;
use super::revision::Revision;

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

/// Who reports, by whatever name the platform lets anybody report.
const REPORTER: &str = "tool.null";

/// Serves a null target of the revision of `version` on the bus until the set is dropped.
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
    let revision = Revision::of(version);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(command) = commands.next().await {
            let tokens: Vec<&str> = command.subject.split('.').collect();
            let [_, _, project, channel, ..] = tokens.as_slice() else { continue };
            let body = message::body(&command.payload);
            let headers = nats::headers(&command);
            let identity = Identity::of(revision, &body, &headers);
            let Some(mut answer) = answer(null, &body, &identity) else { continue };
            if let (Null::Parrot, Some(card)) = (null, &mut answer.card) {
                card["content"]["result"] = arguments(&client, project, &body["tool_call_card_id"]).await;
            }
            if let Some(card) = answer.card {
                let subject = format!("l0.v1.{project}.cards.save");
                let _ = client.request(subject, Bytes::from(json!({"card": card}).to_string())).await;
            }
            let subject = format!("l0.v1.{project}.{channel}.report");
            let report = Bytes::from(answer.report.to_string());
            let _ = client.publish_with_headers(subject, repeated(revision, &headers), report).await;
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

/// Whose call a command is.
struct Identity {
    revision: Revision,
    tool_call_id: Value,
    /// Members of the callback that repeat it; none where headers do.
    members: Value,
}

impl Identity {
    fn of(revision: Revision, command: &Value, headers: &BTreeMap<String, String>) -> Self {
        let own = |member: &str| match revision.header(member) {
            Some(name) => headers
                .get(&name.to_ascii_lowercase())
                .or_else(|| headers.get(name))
                .map_or(Value::Null, |text| text.as_str().into()),
            None => command[member].clone(),
        };
        let members = match revision {
            Revision::V1r3 => json!({
                "tool_call_id": command["tool_call_id"], "agent_turn_id": command["agent_turn_id"],
                "turn_epoch": command["turn_epoch"], "agent_id": command["agent_id"], "step_id": "step_3",
            }),
            Revision::V1r4 => json!({}),
        };
        Self { revision, tool_call_id: own("tool_call_id"), members }
    }
}

fn answer(null: Null, command: &Value, identity: &Identity) -> Option<NullResponse> {
    let bare = |report: Value| Some(NullResponse { card: None, report });
    match null {
        Null::Silence => None,
        Null::NotFound => bare(json!({"error": {"code": "not_found", "message": "no such thing"}})),
        Null::Empty => bare(json!({})),
        Null::Echo => bare(json!({
            "message_type": "tool_result", "correlation_id": identity.tool_call_id, "payload": command,
        })),
        Null::AlwaysError => {
            Some(formal(command, identity, "failed", &json!({"code": "internal_error", "message": "no"})))
        }
        Null::AlwaysSuccess | Null::Parrot => Some(formal(command, identity, "success", &Value::Null)),
    }
}

/// A card and a report that are right in form and say nothing.
fn formal(command: &Value, identity: &Identity, status: &str, error: &Value) -> NullResponse {
    let id = format!("card_of_{}", identity.tool_call_id);
    let result = match error.get("code") {
        Some(code) => json!({"error_code": code, "error_message": error["message"]}),
        None => json!({}),
    };
    let mut card = json!({
        "card_id": id, "type": "tool.result", "tool_call_id": identity.tool_call_id,
        "content": {"status": status, "after_execution": command["after_execution"], "result": result, "error": error},
        "metadata": {},
    });
    if identity.revision == Revision::V1r4 {
        card["author_id"] = REPORTER.into();
        card["metadata"] =
            json!({"function_name": command["tool_name"], "tool_call_id": identity.tool_call_id});
    }
    let mut payload = identity.members.clone();
    payload["after_execution"] = command["after_execution"].clone();
    payload["status"] = status.into();
    payload["tool_result_card_id"] = id.into();
    let report = json!({
        "message_type": "tool_result", "correlation_id": identity.tool_call_id, "source_agent_id": REPORTER,
        "payload": payload,
    });
    NullResponse { card: Some(card), report }
}

/// The headers of a command that its report has, too: the trace, and where headers say it whose call it is.
fn repeated(revision: Revision, headers: &BTreeMap<String, String>) -> HeaderMap {
    let is_identity = |name: &str| revision == Revision::V1r4 && name.to_ascii_lowercase().starts_with("cg-");
    let mut out = HeaderMap::new();
    for (name, value) in headers.iter().filter(|(name, _)| *name == "traceparent" || is_identity(name)) {
        out.insert(name.as_str(), value.as_str());
    }
    out
}
