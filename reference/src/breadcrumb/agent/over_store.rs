//! An agent at a store: it listens to the event stream and posts its utterances.

use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::task::JoinHandle;

use super::config::{AgentConfig, AgentError, Capture};
use super::session_manager::{OutputSink, SessionManager, TOOL_RESPONSE, USER_MESSAGE};
use super::utterance::Utterance;
use crate::breadcrumb::client::{Events, ListQuery, StoreClient};

/// How often something is posted to a store that does not answer, and how long is waited in between.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_millis(200);

/// A running agent. Dropping it ends it.
#[derive(Debug)]
pub struct Agent {
    sessions: Arc<SessionManager>,
    listening: JoinHandle<()>,
}

impl Agent {
    /// Starts an agent; it receives every event after this returns.
    ///
    /// # Errors
    ///
    /// When the configuration cannot be used, or the store cannot be listened to.
    pub async fn start(config: AgentConfig) -> Result<Self, AgentError> {
        let url = config.store_url.as_deref().ok_or_else(|| AgentError::Config {
            what: "store_url",
            reason: "an agent at a store needs it".to_owned(),
        })?;
        let store = StoreClient::new(url, config.store_token.as_ref())?;
        let output = Arc::new(Poster { store: store.clone(), capture: config.capture });
        let sessions = Arc::new(SessionManager::new(config, Some(store.clone()), output)?);
        let watched = [USER_MESSAGE, TOOL_RESPONSE]
            .map(|schema| ListQuery { schema_name: Some(schema.to_owned()), ..ListQuery::default() });
        let events = store.events(watched.to_vec()).await?;
        sessions.refresh().await;
        let listening = tokio::spawn(listen(events, Arc::clone(&sessions)));
        Ok(Self { sessions, listening })
    }

    /// Stops listening and ends all sessions.
    pub async fn shutdown(self) {
        self.listening.abort();
        self.sessions.shutdown().await;
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(mut events: Events, sessions: Arc<SessionManager>) {
    while let Some(event) = events.next().await {
        // Over a store no client waits for the outcome.
        drop(sessions.receive(&event));
    }
}

/// Posts what is said.
struct Poster {
    store: StoreClient,
    capture: Capture,
}

impl OutputSink for Poster {
    fn send<'a>(&'a self, utterance: &'a Utterance) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async {
            let body = match self.capture {
                Capture::Breadcrumb => utterance.breadcrumb(),
                Capture::Envelope => utterance.envelope(),
            };
            // The same key each time: an attempt whose answer was lost may have succeeded.
            let key = uuid::Uuid::new_v4().to_string();
            let mut attempt = 1;
            loop {
                match self.store.create_once(&body, &key).await {
                    Ok(()) => return Ok(()),
                    Err(error) => {
                        let refused = error.status().is_some_and(|status| (400..500).contains(&status));
                        if refused || attempt >= ATTEMPTS {
                            return Err(error.to_string());
                        }
                    }
                }
                tokio::time::sleep(PAUSE * attempt).await;
                attempt += 1;
            }
        })
    }
}
