//! What comes over a pipe: good lines, bad lines, long lines, no lines.

use callmark_reference::toolbus::Config;
use serde_json::{Value, json};

use super::support::{Client, hello};

#[tokio::test]
async fn bad_lines_are_answered_and_the_next_call_is_served() {
    let mut client = Client::connect(Config::default()).await;
    for (line, code, id) in [
        ("not json", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":5,", -32700, Value::Null),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":71,"method":"ping"}"#, -32600, json!(71)),
        (r#"{"jsonrpc":"2.0","id":72}"#, -32600, json!(72)),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, -32600, Value::Null),
        (r#"{"jsonrpc":"2.0","id":73,"method":"no/such"}"#, -32601, json!(73)),
        (r#"{"jsonrpc":"2.0","id":74,"method":"tools/call"}"#, -32602, json!(74)),
        (r#"{"jsonrpc":"2.0","id":75,"method":"tools/call","params":[1]}"#, -32602, json!(75)),
        (
            r#"{"jsonrpc":"2.0","id":76,"method":"tools/call","params":{"tool":"probe_echo","input":{"value":1}}}"#,
            -32602,
            json!(76),
        ),
        (
            r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":5,"arguments":{}}}"#,
            -32602,
            json!(77),
        ),
        (
            r#"{"jsonrpc":"2.0","id":78,"method":"tools/call","params":{"name":"probe_echo","arguments":[1]}}"#,
            -32602,
            json!(78),
        ),
        (r#"{"jsonrpc":"2.0","id":79,"method":"tools/call","params":{"name":"no_such"}}"#, -32602, json!(79)),
    ] {
        client.line(line).await;
        let answer = client.receive().await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}: {answer}");
        assert!(!answer["error"]["message"].as_str().expect("a message").is_empty());
        assert_eq!(client.call("probe_echo", &json!({"value": 1})).await["result"], 1, "after {line}");
    }
}

#[tokio::test]
async fn lines_that_need_no_answer_get_none() {
    let mut client = Client::connect(Config::default()).await;
    for line in [
        "",
        "   \r",
        r#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#,
        r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"mcp_state","arguments":{"action":"set","key":"k","value":1}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":999}}"#,
        r#"{"jsonrpc":"2.0","id":5,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":5,"error":{"code":1,"message":"x"}}"#,
    ] {
        client.line(line).await;
    }
    // The answer to this is the first that comes, and nothing was run before it.
    assert_eq!(client.call("mcp_state", &json!({"action": "list"})).await["result"]["keys"], json!([]));
    assert_eq!(client.end().await, "");
}

#[tokio::test]
async fn long_lines_are_served_and_longer_ones_refused() {
    let mut client = Client::connect(Config::default()).await;
    let text = "word ".repeat(1024 * 1024);
    let envelope = client.call("text_statistics", &json!({"text": text})).await;
    assert_eq!(envelope["result"]["words"], 1024 * 1024);
    let longer = format!("{{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"{}\"}}\n", "x".repeat(9 * 1024 * 1024));
    client.bytes(longer.as_bytes()).await;
    let answer = client.receive().await;
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
    assert_eq!(client.call("probe_echo", &json!({"value": 2})).await["result"], 2);
}

#[tokio::test]
async fn nothing_before_the_handshake_ends_the_server() {
    let mut client = Client::silent(Config::default());
    client.line("not json").await;
    assert_eq!(client.receive().await["error"]["code"], -32700);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.line(r#"{"jsonrpc":"2.0","id":5,"result":{}}"#).await;
    let early = client.answer("probe_echo", &json!({"value": 1})).await;
    assert!(early.get("error").is_some(), "{early}");
    let bad = client.request("initialize", &json!({"protocolVersion": 5})).await;
    assert!(bad.get("error").is_some(), "{bad}");
    client.initialize().await;
    assert_eq!(client.call("probe_echo", &json!({"value": 1})).await["result"], 1);
}

#[tokio::test]
async fn an_unknown_revision_is_answered_with_one_that_is_served() {
    for (asked, answered) in [
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-06-18"),
        ("1999-01-01", "2025-06-18"),
    ] {
        let mut client = Client::silent(Config::default());
        let mut hello = hello();
        hello["protocolVersion"] = json!(asked);
        let answer = client.request("initialize", &hello).await;
        assert_eq!(answer["result"]["protocolVersion"], answered, "{answer}");
        assert_eq!(answer["result"]["capabilities"], json!({"tools": {}}));
    }
}

#[tokio::test]
async fn all_answers_are_sent_before_the_end() {
    let mut client = Client::connect(Config::default()).await;
    let params = json!({"name": "probe_echo", "arguments": {"value": 1}});
    let lines: Vec<String> = (100..120)
        .map(|id| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string())
        .collect();
    // The last line has no end: the client closes its side instead.
    client.bytes(lines.join("\n").as_bytes()).await;
    let rest = client.end().await;
    assert_eq!(rest.lines().count(), 20, "{rest}");
    assert!(rest.lines().all(|line| line.contains("\"result\"")));
}

#[tokio::test]
async fn an_end_before_the_handshake_is_no_error() {
    assert_eq!(Client::silent(Config::default()).end().await, "");
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_any_further() {
    let mut client = Client::connect(Config::default()).await;
    let params = json!({"name": "probe_large", "arguments": {"bytes": 100_000}});
    let mut sent = 0_u32;
    let unread = async {
        loop {
            client
                .line(
                    &json!({"jsonrpc": "2.0", "id": sent + 100, "method": "tools/call", "params": params})
                        .to_string(),
                )
                .await;
            sent += 1;
        }
    };
    // The pipe holds a few hundred requests; without a bound the server would take them without end.
    let stopped = tokio::time::timeout(std::time::Duration::from_secs(2), unread).await;
    assert!(stopped.is_err());
    assert!(sent < 1_500, "{sent} requests were taken");
    for _ in 0..10 {
        assert!(client.receive().await.get("result").is_some());
    }
}
