//! The store of a system under test that brings its own: the suite is its client.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::Method;
use serde_json::Value;

use super::manifest::BreadcrumbTable;
use crate::engine::session::{CleanedUp, with_prefix};
use crate::net::event_stream::EventReader;
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::transcript::lock;

/// For one request.
const DEADLINE: Duration = Duration::from_secs(10);
/// Bytes of one answer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Between two tries to open the event stream.
const RETRY: Duration = Duration::from_millis(200);

/// Breadcrumbs that may be stored while the event stream is away.
const LISTED: usize = 500;
/// Breadcrumbs whose versions are remembered.
const REMEMBERED: usize = 64 * 1024;
/// How often a breadcrumb that an event names is looked for.
const LOOKS: usize = 10;
/// Between two of these looks.
const LOOK: Duration = Duration::from_millis(50);

/// Versions of the breadcrumbs that were seen last.
#[derive(Debug, Default)]
struct Versions {
    newest: HashMap<String, u64>,
    order: VecDeque<String>,
}

impl Versions {
    /// Whether this version of a breadcrumb was not seen before.
    fn is_news(&mut self, id: &str, version: u64) -> bool {
        let Some(newest) = self.newest.get_mut(id) else {
            self.newest.insert(id.to_owned(), version);
            self.order.push_back(id.to_owned());
            if self.order.len() > REMEMBERED
                && let Some(oldest) = self.order.pop_front()
            {
                self.newest.remove(&oldest);
            }
            return version > 0;
        };
        let is_news = version > *newest;
        *newest = version.max(*newest);
        is_news
    }
}

/// A client of the target's store.
#[derive(Clone)]
pub(super) struct ExternalStore {
    http: HttpSender,
    base: String,
    token: Option<String>,
    /// What titles of the suite begin with.
    prefix: String,
    /// Versions of breadcrumbs that were seen, so that an event which comes twice is one message.
    seen: Arc<Mutex<Versions>>,
    /// Ids of what the suite stored.
    made: Arc<Mutex<Vec<String>>>,
    /// Shared while the suite stores something: its event may come before the answer does, and waits for it.
    storing: Arc<tokio::sync::RwLock<()>>,
    /// Held from the moment a breadcrumb counts as seen until it is handed over, so that none overtakes another and whoever
    /// catches up returns after all of them.
    handing_over: Arc<tokio::sync::Mutex<()>>,
}

impl ExternalStore {
    /// The store of this table at `base`, with the token that the table names.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub(super) fn of(table: &BreadcrumbTable, base: &str, outbound: &Arc<Outbound>) -> Result<Self, String> {
        let variable = table.token_env.as_deref();
        let token = variable.map(|variable| {
            std::env::var(variable).map_err(|_| {
                format!(
                    "the environment variable `{variable}`, which `breadcrumb.token_env` names, is not set"
                )
            })
        });
        let token = token.transpose()?;
        let options = SenderOptions { follows: true, ..SenderOptions::default() };
        let http = HttpSender::new(outbound, options)?;
        Ok(Self {
            http,
            base: base.trim_end_matches('/').to_owned(),
            token,
            prefix: outbound.prefix().to_owned(),
            seen: Arc::default(),
            made: Arc::default(),
            storing: Arc::default(),
            handing_over: Arc::default(),
        })
    }

    /// Stores a breadcrumb.
    pub(super) async fn put(&self, body: &Value) -> Result<String, String> {
        let _turn = self.http.turn().await;
        self.put_in_turn(body).await
    }

    /// As [`ExternalStore::put`], by who has its turn already.
    pub(super) async fn put_in_turn(&self, body: &Value) -> Result<String, String> {
        let _storing = self.storing.read().await;
        let answer = self
            .ask_in_turn(self.http.request(Method::POST, &format!("{}/breadcrumbs", self.base)).json(body))
            .await?;
        let id = answer.get("id").and_then(Value::as_str).ok_or("its store answers without an `id`")?;
        lock(&self.seen).is_news(id, 1);
        lock(&self.made).push(id.to_owned());
        Ok(id.to_owned())
    }

    /// Deletes what the suite stored, and says what is left.
    pub(super) async fn delete_made(&self) -> CleanedUp {
        let (mut deleted, mut left) = (0, 0);
        let made = std::mem::take(&mut *lock(&self.made));
        for id in made {
            let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
            let url = format!("{}/breadcrumbs/{id}", self.base);
            let _turn = self.http.turn().await;
            let sent = self.http.send(self.with_token(self.http.request(Method::DELETE, &url)));
            match tokio::time::timeout(DEADLINE, sent).await {
                Ok(Ok(answer)) if answer.status().is_success() => deleted += 1,
                _ => left += 1,
            }
        }
        let some = |count: usize, text: String| (count > 0).then_some(text).into_iter().collect::<Vec<_>>();
        let mut remains = CleanedUp {
            deleted: some(deleted, format!("{deleted} breadcrumbs")),
            left: some(
                left,
                format!(
                    "{left} breadcrumbs of the suite{}: the store does not delete them",
                    with_prefix("titles", &self.prefix)
                ),
            ),
        };
        remains.left.push("what the target stored itself: it is the target's own".to_owned());
        remains
    }

    /// A breadcrumb with all its members.
    pub(super) async fn find(&self, id: &str) -> Option<Value> {
        let id: String = url::form_urlencoded::byte_serialize(id.as_bytes()).collect();
        self.ask(self.get(&format!("/breadcrumbs/{id}/full"))).await.ok()
    }

    /// Follows the event stream, and hands over each breadcrumb of somebody else, new or changed.
    pub(super) async fn follow(self, opened: tokio::sync::watch::Sender<bool>, take: impl Fn(Value, u64)) {
        let mut is_first = true;
        loop {
            let request = self.with_token(self.get("/events/stream")).header("accept", "text/event-stream");
            if let Ok(answer) = self.http.send(request).await
                && answer.status().is_success()
            {
                let mut reader = EventReader::default();
                let mut parts = answer.bytes_stream();
                opened.send_replace(true);
                if !std::mem::take(&mut is_first) {
                    self.catch_up(&take).await;
                }
                while let Some(Ok(part)) = parts.next().await {
                    let Ok(events) = reader.read(&part) else { break };
                    for data in events {
                        self.take_event(&data, &take).await;
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Hands over the breadcrumb that an event names.
    async fn take_event(&self, data: &str, take: &impl Fn(Value, u64)) {
        let Ok(event) = serde_json::from_str::<Value>(data) else { return };
        let Some(id) = event.get("breadcrumb_id").and_then(Value::as_str) else { return };
        let version = event.get("version").and_then(Value::as_u64).unwrap_or(1);
        drop(self.storing.write().await);
        let _turn = self.handing_over.lock().await;
        self.hand_over(id, version, take).await;
    }

    /// Takes what the store holds now, as far as it lists that, for known.
    pub(super) async fn skip_present(&self) {
        let Ok(Value::Array(present)) = self.ask(self.get(&format!("/breadcrumbs?limit={LISTED}"))).await
        else {
            return;
        };
        for crumb in &present {
            if let Some(id) = crumb.get("id").and_then(Value::as_str) {
                self.is_news(id, crumb.get("version").and_then(Value::as_u64).unwrap_or(1));
            }
        }
    }

    /// Hands over what happened while there was no stream.
    pub(super) async fn catch_up(&self, take: &impl Fn(Value, u64)) {
        let _handing_over = self.handing_over.lock().await;
        // In the order of `put`: whoever stores something has its turn first.
        let turn = self.http.turn().await;
        let storing = self.storing.write().await;
        let listed = self.ask_in_turn(self.get(&format!("/breadcrumbs?limit={LISTED}"))).await;
        drop((storing, turn));
        let Ok(Value::Array(newest_first)) = listed else { return };
        for crumb in newest_first.iter().rev() {
            let Some(id) = crumb.get("id").and_then(Value::as_str) else { continue };
            let version = crumb.get("version").and_then(Value::as_u64).unwrap_or(1);
            self.hand_over(id, version, take).await;
        }
    }

    /// Hands over this version of a breadcrumb, unless it was seen before.
    async fn hand_over(&self, id: &str, version: u64, take: &impl Fn(Value, u64)) {
        if !self.is_news(id, version) {
            return;
        }
        // What is read may follow the events a moment later.
        for look in 0..LOOKS {
            if look > 0 {
                tokio::time::sleep(LOOK).await;
            }
            let found = self.find(id).await;
            let own = found.as_ref().and_then(|crumb| crumb.get("version").and_then(Value::as_u64));
            let is_older = own.is_some_and(|own| own < version);
            if let Some(crumb) = found.filter(|_| !is_older || look + 1 == LOOKS) {
                return take(crumb, version);
            }
        }
    }

    fn is_news(&self, id: &str, version: u64) -> bool {
        lock(&self.seen).is_news(id, version)
    }

    async fn ask(&self, request: reqwest::RequestBuilder) -> Result<Value, String> {
        let _turn = self.http.turn().await;
        self.ask_in_turn(request).await
    }

    async fn ask_in_turn(&self, request: reqwest::RequestBuilder) -> Result<Value, String> {
        let ask = async {
            let answer = self.http.send(self.with_token(request)).await.map_err(|error| error.deepest())?;
            let status = answer.status();
            let mut bytes = Vec::new();
            let mut chunks = answer.bytes_stream();
            while let Some(chunk) = chunks.next().await {
                bytes.extend_from_slice(&chunk.map_err(|error| error.to_string())?);
                if bytes.len() > MAX_ANSWER {
                    return Err("its store answers with too much".to_owned());
                }
            }
            if !status.is_success() {
                return Err(format!("its store answers with {status}"));
            }
            serde_json::from_slice(&bytes).map_err(|error| format!("its store answers with no JSON: {error}"))
        };
        tokio::time::timeout(DEADLINE, ask)
            .await
            .unwrap_or_else(|_| Err("its store does not answer".to_owned()))
    }

    fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.http.request(Method::GET, &format!("{}{path}", self.base))
    }

    /// Why nothing more is to be expected from there.
    pub(super) fn trouble(&self) -> Option<String> {
        self.http.trouble()
    }

    fn with_token(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::json;
    use wiremock::matchers::{method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};

    use super::*;
    use crate::engine::manifest::Manifest;

    /// For the request of the event that is handed over.
    const PATIENCE: Duration = Duration::from_secs(20);

    async fn answer(server: &MockServer, at: &str, answer: ResponseTemplate) {
        Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(server).await;
    }

    #[tokio::test]
    async fn whoever_catches_up_waits_for_what_is_being_handed_over() {
        let server = MockServer::start().await;
        let event = "data: {\"breadcrumb_id\": \"first\", \"version\": 1}\n\n";
        answer(
            &server,
            "/events/stream",
            ResponseTemplate::new(200).set_body_raw(event, "text/event-stream"),
        )
        .await;
        let newest_first = json!([{"id": "second", "version": 1}, {"id": "first", "version": 1}]);
        answer(&server, "/breadcrumbs", ResponseTemplate::new(200).set_body_json(newest_first)).await;
        let slowly = ResponseTemplate::new(200).set_delay(Duration::from_millis(300));
        answer(&server, "/breadcrumbs/first/full", slowly.set_body_json(json!("first"))).await;
        answer(
            &server,
            "/breadcrumbs/second/full",
            ResponseTemplate::new(200).set_body_json(json!("second")),
        )
        .await;

        let text = format!("[target]\nname = \"a\"\n[breadcrumb]\nstore = \"{}\"\n", server.uri());
        let manifest = Manifest::parse("callmark.toml", &text, Path::new(".")).expect("a manifest");
        let table = manifest.get::<BreadcrumbTable>().expect("a table");
        let store = ExternalStore::of(table, &server.uri(), &Outbound::of(&manifest)).expect("a client");
        let taken: Arc<Mutex<Vec<Value>>> = Arc::default();
        let take = {
            let taken = Arc::clone(&taken);
            move |crumb, _| lock(&taken).push(crumb)
        };
        let (opened, _is_open) = tokio::sync::watch::channel(false);
        let following = tokio::spawn(store.clone().follow(opened, take.clone()));
        let is_asked =
            async {
                while !server.received_requests().await.is_some_and(|own| {
                    own.iter().any(|request| request.url.path() == "/breadcrumbs/first/full")
                }) {
                    tokio::task::yield_now().await;
                }
            };
        tokio::time::timeout(PATIENCE, is_asked).await.expect("the event is looked up");
        store.catch_up(&take).await;
        assert_eq!(*lock(&taken), [json!("first"), json!("second")]);
        following.abort();
    }
}
