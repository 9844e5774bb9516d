//! Traffic that others cause: how many messages a second are judged, and what the proxy costs beside a relay that looks at
//! nothing.

use std::io::Cursor;
use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::protocol::Scope;
use callmark_suite::engine::recording::judge::Judge;
use callmark_suite::engine::recording::live::{self, Fed, Feed};
use callmark_suite::engine::recording::{Input, Judged, Origin, judge_files};
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::net::proxy::ReverseProxy;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

/// How often the messages of a run are repeated in a recording.
const RUNS: usize = 4;
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

fn anyone() -> Manifest {
    Manifest::parse("anyone.toml", families::ANYONE, std::path::Path::new(".")).expect("a sound manifest")
}

fn judge(library: &Arc<Library>) -> Judge {
    let sessions = families::ALL.unopened(&anyone(), Scope::AllParties);
    Judge::new(Arc::clone(library), sessions).expect("a runtime")
}

fn judged(library: &Arc<Library>, recording: &[u8]) -> Judged {
    let bytes = Box::new(Cursor::new(recording.to_vec()));
    let input = Input { name: "transcript.jsonl".to_owned(), bytes, format: None };
    judge_files(judge(library), &|| families::ALL.observers(&anyone()), [input]).expect("a recording")
}

/// The messages of a run with the reference.
fn recording() -> Vec<u8> {
    let out = tempfile::tempdir().expect("a directory");
    let status = Command::new(env!("CARGO_BIN_EXE_callmark"))
        .args(["certify", "--bundled", "--quiet", "--profile", "hub.server", "--out"])
        .arg(out.path())
        .status()
        .expect("the binary runs");
    assert!(status.success(), "the reference is conformant");
    std::fs::read(out.path().join("transcript.jsonl")).expect("its messages").repeat(RUNS)
}

fn judging(criterion: &mut Criterion) {
    let library = Arc::new(Library::load().expect("a sound library"));
    let recording = recording();
    let messages = judged(&library, &recording).tally.messages;
    let mut group = criterion.benchmark_group("judge");
    group.sample_size(10).throughput(Throughput::Elements(messages));
    group.bench_function("messages of a Hub", |bencher| bencher.iter(|| judged(&library, &recording)));
    group.finish();
}

/// Answers whatever ends with an empty line.
async fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut piece) = (Vec::new(), [0; 4096]);
                while let Ok(length @ 1..) = stream.read(&mut piece).await {
                    read.extend_from_slice(&piece[..length]);
                    if read.ends_with(b"\r\n\r\n") {
                        read.clear();
                        stream.write_all(ANSWER).await.expect("a client that waits");
                    }
                }
            });
        }
    });
    address
}

/// Passes bytes on, and looks at none.
async fn relay(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut server = TcpStream::connect(to).await.expect("the server");
                let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    address
}

async fn proxy(to: SocketAddr) -> (ReverseProxy, Arc<Feed>, Fed) {
    let (feed, passing) = live::feed();
    let url = format!("http://{to}").parse().expect("an address");
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy = ReverseProxy::start(listen, &url, &Outbound::of(&anyone()), &feed).await.expect("a proxy");
    (proxy, feed, passing)
}

/// One request after the other on one connection.
fn ask(criterion: &mut Criterion, runtime: &Runtime, name: &str, address: SocketAddr) {
    let mut stream = runtime.block_on(TcpStream::connect(address)).expect("a connection");
    let request = format!("GET /x HTTP/1.1\r\nhost: {address}\r\n\r\n");
    let mut group = criterion.benchmark_group("proxy");
    group.throughput(Throughput::Elements(1));
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            runtime.block_on(async {
                stream.write_all(request.as_bytes()).await.expect("a server that reads");
                let mut answer = Vec::new();
                while !answer.ends_with(b"\r\n\r\n{}") {
                    stream.read_buf(&mut answer).await.expect("an answer");
                }
            });
        });
    });
    group.finish();
}

fn passing(criterion: &mut Criterion) {
    let runtime = Runtime::new().expect("a runtime");
    let library = Arc::new(Library::load().expect("a sound library"));
    let server = runtime.block_on(server());
    ask(criterion, &runtime, "no proxy", server);
    let relay = runtime.block_on(relay(server));
    ask(criterion, &runtime, "a relay", relay);
    let (proxy, feed, passing) = runtime.block_on(proxy(server));
    let observers = families::ALL.observers(&anyone());
    let judging = passing.judge(&feed, judge(&library), observers, ("bench".to_owned(), Origin::Exchanges));
    let address = proxy.url().trim_start_matches("http://").parse().expect("an address");
    ask(criterion, &runtime, "callmark proxy", address);
    judging.expect("a thread").finish().expect("judged");
}

criterion_group!(benches, judging, passing);
criterion_main!(benches);
