//! Tool runners that do nothing of what they should score no pass, and never end as conformant: at the suite's store,
//! and in a system that brings its own. Those that speak in lines are in `alone/null_runners`.

use std::sync::Arc;
use std::time::Duration;

use callmark_reference::breadcrumb::client::{ListQuery, StoreClient};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use callmark_reports::record::Verdict;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::Quiet;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;
use callmark_suite::families::utp::target::Running;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::port;
use crate::support::{self, Part, nothing};

/// Between attempts to reach a store that is not open yet.
const PAUSE: Duration = Duration::from_millis(20);
/// For an answer that comes.
const PATIENCE: Duration = Duration::from_secs(4);

/// As a runner alone: what its tools score follows from the same answers, and is tried in lines.
async fn check(manifest: &Manifest, expect: Verdict, who: &str) {
    let mut part = Part::default();
    if expect == Verdict::Nonconformant {
        // Whoever answers shares a thread with the suite here, and both may share a processor with a dozen other tests.
        part.limits.answer_floor = PATIENCE;
        part.limits.answer_ceiling = PATIENCE;
    }
    let profiles = ["breadcrumb.runner"];
    let output =
        support::certify_part(manifest, &profiles, "", Box::new(Running), Arc::new(Quiet), part).await;
    nothing::check_output(&output, expect, who);
}

fn manifest(expect: Verdict) -> Manifest {
    let mut manifest = support::manifest();
    let own = manifest.get_mut::<BreadcrumbTable>().expect("the bundled manifest has a runner");
    own.launch.start = None;
    // Who answers at all is waited for, also on a busy machine; who does not costs this much.
    own.launch.start_timeout_seconds = Some(if expect == Verdict::Incomplete { 1.0 } else { 20.0 });
    // No page is ever asked for, and without a browser none is waited for.
    own.catalog.remove("astral");
    manifest
}

/// At the suite's store.
async fn check_at_the_store(answer: Option<fn(&Value) -> Value>, expect: Verdict, who: &str) {
    let address = port::reserved().to_string();
    let mut manifest = manifest(expect);
    manifest.get_mut::<BreadcrumbTable>().expect("a runner").listen = Some(address.clone());
    let answering = answer.map(|answer| answer_all(format!("http://{address}"), answer));
    check(&manifest, expect, who).await;
    answering.inspect(JoinHandle::abort);
}

/// In a system whose store is a real one.
async fn check_in_a_system(answer: Option<fn(&Value) -> Value>, expect: Verdict, who: &str) {
    let store = StoreServer::start(StoreConfig::new()).await.expect("a store");
    let mut manifest = manifest(expect);
    manifest.get_mut::<BreadcrumbTable>().expect("a runner").store = Some(store.url());
    let answering = answer.map(|answer| answer_all(store.url(), answer));
    check(&manifest, expect, who).await;
    answering.inspect(JoinHandle::abort);
}

/// In a system that answers every request of its store alike.
async fn check_null_system(respond: impl Respond + 'static, expect: Verdict, who: &str) {
    let server = MockServer::start().await;
    Mock::given(any()).respond_with(respond).mount(&server).await;
    let mut manifest = manifest(expect);
    manifest.get_mut::<BreadcrumbTable>().expect("a runner").store = Some(server.uri());
    check(&manifest, expect, who).await;
}

/// Answers each request for a tool with a `tool.response.v1`, whose context follows from the request alone.
fn answer_all(url: String, answer: fn(&Value) -> Value) -> JoinHandle<()> {
    tokio::spawn(async move {
        // Nothing reports that a port is open: one has to try.
        let mut tries = tokio::time::interval(PAUSE);
        loop {
            tries.tick().await;
            let Ok(client) = StoreClient::new(&url, None) else { continue };
            let Ok(mut events) = client.events(vec![ListQuery::default()]).await else { continue };
            while let Some(event) = events.next().await {
                let Ok(full) = client.full(&event.id).await else { continue };
                for request in
                    full.context.get("tool_requests").and_then(Value::as_array).into_iter().flatten()
                {
                    let crumb = json!({"schema_name": "tool.response.v1", "title": "Response",
                        "tags": ["tool:response"], "context": answer(request)});
                    let _ = client.create(&crumb).await;
                }
            }
        }
    })
}

fn success(request: &Value) -> Value {
    json!({"request_id": request["requestId"], "tool": request["tool"], "status": "success", "output": {}})
}

fn error(request: &Value) -> Value {
    json!({"request_id": request["requestId"], "tool": request["tool"], "status": "error",
        "error": "it did not work"})
}

fn echo(request: &Value) -> Value {
    request.clone()
}

#[tokio::test]
async fn nobody_at_the_store() {
    check_at_the_store(None, Verdict::Incomplete, "nobody").await;
}

#[tokio::test]
async fn an_error_for_everything_at_the_store() {
    check_at_the_store(Some(error), Verdict::Nonconformant, "an error for everything").await;
}

#[tokio::test]
async fn an_empty_success_for_everything_at_the_store() {
    check_at_the_store(Some(success), Verdict::Nonconformant, "an empty success").await;
}

#[tokio::test]
async fn an_echo_at_the_store() {
    check_at_the_store(Some(echo), Verdict::Incomplete, "an echo").await;
}

#[tokio::test]
async fn nobody_in_a_system() {
    check_in_a_system(None, Verdict::Incomplete, "a store without a runner").await;
}

#[tokio::test]
async fn an_error_for_everything_in_a_system() {
    check_in_a_system(Some(error), Verdict::Nonconformant, "an error for everything").await;
}

#[tokio::test]
async fn an_empty_success_for_everything_in_a_system() {
    check_in_a_system(Some(success), Verdict::Nonconformant, "an empty success").await;
}

#[tokio::test]
async fn not_found_for_everything() {
    check_null_system(ResponseTemplate::new(404), Verdict::Incomplete, "not found").await;
}

#[tokio::test]
async fn an_internal_error_for_everything() {
    let error = ResponseTemplate::new(500).set_body_string("<html>oops</html>");
    check_null_system(error, Verdict::Incomplete, "an internal error").await;
}

#[tokio::test]
async fn an_empty_body_for_everything() {
    check_null_system(ResponseTemplate::new(200), Verdict::Incomplete, "an empty body").await;
}

#[tokio::test]
async fn an_echo_of_every_request() {
    let echo =
        |request: &Request| ResponseTemplate::new(200).set_body_raw(request.body.clone(), "application/json");
    check_null_system(echo, Verdict::Incomplete, "an echo").await;
}
