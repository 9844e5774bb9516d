//! The runner: it executes the requests of invocations and routes what comes out (Standard, "Field definitions").
//!
//! 1. `request` reads the requests of a message, one by one, so that a fault of one does not affect the others;
//! 2. `tool_config` fetches what a `config_id` stands for;
//! 3. `engine` runs the requests, and gives every one of them exactly one answer;
//! 4. `answer` writes the answers: to the agent, or to the user;
//! 5. here it is connected to a store, [`lines`] connects it to standard input and output.
//!
//! A request with `return_to_llm: true` is answered by a `tool.response.v1`. With `false` that is a record which sets
//! nobody going, and an `agent.response.v1` of the same session shows the value to the user.
//!
//! Deliberately absent: whatever wakes an agent (it listens by itself), and retries of tools.

mod answer;
mod config;
mod engine;
pub mod lines;
mod request;
mod tool_config;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use self::engine::{Engine, Outlet};
use super::client::{Events, ListQuery, StoreClient, StoreClientError};
use super::tool::ToolDefinition;

pub use self::config::RunnerConfig;

/// The schema under which a catalogue is published.
const CATALOG_SCHEMA: &str = "tool.catalog.v1";
/// How often the catalogue is tried to be published when others change it at the same time.
const PUBLISH_ATTEMPTS: u32 = 3;

/// Why a runner did not start, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The store could not be used.
    #[error("cannot {what}")]
    Store {
        /// What was to be done.
        what: &'static str,
        /// What the store or the way to it says.
        source: StoreClientError,
    },
    /// Lines could not be read or written.
    #[error("cannot {what} lines")]
    Lines {
        /// `read` or `write`.
        what: &'static str,
        /// What the operating system says.
        source: std::io::Error,
    },
}

/// A running runner. Dropping it ends it and all calls without waiting.
#[derive(Debug)]
pub struct Runner {
    stop: watch::Sender<bool>,
    running: Option<JoinHandle<()>>,
}

impl Runner {
    /// Listens to the store and publishes the catalogue; when this returns, no invocation is missed any more.
    ///
    /// # Errors
    ///
    /// When the store cannot be used.
    pub async fn start(config: RunnerConfig) -> Result<Self, RunnerError> {
        let failed = |what| move |source| RunnerError::Store { what, source };
        let store = StoreClient::new(&config.store_url, config.store_token.as_ref())
            .map_err(failed("use the store"))?;
        let watched = [("agent.response.v1", "agent:response"), ("tool.request.v1", "tool:request")];
        let watched = watched.map(|(schema_name, tag)| ListQuery {
            tag: Some(tag.to_owned()),
            schema_name: Some(schema_name.to_owned()),
            ..ListQuery::default()
        });
        let events = store.events(watched.to_vec()).await.map_err(failed("listen to the store"))?;
        publish(&store, &config).await.map_err(failed("publish the catalogue"))?;
        (config.log)(&format!("serves {:?}", config.catalog));
        let engine = Engine::new(&config, store.clone(), Outlet::Store(store));
        let (stop, stopped) = watch::channel(false);
        let running = tokio::spawn(serve(Arc::new(engine), events, stopped, config.patience));
        Ok(Self { stop, running: Some(running) })
    }

    /// Takes no more invocations, and returns when the open calls are answered, or given up after a while.
    pub async fn shutdown(mut self) {
        self.stop.send_replace(true);
        if let Some(running) = self.running.take() {
            // It bounds itself; an error would be a panic, which is over, too.
            let _ = running.await;
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.abort();
        }
    }
}

async fn serve(
    engine: Arc<Engine>,
    mut events: Events,
    mut stopped: watch::Receiver<bool>,
    patience: Duration,
) {
    let mut open = engine::Open::default();
    loop {
        tokio::select! {
            () = stop_requested(&mut stopped) => break,
            () = open.ended(), if !open.is_empty() => {}
            event = events.next() => {
                let Some(event) = event else { break };
                tokio::select! {
                    () = stop_requested(&mut stopped) => break,
                    () = open.admit(&engine, event) => {}
                }
            }
        }
    }
    drop(events);
    if tokio::time::timeout(patience, open.all_ended()).await.is_err() {
        engine.log("gave up calls that were still open");
    }
    let tools: Vec<_> = engine.catalog.tools().cloned().collect();
    for tool in tools {
        if tokio::time::timeout(patience, tool.shutdown()).await.is_err() {
            engine.log(&format!("`{}` did not end in time", tool.definition().name));
        }
    }
}

/// Returns when the runner is asked to stop, or dropped.
async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// The breadcrumb that says which tools there are.
fn catalog_breadcrumb(config: &RunnerConfig) -> Value {
    let tools: Vec<_> = config.catalog.definitions().map(ToolDefinition::to_json).collect();
    json!({
        "schema_name": CATALOG_SCHEMA,
        "title": "Tool catalogue",
        "tags": ["tool:catalog", config.workspace],
        "context": {"workspace": config.workspace, "totalTools": tools.len(), "tools": tools},
    })
}

/// Puts the catalogue into the place of the workspace's last one, if there was one.
async fn publish(store: &StoreClient, config: &RunnerConfig) -> Result<(), StoreClientError> {
    let query = ListQuery {
        tag: Some(config.workspace.clone()),
        schema_name: Some(CATALOG_SCHEMA.to_owned()),
        limit: Some(1),
        offset: 0,
    };
    let catalog = catalog_breadcrumb(config);
    for attempt in 1.. {
        let Some(last) = store.list(&query).await?.pop() else { break };
        if Some(&last.context) == catalog["context"].as_object() {
            return Ok(());
        }
        match store.patch(&last.id, &catalog, Some(last.version)).await {
            // Another writer was faster.
            Err(error) if error.status() == Some(412) && attempt < PUBLISH_ATTEMPTS => {}
            outcome => return outcome,
        }
    }
    store.create(&catalog).await.map(drop)
}
