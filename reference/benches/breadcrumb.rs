//! How fast a call goes round, and how fast a workflow is planned.
//!
//! A round is an invocation put into a store, its execution by a runner, and the answer on an event stream: three
//! requests and two events over loopback.

use std::hint::black_box;
use std::time::Duration;

use callmark_reference::breadcrumb::client::{Events, ListQuery, StoreClient};
use callmark_reference::breadcrumb::runner::{Runner, RunnerConfig};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use callmark_reference::breadcrumb::tools;
use callmark_reference::breadcrumb::workflow::{Plan, Progress};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

const DEADLINE: Duration = Duration::from_secs(10);

async fn round(client: &StoreClient, events: &Mutex<Events>, id: &str) {
    let invocation = json!({
        "schema_name": "agent.response.v1", "title": "t", "tags": ["agent:response", "session:s1"],
        "context": {"tool_requests": [
            {"tool": "echo", "input": {"message": "hej"}, "requestId": id, "return_to_llm": true},
        ]},
    });
    client.create(&invocation).await.expect("an id");
    let mut events = events.lock().await;
    loop {
        let event = tokio::time::timeout(DEADLINE, events.next()).await.expect("in time").expect("an event");
        if event.context.get("request_id").and_then(Value::as_str) == Some(id) {
            return;
        }
    }
}

fn call(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let (store, client, runner, events) = runtime.block_on(async {
        let store = StoreServer::start(StoreConfig::new()).await.expect("a store");
        let client = StoreClient::new(&store.url(), None).expect("a client");
        let catalog = tools::catalog(&client, []).expect("a catalogue");
        let runner = Runner::start(RunnerConfig::new(store.url(), catalog)).await.expect("a runner");
        let answers = ListQuery { schema_name: Some("tool.response.v1".to_owned()), ..ListQuery::default() };
        let events = client.events(vec![answers]).await.expect("events");
        (store, client, runner, Mutex::new(events))
    });
    let number = std::sync::atomic::AtomicU64::new(0);
    criterion.bench_function("breadcrumb: one echo round", |bencher| {
        bencher.to_async(&runtime).iter(|| async {
            let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            round(&client, &events, &format!("echo-{number}")).await;
        });
    });
    runtime.block_on(async {
        runner.shutdown().await;
        store.shutdown().await;
    });
}

fn plan(criterion: &mut Criterion) {
    let steps: Vec<Value> = (0..10)
        .map(|step| match step {
            0 => json!({"id": "s0", "tool": "echo", "input": {"message": "hej"}}),
            step => {
                let message = format!("${{s{}.echo}} and ${{s0.echo}}", step - 1);
                json!({"id": format!("s{step}"), "tool": "echo", "input": {"message": message}})
            }
        })
        .collect();
    let input: Map<String, Value> = [("steps".to_owned(), json!(steps))].into_iter().collect();
    criterion.bench_function("breadcrumb: a workflow of ten steps, without its tools", |bencher| {
        bencher.iter(|| {
            let plan = Plan::read(black_box(&input), |_| true).expect("a plan");
            let mut progress = Progress::new(&plan);
            while let Some(step) = progress.start() {
                let input = progress.input(step, false).expect("an input");
                progress.end(step, Ok(json!({"echo": input["message"]})));
            }
            progress.output()
        });
    });
}

criterion_group!(benches, call, plan);
criterion_main!(benches);
