//! Defaults, fixed values, variables and templates, as card and model see them.

use callmark_reference::environment::Environment;
use callmark_reference::utp::message::AfterExecution;
use serde_json::{Value, json};

use super::support::{AGENT, CHANNEL, Harness, PROJECT, calls, row, trace_id};

const TEMPLATES: [&str; 10] = [
    "project_id",
    "channel_id",
    "agent_id",
    "agent_turn_id",
    "step_id",
    "tool_call_id",
    "parent_step_id",
    "trace_id",
    "turn_epoch",
    "context_box_id",
];

#[tokio::test]
async fn the_card_holds_the_resolved_arguments_and_the_names_of_variables() {
    let mut fixed = json!({"tenant": "acme-9"});
    for name in TEMPLATES {
        fixed[format!("t_{name}")] = json!(format!("<{{{name}}}>"));
    }
    let options = json!({
        "args": {"defaults": {"n": 5, "q": "{agent_turn_id} {JINA_API_KEY}"}, "fixed": fixed},
        "envs": {"api_key": "SEARCH_API_KEY"}
    });
    let mut tool = row("tides", AfterExecution::Suspend, options);
    tool.parameters = json!({
        "type": "object",
        "properties": {"n": {"type": "integer"}, "q": {"type": "string"}, "tenant": {"type": "string"},
                       "api_key": {"type": "string"}},
        "required": ["n", "tenant", "api_key"]
    });
    let answer = calls(&[("call_1", "tides", "{\"n\":null,\"tenant\":\"mine\",\"api_key\":\"guess-1\"}")]);
    let mut harness = Harness::start_with(vec![tool], vec![answer], |config| {
        config.environment = [("SEARCH_API_KEY", "secret-77"), ("MODEL_KEY", "model-secret")]
            .into_iter()
            .collect::<Environment>();
        config.model_key = Some("MODEL_KEY".to_owned());
    })
    .await;
    harness.start_turn("turn_1").await;
    let command = harness.command().await;
    let arguments = &command.card["content"]["arguments"];
    assert_eq!(arguments["n"], Value::Null);
    assert_eq!(arguments["q"], "turn_1 {JINA_API_KEY}");
    assert_eq!(arguments["tenant"], "acme-9");
    assert_eq!(arguments.get("api_key"), None);
    let step_id = command.body["step_id"].as_str().expect("a step");
    let values = [PROJECT, CHANNEL, AGENT, "turn_1", step_id, "call_1", "step_p", trace_id(), "1", "box_12"];
    for (name, value) in TEMPLATES.into_iter().zip(values) {
        assert_eq!(arguments[format!("t_{name}")], format!("<{value}>"));
    }
    let metadata = &command.card["metadata"];
    assert_eq!(metadata["tool_args_envs"], json!({"api_key": "SEARCH_API_KEY"}));
    assert_eq!(metadata["tool_args_defaults_applied"], json!(["q"]));
    for secret in ["secret-77", "guess-1", "model-secret"] {
        assert!(!command.card.to_string().contains(secret));
    }
    let requests = harness.script.requests();
    let offered = &requests[0]["tools"][0]["function"];
    assert_eq!(
        offered["parameters"],
        json!({
            "type": "object",
            "properties": {"n": {"type": "integer", "default": 5},
                           "q": {"type": "string", "default": "{agent_turn_id} {JINA_API_KEY}"}},
            "required": ["n"]
        })
    );
    assert!(!requests[0].to_string().contains("acme-9"));
}
