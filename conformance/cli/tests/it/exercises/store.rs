//! `watch` beside a breadcrumb store that others use: a runner answers what an agent asks for.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::http::ask;
use super::{Watched, findings};
use crate::pages::served::Served;

const DEADLINE: Duration = Duration::from_secs(30);

/// The reference's store, with a runner.
struct Store {
    served: Served,
}

impl Store {
    fn start() -> Self {
        let served = Served::start(&["breadcrumb", "--listen", "127.0.0.1:0"], "store     http://");
        Self { served }
    }

    fn watch(&self, home: &Path) -> Watched {
        let manifest = home.join("callmark.toml");
        let store = format!("store = \"http://{}\"", self.served.address);
        std::fs::write(
            &manifest,
            format!("[target]\nname = \"a\"\n[breadcrumb]\n{store}\n[breadcrumb.runner]\n"),
        )
        .expect("a file");
        let manifest = manifest.display().to_string();
        Watched::start(&["watch", "--target", &manifest, "--report"], &home.join("report.json"), "watching ")
    }

    fn put(&self, crumb: &Value) {
        let headers = BTreeMap::from([("content-type".to_owned(), "application/json".to_owned())]);
        let given = ask(&self.served.address, "POST", "/breadcrumbs", &headers, crumb.to_string().as_bytes());
        assert_eq!(given.status, 200, "{given:?}");
    }

    /// Waits until so many answers are stored.
    fn wait_for_answers(&self, wanted: usize) {
        let began = Instant::now();
        let path = "/breadcrumbs?schema_name=tool.response.v1&limit=500";
        loop {
            let listed = ask(&self.served.address, "GET", path, &BTreeMap::new(), b"").json();
            let stored = listed.and_then(|own| own.as_array().map(Vec::len)).unwrap_or_default();
            if stored >= wanted {
                break;
            }
            assert!(began.elapsed() < DEADLINE, "{stored} answers of {wanted}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// Asks for two tools at once, the results for the user.
fn invocation(number: usize) -> Value {
    let request = |tool: &str, input: &Value| json!({"tool": tool, "input": input, "requestId": format!("{tool}-{number}"), "return_to_llm": false});
    let requests = [
        request("echo", &json!({"message": format!("number {number}")})),
        request("calculator", &json!({"expression": format!("{number} / 0 + 1")})),
    ];
    json!({
        "schema_name": "agent.response.v1", "title": "Two tools", "tags": ["agent:response", "session:exercise"],
        "context": {"message": "One moment.", "tool_requests": requests},
    })
}

#[test]
fn answers_of_a_runner_are_judged_as_they_are_stored() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::start();
    // What was there before is nobody's exchange.
    store.put(&invocation(0));
    store.wait_for_answers(2);
    let watched = store.watch(home.path());
    for number in 1..=5 {
        store.put(&invocation(number));
    }
    store.wait_for_answers(12);
    let report = watched.end();
    assert_eq!(findings(&report), [""; 0]);
    assert_eq!(report["exchanges"], 10, "{report}");
}

#[test]
fn a_wrong_answer_in_a_store_is_found() {
    let home = tempfile::tempdir().expect("a directory");
    let store = Store::start();
    let watched = store.watch(home.path());
    store.put(&invocation(1));
    store.wait_for_answers(2);
    let context =
        json!({"request_id": "echo-1", "tool": "echo", "status": "done", "output": {"echo": "number 1"}});
    store.put(&json!({
        "schema_name": "tool.response.v1", "title": "Response: echo", "context": context,
        "tags": ["tool:response", "request:echo-1", "session:exercise"],
    }));
    store.wait_for_answers(3);
    let report = watched.end();
    let found = findings(&report);
    assert!(found.iter().any(|own| own.contains("BRD-57")), "{found:?}");
    assert!(found.iter().all(|own| own.contains("breadcrumb.runner")), "{found:?}");
}
