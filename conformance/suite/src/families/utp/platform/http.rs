//! The HTTP binding of the platform (`docs/bindings.md`).

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures::StreamExt as _;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::platform_service::{Operation, PlatformService};
use super::reply::{MAX_BODY, PlatformReply, Refusal, too_large};
use crate::families::utp::message;
use crate::net::http_connections;
use crate::net::http_connections::Accepting;
use crate::transcript::Kind;

/// How much of a body that is too large is taken in, so that its sender gets to read the answer.
const DRAIN: usize = 64 * 1024 * 1024;
/// Large bodies that are read at a time; a parsed one takes up many times its size.
const LARGE_AT_A_TIME: usize = 4;
/// From this size on a body is large.
const LARGE: usize = 64 * 1024;
/// Time for a request body to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// Serves the projects of one or more platforms over HTTP until the returned set is dropped.
///
/// # Errors
/// When the address cannot be listened on.
pub async fn serve(
    listen: SocketAddr,
    platforms: Vec<Arc<PlatformService>>,
) -> std::io::Result<(SocketAddr, JoinSet<()>)> {
    let listener = http_connections::listen(Some(&listen.to_string())).await?;
    let address = listener.local_addr()?;
    let router = Router::new().fallback(handle).with_state(Platform {
        platforms: platforms.into(),
        large: Arc::new(Semaphore::new(LARGE_AT_A_TIME)),
    });
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        // Serving ends with the task; an error of one connection is that connection's own.
        let _ = axum::serve(Accepting(listener), router).await;
    });
    Ok((address, tasks))
}

#[derive(Clone)]
struct Platform {
    platforms: Arc<[Arc<PlatformService>]>,
    large: Arc<Semaphore>,
}

impl Platform {
    /// The platform that has a project; the first one where none has it.
    fn of(&self, project: &str) -> Option<Arc<PlatformService>> {
        let own = self.platforms.iter().find(|own| own.project(project).is_some());
        own.or(self.platforms.first()).cloned()
    }
}

async fn handle(State(platform): State<Platform>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().to_owned();
    let read = tokio::time::timeout(BODY_DEADLINE, read(body)).await;
    let Some(bytes) = read.ok().flatten() else {
        let refusal = too_large();
        let project = project_of(&path);
        if let Some(own) = platform.of(&project) {
            own.refused(&project, &refusal);
        }
        return respond(Err(refusal), None);
    };
    let turn = if bytes.len() > LARGE { platform.large.acquire().await.ok() } else { None };
    let channel = format!("{} {path}", parts.method);
    let route = match route(&parts.method, &path, message::body(&bytes)) {
        Ok(route) => route,
        Err(body) => {
            if parts.method != Method::GET && path.split('/').any(is_state) {
                let sent = headers(&parts.headers);
                for own in platform.platforms.iter() {
                    own.observe_everywhere(Kind::StateWrite, &channel, &sent, &body);
                }
            }
            return respond(Err(unknown()), None);
        }
    };
    // A request for cards may be held back for long, and others must not wait for it.
    let turn = turn.filter(|_| route.operation != Operation::CardsGet);
    let Some(platform_service) = platform.of(&route.project) else { return respond(Err(unknown()), None) };
    let starts = matches!(route.operation, Operation::TurnStart { .. });
    let reply = platform_service
        .request(&route.project, route.operation, channel, headers(&parts.headers), route.body)
        .await;
    drop(turn);
    let mut response = respond(reply, route.single);
    if starts {
        let answered = ResponseGuard { platform_service, project: route.project };
        response.extensions_mut().insert(Arc::new(answered));
    }
    response
}

/// Goes along with a response and is dropped when that is written.
struct ResponseGuard {
    platform_service: Arc<PlatformService>,
    project: String,
}

impl Drop for ResponseGuard {
    fn drop(&mut self) {
        self.platform_service.answered(&self.project);
    }
}

/// The whole body, unless it is too large or breaks off.
async fn read(body: Body) -> Option<Vec<u8>> {
    let (mut chunks, mut bytes, mut size) = (body.into_data_stream(), Vec::new(), 0_usize);
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.ok()?;
        size += chunk.len();
        if size > DRAIN {
            return None;
        }
        if size <= MAX_BODY {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
        }
    }
    (size <= MAX_BODY).then_some(bytes)
}

fn project_of(path: &str) -> String {
    path.split('/').nth(2).map(decoded).unwrap_or_default()
}

struct HttpRoute {
    project: String,
    operation: Operation,
    body: Value,
    /// Set where one resource is asked for: the member of the reply that holds it.
    single: Option<&'static str>,
}

/// The operation of a request; a path that is no project's gives the body back.
fn route(method: &Method, path: &str, body: Value) -> Result<HttpRoute, Value> {
    let segments: Vec<String> = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
    let segments: Vec<&str> = segments.iter().map(String::as_str).collect();
    let ["projects", project, rest @ ..] = segments.as_slice() else { return Err(body) };
    let (operation, body, single) = match (method.as_str(), rest) {
        ("POST", ["cards", "batch"]) => (Operation::CardsGet, body, None),
        ("GET", ["cards", id]) => (Operation::CardsGet, json!({"card_ids": [id]}), Some("card")),
        ("PUT", ["cards", id]) => {
            let wrapped = body.get("card").is_some_and(Value::is_object);
            let mut body =
                if wrapped { body } else { Value::Object(Map::from_iter([("card".to_owned(), body)])) };
            // The path names the card, so the body need not.
            if let Some(card) = body["card"].as_object_mut() {
                card.entry("card_id").or_insert_with(|| json!(id));
            }
            (Operation::CardSave, body, None)
        }
        ("GET", ["tools", name]) => (Operation::ToolsGet, json!({"tool_name": name}), Some("tool")),
        ("GET", ["tools"]) => (Operation::ToolsList, json!({}), None),
        ("GET", ["agents", id]) => (Operation::RosterGet, json!({"agent_id": id}), Some("agent")),
        ("PUT", ["agents", id]) => {
            let mut row = match body {
                Value::Object(mut members) => members.remove("agent").unwrap_or(Value::Object(members)),
                other => other,
            };
            // The path names the agent, so the body need not.
            if let Some(row) = row.as_object_mut() {
                row.entry("agent_id").or_insert_with(|| json!(id));
            }
            (Operation::RosterSave, json!({"agent": row}), None)
        }
        ("POST", ["channels", channel, "turns"]) => {
            (Operation::TurnStart { channel_id: (*channel).to_owned() }, body, None)
        }
        ("POST", ["channels", channel, "reports"]) => {
            (Operation::Report { channel_id: (*channel).to_owned() }, body, None)
        }
        (method, rest) if method != "GET" && rest.iter().any(|part| is_state(part)) => {
            (Operation::StateWrite, body, None)
        }
        _ => (Operation::Unknown, body, None),
    };
    Ok(HttpRoute { project: (*project).to_owned(), operation, body, single })
}

fn is_state(segment: &str) -> bool {
    segment == "state" || segment.starts_with("state.")
}

/// A segment of a path without its escapes; what is no escape stays as it is.
fn decoded(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8_lossy().into_owned()
}

fn headers(headers: &HeaderMap) -> BTreeMap<String, String> {
    headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())))
        .collect()
}

fn respond(reply: PlatformReply, single: Option<&'static str>) -> Response {
    let reply = reply.and_then(|body| match single {
        Some("card") => resource(body.pointer("/cards/0"), "card"),
        Some(name) => resource(body.get(name), name),
        None => Ok(body),
    });
    let (status, body) = match reply {
        Ok(body) => (StatusCode::OK, body),
        Err(refusal) => (
            StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            refusal.body(),
        ),
    };
    (status, axum::Json(body)).into_response()
}

/// A single resource: as itself, and under its name, so that a client written for either form reads it.
fn resource(value: Option<&Value>, name: &str) -> PlatformReply {
    let mut body = value.cloned().ok_or_else(|| Refusal {
        status: 404,
        code: "not_found",
        message: format!("there is no such {name}"),
    })?;
    let whole = body.clone();
    if let Some(members) = body.as_object_mut() {
        members.insert(name.to_owned(), whole);
    }
    Ok(body)
}

fn unknown() -> Refusal {
    Refusal { status: 404, code: "not_found", message: "the platform has no such operation".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_request_has_its_operation() {
        let check = |method: Method, path: &str, expect: Operation| {
            let route = route(&method, path, json!({})).expect("a project path");
            assert_eq!((route.project.as_str(), route.operation), ("p 1", expect), "{method} {path}");
        };
        check(Method::POST, "/projects/p%201/cards/batch", Operation::CardsGet);
        check(Method::GET, "/projects/p%201/cards/c1", Operation::CardsGet);
        check(Method::PUT, "/projects/p%201/cards/c1", Operation::CardSave);
        check(Method::GET, "/projects/p%201/tools/t", Operation::ToolsGet);
        check(
            Method::POST,
            "/projects/p%201/channels/public/reports",
            Operation::Report { channel_id: "public".to_owned() },
        );
        check(Method::GET, "/projects/p%201/tools", Operation::ToolsList);
        check(Method::GET, "/projects/p%201/agents/a", Operation::RosterGet);
        check(Method::PUT, "/projects/p%201/agents/a", Operation::RosterSave);
        check(
            Method::POST,
            "/projects/p%201/channels/public/turns",
            Operation::TurnStart { channel_id: "public".to_owned() },
        );
        check(Method::PATCH, "/projects/p%201/state/agent_state_head", Operation::StateWrite);
        check(Method::PUT, "/projects/p%201/state.agent_state_head/ag", Operation::StateWrite);
        check(Method::GET, "/projects/p%201/state/agent_state_head", Operation::Unknown);
    }

    #[test]
    fn a_card_may_leave_its_id_to_the_path() {
        for body in [json!({"type": "tool.result"}), json!({"card": {"type": "tool.result"}})] {
            let route = route(&Method::PUT, "/projects/p/cards/c1", body).expect("a project path");
            assert_eq!(route.body, json!({"card": {"type": "tool.result", "card_id": "c1"}}));
        }
    }

    #[test]
    fn a_path_outside_the_projects_is_no_route() {
        assert!(route(&Method::GET, "/", json!({})).is_err());
        assert!(route(&Method::POST, "/tools", json!({})).is_err());
    }
}
