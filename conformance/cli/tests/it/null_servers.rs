//! MCP servers that do nothing of what they should score no pass, and never end as conformant, over stdio and
//! over HTTP.

use std::time::Duration;

use crate::support::{self, nothing};
use callmark_reports::record::Verdict;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::families::toolbus::manifest::{ToolbusTable, Transport};
use serde_json::Value;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

/// What answers everything in the era of sessions: enough to be taken for an MCP server, and no work.
const HANDSHAKE: &str = r#""protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"null","version":"0"}"#;

/// The same in the era without them.
const ANSWER: &str = r#""resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","tools":[],"content":[{"type":"text","text":"{}"}],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"null","version":"0"}}"#;
/// An error for every request.
const ERROR: &str = r#""error":{"code":-32603,"message":"no"}"#;

/// An era of MCP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Era {
    Sessions,
    Modern,
}

/// What comes of a server in one era.
async fn check(era: Era, (mut manifest, _server): Target, expect: Verdict) {
    let is_modern = era == Era::Modern;
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>().filter(|_| is_modern) {
        toolbus.revisions = Some(vec!["2026-07-28".to_owned()]);
    }
    let profiles = match era {
        Era::Sessions => ["toolbus.server", "toolbus.artifacts"],
        Era::Modern => ["toolbus.server@2026-07-28", "toolbus.artifacts@2026-07-28"],
    };
    let output = nothing::check(&manifest, &profiles, "", expect, "the server").await;
    let (of_mcp, own): (Vec<_>, Vec<_>) =
        output.record.rules.iter().partition(|rule| is_modern && rule.id.starts_with("MCP-"));
    assert_eq!(own.len(), if is_modern { 76 } else { 78 });
    assert_eq!(of_mcp.is_empty(), !is_modern, "rules of MCP");
}

/// A manifest, and the server that it leads to where that listens.
type Target = (Manifest, Option<MockServer>);

/// A server whose standard input goes through a shell command.
fn stdio(command: &str) -> Target {
    let mut manifest = support::manifest();
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
        toolbus.command = Some(["sh", "-c", command].map(str::to_owned).to_vec());
        toolbus.launch.start_timeout_seconds = Some(1.0);
    }
    (manifest, None)
}

/// Answers each request with the same member.
fn answering(member: &str) -> String {
    let answer = format!(r#"{{"jsonrpc":"2.0","id":\1,{member}}}"#);
    // `sed -u` would read byte after byte, and in other locales it looks for characters: half a minute where a line is of
    // megabytes.
    format!(r#"exec env LC_ALL=C stdbuf -oL sed -n 's/.*"id":\(-\{{0,1\}}[0-9]*\).*/{answer}/p'"#)
}

/// A server over HTTP.
async fn http(respond: impl Respond + 'static) -> Target {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = support::manifest();
    if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
        toolbus.transport = Some(Transport::Http);
        toolbus.launch.start = None;
        toolbus.url = Some(format!("{}/mcp", server.uri()));
        toolbus.launch.start_timeout_seconds = Some(1.0);
    }
    (manifest, Some(server))
}

fn json_rpc(member: impl Into<String>) -> impl Respond {
    let member = member.into();
    move |request: &Request| {
        let id = serde_json::from_slice::<Value>(&request.body).unwrap_or_default()["id"].clone();
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},{member}}}"#);
        ResponseTemplate::new(200).set_body_raw(body, "application/json")
    }
}

/// Servers that do as little in both eras, and end as incomplete.
macro_rules! in_both_eras {
    ($($name:ident => $server:expr;)+) => {
        mod sessions {
            use super::*;

            $(
                #[tokio::test]
                async fn $name() {
                    check(Era::Sessions, $server, Verdict::Incomplete).await;
                }
            )+
        }

        mod modern {
            use super::*;

            $(
                #[tokio::test]
                async fn $name() {
                    check(Era::Modern, $server, Verdict::Incomplete).await;
                }
            )+
        }
    };
}

in_both_eras! {
    a_program_that_ends_at_once => stdio("exit 3");
    silence_on_a_pipe => stdio("exec cat >/dev/null");
    an_echo_on_a_pipe => stdio("exec cat");
    noise_on_a_pipe => stdio("exec yes");
    always_an_error_on_a_pipe => stdio(&answering(ERROR));
    not_found_for_everything => http(ResponseTemplate::new(404)).await;
    an_internal_error_for_everything => http(ResponseTemplate::new(500).set_body_string("<html>oops</html>")).await;
    an_empty_body_for_everything => http(ResponseTemplate::new(200)).await;
    an_echo_over_http => http(echo).await;
    silence_over_http => http(ResponseTemplate::new(200).set_delay(Duration::from_secs(600))).await;
    always_an_error_over_http => http(json_rpc(ERROR)).await;
}

fn echo(request: &Request) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json")
}

/// A server that takes its first request, and refuses every call.
fn refusing(id: i32, result: &str) -> Target {
    let calls = answering(ERROR);
    let first = format!(r#"printf '{{"jsonrpc":"2.0","id":{id},"result":{{%s}}}}\n' '{result}'"#);
    stdio(&format!("read first; {first}; {calls}"))
}

#[tokio::test]
async fn an_error_for_every_call_on_a_pipe() {
    check(Era::Sessions, refusing(0, HANDSHAKE), Verdict::Incomplete).await;
}

#[tokio::test]
async fn an_error_for_every_call_on_a_pipe_without_sessions() {
    check(Era::Modern, refusing(-2, ANSWER), Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_an_empty_success_on_a_pipe() {
    let member = format!(r#""result":{{{HANDSHAKE},"content":[{{"type":"text","text":"{{}}"}}]}}"#);
    check(Era::Sessions, stdio(&answering(&member)), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn always_the_same_success_on_a_pipe_without_sessions() {
    // A slash would end the pattern.
    let member = format!(r#""result":{{{ANSWER}}}"#).replace('/', r"\/");
    check(Era::Modern, stdio(&answering(&member)), Verdict::Nonconformant).await;
}

#[tokio::test]
async fn always_an_empty_success_over_http() {
    let member = r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"content":[{"type":"text","text":"{}"}]}"#;
    check(Era::Sessions, http(json_rpc(member)).await, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn always_the_same_success_over_http_without_sessions() {
    let respond = json_rpc(format!(r#""result":{{{ANSWER}}}"#));
    check(Era::Modern, http(respond).await, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn a_refusal_for_everything_over_http_without_sessions() {
    let member = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"2099-01-01"}}"#;
    check(Era::Modern, http(json_rpc(member)).await, Verdict::Incomplete).await;
}
