//! The event stream: order, slow readers, and a client that misses nothing when its connection breaks.

use std::time::Duration;

use callmark_reference::breadcrumb::client::{Events, ListQuery, StoreClient};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::support::{memo, soon, store};

async fn next(events: &mut Events) -> (String, i64) {
    let event = soon("an event", events.next()).await.expect("an event");
    (event.id, event.version)
}

fn memos() -> Vec<ListQuery> {
    vec![ListQuery { schema_name: Some("memo.v1".to_owned()), ..ListQuery::default() }]
}

#[tokio::test]
async fn what_happens_is_sent_once_and_in_order() {
    let (server, client) = store(StoreConfig::new()).await;
    client.create(&memo("old", &[])).await.expect("an id");
    let mut events = client.events(memos()).await.expect("events");
    let id = client.create(&memo("new", &["x"])).await.expect("an id");
    let event = soon("an event", events.next()).await.expect("an event");
    assert_eq!((event.id.as_str(), event.version, event.has_tag("x")), (id.as_str(), 1, true));
    assert_eq!(event.context.get("text"), Some(&json!("about new")));
    // Changed only now: what changes before the stream is read is handed out in its newest version.
    client.patch(&id, &json!({"title": "newer"}), None).await.expect("a change");
    assert_eq!(next(&mut events).await, (id, 2));
    server.shutdown().await;
}

#[tokio::test]
async fn a_stream_has_unnamed_events_and_pings() {
    let mut config = StoreConfig::new();
    config.limits.ping = Duration::from_millis(20);
    let (server, client) = store(config).await;
    let mut stream = TcpStream::connect(server.address()).await.expect("a connection");
    stream.write_all(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("a request");
    let mut text = String::new();
    let mut read = async |part: &str| {
        while !text.contains(part) {
            let mut bytes = [0; 4096];
            let count = stream.read(&mut bytes).await.expect("bytes");
            assert_ne!(count, 0, "the stream ended: {text}");
            text.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    };
    soon("a ping", read("data: {\"type\":\"ping\",\"ts\":")).await;
    client.create(&memo("sent", &[])).await.expect("an id");
    soon("an event", read("data: {\"type\":\"breadcrumb.updated\",\"breadcrumb_id\":")).await;
    assert!(!text.contains("event:") && text.contains("text/event-stream"), "{text}");
    server.shutdown().await;
}

#[tokio::test]
async fn a_reader_who_hangs_holds_up_nobody_and_loses_its_place() {
    let mut config = StoreConfig::new();
    config.limits.streams = 2;
    config.limits.queue = 4;
    config.limits.stall = Duration::from_millis(200);
    let (server, client) = store(config).await;
    let mut hanging = TcpStream::connect(server.address()).await.expect("a connection");
    hanging.write_all(b"GET /events/stream HTTP/1.1\r\nHost: localhost\r\n\r\n").await.expect("a request");
    // The answer has begun, so the stream is open.
    soon("the head", hanging.readable()).await.expect("bytes");
    let mut events = client.events(memos()).await.expect("events");
    assert_eq!(client.events(memos()).await.expect_err("a refusal").status(), Some(503));
    let large =
        json!({"schema_name": "memo.v1", "title": "t", "tags": [], "context": {"text": "x".repeat(500_000)}});
    for _ in 0..32 {
        let id = client.create(&large).await.expect("an id");
        assert_eq!(next(&mut events).await, (id, 1));
    }
    let reopened = async {
        loop {
            match client.events(memos()).await {
                Ok(events) => break events,
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    soon("the end of the stream that hangs", reopened).await;
    server.shutdown().await;
}

#[tokio::test]
async fn what_happened_while_the_store_was_away_is_sent_when_it_is_back() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = StoreConfig::new();
    config.data_dir = Some(directory.path().to_owned());
    let (server, client) = store(config.clone()).await;
    client.create(&memo("before", &[])).await.expect("an id");
    let mut events = client.events(memos()).await.expect("events");
    let seen = client.create(&memo("seen", &[])).await.expect("an id");
    assert_eq!(next(&mut events).await, (seen, 1));
    let address = server.address();
    server.shutdown().await;

    // The same file behind another address, where the listener does not look.
    let (away, elsewhere) = store(config.clone()).await;
    let first = elsewhere.create(&memo("first", &[])).await.expect("an id");
    let second = elsewhere.create(&memo("second", &[])).await.expect("an id");
    away.shutdown().await;

    config.listen = address;
    let back = StoreServer::start(config).await.expect("a store");
    assert_eq!(next(&mut events).await, (first, 1));
    assert_eq!(next(&mut events).await, (second, 1));
    let client = StoreClient::new(&back.url(), None).expect("a client");
    let third = client.create(&memo("third", &[])).await.expect("an id");
    assert_eq!(next(&mut events).await, (third, 1));
    back.shutdown().await;
}
