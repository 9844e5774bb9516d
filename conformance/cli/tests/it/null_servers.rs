//! MCP servers that do nothing of what they should score no pass, and never end as conformant, over stdio and
//! over HTTP.

use std::time::Duration;

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::families::toolbus::manifest::{ToolbusTable, Transport};
use serde_json::{Value, json};
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// What answers everything: enough to be taken for an MCP server, and no work.
const HANDSHAKE: &str = r#""protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"null","version":"0"}"#;

async fn check(manifest: Manifest, expect: Verdict) {
    let profiles = ["toolbus.server", "toolbus.artifacts"];
    let output = nothing::check(&manifest, &profiles, "", expect, "the server").await;
    assert_eq!(output.record.rules.len(), 77);
}

/// A server whose standard input goes through a shell command.
fn stdio(command: &str) -> Manifest {
    let mut manifest = support::manifest();
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
        toolbus.command = Some(["sh", "-c", command].map(str::to_owned).to_vec());
        toolbus.launch.start_timeout_seconds = Some(1.0);
    }
    manifest
}

/// Answers each request with the same member.
fn answering(member: &str) -> String {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":\1,{member}}}"#);
    // `sed -u` would read byte after byte, and in other locales it looks for characters: half a minute where a line is of
    // megabytes.
    format!(r#"exec env LC_ALL=C stdbuf -oL sed -n 's/.*"id":\(-\{{0,1\}}[0-9]*\).*/{answer}/p'"#)
}

async fn http(respond: impl Respond + 'static) -> (Manifest, MockServer) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = support::manifest();
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
        toolbus.transport = Some(Transport::Http);
        toolbus.launch.start = None;
        toolbus.url = Some(format!("{}/mcp", server.uri()));
        toolbus.launch.start_timeout_seconds = Some(1.0);
    }
    (manifest, server)
}

fn json_rpc(member: &'static str) -> impl Respond {
    move |request: &Request| {
        let id = serde_json::from_slice::<Value>(&request.body).unwrap_or_default()["id"].clone();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#);
        ResponseTemplate::new(200).set_body_raw(body, "application/json")
    }
}

#[tokio::test]
async fn a_program_that_ends_at_once() {
    check(stdio("exit 3"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn silence_on_a_pipe() {
    check(stdio("exec cat >/dev/null"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_echo_on_a_pipe() {
    check(stdio("exec cat"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn noise_on_a_pipe() {
    check(stdio("exec yes"), Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_an_error_on_a_pipe() {
    check(stdio(&answering(r#""error":{"code":-32603,"message":"no"}"#)), Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_an_empty_success_on_a_pipe() {
    let member = format!(r#""result":{{{HANDSHAKE},"content":[{{"type":"text","text":"{{}}"}}]}}"#);
    check(stdio(&answering(&member)), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_error_for_every_call_on_a_pipe() {
    let calls = answering(r#""error":{"code":-32603,"message":"no"}"#);
    let command = format!(
        r#"read first; printf '{{"jsonrpc":"2.0","id":0,"result":{{%s}}}}\n' '{HANDSHAKE}'; {calls}"#
    );
    check(stdio(&command), Verdict::Incomplete).await;
}

#[tokio::test]
async fn not_found_for_everything() {
    let (manifest, _server) = http(ResponseTemplate::new(404)).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_internal_error_for_everything() {
    let (manifest, _server) = http(ResponseTemplate::new(500).set_body_string("<html>oops</html>")).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_empty_body_for_everything() {
    let (manifest, _server) = http(ResponseTemplate::new(200)).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_echo_over_http() {
    let echo =
        |request: &Request| ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json");
    let (manifest, _server) = http(echo).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn silence_over_http() {
    let (manifest, _server) = http(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_an_error_over_http() {
    let (manifest, _server) = http(json_rpc(r#""error":{"code":-32603,"message":"no"}"#)).await;
    check(manifest, Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_an_empty_success_over_http() {
    let respond = |request: &Request| {
        let id = serde_json::from_slice::<Value>(&request.body).unwrap_or_default()["id"].clone();
        let body = json!({"jsonrpc": "2.0", "id": id, "result": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "content": [{"type": "text", "text": "{}"}],
        }});
        ResponseTemplate::new(200).set_body_json(body)
    };
    let (manifest, _server) = http(respond).await;
    check(manifest, Verdict::Nonconformant).await;
}

/// Servers of the era without sessions.
mod modern {
    use super::*;

    /// What answers everything.
    const ANSWER: &str = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","tools":[],"content":[{"type":"text","text":"{}"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"null","version":"0"}}"#;

    async fn check(mut manifest: Manifest, expect: Verdict) {
        if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
            toolbus.revisions = Some(vec!["2026-07-28".to_owned()]);
        }
        let profiles = ["toolbus.server@2026-07-28", "toolbus.artifacts@2026-07-28"];
        let output = nothing::check(&manifest, &profiles, "", expect, "the server").await;
        let is_own = |id: &str| id.starts_with("MCP-");
        assert_eq!(output.record.rules.iter().filter(|rule| !is_own(&rule.id)).count(), 76);
        assert!(output.record.rules.iter().any(|rule| is_own(&rule.id)), "no rule of MCP");
    }

    #[tokio::test]
    async fn a_program_that_ends_at_once() {
        check(stdio("exit 3"), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn silence_on_a_pipe() {
        check(stdio("exec cat >/dev/null"), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn an_echo_on_a_pipe() {
        check(stdio("exec cat"), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn noise_on_a_pipe() {
        check(stdio("exec yes"), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn always_an_error_on_a_pipe() {
        check(stdio(&answering(r#""error":{"code":-32603,"message":"no"}"#)), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn always_the_same_success_on_a_pipe() {
        // A slash would end the pattern.
        let member = format!(r#""result":{{{ANSWER}}}"#).replace('/', r"\/");
        check(stdio(&answering(&member)), Verdict::Nonconformant).await;
    }

    #[tokio::test]
    async fn an_error_for_every_call_on_a_pipe() {
        let calls = answering(r#""error":{"code":-32603,"message":"no"}"#);
        let command = format!(
            r#"read first; printf '{{"jsonrpc":"2.0","id":-2,"result":{{%s}}}}\n' '{ANSWER}'; {calls}"#
        );
        check(stdio(&command), Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn not_found_for_everything() {
        let (manifest, _server) = http(ResponseTemplate::new(404)).await;
        check(manifest, Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn an_empty_body_for_everything() {
        let (manifest, _server) = http(ResponseTemplate::new(200)).await;
        check(manifest, Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn an_echo_over_http() {
        let echo = |request: &Request| {
            ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json")
        };
        let (manifest, _server) = http(echo).await;
        check(manifest, Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn silence_over_http() {
        let (manifest, _server) = http(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
        check(manifest, Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn a_refusal_for_everything_over_http() {
        let member = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}"#;
        let (manifest, _server) = http(json_rpc(member)).await;
        check(manifest, Verdict::Incomplete).await;
    }

    #[tokio::test]
    async fn always_the_same_success_over_http() {
        let respond = |request: &Request| {
            let id = serde_json::from_slice::<Value>(&request.body).unwrap_or_default()["id"].clone();
            let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{ANSWER}}}}}"#);
            ResponseTemplate::new(200).set_body_raw(body, "application/json")
        };
        let (manifest, _server) = http(respond).await;
        check(manifest, Verdict::Nonconformant).await;
    }
}
