//! The contract from outside: correlation, shaping, storing, modes, errors, hints.

use callmark_reference::toolbus::Config;
use serde_json::{Value, json};

use super::support::{Client, rooted};

/// A call of every tool that succeeds.
fn good_calls() -> [(&'static str, Value); 7] {
    [
        ("depot_lookup", json!({"action": "find", "item": "bolt-9"})),
        ("text_statistics", json!({"text": "a b"})),
        ("mcp_state", json!({"action": "list"})),
        ("probe_echo", json!({"value": {"a": 1}})),
        ("probe_large", json!({"bytes": 100})),
        ("probe_secret", json!({"marker": "mk"})),
        ("probe_partial", json!({})),
    ]
}

fn with(mut arguments: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().expect("an object") {
        arguments[name] = value.clone();
    }
    arguments
}

#[tokio::test]
async fn every_tool_takes_the_semantic_arguments_and_lists_them() {
    let mut client = Client::connect(Config::default()).await;
    let list = client.request("tools/list", &json!({})).await;
    let tools = list["result"]["tools"].as_array().expect("an array");
    assert_eq!(tools.len(), 9);
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!(schema["additionalProperties"], false);
        for name in [
            "trace_id",
            "span_id",
            "parent_span_id",
            "output",
            "store_as",
            "store_scope",
            "session",
            "response_mode",
        ] {
            assert!(schema["properties"].get(name).is_some(), "{name} of {}", tool["name"]);
        }
    }
    let ids = json!({"trace_id": "tr-01", "span_id": "sp-01", "parent_span_id": "sp-00"});
    for (tool, arguments) in good_calls() {
        let plain = client.call(tool, &arguments).await;
        assert_eq!((&plain["tool"], &plain["trace"]["parent_span_id"]), (&json!(tool), &Value::Null));
        assert_eq!(plain["action"], arguments["action"], "{tool}");
        for mode in ["ai", "compact"] {
            let more = with(ids.clone(), &json!({"response_mode": mode}));
            let mut envelope = client.call(tool, &with(arguments.clone(), &more)).await;
            assert_eq!(envelope["trace"], ids, "{tool}");
            for changing in ["trace", "duration_ms"] {
                envelope[changing] = plain[changing].clone();
            }
            assert_eq!(envelope, plain);
        }
        let shaped = json!({"output": {"pick": ["a", "user", "rows", "words", "text", "stock", "keys"]}, "store_as": tool});
        let shaped = client.call(tool, &with(arguments.clone(), &shaped)).await;
        assert_eq!(shaped["result"].as_object().expect("an object").len(), 1, "{shaped}");
        let stored = client.call("mcp_state", &json!({"action": "get", "key": tool})).await;
        assert_eq!(stored["result"]["value"], shaped["result"], "{tool}");
    }
}

#[tokio::test]
async fn who_names_a_session_has_its_values_alone() {
    let mut client = Client::connect(Config::default()).await;
    let mut open = async || {
        let opened = client.call("session_open", &json!({})).await;
        opened["result"]["session"].as_str().expect("a name").to_owned()
    };
    let (one, other) = (open().await, open().await);
    let store = json!({"value": 1, "store_as": "k", "session": one});
    client.call("probe_echo", &store).await;
    for (session, expect) in [(Some(&one), true), (Some(&other), false), (None, false)] {
        let mut arguments = json!({"action": "get", "key": "k"});
        if let Some(session) = session {
            arguments["session"] = json!(session);
        }
        let read = client.call("mcp_state", &arguments).await;
        assert_eq!(read["result"]["found"], expect, "{session:?}");
    }
}

#[tokio::test]
async fn spans_that_are_made_up_differ() {
    let mut client = Client::connect(Config::default()).await;
    let mut spans = std::collections::HashSet::new();
    for _ in 0..20 {
        let envelope = client.call("probe_echo", &json!({"value": null})).await;
        assert_eq!(envelope["result"], Value::Null);
        assert!(spans.insert(envelope["trace"]["span_id"].as_str().expect("an id").to_owned()));
    }
}

#[tokio::test]
async fn values_come_back_as_they_are() {
    let mut client = Client::connect(Config::default()).await;
    for value in [
        json!(null),
        json!(true),
        json!(-5),
        json!(1.0),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(""),
        json!("\u{0}\u{1f}\"\\ é中\u{1f600}\u{2028}"),
        json!([]),
        json!({}),
        json!({"b": 1, "a": [2, {"": null}]}),
    ] {
        let envelope = client.call("probe_echo", &json!({"value": value})).await;
        assert_eq!(envelope["result"].to_string(), value.to_string());
    }
}

#[tokio::test]
async fn errors_have_the_code_and_the_hint_that_fit() {
    let mut client = Client::connect(Config::default()).await;
    for (tool, arguments, code, hint) in [
        ("depot_lookup", json!({"action": "find"}), -32602, "next_actions"),
        ("depot_lookup", json!({"action": "steal"}), -32602, "argument"),
        ("depot_lookup", json!({}), -32602, "hint"),
        ("depot_lookup", json!({"action": "list", "itme": 1}), -32602, "hint"),
        ("probe_echo", json!({}), -32602, "hint"),
        ("probe_echo", json!({"value": 1, "trace_id": 5}), -32602, "argument"),
        ("probe_echo", json!({"value": 1, "output": {"path": "x"}}), -32602, "hint"),
        ("probe_echo", json!({"value": {"x": 1}, "output": {"map": {}}}), -32602, "found"),
        ("probe_echo", json!({"value": 1, "response_mode": "xml"}), -32602, "argument"),
        ("probe_echo", json!({"value": 1, "store_scope": "x"}), -32602, "argument"),
        ("probe_large", json!({"bytes": 16 * 1024 * 1024 + 1}), -32602, "argument"),
        ("mcp_state", json!({"action": "get"}), -32602, "argument"),
        ("mcp_state", json!({"action": "set", "key": "k"}), -32602, "argument"),
        ("probe_ehco", json!({}), -32602, "hint"),
        ("nothing_like_it", json!({}), -32602, "tools"),
        ("probe_fail", json!({}), -32603, "hint"),
        ("probe_fail", json!({"message": "as agreed"}), -32603, "hint"),
        ("probe_echo", json!({"value": 1, "store_as": "k", "store_scope": "persistent"}), -32603, "hint"),
    ] {
        let error = client.refused(tool, &arguments).await;
        assert_eq!(error["code"], code, "{tool} {arguments}: {error}");
        assert!(error["data"].get(hint).is_some(), "{tool} {arguments}: {error}");
        assert!(!error["message"].as_str().expect("a message").is_empty());
        assert_eq!(client.call("probe_echo", &json!({"value": 3})).await["result"], 3);
    }
}

#[tokio::test]
async fn errors_show_no_values() {
    let mut client = Client::connect(Config::default()).await;
    for (tool, arguments) in [
        ("depot_lookup", json!({"action": "mk-secret-1"})),
        ("depot_lookup", json!({"action": "find", "password": "mk-secret-1"})),
        ("probe_echo", json!({"value": {"password": "mk-secret-1"}, "output": {"path": "password.x"}})),
        ("probe_echo", json!({"value": 1, "trace_id": ["mk-secret-1"]})),
        ("probe_secret", json!({"marker": {"a": "mk-secret-1"}})),
        ("probe_fail", json!({"message": "said Bearer mk-secret-1"})),
    ] {
        let error = client.refused(tool, &arguments).await.to_string();
        assert!(!error.contains("mk-secret-1"), "{error}");
    }
}

#[tokio::test]
async fn stores_keep_what_was_shaped_and_scopes_are_apart() {
    let folder = tempfile::tempdir().expect("a folder");
    let value = json!({"gamma": 1, "delta": {"password": "mk-secret-1"}});
    let mut client = Client::connect(rooted(folder.path())).await;
    client.call("probe_echo", &json!({"value": value, "store_as": "whole"})).await;
    client
        .call("probe_echo", &json!({"value": value, "output": {"pick": ["gamma"]}, "store_as": "part"}))
        .await;
    client.call("probe_echo", &json!({"value": 1, "store_as": "lasting", "store_scope": "persistent"})).await;
    client.call("probe_echo", &json!({"value": 2, "store_as": "lasting", "store_scope": "persistent"})).await;
    client.refused("probe_fail", &json!({"store_as": "failed"})).await;
    client.refused("probe_echo", &json!({"value": 1, "output": {"path": "x"}, "store_as": "failed"})).await;
    client.call("mcp_state", &json!({"action": "set", "key": "api_key", "value": "mk-secret-1"})).await;

    let expected = [
        ("whole", "session", json!({"gamma": 1, "delta": {"password": "[redacted]"}})),
        ("part", "session", json!({"gamma": 1})),
        ("part", "persistent", Value::Null),
        ("lasting", "persistent", json!(2)),
        ("lasting", "session", Value::Null),
        ("failed", "session", Value::Null),
        ("api_key", "session", json!("[redacted]")),
    ];
    for (key, scope, value) in expected {
        let envelope = client.call("mcp_state", &json!({"action": "get", "key": key, "scope": scope})).await;
        let found = !value.is_null();
        assert_eq!(envelope["result"], json!({"key": key, "scope": scope, "found": found, "value": value}));
    }
    client.end().await;

    let mut again = Client::connect(rooted(folder.path())).await;
    let list = again.call("mcp_state", &json!({"action": "list", "scope": "persistent"})).await;
    assert_eq!(list["result"]["keys"], json!(["lasting"]));
    let list = again.call("mcp_state", &json!({"action": "list"})).await;
    assert_eq!(list["result"]["keys"], json!([]));
    let deleted =
        again.call("mcp_state", &json!({"action": "delete", "key": "lasting", "scope": "persistent"})).await;
    assert_eq!(deleted["result"]["deleted"], true);
}

#[tokio::test]
async fn results_are_bounded_and_say_so() {
    let mut client = Client::connect(Config::default()).await;
    for shape in ["text", "list", "object"] {
        let small = client.call("probe_large", &json!({"bytes": 20_000, "shape": shape})).await;
        assert!((19_000..21_000).contains(&small["result"].to_string().len()), "{shape}");
        assert_eq!(small.get("bounded"), None);
        for bytes in [1024 * 1024, 16 * 1024 * 1024] {
            let large = client.call("probe_large", &json!({"bytes": bytes, "shape": shape})).await;
            assert!(large.to_string().len() < 256 * 1024, "{shape}");
            assert_eq!(
                small["result"].as_object().map(|result| result.keys().collect::<Vec<_>>()),
                large["result"].as_object().map(|result| result.keys().collect::<Vec<_>>())
            );
            assert!(large["bounded"]["original_bytes"].as_u64().expect("a number") > bytes - 64);
        }
    }
}

#[tokio::test]
async fn follow_ups_are_in_the_envelope() {
    let mut client = Client::connect(Config::default()).await;
    let unknown = client.call("depot_lookup", &json!({"action": "find", "item": "no-such"})).await;
    assert_eq!((&unknown["result"]["found"], unknown["result"]["hint"].is_string()), (&json!(false), true));
    for envelope in [client.call("probe_partial", &json!({})).await, unknown] {
        let next = &envelope["next_actions"][0];
        assert_eq!(next["tool"], "depot_lookup", "{envelope}");
        // The hint is a call that works.
        let rest = client.call(next["tool"].as_str().expect("a name"), &next["args"]).await;
        assert_eq!(rest["result"]["total"], 6);
    }
}
