//! Tool calls a second through the whole server over a pipe, and what shaping and redaction of 64 KiB cost.
//!
//! No context root is configured, so that no disk is measured.

use std::hint::black_box;
use std::time::Duration;

use callmark_reference::toolbus::{Config, serve};
use criterion::{Criterion, Throughput};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::runtime::Runtime;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(10);
const CONCURRENCIES: [u64; 2] = [1, 32];

/// A client on the other end of the pipe.
struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    line: String,
}

impl Client {
    async fn connect() -> Self {
        let (ours, theirs) = tokio::io::duplex(256 * 1024);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(serve(Config::default(), read, write));
        let (read, write) = tokio::io::split(ours);
        let mut client = Self { read: BufReader::new(read), write, line: String::new() };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}});
        client.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})).await;
        client.receive().await;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        client
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        timeout(DEADLINE, self.write.write_all(line.as_bytes())).await.expect("in time").expect("written");
    }

    async fn receive(&mut self) {
        self.line.clear();
        timeout(DEADLINE, self.read.read_line(&mut self.line)).await.expect("in time").expect("read");
        assert!(self.line.contains("\"result\""), "{}", self.line);
    }

    /// Sends calls, so many before the first answer, and takes all answers.
    async fn calls(&mut self, count: u64, arguments: &Value) {
        for id in 0..count {
            let params = json!({"name": "probe_echo", "arguments": arguments});
            self.send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})).await;
        }
        for _ in 0..count {
            self.receive().await;
        }
    }
}

/// Rows with a secret each, about 64 KiB together.
fn rows() -> Value {
    (0..800)
        .map(|id| json!({"id": id, "name": format!("row {id:06}"), "password": "hunter-2", "note": "a basic row"}))
        .collect()
}

fn main() {
    let runtime = Runtime::new().expect("a runtime");
    let mut criterion = Criterion::default().configure_from_args();
    let mut client = runtime.block_on(Client::connect());

    let small = json!({"value": {"count": 12}});
    let mut group = criterion.benchmark_group("toolbus/small_call");
    for concurrency in CONCURRENCIES {
        group.throughput(Throughput::Elements(concurrency));
        group.bench_function(concurrency.to_string(), |bencher| {
            bencher.iter(|| runtime.block_on(client.calls(concurrency, black_box(&small))));
        });
    }
    group.finish();

    let shaped = json!({"value": rows(), "output": {"map": {"pick": ["id", "password"]}}});
    let mut group = criterion.benchmark_group("toolbus/64_kib_call");
    group.throughput(Throughput::Bytes(rows().to_string().len() as u64));
    group.bench_function("redacted_and_shaped", |bencher| {
        bencher.iter(|| runtime.block_on(client.calls(1, black_box(&shaped))));
    });
    group.finish();

    criterion.final_summary();
}
