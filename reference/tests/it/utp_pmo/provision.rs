//! `provision_agent`: rows of the roster.

use serde_json::{Value, json};

use super::support::{AGENT, Harness, read};

#[tokio::test]
async fn an_agent_is_ensured_created_and_derived() {
    let harness = Harness::start().await;
    let ensure = json!({
        "action": "ensure", "agent_id": "ag_new", "profile_name": "florist", "worker_target": "pool_blue"
    });
    let outcome = harness.call("provision_agent", &ensure).await;
    assert_eq!(read(&outcome).2["outcome"], "created");
    let row = harness.agent("ag_new").await;
    assert_eq!((&row["profile"], &row["worker_target"]), (&json!("florist"), &json!("pool_blue")));
    assert_eq!(read(&outcome).2["agent"], row);

    let mut again = ensure.clone();
    again["worker_target"] = json!("pool_red");
    let outcome = harness.call("provision_agent", &again).await;
    assert_eq!(read(&outcome).2["outcome"], "existing");
    assert_eq!(harness.agent("ag_new").await["worker_target"], "pool_blue");

    let outcome = harness.call("provision_agent", &json!({"action": "create", "profile_name": "p"})).await;
    let made = read(&outcome).2["agent_id"].as_str().expect("an id");
    assert_eq!(harness.agent(made).await["profile"], "p");

    let derive = json!({
        "action": "derive", "from_agent_id": AGENT, "agent_id": "ag_derived", "display_name": "Second gardener"
    });
    harness.call("provision_agent", &derive).await;
    let row = harness.agent("ag_derived").await;
    assert_eq!((&row["profile"], &row["worker_target"]), (&json!("gardener"), &json!("pool_green")));
    assert_eq!((&row["display_name"], &row["status"]), (&json!("Second gardener"), &json!("active")));
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_and_changes_nothing() {
    async fn check(harness: &Harness, arguments: Value, field: &str) {
        let outcome = harness.call("provision_agent", &arguments).await;
        assert_eq!((read(&outcome).0, read(&outcome).1), ("failed", "bad_request"), "{arguments}");
        assert_eq!(outcome.card["content"]["error"]["detail"]["field"], field, "{arguments}");
    }
    let harness = Harness::start().await;
    check(&harness, json!({"action": "destroy", "agent_id": AGENT}), "action").await;
    check(&harness, json!({"agent_id": "ag_x"}), "action").await;
    check(&harness, json!({"action": "ensure"}), "agent_id").await;
    check(&harness, json!({"action": "create", "agent_id": AGENT}), "agent_id").await;
    check(&harness, json!({"action": "derive", "agent_id": AGENT}), "agent_id").await;
    check(&harness, json!({"action": "derive", "from_agent_id": "ag_nobody"}), "from_agent_id").await;
    check(&harness, json!({"action": "create", "worker_target": "a.b"}), "worker_target").await;
    assert_eq!(harness.agent(AGENT).await["worker_target"], "pool_green");
}
