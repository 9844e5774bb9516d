//! What a call takes longer through `callmark proxy`, beside hyper's client behind hyper's server: the median and the 99th
//! percentile, on one connection and on many.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_suite::engine::recording::Origin;
use callmark_suite::engine::recording::live;
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::net::outbound::Outbound;
use callmark_suite::net::proxy::ReverseProxy;
use hdrhistogram::Histogram;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use super::{anyone, judge};

/// Connections side by side, and calls on each of them, one after the other.
const LOADS: [(usize, usize); 2] = [(1, 8_000), (64, 400)];
/// The same where only their being answered is of interest.
const SHORT: [(usize, usize); 2] = [(1, 50), (64, 5)];
/// For all calls of a load.
const DEADLINE: Duration = Duration::from_secs(120);
/// Calls of each connection before any is measured.
const WARM_UP: usize = 50;
/// A call of a Hub, so that what passes is judged as well.
const CALL: &str = r#"{"tool":"calendar_delete_event","customer_id":"cust","inputs":{"event_id":"ev_1"}}"#;
const RESULT: &str = r#"{"success":true,"result":{"success":true,"event_id":"ev_1"}}"#;

/// A message with a body of JSON.
fn message(head: &str, body: &str) -> Vec<u8> {
    let fields = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    format!("{head}\r\n{fields}\r\n\r\n{body}").into_bytes()
}

fn request() -> Vec<u8> {
    let head = "POST /api/internal/tools/execute/ HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer bench";
    message(head, CALL)
}

/// Listens on a port of its own, and does the same with every connection.
async fn listen<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            stream.set_nodelay(true).expect("a socket");
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// Answers each request at once.
async fn answer(mut stream: TcpStream) {
    let (mut asked, answer) = (Vec::new(), message("HTTP/1.1 200 OK", RESULT));
    while let Ok(1..) = stream.read_buf(&mut asked).await {
        if asked.ends_with(CALL.as_bytes()) {
            asked.clear();
            stream.write_all(&answer).await.expect("a client that waits");
        }
        assert!(asked.len() < 4096, "a request without an end");
    }
}

/// Sends what it receives on to `server`, and the answers back.
async fn pass(stream: TcpStream, client: Client<HttpConnector, Incoming>, server: SocketAddr) {
    let service = service_fn(move |mut request: Request<Incoming>| {
        let path = request.uri().path_and_query().map_or("/", |own| own.as_str());
        *request.uri_mut() = format!("http://{server}{path}").parse::<Uri>().expect("an address");
        let answer = client.request(request);
        async move { Ok::<_, Infallible>(answer.await.expect("an answer")) }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// Calls on one connection, one after the other; how long each took.
async fn call(address: SocketAddr, calls: usize) -> Vec<Duration> {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    let (mut took, mut answer, request) = (Vec::with_capacity(calls), Vec::new(), request());
    for number in 0..WARM_UP + calls {
        answer.clear();
        let began = Instant::now();
        stream.write_all(&request).await.expect("a server that reads");
        while !answer.ends_with(RESULT.as_bytes()) {
            assert!(stream.read_buf(&mut answer).await.expect("an answer") > 0, "{answer:?}");
        }
        if number >= WARM_UP {
            took.push(began.elapsed());
        }
    }
    took
}

/// Median and 99th percentile, in microseconds.
async fn latency(address: SocketAddr, (connections, calls): (usize, usize)) -> (u64, u64) {
    let callers: JoinSet<_> = (0..connections).map(|_| call(address, calls)).collect();
    let took = tokio::time::timeout(DEADLINE, callers.join_all()).await.expect("an answer to each call");
    let mut all = Histogram::<u64>::new_with_bounds(1, 60_000_000, 3).expect("sound bounds");
    for own in took.into_iter().flatten() {
        all.record(u64::try_from(own.as_micros()).expect("a latency")).expect("a latency within bounds");
    }
    (all.value_at_quantile(0.5), all.value_at_quantile(0.99))
}

/// Prints what each takes, and how much more that is than without it; in short, whether all calls are answered and judged.
pub(super) fn measure(in_short: bool) {
    let runtime = Runtime::new().expect("a runtime");
    let library = Arc::new(Library::load().expect("a sound library"));
    let server = runtime.block_on(listen(answer));
    // Else heads and bodies wait for each other.
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client = Client::builder(TokioExecutor::new()).build(connector);
    let hyper = runtime.block_on(listen(move |stream| pass(stream, client.clone(), server)));
    let (feed, passing) = live::feed();
    let url = format!("http://{server}").parse().expect("an address");
    let free = SocketAddr::from(([127, 0, 0, 1], 0));
    let proxy =
        runtime.block_on(ReverseProxy::start(free, &url, &Outbound::of(&anyone()), &feed)).expect("a proxy");
    let judged = ("bench".to_owned(), Origin::Exchanges);
    let judging = passing.judge(&feed, judge(&library), families::ALL.observers(&anyone()), judged);
    let callmark = proxy.url().trim_start_matches("http://").parse().expect("an address");
    let loads = if in_short { SHORT } else { LOADS };
    for load in loads {
        println!("proxy, {} connections: microseconds at the median and at the 99th percentile", load.0);
        let (median, late) = runtime.block_on(latency(server, load));
        println!("  {:16} {median:6} {late:6}", "no proxy");
        for (name, address) in [("hyper", hyper), ("callmark proxy", callmark)] {
            let (own, own_late) = runtime.block_on(latency(address, load));
            let added = |with: u64, without: u64| i128::from(with) - i128::from(without);
            println!(
                "  {name:16} {own:6} {own_late:6}, added {:+6} {:+6}",
                added(own, median),
                added(own_late, late)
            );
        }
    }
    drop(proxy);
    let judged = judging.expect("a thread").finish().expect("judged");
    println!("  judged: {} messages", judged.tally.messages);
    let made: usize = loads.iter().map(|(connections, calls)| connections * (WARM_UP + calls)).sum();
    assert!(!in_short || judged.tally.messages == 2 * made as u64, "{made} calls passed the proxy");
}
