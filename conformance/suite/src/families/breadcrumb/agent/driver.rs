//! How the agent is spoken with: over the store, by HTTP, or in JSON lines (`docs/breadcrumbs.md`, "An agent").

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::engine::timing::heartbeat;
use crate::families::breadcrumb::json_lines::LineWriter;
use crate::families::breadcrumb::router::{ScenarioChannel, ScenarioRouter};
use crate::families::breadcrumb::store::Store;
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::transcript::{Kind, lock};

/// Bytes of what an agent says.
const MAX_SAID: usize = 1024 * 1024;
/// Between two tries to reach an agent that does not listen yet.
const AGAIN: Duration = Duration::from_millis(50);

/// The way to an agent.
pub(super) enum Way {
    /// It listens to the store.
    Store,
    /// Each breadcrumb is posted to it.
    Http(Courier),
    /// Each breadcrumb is a line.
    Lines(LineWriter),
    /// That led to an agent which is not there, in a run that is judged again.
    Offline {
        /// Whether it listened to the store.
        is_store: bool,
    },
}

/// The store, and the way to the agent.
pub(super) struct Driver {
    pub store: Store,
    pub way: Way,
}

impl Driver {
    /// Delivers a breadcrumb to the agent, as the wire lets it through.
    ///
    /// # Errors
    /// Why it does not get there.
    pub(super) fn deliver(
        &self,
        router: &ScenarioRouter,
        scenario_channel: &Arc<ScenarioChannel>,
        body: Value,
    ) -> Result<(), String> {
        let channel = if self.is_store() { "POST /breadcrumbs" } else { "to the agent" };
        for body in router.send(scenario_channel, Kind::Put, channel, BTreeMap::new(), body) {
            let held = &self.store.contents;
            let crumb = held.put(held.fresh_id(), &body, None);
            let crumb = crumb.map_err(|refused| format!("the suite's own store refuses it: {refused:?}"))?;
            match &self.way {
                Way::Store | Way::Offline { .. } => {}
                Way::Http(courier) => courier.send(scenario_channel, crumb.full()),
                Way::Lines(input) => input.send(&crumb.full())?,
            }
        }
        Ok(())
    }

    /// Whether the agent listens to the store.
    pub(super) fn is_store(&self) -> bool {
        matches!(self.way, Way::Store | Way::Offline { is_store: true })
    }

    /// Why nothing gets to the agent, where that is known.
    pub(super) fn trouble(&self) -> Option<String> {
        match &self.way {
            Way::Http(courier) => lock(&courier.post.trouble).clone(),
            Way::Store | Way::Lines(_) | Way::Offline { .. } => None,
        }
    }
}

/// Posts breadcrumbs to an agent, those of one scenario one after the other.
pub(super) struct Courier {
    post: Arc<Post>,
    queues: Mutex<HashMap<String, mpsc::UnboundedSender<Value>>>,
}

struct Post {
    client: HttpSender,
    url: String,
    /// For an answer.
    deadline: Duration,
    /// For an agent that does not listen yet.
    patience: Duration,
    router: Arc<ScenarioRouter>,
    trouble: Mutex<Option<String>>,
}

impl Courier {
    /// A courier to an address.
    ///
    /// # Errors
    /// It is no URL, or something else of the manifest cannot be used.
    pub(super) fn new(
        url: &str,
        outbound: &Arc<Outbound>,
        router: &Arc<ScenarioRouter>,
        deadline: Duration,
        patience: Duration,
    ) -> Result<Self, String> {
        reqwest::Url::parse(url)
            .map_err(|error| format!("`breadcrumb.agent.drive.http` is no URL: {error}"))?;
        let options = SenderOptions { follows: true, ..SenderOptions::default() };
        let client = HttpSender::new(outbound, options)?;
        let (url, router, trouble) = (url.to_owned(), Arc::clone(router), Mutex::default());
        let post = Arc::new(Post { client, url, deadline, patience, router, trouble });
        Ok(Self { post, queues: Mutex::default() })
    }

    fn send(&self, scenario_channel: &Arc<ScenarioChannel>, body: Value) {
        let mut queues = lock(&self.queues);
        let queue = queues.entry(scenario_channel.unique.clone()).or_insert_with(|| {
            let (queue, rest) = mpsc::unbounded_channel();
            tokio::spawn(Arc::clone(&self.post).carry(Arc::clone(scenario_channel), rest));
            queue
        });
        // The other end lives as long as this one.
        let _ = queue.send(body);
    }
}

impl Post {
    async fn carry(
        self: Arc<Self>,
        scenario_channel: Arc<ScenarioChannel>,
        mut rest: mpsc::UnboundedReceiver<Value>,
    ) {
        while let Some(body) = rest.recv().await {
            let _turn = self.client.turn().await;
            let answer = heartbeat::within(self.deadline + self.patience, self.post(&body)).await;
            let said = match answer {
                Some(Ok(said)) => {
                    *lock(&self.trouble) = None;
                    said
                }
                Some(Err(why)) => {
                    *lock(&self.trouble) = Some(why);
                    None
                }
                None => None,
            };
            if let Some(said) = said {
                self.router.record_incoming_of(
                    &scenario_channel,
                    Kind::Said,
                    "answer of the agent",
                    BTreeMap::new(),
                    said,
                );
            }
        }
    }

    /// What the agent says to a breadcrumb, if anything.
    async fn post(&self, body: &Value) -> Result<Option<Value>, String> {
        let began = Instant::now();
        let mut response = loop {
            match self.client.send(self.client.request(Method::POST, &self.url).json(body)).await {
                Ok(response) => break response,
                Err(error) if error.is_connect() && began.elapsed() < self.patience => {
                    tokio::time::sleep(AGAIN).await;
                }
                Err(error) => return Err(format!("`{}`: {}", self.url, error.deepest())),
            }
        };
        if !response.status().is_success() {
            return Err(format!("`{}` answers {}", self.url, response.status()));
        }
        let mut bytes = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| error.to_string())? {
            if bytes.len() + part.len() > MAX_SAID {
                return Err(format!("`{}` says more than {MAX_SAID} bytes", self.url));
            }
            bytes.extend_from_slice(&part);
        }
        let text = String::from_utf8_lossy(&bytes);
        Ok((!text.trim().is_empty()).then(|| line(text.trim())))
    }
}

/// What was said: JSON where it is JSON, else the text.
pub(super) fn line(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::from(text))
}
