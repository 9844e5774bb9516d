//! What is noticed in mid-run of the connection to the broker: whether what it carries counts.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, Event, ServerError};
use tokio::sync::{SetOnce, watch};

use super::nats;
use crate::engine::environment;
use crate::transcript::{lock, shorten_text};

/// Time in which another server has to take over.
const RECONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// Why the time of a lost connection does not count.
const LOST: &str = "the connection to the broker was lost";
/// Why the time does not count in which a stream had no leader.
const UNTAKEN: &str = "a stream of the broker took no message";

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
    /// When it was last lost or made again, or a stream took no message, and which of these.
    changed: Mutex<Option<(Instant, &'static str)>>,
}

impl ConnectionWatch {
    /// Why nothing counts that the broker has carried since then.
    pub(super) fn trouble(&self, since: Instant) -> Option<String> {
        let changed = || lock(&self.changed).filter(|(at, _)| *at >= since);
        let lost = || changed().map(|(_, why)| format!("{why} meanwhile"));
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

    /// Takes in what the client reports; `has_others` says whether another server may take over.
    pub(super) fn notice(&self, event: &Event, has_others: bool) {
        match event {
            Event::Disconnected if has_others => {
                self.note_change(LOST);
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

    /// What the broker has carried until now does not count: a stream took no message, though the connection is there.
    pub(super) fn note_untaken(&self) {
        self.note_change(UNTAKEN);
    }

    fn note_change(&self, why: &'static str) {
        *lock(&self.changed) = Some((Instant::now(), why));
        environment::note_hindrance(why);
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
                    self.note_change(LOST);
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
