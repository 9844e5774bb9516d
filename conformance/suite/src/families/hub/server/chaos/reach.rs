//! How replicas of a Hub are asked one by one, each on a way that can be cut.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use callmark_reports::record::FrameExcerpt;
use serde_json::{Value, json};

use crate::engine::chaos::{Processes, Relay, Replica};
use crate::families::hub::contract;
use crate::families::hub::manifest::Customer;
use crate::families::hub::server::client::{Client, Request};
use crate::families::hub::server::reply::Reply;
use crate::families::hub::server::session::{HubSession, RECOVERY};
use crate::net::http_client::Caller;
use crate::transcript::{Frame, Transcript};

/// How long a limit is waited out that does not say so itself.
const LIMITED: Duration = Duration::from_secs(1);
/// How often something is asked that has to be answered.
const READINGS: usize = 5;
/// Between two of those.
pub(super) const READ_AGAIN: Duration = Duration::from_secs(1);
/// The tools without which nothing can be said.
const TOOLS: [&str; 2] = ["calendar_create_event", "calendar_update_event"];

/// A way to the replicas.
pub(super) struct Reach {
    pub(super) session: Arc<HubSession>,
    ways: OnceLock<(Vec<Relay>, Client)>,
    /// Requests that were sent.
    sent: AtomicUsize,
}

/// A request for an event.
pub(super) struct Attempt {
    /// The word that no other event has.
    pub(super) mark: String,
    /// The replica that was asked, from 0.
    pub(super) replica: usize,
    /// The event that was acknowledged.
    pub(super) event: Option<String>,
    pub(super) frames: Vec<FrameExcerpt>,
}

/// What came of a request.
pub(super) enum Outcome {
    /// The tool was executed, with this result.
    Executed(Value),
    /// The customer has hit its limit, and may ask again after this time.
    Limited(Duration),
    /// Another answer: its code, and what it is in a few words.
    Refused(Option<String>, String),
    /// No answer, and why.
    Silent(String),
}

impl Outcome {
    fn of(frames: &[Frame], call: u64) -> Self {
        let Some(reply) = Reply::of(frames, call) else { return Self::Silent("it was not sent".to_owned()) };
        if reply.answer.is_none() {
            return Self::Silent(reply.summary());
        }
        if reply.is_limited() {
            let after = reply.retry_after().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            return Self::Limited(after.unwrap_or(LIMITED));
        }
        if reply.is_executed() {
            return Self::Executed(reply.body().get("result").cloned().unwrap_or_default());
        }
        Self::Refused(reply.code().map(str::to_owned), reply.summary())
    }

    /// What it is, in a few words.
    pub(super) fn summary(&self) -> String {
        match self {
            Self::Executed(_) => "it is executed".to_owned(),
            Self::Limited(_) => "it is refused for a limit".to_owned(),
            Self::Refused(_, why) | Self::Silent(why) => why.clone(),
        }
    }
}

impl Reach {
    /// To those of this session; nothing where there are not several, or none whose effects could be looked at.
    pub(super) fn new(session: &Arc<HubSession>) -> Option<Self> {
        let makes_events = TOOLS.iter().all(|tool| !session.missing().contains(*tool));
        let has_customer = session.table.customers.contains_key(&Customer::Connected);
        let can_be_judged =
            session.replicas_count() > 1 && makes_events && has_customer && !session.table.stub;
        can_be_judged.then(|| Self {
            session: Arc::clone(session),
            ways: OnceLock::new(),
            sent: AtomicUsize::new(0),
        })
    }

    /// Makes the ways.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn open(&self) -> Result<(), String> {
        let ways = self.session.behind_relays().await?;
        self.ways.set(ways).map_err(|_| "the replicas are disturbed already".to_owned())
    }

    /// Stretches a time as the run's options say.
    pub(super) fn scaled_time(&self, time: Duration) -> Duration {
        self.session.timeouts.scaled(time)
    }

    /// A request for an event with this word, for the customer that is connected.
    pub(super) fn creation(&self, name: &str, mark: &str) -> Request {
        let subjects = self.session.subjects(&format!("Disturbed {mark}"), name);
        let mut inputs = contract::full_inputs(TOOLS[0], &subjects);
        inputs["attendees"] = json!([]);
        self.session.request(TOOLS[0], Customer::Connected, &inputs)
    }

    /// A request that changes an event into what it is.
    pub(super) fn change(&self, event: &str, mark: &str) -> Request {
        let inputs = json!({
            "event_id": event, "updates": {"location": format!("Room {mark}")}, "send_notifications": false,
        });
        self.session.request(TOOLS[1], Customer::Connected, &inputs)
    }

    /// Sends a request to one replica, and waits so long for the answer.
    pub(super) async fn send(
        &self,
        replica: usize,
        request: &Request,
        patience: Duration,
    ) -> (Outcome, Vec<FrameExcerpt>) {
        let Some((_, client)) = self.ways.get() else {
            return (Outcome::Silent("there is no way to the replicas".to_owned()), Vec::new());
        };
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        let agent = Caller {
            scenario: self.session.unique(&format!("chaos, request {number}")),
            transcript: Arc::<Transcript>::default(),
        };
        let call = client.send_to(replica, &agent, request, patience).await;
        agent.transcript.peek(|frames| {
            if let Some(reply) = Reply::of(frames, call) {
                self.session.note_made(request, &reply);
            }
            (Outcome::of(frames, call), frames.iter().map(Frame::excerpt).collect())
        })
    }

    /// As [`Reach::send`], a few times where there is no answer or a limit.
    pub(super) async fn ask(&self, replica: usize, request: &Request) -> (Outcome, Vec<FrameExcerpt>) {
        let mut last = self.send(replica, request, self.session.timeouts.answer).await;
        for _ in 1..READINGS {
            let wait = match &last.0 {
                Outcome::Silent(_) => READ_AGAIN,
                Outcome::Limited(after) => (*after).min(RECOVERY),
                Outcome::Executed(_) | Outcome::Refused(..) => break,
            };
            tokio::time::sleep(wait).await;
            last = self.send(replica, request, self.session.timeouts.answer).await;
        }
        last
    }

    /// Makes an event at one replica and changes it at the next, so that it is known what can be seen afterwards.
    pub(super) async fn try_out(&self, replica: usize) -> Result<(), String> {
        let name = format!("chaos, replica {replica}");
        let mark = self.session.unique(&name);
        let (request, began) = (self.creation(&name, &mark), Instant::now());
        let made = loop {
            let (made, _) = self.ask(replica, &request).await;
            // A Hub whose provider failed towards the end of the run may ask it nothing for a while.
            if matches!(made, Outcome::Executed(_)) || began.elapsed() > self.scaled_time(RECOVERY) {
                break made;
            }
            tokio::time::sleep(READ_AGAIN).await;
        };
        let event = match &made {
            Outcome::Executed(result) => result["event_id"].as_str().map(str::to_owned),
            _ => None,
        };
        let unmade = || format!("replica {} makes no event: {}", replica + 1, made.summary());
        let event = event.ok_or_else(unmade)?;
        let next = (replica + 1) % self.session.replicas_count();
        let mut looks = 1;
        loop {
            match self.ask(next, &self.change(&event, &mark)).await.0 {
                Outcome::Executed(_) => return Ok(()),
                // What one replica makes, another may find a moment later.
                _ if looks < READINGS => looks += 1,
                other => {
                    return Err(format!(
                        "replica {} does not change an event that replica {} has made: {}",
                        next + 1,
                        replica + 1,
                        other.summary()
                    ));
                }
            }
            tokio::time::sleep(READ_AGAIN).await;
        }
    }

    /// Acts on the processes of the replicas.
    pub(super) fn with_processes<T>(&self, act: impl FnOnce(Processes<'_>) -> T) -> T {
        let set_link = |number: Replica, link| {
            let relay = self.ways.get().and_then(|(relays, _)| relays.get((number as usize).checked_sub(1)?));
            if let Some(relay) = relay {
                relay.set(link);
            }
        };
        act(Processes { replicas: self.session.processes(), broker_nodes: None, set_link: &set_link })
    }
}
