//! OpenAPI executors that do nothing of what they should score no pass, and never end as conformant.

use crate::support::{self, nothing};
use async_nats::Client;
use bytes::Bytes;
use callmark_cli::broker;
use callmark_reference::utp::round_trip;
use callmark_reports::record::Verdict;
use callmark_suite::families::utp::null::Null;
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

async fn is_scored(broker_url: &str, expect: Verdict, who: &str) {
    nothing::check(&support::manifest(), &["utp.openapi"], broker_url, expect, who).await;
}

async fn check(null: Null, expect: Verdict) {
    let _turn = crate::TURN.acquire().await.expect("never closed");
    nothing::check_on_the_bus("utp.openapi", null, expect).await;
}

nothing::tests_on_the_bus!(check);

mod v1r4 {
    use super::*;

    async fn check(null: Null, expect: Verdict) {
        let _turn = crate::TURN.acquire().await.expect("never closed");
        nothing::check_on_the_bus("utp.openapi@v1r4", null, expect).await;
    }

    nothing::tests_on_the_bus!(check);
}

/// A Tool Service that is right in everything, and gives the arguments back without asking anybody.
#[tokio::test]
async fn who_asks_no_upstream_scores_nothing() {
    let broker = broker::start(&broker::BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let _serving = echo_arguments(&client).await;
    let _turn = crate::TURN.acquire().await.expect("never closed");
    is_scored(broker.url(), Verdict::Nonconformant, "an echo of the arguments").await;
}

async fn echo_arguments(client: &Client) -> JoinSet<()> {
    let mut commands = client.subscribe("cg.v1r3.*.*.cmd.tool.>").await.expect("a subscription");
    round_trip(client).await.expect("an answer of the broker");
    let client = client.clone();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        while let Some(message) = commands.next().await {
            let tokens: Vec<String> = message.subject.split('.').map(str::to_owned).collect();
            let command: Value = serde_json::from_slice(&message.payload).unwrap_or_default();
            answer(&client, &tokens, &command).await;
        }
    });
    tasks
}

async fn answer(client: &Client, tokens: &[String], command: &Value) {
    let [_, _, project, channel, ..] = tokens else { return };
    let ask = async |subject: String, body: Value| -> Value {
        let reply = client.request(subject, Bytes::from(body.to_string())).await;
        reply.ok().and_then(|reply| serde_json::from_slice(&reply.payload).ok()).unwrap_or_default()
    };
    let cards =
        ask(format!("l0.v1.{project}.cards.get"), json!({"card_ids": [command["tool_call_card_id"]]}));
    let cards = cards.await;
    let Some(call) = cards.pointer("/cards/0") else { return };
    let id = format!("card_of_{}", command["tool_call_id"]);
    let content = json!({
        "status": "success", "after_execution": command["after_execution"],
        "result": call["content"]["arguments"], "error": null,
    });
    let card = json!({
        "card_id": id, "type": "tool.result", "tool_call_id": command["tool_call_id"],
        "content": content, "metadata": call["metadata"],
    });
    ask(format!("l0.v1.{project}.cards.save"), json!({"card": card})).await;
    let mut payload = command.clone();
    payload["status"] = json!("success");
    payload["tool_result_card_id"] = json!(id);
    let report = json!({
        "message_type": "tool_result", "correlation_id": command["tool_call_id"], "source_agent_id": "echo",
        "payload": payload,
    });
    ask(format!("l0.v1.{project}.{channel}.report"), report).await;
}
