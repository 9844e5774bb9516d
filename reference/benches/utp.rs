//! UTP round trips a second against raw request and reply on the same embedded broker.
//!
//! A UTP round trip is command, card read, card write, report, wakeup and the caller's read of the result card:
//! one publication, three requests of the service, one wakeup, two requests of the caller.
//! The ratio printed at the end says what the protocol costs over the bus that carries it.

use std::time::{Duration, Instant};

use async_nats::Client;
use callmark_reference::broker::{Broker, BrokerConfig};
use callmark_reference::utp::message::ToolRow;
use callmark_reference::utp::{Caller, L0, L0Config, Revision, ToolService, ToolServiceConfig, rows};
use criterion::{Criterion, Throughput};
use futures::StreamExt;
use serde_json::json;
use tokio::runtime::Runtime;

const VERSION: Revision = Revision::V1r3;
const PROJECT: &str = "prj_bench";
const CONCURRENCIES: [usize; 2] = [1, 32];

/// Everything that takes part, kept alive for the whole run.
struct Harness {
    _broker: Broker,
    _l0: L0,
    _service: ToolService,
    caller: Caller,
    client: Client,
    echo: ToolRow,
}

impl Harness {
    async fn set() -> Self {
        let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
        let url = broker.url();
        let l0 = L0::start(L0Config::new(&url)).await.expect("an L0");
        let service = ToolService::start(ToolServiceConfig::new(&url)).await.expect("a service");
        let caller = Caller::connect(&url, VERSION, l0.handle(), PROJECT, "ch").await.expect("a caller");
        let client = async_nats::connect(&url).await.expect("a client");
        let server = async_nats::connect(&url).await.expect("a client");
        let mut requests = server.subscribe("bench.echo").await.expect("a subscription");
        server.flush().await.expect("a flush");
        tokio::spawn(async move {
            while let Some(request) = requests.next().await {
                if let Some(reply) = request.reply {
                    let _ = server.publish(reply, request.payload).await;
                }
            }
        });
        let echo = rows(PROJECT, VERSION)
            .into_iter()
            .find(|row| row.tool_name == "probe.echo")
            .expect("the echo probe");
        Self { _broker: broker, _l0: l0, _service: service, caller, client, echo }
    }

    async fn utp(&self) {
        self.caller.call(&self.echo, &json!({"k": "v"})).await.expect("an answer");
    }

    async fn raw(&self) {
        self.client.request("bench.echo", "{\"k\":\"v\"}".into()).await.expect("a reply");
    }
}

/// The time that so many round trips take, so many of them at once.
async fn timed(trips: u64, at_once: usize, trip: impl AsyncFn()) -> Duration {
    let start = Instant::now();
    futures::stream::iter(0..trips).for_each_concurrent(at_once, |_| trip()).await;
    start.elapsed()
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    let harness = runtime.block_on(Harness::set());
    let mut criterion =
        Criterion::default().sample_size(10).measurement_time(Duration::from_secs(3)).configure_from_args();
    let mut group = criterion.benchmark_group("round_trips");
    group.throughput(Throughput::Elements(1));
    for at_once in CONCURRENCIES {
        group.bench_function(format!("utp/{at_once}"), |bencher| {
            bencher
                .iter_custom(|trips| runtime.block_on(timed(trips, at_once, async || harness.utp().await)));
        });
        group.bench_function(format!("raw/{at_once}"), |bencher| {
            bencher
                .iter_custom(|trips| runtime.block_on(timed(trips, at_once, async || harness.raw().await)));
        });
    }
    group.finish();
    for at_once in CONCURRENCIES {
        let trips = 500 * at_once.min(4) as u64;
        let utp = runtime.block_on(timed(trips, at_once, async || harness.utp().await));
        let raw = runtime.block_on(timed(trips, at_once, async || harness.raw().await));
        let rate =
            |elapsed: Duration| f64::from(u32::try_from(trips).unwrap_or(u32::MAX)) / elapsed.as_secs_f64();
        println!(
            "{at_once:>2} at once: {:.0} UTP round trips/s, {:.0} raw/s, ratio 1:{:.1}",
            rate(utp),
            rate(raw),
            rate(raw) / rate(utp)
        );
    }
    criterion.final_summary();
}
