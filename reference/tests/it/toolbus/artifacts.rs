//! What stays on disk.

use std::path::Path;
use std::sync::{Arc, Mutex};

use callmark_reference::toolbus::Config;
use serde_json::{Value, json};

use super::support::{Client, rooted};

fn resolve(root: &Path, uri: &Value) -> std::path::PathBuf {
    root.join("artifacts").join(uri.as_str().expect("a uri").strip_prefix("artifact://").expect("the scheme"))
}

fn read(root: &Path, uri: &Value) -> String {
    std::fs::read_to_string(resolve(root, uri)).expect("readable text")
}

#[tokio::test]
async fn a_call_leaves_both_artifacts_under_its_ids() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("not/there/yet");
    let mut client = Client::connect(rooted(&root)).await;
    let arguments = json!({"value": {"a": 1}, "trace_id": "tr-02", "span_id": "sp-02"});
    let envelope = client.call("probe_echo", &arguments).await;
    assert_eq!(envelope["artifact_uri_context"], "artifact://runs/tr-02/tool_calls/sp-02.context");
    assert_eq!(envelope["artifact_uri_json"], "artifact://runs/tr-02/tool_calls/sp-02/result.json");
    assert_eq!(
        serde_json::from_str::<Value>(&read(&root, &envelope["artifact_uri_json"])).expect("JSON"),
        envelope
    );
    let text = read(&root, &envelope["artifact_uri_context"]);
    assert!(text.contains("probe_echo") && text.contains("tr-02"), "{text}");

    client.end().await;
    let mut again = Client::connect(rooted(&root)).await;
    for _ in 0..20 {
        again.call("probe_echo", &json!({"value": 1, "trace_id": "tr-02"})).await;
    }
    assert_eq!(read(&root, &envelope["artifact_uri_context"]), text);
}

#[tokio::test]
async fn failed_calls_leave_artifacts_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = Client::connect(rooted(folder.path())).await;
    for (tool, arguments) in [
        ("probe_fail", json!({"trace_id": "t", "span_id": "failed"})),
        ("probe_echo", json!({"trace_id": "t", "span_id": "refused"})),
        ("no_such", json!({"trace_id": "t", "span_id": "unknown"})),
    ] {
        let error = client.refused(tool, &arguments).await;
        assert_eq!(error["data"]["trace"]["span_id"], arguments["span_id"]);
        let kept: Value =
            serde_json::from_str(&read(folder.path(), &error["data"]["artifact_uri_json"])).expect("JSON");
        assert_eq!((&kept["tool"], &kept["error"]["code"]), (&json!(tool), &error["code"]));
        assert_eq!(kept.get("result"), None);
        assert!(read(folder.path(), &error["data"]["artifact_uri_context"]).contains("[ERROR]"));
    }
}

#[tokio::test]
async fn secrets_are_in_no_artifact_whatever_is_asked() {
    const MARKER: &str = "mk-5ecret";
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = Client::connect(rooted(folder.path())).await;
    for output in [
        json!({}),
        json!({"path": "password"}),
        json!({"path": "headers.Authorization"}),
        json!({"path": "accounts[0].client_secret"}),
        json!({"path": "accounts", "map": {"path": "client_secret"}}),
        json!({"pick": ["api_key"]}),
    ] {
        for reveal in [false, true] {
            let arguments = json!({"marker": MARKER, "output": output, "reveal_secrets": reveal, "trace_id": MARKER.len().to_string()});
            let envelope = client.call("probe_secret", &arguments).await;
            assert_eq!(envelope["result"].to_string().contains(MARKER), reveal, "{envelope}");
            for uri in ["artifact_uri_context", "artifact_uri_json"] {
                assert!(!read(folder.path(), &envelope[uri]).contains(MARKER), "{output}");
            }
        }
    }
}

#[tokio::test]
async fn artifacts_are_bounded() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut client = Client::connect(rooted(folder.path())).await;
    for shape in ["text", "list", "object"] {
        let envelope = client.call("probe_large", &json!({"bytes": 4 * 1024 * 1024, "shape": shape})).await;
        for uri in ["artifact_uri_context", "artifact_uri_json"] {
            assert!(read(folder.path(), &envelope[uri]).len() < 512 * 1024, "{shape}");
        }
    }
}

#[tokio::test]
async fn without_a_root_uris_are_null() {
    let mut client = Client::connect(Config::default()).await;
    let envelope = client.call("probe_echo", &json!({"value": 1})).await;
    assert_eq!(
        (&envelope["artifact_uri_context"], &envelope["artifact_uri_json"]),
        (&Value::Null, &Value::Null)
    );
}

#[tokio::test]
async fn a_root_that_cannot_be_written_costs_the_artifacts_and_a_log_line() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&lines);
    let config = Config {
        log: Arc::new(move |line: &str| log.lock().expect("no panic").push(line.to_owned())),
        ..rooted(file.path())
    };
    let mut client = Client::connect(config).await;
    let envelope = client.call("probe_echo", &json!({"value": 1})).await;
    assert_eq!((&envelope["result"], &envelope["artifact_uri_json"]), (&json!(1), &Value::Null));
    assert_eq!(lines.lock().expect("no panic").len(), 1);
}
