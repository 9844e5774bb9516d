//! Messages become answers: every request is run once and answered once.
//!
//! A message is known by its id, so that a later version of it runs nothing again. What the runner stores itself holds
//! no requests. The engine does not know where messages come from; answers go through an [`Outlet`].

use std::collections::{HashSet, VecDeque};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::{FutureExt as _, StreamExt as _, stream};
use serde_json::Value;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;

use super::answer::{ToolResponse, answer};
use super::config::RunnerConfig;
use super::request::{Request, requests};
use super::tool_config;
use crate::breadcrumb::client::{Breadcrumb, ListQuery, StoreClient, StoreClientError};
use crate::breadcrumb::execution::execute;
use crate::breadcrumb::tool::{Catalog, ToolCall, ToolFailure};
use crate::log::Log;
use crate::sync::locked;

/// How many requests of a message run at the same time.
const PARALLEL: usize = 16;
/// How many messages are worked on at the same time; more wait.
const MESSAGES: usize = 128;
/// How many messages are remembered.
const REMEMBERED: usize = 64 * 1024;
/// How often an answer is tried to be stored, and the pause before the second attempt; it doubles.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(100);

/// Where answers go.
pub(super) enum Outlet {
    Store(StoreClient),
    /// One breadcrumb a line.
    Lines(mpsc::Sender<String>),
}

/// What turns messages into answers.
pub(super) struct Engine {
    pub(super) catalog: Catalog,
    store: StoreClient,
    outlet: Outlet,
    workspace: String,
    deadline: Duration,
    log: Log,
    handled: Mutex<Handled>,
    places: Arc<Semaphore>,
}

impl Engine {
    pub(super) fn new(config: &RunnerConfig, store: StoreClient, outlet: Outlet) -> Self {
        Self {
            catalog: config.catalog.clone(),
            store,
            outlet,
            workspace: config.workspace.clone(),
            deadline: config.deadline,
            log: Arc::clone(&config.log),
            handled: Mutex::default(),
            places: Arc::new(Semaphore::new(MESSAGES)),
        }
    }

    pub(super) fn log(&self, line: &str) {
        (self.log)(line);
    }

    /// Runs what a message asks for, and answers.
    async fn handle(&self, mut message: Breadcrumb) {
        if message.context.is_empty() && matches!(self.outlet, Outlet::Store(_)) {
            // There are stores whose events leave it out.
            match self.store.full(&message.id).await {
                Ok(full) => message = full,
                Err(error) => return self.log(&format!("breadcrumb={} cannot be read: {error}", message.id)),
            }
        }
        let Some((requests, passed_over)) = requests(&mut message, &self.workspace) else { return };
        if !locked(&self.handled).is_new(&message.id) {
            return;
        }
        for reason in passed_over {
            self.log(&format!("passed over in breadcrumb={}: {reason}", message.id));
        }
        let message = &message;
        stream::iter(requests)
            .for_each_concurrent(PARALLEL, async |request| self.serve(message, request).await)
            .await;
    }

    async fn serve(&self, message: &Breadcrumb, request: Request) {
        if message.version > 1 && self.was_answered(message, &request).await {
            return;
        }
        let started = Instant::now();
        // Tools have tasks of their own; this is for what is around them.
        let run = AssertUnwindSafe(self.run(&request)).catch_unwind().await;
        let outcome =
            run.unwrap_or_else(|_| Err(ToolFailure::new("the runner broke down over this request")));
        let took = started.elapsed();
        self.log(&format!(
            "tool={:?} request={:?} outcome={} elapsed={took:?}",
            request.tool.chars().take(64).collect::<String>(),
            request.id.chars().take(64).collect::<String>(),
            if outcome.is_ok() { "success" } else { "error" },
        ));
        let ToolResponse { response, shown } =
            answer(&request, outcome, took, &message.tags, &self.workspace);
        self.put(&response).await;
        if let Some(shown) = shown {
            self.put(&shown).await;
        }
    }

    async fn run(&self, request: &Request) -> Result<Value, ToolFailure> {
        let task = request.task.clone().map_err(ToolFailure::new)?;
        let tool = self.catalog.admit(&request.tool, &task.input)?;
        let config = match &task.config_id {
            Some(id) => Some(tool_config::resolve(&self.store, id, &request.tool).await?),
            None => None,
        };
        execute(tool, ToolCall::new(task.input).with_config(config), self.deadline).await
    }

    /// Whether someone answered before this runner was there: a message that was changed may be an old one.
    async fn was_answered(&self, message: &Breadcrumb, request: &Request) -> bool {
        if !matches!(self.outlet, Outlet::Store(_)) {
            return false;
        }
        let query = ListQuery {
            tag: Some(format!("request:{}", request.id)),
            schema_name: Some("tool.response.v1".to_owned()),
            ..ListQuery::default()
        };
        let answers = self.store.list(&query).await.unwrap_or_default();
        let session = message.tags.iter().find(|tag| tag.starts_with("session:"));
        answers.iter().any(|answer| session.is_none_or(|session| answer.has_tag(session)))
    }

    async fn put(&self, breadcrumb: &Value) {
        match &self.outlet {
            Outlet::Store(store) => self.store_once(store, breadcrumb).await,
            Outlet::Lines(lines) => {
                if lines.send(breadcrumb.to_string()).await.is_err() {
                    self.log("an answer could not be written");
                }
            }
        }
    }

    /// Stores an answer, whatever becomes of the connections; the key keeps it from being stored twice.
    async fn store_once(&self, store: &StoreClient, breadcrumb: &Value) {
        let key = uuid::Uuid::new_v4().to_string();
        let mut pause = PAUSE;
        for attempt in 1..=ATTEMPTS {
            let Err(error) = store.create_once(breadcrumb, &key).await else { return };
            let hopeless = error.status().is_some_and(|status| status < 500)
                || matches!(error, StoreClientError::Config { .. });
            // An answer that has no id is one that was stored.
            if matches!(error, StoreClientError::Answer { .. }) {
                return;
            }
            if hopeless || attempt == ATTEMPTS {
                self.log(&format!("an answer could not be stored: {error}"));
                return;
            }
            tokio::time::sleep(pause).await;
            pause *= 2;
        }
    }
}

/// The messages that are being worked on. Dropping it ends them.
#[derive(Default)]
pub(super) struct Open {
    tasks: JoinSet<()>,
}

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Begins with a message; waits while there are too many.
    pub(super) async fn admit(&mut self, engine: &Arc<Engine>, message: Breadcrumb) {
        if !is_for_runners(&message) {
            return;
        }
        let Ok(permit) = Arc::clone(&engine.places).acquire_owned().await else { return };
        let engine = Arc::clone(engine);
        self.tasks.spawn(async move {
            engine.handle(message).await;
            drop(permit);
        });
    }

    /// Returns when one of them has ended.
    pub(super) async fn ended(&mut self) {
        self.tasks.join_next().await;
    }

    /// Returns when all of them have ended.
    pub(super) async fn all_ended(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Whether a breadcrumb can hold requests at all; most do not.
fn is_for_runners(message: &Breadcrumb) -> bool {
    match message.schema_name.as_deref() {
        Some("agent.response.v1") => {
            message.context.is_empty() || message.context.contains_key("tool_requests")
        }
        Some("tool.request.v1") => true,
        _ => false,
    }
}

/// Which messages were seen; the oldest are forgotten.
#[derive(Default)]
struct Handled {
    ids: HashSet<String>,
    order: VecDeque<String>,
}

impl Handled {
    fn is_new(&mut self, id: &str) -> bool {
        if !self.ids.insert(id.to_owned()) {
            return false;
        }
        self.order.push_back(id.to_owned());
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.ids.remove(&oldest);
        }
        true
    }
}
