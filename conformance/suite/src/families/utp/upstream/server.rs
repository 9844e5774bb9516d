//! Requests to the upstream: whose they are, and what becomes of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Method, Request, Response, StatusCode, header};
use callmark_reports::record::Direction;
use futures::stream;
use futures::stream::{Stream, StreamExt as _};
use hyper::body::Incoming;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::asked::{ALLOWED, ReceivedRequest};
use super::script::{IN_PIECES, LATE, ResponseMode, STOPPED};
use crate::families::utp::platform::{PlatformService, Project};
use crate::net::http_connections;
use crate::net::http_connections::Closed;
use crate::net::wire::{CALL, SCENARIO};
use crate::transcript::{Kind, Message, lock};

/// Bytes of a chunk.
const PIECE: usize = 7;
/// Bytes that an answer lacks which is broken off.
const MISSING: usize = 200;
/// How long an answer takes that is late, so that requests made at once are under way together.
const A_WHILE: Duration = Duration::from_millis(200);
/// Bytes of a request body.
const MAX_BODY: usize = 1024 * 1024;
/// What is answered to a request for a tunnel.
const PLAIN: &str = "this upstream speaks plain HTTP: send the request itself to CALLMARK_UPSTREAM_URL\n";

/// Answers until it is dropped, and every connection with it.
pub(super) async fn serve(listener: TcpListener, platforms: Arc<Mutex<Vec<Weak<PlatformService>>>>) {
    let Ok(address) = listener.local_addr() else { return };
    let own = Own { url: format!("http://{address}"), host: address.ip().to_string() };
    http_connections::serve(listener, move |request| {
        let platforms = lock(&platforms).iter().filter_map(Weak::upgrade).collect();
        answer(platforms, own.clone(), request)
    })
    .await;
}

/// The upstream's own address.
#[derive(Clone)]
struct Own {
    url: String,
    host: String,
}

async fn answer(
    platforms: Vec<Arc<PlatformService>>,
    own: Own,
    request: Request<Incoming>,
) -> Result<Response<Body>, Closed> {
    let (parts, body) = request.into_parts();
    // Without its body it is recorded all the same: that it was sent is what counts.
    let bytes = http_connections::body(body, MAX_BODY).await.unwrap_or_default();
    let request = ReceivedRequest::of(&parts, &bytes);
    let is_tunnel = parts.method == Method::CONNECT;
    let mut reply = ResponseMode::Answers.reply(&request, 0);
    for platform_service in &platforms {
        for (project, call, mode, before) in owners(platform_service, &request, &own) {
            for message in platform_service.wire().incoming(request.message(&project.id, &call)) {
                project.transcript.record(message);
            }
            reply = deliver(platform_service, &project, &call, mode.reply(&request, before), &own);
        }
    }
    if is_tunnel {
        // What would come through it is TLS, which nobody here speaks.
        reply = json!({"status": 501, "content_type": "text/plain", "body": PLAIN});
    }
    response(&reply).await
}

/// The projects that a request belongs to, the call it is for, and what becomes of it.
///
/// One that names no call belongs to who watches its host. One for a foreign host that nobody watches is everybody's:
/// an executor has no business there at all.
fn owners(
    platform_service: &PlatformService,
    request: &ReceivedRequest,
    own: &Own,
) -> Vec<(Arc<Project>, String, ResponseMode, u32)> {
    let tokens = request.subjects();
    let found = platform_service.find(|project| project.upstream.find(&tokens));
    let named: Vec<_> =
        found.into_iter().map(|(project, (call, mode, before))| (project, call, mode, before)).collect();
    let is_known =
        ALLOWED.contains(&request.host.as_str()) || request.host == own.host || request.host == "localhost";
    if !named.is_empty() || !tokens.is_empty() || is_known {
        return named;
    }
    let projects = platform_service.projects();
    let watching: Vec<_> =
        projects.iter().filter(|project| project.upstream.watches(&request.host)).cloned().collect();
    let everybody = if watching.is_empty() { projects } else { watching };
    everybody.into_iter().map(|project| (project, String::new(), ResponseMode::Answers, 0)).collect()
}

/// What really arrives at the executor.
fn deliver(
    platform_service: &PlatformService,
    project: &Project,
    call: &str,
    body: Value,
    own: &Own,
) -> Value {
    let headers =
        BTreeMap::from([(SCENARIO.to_owned(), project.id.clone()), (CALL.to_owned(), call.to_owned())]);
    let message = Message {
        direction: Direction::ToTarget,
        kind: Kind::UpstreamReply,
        channel: "upstream".to_owned(),
        headers,
        body,
    };
    project.transcript.record(message.clone());
    let mut arrived = None;
    for message in platform_service.wire().outgoing(message) {
        match message.kind {
            Kind::UpstreamReply => arrived = Some(message.body),
            _ => project.transcript.record(message),
        }
    }
    let mut body = arrived.unwrap_or_else(|| json!({"status": null, "event": "no answer"}));
    if let Some(location) = body.get("location").and_then(Value::as_str) {
        body["location"] = Value::from(location.replace("{upstream}", &own.url));
    }
    body
}

async fn response(reply: &Value) -> Result<Response<Body>, Closed> {
    let text = |member: &str| reply.get(member).and_then(Value::as_str).unwrap_or_default();
    let status = reply
        .get("status")
        .and_then(Value::as_u64)
        .and_then(|status| u16::try_from(status).ok())
        .and_then(|status| StatusCode::from_u16(status).ok());
    let Some(status) = status else {
        if text("event") == "no answer" {
            // Until the executor gives up, or the upstream ends.
            std::future::pending::<()>().await;
        }
        return Err(Closed);
    };
    let mut response = Response::builder().status(status).header(header::CONTENT_TYPE, text("content_type"));
    if !text("location").is_empty() {
        response = response.header(header::LOCATION, text("location"));
    }
    let all = text("body");
    let body = match reply.get("sent").and_then(Value::as_str) {
        None => Body::from(all.to_owned()),
        Some(IN_PIECES) => Body::from_stream(pieces(all)),
        Some(LATE) => {
            tokio::time::sleep(A_WHILE).await;
            Body::from(all.to_owned())
        }
        Some(STOPPED) => {
            response = response.header(header::CONTENT_LENGTH, all.len());
            Body::from_stream(pieces(all.get(..PIECE).unwrap_or(all)).chain(stream::pending()))
        }
        Some(_) => {
            response = response.header(header::CONTENT_LENGTH, all.len() + MISSING);
            Body::from_stream(pieces(all))
        }
    };
    response.body(body).map_err(|_| Closed)
}

/// Chunks of a few bytes, so that words are cut in two.
fn pieces(text: &str) -> impl Stream<Item = std::io::Result<Vec<u8>>> + use<> {
    let all: Vec<_> = text.as_bytes().chunks(PIECE).map(|piece| Ok(piece.to_vec())).collect();
    stream::iter(all)
}
