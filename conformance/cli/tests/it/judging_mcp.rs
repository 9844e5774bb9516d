//! `judge` and `proxy --stdio` with MCP: calls with and without a session, what passes between a client and its server.

use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::judging::broken;
use crate::support;

/// The archive of a call of MCP without sessions: what the answer has in its envelope's place, and beside it.
fn archived_call(capabilities: &Value, stream: &[Value], headers: &[(&str, &str)]) -> Vec<u8> {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "t", "arguments": {},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        },
    }});
    let named = |own: &[(&str, &str)]| -> Vec<Value> {
        own.iter().map(|(name, value)| json!({"name": name, "value": value})).collect()
    };
    let events: Vec<String> = stream.iter().map(|message| format!("data: {message}\n\n")).collect();
    let answered = [&[("Content-Type", "text/event-stream")], headers].concat();
    let sent = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "tools/call"), ("Mcp-Name", "t")];
    let entry = json!({
        "request": {
            "method": "POST", "url": "http://bus.example/mcp", "headers": named(&sent),
            "postData": {"mimeType": "application/json", "text": request.to_string()},
        },
        "response": {"status": 200, "headers": named(&answered), "content": {"size": 1, "text": events.concat()}},
    });
    json!({"log": {"version": "1.2", "creator": {}, "entries": [entry]}}).to_string().into_bytes()
}

#[test]
fn a_call_without_a_session_is_judged_as_one() {
    let envelope = json!({
        "tool": "t", "action": null, "result": {}, "duration_ms": 0,
        "trace": {"trace_id": "3ca964908f62484742fae08be9e22f9c", "span_id": "7e41c5b291885785", "parent_span_id": null},
        "artifact_uri_context": null, "artifact_uri_json": null,
    });
    let complete = json!({
        "resultType": "complete", "isError": false,
        "content": [{"type": "text", "text": envelope.to_string()}],
        "_meta": {"io.modelcontextprotocol/serverInfo": {"name": "n", "version": "1"}},
    });
    let answer = |result: &Value| json!({"jsonrpc": "2.0", "id": 1, "result": result});
    let without = |member: &str| {
        let mut result = complete.clone();
        result.as_object_mut().expect("an object").remove(member);
        answer(&result)
    };
    let error = |code: i64| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": code, "message": "no"}});
    let asks = answer(&json!({
        "resultType": "input_required",
        "inputRequests": {"a": {"method": "elicitation/create", "params": {}}},
        "_meta": complete["_meta"],
    }));
    let ping = json!({"jsonrpc": "2.0", "id": "s", "method": "ping"});
    let logged =
        json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}});
    let (nothing, elicits) = (json!({}), json!({"elicitation": {}}));
    let whole = answer(&complete);
    for (capabilities, stream, headers, expect) in [
        (&nothing, vec![whole.clone()], &[][..], None),
        (&elicits, vec![asks.clone()], &[], None),
        (&nothing, vec![asks], &[], Some("MCP-22")),
        (&nothing, vec![without("resultType")], &[], Some("MCP-01")),
        (&nothing, vec![whole.clone()], &[("Mcp-Session-Id", "s")], Some("MCP-15")),
        (&nothing, vec![ping, whole.clone()], &[], Some("MCP-20")),
        (&nothing, vec![logged, whole], &[], Some("MCP-21")),
        (&nothing, vec![error(-32050)], &[], Some("MCP-23")),
        (&nothing, vec![error(-32001)], &[], Some("MCP-24")),
        (&nothing, vec![without("_meta")], &[], Some("MCP-26")),
    ] {
        let found = broken(&archived_call(capabilities, &stream, headers), &[]);
        assert_eq!(found, Vec::from_iter(expect), "{stream:?}");
    }
}

/// Runs a server behind the proxy, with this on its standard input.
fn proxied(arguments: &[&str], command: &[&str], input: &[u8]) -> Output {
    let mut proxy = Command::new(support::program())
        .args(["proxy", "--stdio"])
        .args(arguments)
        .arg("--")
        .args(command)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut stdin = proxy.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A server may end before it has read everything.
    let writing = std::thread::spawn(move || stdin.write_all(&input).is_ok());
    let output = proxy.wait_with_output().expect("its output");
    writing.join().expect("a writer");
    output
}

#[test]
fn a_proxy_passes_every_byte_on_and_judges_what_passes() {
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let call = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\",\"arguments\":{}}}";
    // A server that repeats what it is sent is no server, but shows that nothing is changed.
    let odd = format!("{call}\r\n\n\u{1b}[1m no json\n\0\n{}\nno end", "x".repeat(5 * 1024 * 1024));
    let output = proxied(&[], &["cat"], odd.as_bytes());
    assert!(output.stdout == odd.as_bytes(), "{} bytes", output.stdout.len());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("2 messages were passed on unjudged"), "{}", said(&output));
    let answer =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"plain\"}]}}";
    let server = format!("read line; echo starting; echo '{answer}'");
    let output = proxied(&[], &["sh", "-c", &server], format!("{call}\n").as_bytes());
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("starting\n{answer}\n"));
    assert!(said(&output).contains("error[BUS-41]"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    // The server's own end counts first.
    let output = proxied(&[], &["sh", "-c", "exit 7"], b"");
    assert_eq!(output.status.code(), Some(7), "{}", said(&output));
    let output = proxied(&[], &["/no/such/server"], b"");
    assert!(
        output.status.code() == Some(3) && said(&output).contains("/no/such/server"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_proxy_finds_nothing_in_what_the_reference_does() {
    let program = support::program();
    let command = [program.to_str().expect("a path"), "serve", "toolbus", "--stdio"];
    let call = |id: u32, tool: &str, arguments: Value| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}});
    let mut input = String::new();
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"},
    }});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [
        hello,
        ready,
        call(1, "depot_lookup", json!({"action": "list", "trace_id": "t-1"})),
        call(2, "depot_lookup", json!({"action": "find"})),
        call(3, "text_statistics", json!({"text": "one two two"})),
    ] {
        let _ = writeln!(input, "{message}");
    }
    let report = tempfile::tempdir().expect("a directory");
    let path = report.path().join("report.json");
    let path = path.to_str().expect("a path");
    let output = proxied(&["--bundled", "--report", path], &command, input.as_bytes());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no violation seen in 3 exchanges"), "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&std::fs::read(path).expect("a report")).expect("JSON");
    assert_eq!(report["verdict"], "no-violation");
}
