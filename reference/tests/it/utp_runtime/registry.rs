//! The management API of `resource.tools` over HTTP.

use reqwest::header::CONTENT_TYPE;
use reqwest::{RequestBuilder, StatusCode};
use serde_json::{Value, json};

use super::support::{Harness, within};

const GOOD: &str = "\
tool_name: tide_table
target_subject: \"cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.lookup\"
after_execution: suspend
description: High and low water.
parameters: {type: object, properties: {harbour: {type: string}}, required: [harbour]}
options: {args: {defaults: {days: 3}}, envs: {api_key: TIDES_API_KEY}}
x_future: 1
project_id: elsewhere
";

async fn send(request: RequestBuilder) -> (StatusCode, Value) {
    let answer = within("answer", request.send()).await.expect("an answer");
    let status = answer.status();
    let body = within("body", answer.bytes()).await.expect("a body");
    (status, serde_json::from_slice(&body).unwrap_or_default())
}

#[tokio::test]
async fn a_definition_is_stored_read_listed_and_removed() {
    let harness = Harness::start(Vec::new(), Vec::new()).await;
    let tools = format!("{}/projects/prj_new/tools", harness.platform_url);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    assert_eq!(send(client.get(&tools)).await, (StatusCode::OK, json!({"tools": []})));
    let (status, row) = send(client.post(&tools).body(GOOD)).await;
    assert_eq!(status, StatusCode::CREATED);
    assert_eq!(
        row,
        json!({
            "project_id": "prj_new", "tool_name": "tide_table", "description": "High and low water.",
            "parameters": {"type": "object", "properties": {"harbour": {"type": "string"}},
                           "required": ["harbour"]},
            "target_subject": "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.lookup",
            "after_execution": "suspend",
            "options": {"args": {"defaults": {"days": 3}}, "envs": {"api_key": "TIDES_API_KEY"}}
        })
    );
    assert_eq!(send(client.get(format!("{tools}/tide_table"))).await.1["tool"], row);

    let short = "tool_name: b\nafter_execution: terminate\n\
                 target_subject: 'cg.v1r3.{project_id}.{channel_id}.cmd.tool.b'\n";
    let form = format!(
        "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"t.yaml\"\r\n\r\n{short}\r\n--b--\r\n"
    );
    let request = client.post(&tools).header(CONTENT_TYPE, "multipart/form-data; boundary=b").body(form);
    let (status, stored) = send(request).await;
    assert_eq!(status, StatusCode::CREATED, "{stored}");
    assert_eq!((&stored["parameters"], &stored["options"]), (&json!({}), &json!({})));
    assert_eq!(send(client.get(&tools)).await.1, json!({"tools": [stored, row]}));

    assert_eq!(send(client.delete(format!("{tools}/b"))).await, (StatusCode::NO_CONTENT, Value::Null));
    assert_eq!(send(client.delete(format!("{tools}/b"))).await.0, StatusCode::NOT_FOUND);
    assert_eq!(send(client.get(format!("{tools}/b"))).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_rejected_upload_changes_nothing() {
    let harness = Harness::start(Vec::new(), Vec::new()).await;
    let tools = format!("{}/projects/prj_new/tools", harness.platform_url);
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let (_, row) = send(client.post(&tools).body(GOOD)).await;
    let mut bad: Vec<String> =
        ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"]
            .map(|name| GOOD.replace("tool_name: tide_table", &format!("tool_name: {name}")))
            .to_vec();
    for value in ["pause", "continue", "''", "1", "Suspend", "' suspend'"] {
        bad.push(GOOD.replace("after_execution: suspend", &format!("after_execution: {value}")));
    }
    bad.push(GOOD.replace("after_execution: suspend\n", ""));
    for family in ["cmd.sys.pmo.internal.w", "cmd.sys.ui.action", "cmd.agent.w.wakeup", "evt.tool.w.done"] {
        bad.push(GOOD.replace("cmd.tool.tides.lookup", family));
    }
    bad.push(GOOD.replace("parameters: {type: object,", "parameters: {type: 7,"));
    bad.push(GOOD.replace("options: {", "options: [{").replace("API_KEY}}", "API_KEY}}]"));
    bad.push("- a\n- list\n".to_owned());
    bad.push("{".to_owned());
    for yaml in bad {
        let (status, body) = send(client.post(&tools).body(yaml.clone())).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{yaml}");
        assert_eq!(body["error"]["code"], "bad_request");
        assert!(!body["error"]["message"].as_str().expect("a message").is_empty());
    }
    assert_eq!(send(client.get(&tools)).await.1, json!({"tools": [row]}));
}
