//! The suite's connection to the broker: how it is made, and what is noticed of it in mid-run.
//!
//! What the broker carries counts only while the connection stands. Of one server a lost connection ends the run; of
//! several another one takes over, and only the scenarios of that time count for nothing.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, ConnectOptions, Event, ServerAddr, ServerError};
use tokio::sync::{SetOnce, watch};

use super::error::SessionError;
use super::nats_access::NatsAccess;
use super::nats_servers;
use super::platform::nats;
use crate::engine::environment;
use crate::transcript::{lock, shorten_text};

/// Time for connecting to the broker.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Time in which another server has to take over.
const RECONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// Why the time of a lost connection does not count.
const LOST: &str = "the connection to the broker was lost";

/// Whether there is a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Connected,
    Lost,
    /// Made again; subscriptions may not have arrived.
    MadeAgain,
}

/// What is noticed of a connection.
#[derive(Debug, Default)]
pub(super) struct ConnectionWatch {
    /// Why nothing that the broker carries counts any more.
    trouble: SetOnce<String>,
    state: watch::Sender<State>,
    /// When it was last lost, or made again.
    changed: Mutex<Option<Instant>>,
}

impl ConnectionWatch {
    /// Why nothing counts that the broker has carried since then.
    pub(super) fn trouble(&self, since: Instant) -> Option<String> {
        let lost = || lock(&self.changed).filter(|at| *at >= since).map(|_| format!("{LOST} meanwhile"));
        self.trouble.get().cloned().or_else(lost)
    }

    /// Why nothing counts any more that the broker carries.
    pub(super) fn lasting_trouble(&self) -> Option<&String> {
        self.trouble.get()
    }

    /// Keeps a reason; the first is the cause of the others.
    pub(super) fn give_up(&self, why: String) {
        let _ = self.trouble.set(why);
    }

    /// Returns once there is a connection, or none to be expected.
    pub(super) async fn connected(&self) {
        let mut state = self.state.subscribe();
        tokio::select! {
            _ = state.wait_for(|state| *state == State::Connected) => {}
            _ = self.trouble.wait() => {}
        }
    }

    fn notice(&self, event: &Event, has_others: bool) {
        match event {
            Event::Disconnected if has_others => {
                self.note_change();
                self.state.send_replace(State::Lost);
            }
            Event::Disconnected => self.give_up(LOST.to_owned()),
            Event::Connected => {
                self.state.send_if_modified(|state| {
                    let was_lost = *state == State::Lost;
                    if was_lost {
                        *state = State::MadeAgain;
                    }
                    was_lost
                });
            }
            Event::ServerError(ServerError::Other(text)) if is_violation(text) => {
                self.give_up(format!(
                    "the broker does not let the suite's user do what it has to: {}; it publishes and subscribes below \
                     `cg.<version>.` and `l0.v1.`, and below `$JS.API.` where the manifest says `commands = \"jetstream\"`",
                    shorten_text(text)
                ));
            }
            _ => {}
        }
    }

    fn note_change(&self) {
        *lock(&self.changed) = Some(Instant::now());
        environment::note_hindrance(LOST);
    }

    /// Sees to it that a connection that was lost is complete again before it is used, as long as this is polled.
    pub(super) async fn keep(self: Arc<Self>, client: Client) {
        let mut state = self.state.subscribe();
        while state.wait_for(|state| *state != State::Connected).await.is_ok() {
            let made = state.wait_for(|state| *state == State::MadeAgain);
            if !matches!(tokio::time::timeout(RECONNECT_DEADLINE, made).await, Ok(Ok(_))) {
                self.give_up(format!("{LOST}, and none of its servers takes another"));
                return;
            }
            nats::settle(&client).await;
            self.state.send_if_modified(|state| {
                let is_complete = *state == State::MadeAgain;
                if is_complete {
                    self.note_change();
                    *state = State::Connected;
                }
                is_complete
            });
        }
    }
}

fn is_violation(text: &str) -> bool {
    text.to_lowercase().contains("permissions violation")
}

/// Connects to the first of these servers that is there. With `is_deaf` the suite does not receive its own messages.
///
/// # Errors
/// Why it cannot be connected to.
pub(super) async fn connect(
    urls: &str,
    access: &NatsAccess,
    watch: &Arc<ConnectionWatch>,
    is_deaf: bool,
) -> Result<Client, SessionError> {
    let refused = |reason: String| SessionError::Broker { url: nats_servers::redacted(urls), reason };
    let servers: Result<Vec<ServerAddr>, _> =
        nats_servers::urls(urls).into_iter().map(str::parse::<ServerAddr>).collect();
    let servers = servers.map_err(|error| refused(error.to_string()))?;
    let (noticed, has_others) = (Arc::clone(watch), servers.len() > 1);
    let mut options: ConnectOptions = access
        .options(urls)
        .map_err(refused)?
        .name("callmark")
        .connection_timeout(CONNECT_DEADLINE)
        .retain_servers_order()
        .subscription_capacity(64 * 1024)
        .event_callback(move |event| {
            noticed.notice(&event, has_others);
            std::future::ready(())
        });
    if is_deaf {
        options = options.no_echo();
    }
    let within = CONNECT_DEADLINE * u32::try_from(servers.len()).unwrap_or(u32::MAX);
    match tokio::time::timeout(within, options.connect(servers)).await {
        Ok(Ok(client)) => Ok(client),
        Ok(Err(error)) => {
            environment::note(&error);
            Err(refused(access.why(&error)))
        }
        Err(_) => Err(refused(format!("no answer within {} s", within.as_secs()))),
    }
}
