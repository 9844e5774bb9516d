//! Registries that do nothing of what they should score no pass, and never end as conformant.

use callmark_suite::families::utp::manifest::UtpTable;
use std::time::Duration;

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use serde_json::json;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

async fn check(respond: impl Respond + 'static, expect: Verdict) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = support::manifest();
    let utp = manifest.get_mut::<UtpTable>().expect("the bundled manifest has UTP roles");
    let registry = utp.registry.as_mut().expect("the bundled manifest has a registry");
    registry.base_url = Some(server.uri());
    registry.launch.start_timeout_seconds = Some(1.0);
    for profile in ["utp.registry", "utp.registry@v1r4"] {
        nothing::check(&manifest, &[profile], "", expect, profile).await;
    }
}

fn is_upload(request: &Request) -> bool {
    request.method.as_str() == "POST"
}

#[tokio::test]
async fn not_found_for_everything() {
    check(ResponseTemplate::new(404), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_refusal_of_every_definition() {
    let error = json!({"error": {"code": "bad_request", "message": "no"}});
    check(ResponseTemplate::new(422).set_body_json(error), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_empty_body_for_everything() {
    check(ResponseTemplate::new(200), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_empty_object_for_everything() {
    check(ResponseTemplate::new(200).set_body_json(json!({})), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_echo() {
    let echo = |request: &Request| {
        let request = json!({"method": request.method.as_str(), "tool_name": request.url.path(),
                          "body": String::from_utf8_lossy(&request.body)});
        ResponseTemplate::new(200).set_body_json(request)
    };
    check(echo, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn one_row_for_everything() {
    let row = json!({
        "project_id": "prj", "tool_name": "tide_table", "description": "x", "parameters": {}, "options": {},
        "target_subject": "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides", "after_execution": "suspend",
    });
    check(ResponseTemplate::new(200).set_body_json(row), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_row_made_of_the_path() {
    let row = |request: &Request| {
        let parts: Vec<&str> = request.url.path().split('/').collect();
        let name = parts.get(4).copied().unwrap_or_default();
        ResponseTemplate::new(200).set_body_json(json!({
            "project_id": parts[2], "tool_name": name, "description": name, "parameters": {}, "options": {},
            "target_subject": format!("cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.{name}"),
            "after_execution": "suspend",
        }))
    };
    check(row, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_upload_that_is_accepted_and_not_stored() {
    let accepted = |request: &Request| {
        if is_upload(request) {
            ResponseTemplate::new(201).set_body_bytes(request.body.clone())
        } else {
            ResponseTemplate::new(404)
        }
    };
    check(accepted, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_empty_list() {
    let list = |request: &Request| {
        ResponseTemplate::new(if is_upload(request) { 201 } else { 200 }).set_body_json(json!({"tools": []}))
    };
    check(list, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_internal_error_for_everything() {
    check(ResponseTemplate::new(500).set_body_string("<html>oops</html>"), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn unavailable_for_ever() {
    check(ResponseTemplate::new(503), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn elsewhere_for_ever() {
    let moved = ResponseTemplate::new(307).insert_header("location", "/login");
    check(moved, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_refusal_of_everybody() {
    check(ResponseTemplate::new(401).set_body_string("no"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn silence() {
    check(ResponseTemplate::new(200).set_delay(Duration::from_secs(600)), Verdict::Incomplete).await;
}
