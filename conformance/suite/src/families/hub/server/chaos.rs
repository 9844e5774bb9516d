//! Replicas of a Hub that are disturbed while they work: each call makes an event, which is there afterwards if it was
//! acknowledged, whichever replica is asked, and once.
//!
//! The contract has no id by which a Hub would know a request again, so each sending asks for an event of its own: one that
//! was not acknowledged may be there or not. How often an event was made shows where the suite plays the provider.

mod aftermath;
mod reach;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosFinding, Fault, Party};
use futures::FutureExt as _;
use futures::future::BoxFuture;

use self::aftermath::Known;
use self::reach::{Attempt, Outcome, Reach};
use super::session::HubSession;
use crate::engine::chaos::{Called, Fleet, Replica};
use crate::transcript::lock;

/// From one sending of a request to the next, while it is not answered.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two sendings, also where a replica refuses connections.
const PAUSE: Duration = Duration::from_millis(50);

/// The replicas of a Hub.
pub(in crate::families::hub) struct HubFleet {
    reach: Reach,
    /// Calls that were begun.
    calls: AtomicUsize,
    attempts: Mutex<Vec<Attempt>>,
    known: Mutex<Known>,
}

impl HubFleet {
    /// Those of this session; nothing where there are not several, or none whose effects could be looked at.
    pub(in crate::families::hub) fn new(session: &Arc<HubSession>) -> Option<Self> {
        Some(Self {
            reach: Reach::new(session)?,
            calls: AtomicUsize::new(0),
            attempts: Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// Asks for events until one is acknowledged or another answer comes, each time at the next replica.
    async fn make(&self, index: usize, deadline: Instant) -> Called {
        let (mut times, mut succeeded) = (0_u32, None);
        loop {
            let name = format!("chaos, call {index}, {times}");
            let mark = self.reach.session.unique(&name);
            let replica = (index + times as usize) % self.reach.session.replicas_count();
            let left = || deadline.saturating_duration_since(Instant::now());
            let patience = self.reach.scaled_time(AGAIN).min(left());
            let (outcome, frames) =
                self.reach.send(replica, &self.reach.creation(&name, &mark), patience).await;
            times += 1;
            let event = match &outcome {
                Outcome::Executed(result) => result["event_id"].as_str().map(str::to_owned),
                _ => None,
            };
            lock(&self.attempts).push(Attempt { mark, replica, event, frames });
            let wait = match outcome {
                Outcome::Executed(_) => return Called { index, times, succeeded: Some(true) },
                Outcome::Refused(..) => return Called { index, times, succeeded: Some(false) },
                Outcome::Limited(after) => {
                    succeeded = Some(false);
                    after
                }
                Outcome::Silent(_) => PAUSE,
            };
            if left().is_zero() {
                return Called { index, times, succeeded };
            }
            tokio::time::sleep(wait.min(left())).await;
        }
    }
}

impl Fleet for HubFleet {
    fn profile(&self) -> &'static str {
        HubSession::FAMILY
    }

    fn replicas(&self) -> Replica {
        Replica::try_from(self.reach.session.replicas_count()).unwrap_or(Replica::MAX)
    }

    fn scaled(&self, time: Duration) -> Duration {
        self.reach.scaled_time(time)
    }

    fn begin(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            self.reach.open().await?;
            for replica in 0..self.reach.session.replicas_count() {
                self.reach.try_out(replica).await?;
            }
            *lock(&self.known) = Known::of(&self.reach).await;
            Ok(())
        }
        .boxed()
    }

    fn call(self: Arc<Self>, deadline: Instant) -> BoxFuture<'static, Called> {
        async move {
            let index = self.calls.fetch_add(1, Ordering::Relaxed);
            self.make(index, deadline).await
        }
        .boxed()
    }

    fn disturb(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.reach.with_processes(|processes| processes.disturb(party, fault))
    }

    fn restore(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.reach.with_processes(|processes| processes.restore(party, fault))
    }

    fn findings(&self, called: Vec<Called>) -> BoxFuture<'_, (Vec<ChaosFinding>, Option<String>)> {
        async move {
            let attempts = std::mem::take(&mut *lock(&self.attempts));
            let known = *lock(&self.known);
            self.reach.judge(&attempts, known, &called).await
        }
        .boxed()
    }
}
