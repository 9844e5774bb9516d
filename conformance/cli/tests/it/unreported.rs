//! An agent runtime that goes on by itself once it finds the result card of a call: that it goes on after a callback
//! that is no valid result is no sign that it used that callback.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use callmark_cli::broker::{self, BrokerChoice};
use callmark_cli::bundled::Reference;
use callmark_reference::utp::round_trip;
use callmark_reports::record::Outcome;
use callmark_suite::engine::run::Quiet;
use callmark_suite::families::utp::revision::Revision;
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::support::{self, Part};

/// How often the card store is asked for a card.
const PERIOD: Duration = Duration::from_millis(5);

/// The id of the card that the suite saves as the result of a command, of the names that it gives its calls and turns.
fn result_card(command: &Value) -> Option<String> {
    let (number, unique) = command["tool_call_id"].as_str()?.strip_prefix("call_m")?.split_once('_')?;
    let turn = command["agent_turn_id"].as_str()?.strip_prefix("turn_")?.split('_').next()?;
    Some(format!("card_tr_{number}_{unique}-{turn}"))
}

/// Reports a call to the runtime itself as soon as its result card is in the store.
async fn report_when_saved(client: async_nats::Client, project: String, command: Value) -> Option<()> {
    let card_id = result_card(&command)?;
    let asked = json!({"card_ids": [card_id]}).to_string();
    let card = loop {
        let reply =
            client.request(format!("l0.v1.{project}.cards.get"), Bytes::from(asked.clone())).await.ok()?;
        let reply: Value = serde_json::from_slice(&reply.payload).ok()?;
        match reply["cards"].get(0) {
            Some(card) => break card.clone(),
            None => tokio::time::sleep(PERIOD).await,
        }
    };
    let mut payload = json!({
        "tool_result_card_id": card_id, "status": card["content"]["status"],
        "after_execution": card["content"]["after_execution"],
    });
    for member in ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id"] {
        payload[member] = command[member].clone();
    }
    let report = json!({
        "message_type": "tool_result", "correlation_id": command["tool_call_id"],
        "source_agent_id": "watchdog", "payload": payload,
    });
    let subject = format!("runtime.v1.{project}.public.report");
    client.request(subject, Bytes::from(report.to_string())).await.ok().map(drop)
}

#[tokio::test]
async fn what_a_runtime_does_for_a_saved_card_is_not_put_down_to_the_callback() {
    let broker = broker::start(&BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let mut commands = client.subscribe("cg.v1r3.*.*.cmd.tool.>").await.expect("a subscription");
    round_trip(&client).await.expect("an answer of the broker");
    let watching = tokio::spawn(async move {
        while let Some(message) = commands.next().await {
            let project = message.subject.split('.').nth(2).unwrap_or_default().to_owned();
            if let Ok(command) = serde_json::from_slice(&message.payload) {
                tokio::spawn(report_when_saved(client.clone(), project, command));
            }
        }
    });
    let profile = "utp.execution";
    let rules = ["UTP-4.2-14", "UTP-4.2-17", "UTP-4.2-33"];
    let output = support::certify_part(
        &support::manifest(),
        &[profile],
        broker.url(),
        Box::new(Reference::of(Revision::V1r3, &[profile.to_owned()])),
        Arc::new(Quiet),
        Part { rules: &rules, ..Part::default() },
    )
    .await;
    watching.abort();
    let outcome = |id: &str| output.record.rules.iter().find(|rule| rule.id == id).map(|rule| rule.outcome);
    assert_eq!(outcome("UTP-4.2-14"), Some(Outcome::NotObserved));
    assert_eq!(outcome("UTP-4.2-17"), Some(Outcome::NotObserved));
    // No runtime goes on by such a card.
    assert_eq!(outcome("UTP-4.2-33"), Some(Outcome::Passed));
}
