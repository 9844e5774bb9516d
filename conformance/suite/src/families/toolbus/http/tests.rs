//! Sessions that end, and streams that go on.

use serde_json::json;
use tokio::sync::mpsc;
use wiremock::matchers::{body_partial_json, header, method};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::*;

/// For an answer that is there.
const PATIENCE: Duration = Duration::from_secs(20);

fn stream(text: &str) -> ResponseTemplate {
    ResponseTemplate::new(200).set_body_raw(text, "text/event-stream")
}

/// What a server says to a request.
async fn answer(server: &MockServer) -> Incoming {
    let (sender, mut incoming) = mpsc::unbounded_channel();
    let sink: Sink = Arc::new(move |message| sender.send(message).expect("somebody who waits"));
    let headers = BTreeMap::new();
    let endpoint = Endpoint { url: server.uri(), shown: String::new(), headers: &headers, era: Era::Legacy };
    let http = Http::new(endpoint, None, &Arc::default(), sink).expect("a client");
    let request = |id: i64, method: &str| json!({"jsonrpc": "2.0", "id": id, "method": method});
    let mut last = None;
    for (id, method) in [(0, "initialize"), (1, "ping")] {
        http.send(request(id, method), Headers::new()).await.expect("sent");
        last = tokio::time::timeout(PATIENCE, incoming.recv()).await.expect("in time");
    }
    last.expect("an answer")
}

fn asked(name: &str) -> wiremock::MockBuilder {
    Mock::given(method("POST")).and(body_partial_json(json!({"method": name})))
}

fn opened(session: &str) -> ResponseTemplate {
    let body = json!({"jsonrpc": "2.0", "id": 0, "result": {}});
    ResponseTemplate::new(200).set_body_json(body).insert_header(SESSION, session)
}

#[tokio::test]
async fn a_stream_that_was_closed_goes_on() {
    let server = MockServer::start().await;
    asked("initialize").respond_with(opened("one")).mount(&server).await;
    asked("ping").respond_with(stream("id: 7\nretry: 1\ndata:\n\n")).mount(&server).await;
    let rest = "id: 8\ndata: {\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}\n\n";
    Mock::given(method("GET"))
        .and(header(LAST_EVENT, "7"))
        .and(header(SESSION, "one"))
        .respond_with(stream(rest))
        .mount(&server)
        .await;
    let incoming = answer(&server).await;
    let Incoming::Message { message, .. } = incoming else { panic!("{incoming:?}") };
    assert_eq!(message["id"], 1);
}

#[tokio::test]
async fn a_stream_without_more_of_it_has_no_answer() {
    let server = MockServer::start().await;
    asked("initialize").respond_with(opened("one")).mount(&server).await;
    asked("ping").respond_with(stream("id: 7\nretry: 1\ndata:\n\n")).mount(&server).await;
    Mock::given(method("GET")).respond_with(ResponseTemplate::new(405)).mount(&server).await;
    let incoming = answer(&server).await;
    assert!(matches!(incoming, Incoming::Other { id: 1, .. }), "{incoming:?}");
}

#[tokio::test]
async fn a_session_that_the_server_has_ended_is_opened_anew() {
    let server = MockServer::start().await;
    asked("initialize").respond_with(opened("one")).up_to_n_times(1).mount(&server).await;
    asked("initialize").respond_with(opened("two")).expect(1).mount(&server).await;
    let ready = ResponseTemplate::new(202);
    asked("notifications/initialized").and(header(SESSION, "two")).respond_with(ready).mount(&server).await;
    let ended = ResponseTemplate::new(404);
    asked("ping").and(header(SESSION, "one")).respond_with(ended).expect(1).mount(&server).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "result": {"is": "two"}});
    let pong = ResponseTemplate::new(200).set_body_json(body);
    asked("ping").and(header(SESSION, "two")).respond_with(pong).expect(1).mount(&server).await;
    let incoming = answer(&server).await;
    let Incoming::Message { message, .. } = incoming else { panic!("{incoming:?}") };
    assert_eq!(message["result"]["is"], "two");
}

#[tokio::test]
async fn an_answer_of_status_404_ends_no_session() {
    let server = MockServer::start().await;
    asked("initialize").respond_with(opened("one")).expect(1).mount(&server).await;
    let body = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}});
    let unknown = ResponseTemplate::new(404).set_body_json(body);
    asked("ping").respond_with(unknown).expect(1).mount(&server).await;
    let incoming = answer(&server).await;
    let Incoming::Message { message, .. } = incoming else { panic!("{incoming:?}") };
    assert_eq!(message["error"]["code"], -32601);
}
