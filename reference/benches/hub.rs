//! Calls of the Hub a second against a bare handler that takes and gives bodies of the same size.
//!
//! A call that succeeds is three requests deep: the agent's, the Hub's to its provider, and what the provider (the
//! stand-in, in the same process) does for it. A call that is refused never reaches the provider.
//! The ratios printed at the end say what both cost over HTTP alone.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use callmark_reference::hub::provider::StandIn;
use callmark_reference::hub::{Allowance, Hub, HubConfig, fixtures};
use criterion::{Criterion, Throughput};
use futures::StreamExt;
use reqwest::Client;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

const SECRET: &str = "bench";
const CONCURRENCIES: [usize; 2] = [1, 32];

/// What is measured.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Call,
    Refusal,
    BareCall,
    BareRefusal,
}

/// Everything that takes part, kept alive for the whole run.
struct Harness {
    _provider: StandIn,
    _hub: Hub,
    client: Client,
    execute: String,
    bare: String,
    call: String,
    refusal: String,
}

impl Harness {
    async fn set() -> Self {
        let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
        let provider = StandIn::start(loopback).await.expect("a provider");
        let mut config = HubConfig::new(SECRET, &provider.url());
        config.limits.allowance = Allowance { calls: u32::MAX, per: Duration::from_secs(60) };
        let hub = Hub::start(config, loopback).await.expect("a Hub");
        let execute = format!("{}/api/internal/tools/execute/", hub.url());
        let client = Client::builder().no_proxy().build().expect("a client");
        let call = body("calendar_get_availability", fixtures::CONNECTED);
        let refusal = body("calendar_get_availability", fixtures::NOT_CONNECTED);
        let answer = async |body: &str| {
            let request = client.post(&execute).header("Authorization", format!("ServiceSecret {SECRET}"));
            request.body(body.to_owned()).send().await.expect("an answer").bytes().await.expect("a body")
        };
        let bare = bare(answer(&call).await, answer(&refusal).await).await;
        Self { _provider: provider, _hub: hub, client, execute, bare, call, refusal }
    }

    async fn run(&self, kind: Kind) {
        let (url, body, status) = match kind {
            Kind::Call => (self.execute.clone(), &self.call, 200),
            Kind::Refusal => (self.execute.clone(), &self.refusal, 400),
            Kind::BareCall => (format!("{}/call", self.bare), &self.call, 200),
            Kind::BareRefusal => (format!("{}/refusal", self.bare), &self.refusal, 200),
        };
        let request = self.client.post(url).header("Authorization", format!("ServiceSecret {SECRET}"));
        let answer = request.body(body.clone()).send().await.expect("an answer");
        assert_eq!(answer.status().as_u16(), status);
        answer.bytes().await.expect("a body");
    }
}

fn body(tool: &str, customer: &str) -> String {
    let request: Value = json!({
        "tool": tool,
        "agent_id": "6e9f2c1a-0b7d-4d0e-8f55-1c2d3e4f5a60",
        "customer_id": customer,
        "user_id": null,
        "inputs": {"start_date": "2031-03-04", "end_date": "2031-03-07", "timezone": "Europe/Madrid"},
    });
    request.to_string()
}

/// A server that reads a body and answers with what the Hub answered.
async fn bare(call: Bytes, refusal: Bytes) -> String {
    let handler = |answer: Bytes| post(move |_body: Bytes| async move { answer });
    let router = Router::new().route("/call", handler(call)).route("/refusal", handler(refusal));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

/// The time that so many of them take, so many of them at once.
async fn timed(count: u64, at_once: usize, run: impl AsyncFn()) -> Duration {
    let start = Instant::now();
    futures::stream::iter(0..count).for_each_concurrent(at_once, |_| run()).await;
    start.elapsed()
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    let harness = runtime.block_on(Harness::set());
    let mut criterion =
        Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3)).configure_from_args();
    let mut group = criterion.benchmark_group("hub");
    group.throughput(Throughput::Elements(1));
    for at_once in CONCURRENCIES {
        for (name, kind) in [("call", Kind::Call), ("refusal", Kind::Refusal), ("bare", Kind::BareCall)] {
            group.bench_function(format!("{name}/{at_once}"), |bencher| {
                bencher.iter_custom(|count| {
                    runtime.block_on(timed(count, at_once, async || harness.run(kind).await))
                });
            });
        }
    }
    group.finish();
    for at_once in CONCURRENCIES {
        let count = 1000 * at_once.min(4) as u64;
        let rate = |kind: Kind| {
            let elapsed = runtime.block_on(timed(count, at_once, async || harness.run(kind).await));
            f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / elapsed.as_secs_f64()
        };
        for (name, kind, bare) in
            [("calls", Kind::Call, Kind::BareCall), ("refusals", Kind::Refusal, Kind::BareRefusal)]
        {
            let (hub, bare) = (rate(kind), rate(bare));
            println!("{at_once:>2} at once: {hub:.0} {name}/s, {bare:.0} bare/s, ratio 1:{:.1}", bare / hub);
        }
    }
    criterion.final_summary();
}
