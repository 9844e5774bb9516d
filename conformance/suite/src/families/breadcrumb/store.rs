//! The suite's store over HTTP and server-sent events (`docs/breadcrumbs.md`, "The store").
//!
//! It takes any token, writes down what the target does, and judges nothing.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use futures::stream;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::crumb::{Crumb, INVOCATION, RESPONSE};
use super::in_memory_store::{Filter, InMemoryStore, OWNER, Refused};
use super::router::ScenarioRouter;
use super::store_actions::Action;
use crate::engine::files;
use crate::net::http_connections;
use crate::net::http_connections::Accepting;
use crate::transcript::Kind;

/// Bytes of a request body.
const MAX_BODY: usize = 1024 * 1024;
/// Time for a request body to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(30);
/// Between two signs of life on an event stream.
const PING: Duration = Duration::from_secs(5);
/// Breadcrumbs of a list that asks for no number, or for more.
const MAX_LIST: usize = 500;

/// Bytes of a file of fixtures.
const MAX_FIXTURES: u64 = 8 * 1024 * 1024;

/// Whoever wants to know what the target stored.
pub type OnChange = Arc<dyn Fn(&Crumb) + Send + Sync>;

/// What a target posts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Posting {
    /// Breadcrumbs.
    #[default]
    Plain,
    /// Breadcrumbs of an agent, which are judged and not refused: one fault is to break one rule.
    Loose,
    /// Likewise whole invocations, with a breadcrumb inside.
    Envelopes,
    /// What an agent keeps there that is spoken with elsewhere.
    Records,
}

/// A store on a loopback address. It ends when it is dropped.
pub struct Store {
    /// What it holds.
    pub contents: Arc<InMemoryStore>,
    address: SocketAddr,
    // Ends with the store.
    _serving: JoinSet<()>,
}

/// What every request needs.
#[derive(Clone)]
struct StoreHandler {
    contents: Arc<InMemoryStore>,
    router: Arc<ScenarioRouter>,
    posting: Posting,
    on_change: Option<OnChange>,
}

impl Store {
    /// Listens at `listen`, or on a free port.
    ///
    /// # Errors
    /// Why it cannot listen there.
    pub async fn start(
        listen: Option<&str>,
        router: &Arc<ScenarioRouter>,
        posting: Posting,
        on_change: Option<OnChange>,
    ) -> Result<Self, String> {
        let address = listen.unwrap_or("127.0.0.1:0");
        let failed = |error: std::io::Error| format!("`{address}`: {error}");
        let listener = http_connections::listen(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let contents: Arc<InMemoryStore> = Arc::default();
        let handler =
            StoreHandler { contents: Arc::clone(&contents), router: Arc::clone(router), posting, on_change };
        let router = Router::new().fallback(handle).with_state(handler);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // Serving ends with the task; an error of one connection is that connection's own.
            let _ = axum::serve(Accepting(listener), router).await;
        });
        Ok(Self { contents, address, _serving: serving })
    }

    /// A store that does not listen, for a run that is judged again.
    pub(super) fn closed() -> Self {
        Self {
            contents: Arc::default(),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            _serving: JoinSet::new(),
        }
    }

    /// `http://host:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

async fn handle(State(handler): State<StoreHandler>, request: Request<Body>) -> Response {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path().trim_end_matches('/').to_owned();
    let read = tokio::time::timeout(BODY_DEADLINE, to_bytes(body, MAX_BODY)).await;
    let Ok(Ok(body)) = read else {
        return refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large, or does not come to its end");
    };
    let query = query(parts.uri.query().unwrap_or_default());
    let steps: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let channel = format!("{} {}", parts.method, parts.uri);
    match (&parts.method, steps.as_slice()) {
        (&Method::GET, ["health"]) => "ok".into_response(),
        (&Method::POST, ["auth", "token"]) => token(),
        (&Method::GET, ["events", "stream"]) => handler.stream(),
        (&Method::POST, ["breadcrumbs"]) => handler.post(&parts.headers, &body),
        (&Method::GET, ["breadcrumbs"]) => handler.list(&channel, &query, false),
        (&Method::GET, ["breadcrumbs", "search"]) => handler.list(&channel, &query, true),
        (&Method::GET, ["breadcrumbs", id] | ["breadcrumbs", id, "full"]) => handler.get(&channel, id),
        (&Method::GET, ["breadcrumbs", id, "history"]) => handler.history(&channel, id),
        (&Method::PATCH, ["breadcrumbs", id]) => handler.patch(&parts.headers, id, &body),
        (&Method::DELETE, ["breadcrumbs", id]) => handler.delete(&channel, id),
        (&Method::POST, ["breadcrumbs", id, path @ ..]) if Action::of(path).is_some() => {
            handler.act(&channel, id, path, &body)
        }
        (&Method::GET, ["secrets"]) => {
            let all =
                handler.contents.secrets().into_iter().map(|(id, name)| json!({"id": id, "name": name}));
            answer(&all.collect())
        }
        (&Method::POST, ["secrets", id, "decrypt"]) => handler.decrypt(&channel, id),
        _ => {
            handler.router.note_unplayed(parts.method.as_str(), &path);
            refusal(StatusCode::NOT_FOUND, "the store has no such path")
        }
    }
}

impl StoreHandler {
    fn post(&self, headers: &HeaderMap, body: &Bytes) -> Response {
        let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
        let Ok(said) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body).into_owned();
            let kind = match self.posting {
                Posting::Plain | Posting::Loose => Kind::Crumb,
                Posting::Envelopes => Kind::Said,
                Posting::Records => Kind::Stored,
            };
            self.router.record_incoming(kind, "POST /breadcrumbs", BTreeMap::new(), Value::from(text));
            return refusal(StatusCode::UNPROCESSABLE_ENTITY, "the body is no JSON");
        };
        // Who asks again whether it was stored says nothing new.
        if key.is_some_and(|key| self.contents.knows_key(key)) {
            return refused_as(Refused::Repeated);
        }
        self.take(said, key)
    }

    /// Takes what the target posts, as it comes out of the wire.
    fn take(&self, said: Value, key: Option<&str>) -> Response {
        let arrived = match self.posting {
            Posting::Records => {
                self.router.record_incoming(Kind::Stored, "POST /breadcrumbs", BTreeMap::new(), said)
            }
            Posting::Plain | Posting::Loose => {
                self.router.record_incoming(Kind::Crumb, "POST /breadcrumbs", BTreeMap::new(), said)
            }
            Posting::Envelopes => {
                let said =
                    self.router.record_incoming(Kind::Said, "POST /breadcrumbs", BTreeMap::new(), said);
                said.into_iter().map(|said| inner(&said)).collect()
            }
        };
        let mut first = None;
        for body in &arrived {
            // A copy that a mutating wire makes has no key of its own.
            let key = if first.is_none() { key } else { None };
            let stored = self.contents.put(self.contents.fresh_id(), body, key);
            if let (Ok(crumb), Some(on_change)) = (&stored, &self.on_change) {
                on_change(crumb);
            }
            first.get_or_insert(stored);
        }
        // What was lost on the wire looks stored to its author.
        match first {
            Some(Ok(crumb)) => answer(&json!({"id": crumb.id})),
            Some(Err(refused)) if self.posting == Posting::Plain || refused == Refused::Repeated => {
                refused_as(refused)
            }
            Some(Err(_)) | None => answer(&json!({"id": self.contents.fresh_id()})),
        }
    }

    fn patch(&self, headers: &HeaderMap, id: &str, body: &Bytes) -> Response {
        let Ok(changes) = serde_json::from_slice::<Value>(body) else {
            return refusal(StatusCode::UNPROCESSABLE_ENTITY, "the body is no JSON");
        };
        let version = headers
            .get(header::IF_MATCH)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.trim_matches('"').parse().ok());
        let channel = format!("PATCH /breadcrumbs/{id}");
        match self.arrived(&channel, id, changes) {
            Some(changes) => self.changed(self.contents.patch(id, &changes, version)),
            None => answer(&json!({"ok": true})),
        }
    }

    /// An action on a breadcrumb: what changes is written down as PATCH would have it.
    fn act(&self, channel: &str, id: &str, path: &[&str], body: &Bytes) -> Response {
        let asked = if body.is_empty() { Ok(json!({})) } else { serde_json::from_slice::<Value>(body) };
        let (Some(action), Ok(asked)) = (Action::of(path), asked) else {
            return refusal(StatusCode::UNPROCESSABLE_ENTITY, "the body is no JSON");
        };
        let found = self.contents.find(id).ok_or(Refused::Unknown);
        let changes = match found.and_then(|crumb| action.changes(&asked, &crumb)) {
            Ok(changes) => changes,
            Err(refused) => return refused_as(refused),
        };
        match self.arrived(channel, id, changes) {
            // Others may have changed it meanwhile.
            Some(_) => self.changed(self.contents.update(id, None, |crumb| action.changes(&asked, crumb))),
            None => answer(&json!({"ok": true})),
        }
    }

    fn delete(&self, channel: &str, id: &str) -> Response {
        let Some(crumb) = self.contents.find(id) else { return refused_as(Refused::Unknown) };
        let whose = self.router.whose(&format!("{channel} {}", crumb.full()));
        self.router.record_incoming_of(&whose, Kind::CrumbChange, channel, BTreeMap::new(), Value::Null);
        match self.contents.remove(id) {
            Ok(()) => answer(&json!({"ok": true})),
            Err(refused) => refused_as(refused),
        }
    }

    fn history(&self, channel: &str, id: &str) -> Response {
        let all = self.contents.history(id);
        let Some(present) = all.last() else { return refused_as(Refused::Unknown) };
        self.read(channel, &present.full());
        let version = |crumb: &Arc<Crumb>| {
            json!({"version": crumb.version, "context": crumb.members.get("context"), "tags": crumb.members.get("tags"),
                   "updated_at": crumb.updated_at, "updated_by": OWNER})
        };
        answer(&all.iter().map(version).collect())
    }

    /// Writes down a change of the target's, and gives it as it comes out of the wire; nothing where that lost it.
    fn arrived(&self, channel: &str, id: &str, changes: Value) -> Option<Value> {
        let scenario_channel = match self.contents.find(id) {
            Some(crumb) => self.router.whose(&format!("{} {changes}", crumb.full())),
            None => self.router.whose(&changes.to_string()),
        };
        let filled = self.contents.find(id).filter(|crumb| is_blank(&crumb.full())).map(|crumb| {
            let mut whole = crumb.full();
            for (name, value) in changes.as_object().into_iter().flatten() {
                whole[name.as_str()] = value.clone();
            }
            whole
        });
        // An answer that was stored without content is given when it is filled.
        let (kind, said) = filled.map_or((Kind::CrumbChange, changes), |whole| (Kind::Crumb, whole));
        let arrived = self.router.record_incoming_of(&scenario_channel, kind, channel, BTreeMap::new(), said);
        arrived.into_iter().next()
    }

    fn changed(&self, changed: Result<Arc<Crumb>, Refused>) -> Response {
        match changed {
            Ok(crumb) => {
                if let Some(on_change) = &self.on_change {
                    on_change(&crumb);
                }
                answer(&json!({"ok": true}))
            }
            Err(refused) => refused_as(refused),
        }
    }

    fn get(&self, channel: &str, id: &str) -> Response {
        let Some(crumb) = self.contents.find(id) else { return refused_as(Refused::Unknown) };
        let full = crumb.full();
        self.read(channel, &full);
        answer(&full)
    }

    fn list(&self, channel: &str, query: &BTreeMap<String, String>, search: bool) -> Response {
        let number = |name: &str| query.get(name).and_then(|text| text.parse::<usize>().ok());
        let words = query.get("q").into_iter().flat_map(|words| words.split_whitespace());
        let filter = Filter {
            tag: query.get("tag").cloned(),
            schema_name: query.get("schema_name").cloned(),
            words: words.filter(|_| search).map(str::to_lowercase).collect(),
            offset: number("offset").unwrap_or(0),
            limit: number("limit").or_else(|| number("nn")).unwrap_or(MAX_LIST).min(MAX_LIST),
        };
        let with_context = search || query.get("include_context").is_some_and(|value| value == "true");
        let all: Value =
            self.contents.list(&filter).iter().map(|crumb| crumb.outline(with_context)).collect();
        self.read(channel, &all);
        answer(&all)
    }

    fn decrypt(&self, channel: &str, id: &str) -> Response {
        let Some(value) = self.contents.secret(id) else {
            return refusal(StatusCode::NOT_FOUND, "there is no such secret");
        };
        self.read(channel, &Value::Null);
        answer(&json!({"value": value}))
    }

    /// Writes down that something was read, where it belongs to a scenario.
    fn read(&self, channel: &str, what: &Value) {
        let scenario_channel = self.router.whose(&format!("{channel} {what}"));
        self.router.record_incoming_of(
            &scenario_channel,
            Kind::StoreRead,
            channel,
            BTreeMap::new(),
            Value::Null,
        );
    }

    /// The event stream, from now on.
    fn stream(&self) -> Response {
        let listener = self.contents.listen();
        let events = stream::unfold(Some(listener), |listener| async {
            let mut listener = listener?;
            let text = match tokio::time::timeout(PING, listener.next()).await {
                Ok(Some(crumb)) => crumb.event(OWNER).to_string(),
                // Who fell behind opens a new stream.
                Ok(None) => return None,
                Err(_) => json!({"type": "ping", "ts": jiff::Timestamp::now().to_string()}).to_string(),
            };
            let line = Ok::<_, std::convert::Infallible>(Bytes::from(format!("data: {text}\n\n")));
            Some((line, Some(listener)))
        });
        let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
        (headers, Body::from_stream(events)).into_response()
    }
}

/// Whether a breadcrumb is an answer, or what an agent says, without any content: it is still to be filled.
pub fn is_blank(crumb: &Value) -> bool {
    let has = |name: &str| {
        ["/context", ""]
            .iter()
            .any(|at| crumb.pointer(&format!("{at}/{name}")).is_some_and(|own| !own.is_null()))
    };
    match crumb.get("schema_name").and_then(Value::as_str) {
        Some(RESPONSE) => !["status", "output", "error"].into_iter().any(has),
        Some(INVOCATION) => crumb.get("context").is_some_and(is_still_empty),
        _ => false,
    }
}

/// Whether the context of an agent's breadcrumb has no message, or an empty one, and nothing else but how far it is.
fn is_still_empty(context: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let is_progress = |name: &str| ["status", "state", "streaming", "partial", "done"].contains(&name);
    let Some(members) = context.as_object() else { return false };
    members.iter().all(|(name, value)| is_empty(value) || is_progress(name))
}

/// The breadcrumb of an invocation, or what stands in its place.
pub fn inner(said: &Value) -> Value {
    match said.get("breadcrumb") {
        Some(inner @ Value::Object(_)) => inner.clone(),
        _ => said.clone(),
    }
}

fn token() -> Response {
    let roles = ["curator", "emitter", "subscriber"];
    let exp = jiff::Timestamp::now().as_second() + 3600;
    answer(&json!({"token": "any", "owner_id": OWNER, "agent_id": OWNER, "roles": roles, "exp": exp}))
}

fn answer(body: &Value) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

fn refusal(status: StatusCode, text: &str) -> Response {
    let body = json!({"error": text}).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn refused_as(refused: Refused) -> Response {
    match refused {
        Refused::Shape(text) => refusal(StatusCode::UNPROCESSABLE_ENTITY, text),
        Refused::Repeated => refusal(StatusCode::CONFLICT, "the idempotency key was used before"),
        Refused::Unknown => refusal(StatusCode::NOT_FOUND, "there is no such breadcrumb"),
        Refused::Version => refusal(StatusCode::PRECONDITION_FAILED, "the breadcrumb has another version"),
    }
}

fn query(text: &str) -> BTreeMap<String, String> {
    url::form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

/// Puts breadcrumbs into a store, each under the id that it has, if any.
///
/// # Errors
/// What is wrong with one of them.
pub(super) fn stock(contents: &InMemoryStore, breadcrumbs: &[Value]) -> Result<(), Refused> {
    for body in breadcrumbs {
        let id = match body.get("id") {
            None | Some(Value::Null) => contents.fresh_id(),
            Some(Value::String(id)) if !id.is_empty() && contents.find(id).is_none() => id.clone(),
            Some(Value::String(id)) if !id.is_empty() => {
                return Err(Refused::Shape("two breadcrumbs have the same `id`"));
            }
            Some(_) => return Err(Refused::Shape("`id` must be a string that is not empty")),
        };
        contents.put(id, body, None)?;
    }
    Ok(())
}

/// Breadcrumbs that the store holds from the start.
pub(super) fn fixtures(file: Option<&Path>, directory: &Path) -> Result<Vec<Value>, String> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let path = directory.join(file);
    let shown = file.display();
    let text = files::read_text(&path, MAX_FIXTURES).map_err(|error| format!("`{shown}`: {error}"))?;
    match serde_json::from_str(&text) {
        Ok(Value::Array(all)) => Ok(all),
        Ok(_) => Err(format!("`{shown}` is no JSON array of breadcrumbs")),
        Err(error) => Err(format!("`{shown}`: {error}")),
    }
}
