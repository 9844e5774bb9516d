//! What is looked at after the disturbances: the events that were made, and what the replicas know of their customers.

use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosFinding, ChaosKind};
use callmark_reports::record::FrameExcerpt;
use futures::future::join_all;

use super::reach::{Attempt, Outcome, READ_AGAIN, Reach};
use crate::engine::chaos::Called;
use crate::families::hub::contract;
use crate::families::hub::manifest::Customer;
use crate::families::hub::server::provider::Provider;
use crate::families::hub::server::scene::UNTIL_LIMITED;
use crate::families::hub::server::session::RECOVERY;

/// For what a replica does late that slept.
const AFTERMATH: Duration = Duration::from_secs(3);
/// What a Hub has to do for that.
const HINT: &str = "keep an event where all replicas find it, or have the provider take it, before the call is answered; and \
                    after a restart or a pause make nothing again that was made";
/// What it has to do to know its customers.
const KNOWING: &str =
    "have each replica find customers and limits where all of them do, also when it is started again";

/// What the replicas knew before they were disturbed.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// That a customer has connected nothing.
    not_connected: bool,
    /// The limit of a customer.
    limit: bool,
}

impl Known {
    /// What the replicas know of their customers.
    pub(super) async fn of(reach: &Reach) -> Self {
        let declares = |customer| reach.session.table.customers.contains_key(&customer);
        let mut known = Self::default();
        if declares(Customer::NotConnected) {
            let all = (0..reach.session.replicas_count()).map(|replica| reach.ignorance(replica));
            known.not_connected = join_all(all).await.iter().all(Option::is_none);
        }
        known.limit = declares(Customer::Limited) && reach.has_limit().await;
        known
    }
}

impl Reach {
    /// Why a replica does not know of a customer that it has connected nothing; nothing where it does.
    async fn ignorance(&self, replica: usize) -> Option<String> {
        match self.ask(replica, &self.session.sentinel(Customer::NotConnected)).await.0 {
            Outcome::Refused(Some(code), _) if code == contract::NOT_CONNECTED => None,
            other => Some(other.summary()),
        }
    }

    /// Whether a customer is brought to its limit by requests that go from one replica to the next.
    async fn has_limit(&self) -> bool {
        let declared = self.session.table.rate_limit.map(|limit| limit.calls.saturating_add(2));
        let request = self.session.sentinel(Customer::Limited);
        for number in 0..declared.unwrap_or(UNTIL_LIMITED) as usize {
            let replica = number % self.session.replicas_count();
            let (outcome, _) = self.send(replica, &request, self.session.timeouts.answer).await;
            if matches!(outcome, Outcome::Limited(_)) {
                return true;
            }
        }
        false
    }

    /// What the replicas know no longer of what they knew.
    async fn forgotten(&self, known: Known, alive: &[usize]) -> Vec<ChaosFinding> {
        let mut findings = Vec::new();
        for replica in alive.iter().copied().filter(|_| known.not_connected) {
            if let Some(instead) = self.ignorance(replica).await {
                let (number, code) = (replica + 1, contract::NOT_CONNECTED);
                findings.push(lost(
                    format!(
                        "after the disturbances replica {number} does not refuse the customer `not_connected` with \
                         `{code}` any more: {instead}"
                    ),
                    KNOWING,
                ));
            }
        }
        if known.limit && !self.has_limit().await {
            let message = "after the disturbances the customer `limited` has no limit any more".to_owned();
            findings.push(lost(message, KNOWING));
        }
        findings
    }

    /// The replicas that serve a customer, and a finding for each that does not.
    async fn alive(&self) -> (Vec<usize>, Vec<ChaosFinding>) {
        let (mut alive, mut findings) = (Vec::new(), Vec::new());
        for replica in 0..self.session.replicas_count() {
            match self.ask(replica, &self.session.sentinel(Customer::Connected)).await.0 {
                Outcome::Executed(_) => alive.push(replica),
                other => findings.push(lost(
                    format!(
                        "after the disturbances replica {} does not serve the customer `connected` any more: {}",
                        replica + 1,
                        other.summary()
                    ),
                    KNOWING,
                )),
            }
        }
        (alive, findings)
    }

    /// What one replica does not find of the events that were acknowledged: the place of each, and what it answers.
    async fn missing_at(
        &self,
        replica: usize,
        attempts: &[Attempt],
    ) -> Vec<(usize, usize, String, Vec<FrameExcerpt>)> {
        let mut missing = Vec::new();
        for (place, attempt) in attempts.iter().enumerate() {
            let Some(event) = &attempt.event else { continue };
            let (outcome, frames) = self.ask(replica, &self.change(event, &attempt.mark)).await;
            if !matches!(outcome, Outcome::Executed(_)) {
                missing.push((place, replica, outcome.summary(), frames));
            }
        }
        missing
    }

    /// Events that were acknowledged and that a replica does not find.
    async fn lost_events(&self, alive: &[usize], attempts: &[Attempt]) -> Vec<ChaosFinding> {
        let looks = join_all(alive.iter().map(|replica| self.missing_at(*replica, attempts))).await;
        let mut missing: Vec<_> = looks.into_iter().flatten().collect();
        missing.sort_by_key(|(place, replica, ..)| (*place, *replica));
        // Once for each event.
        missing.dedup_by_key(|(place, ..)| *place);
        let finding = |(place, replica, answer, frames): (usize, usize, String, Vec<FrameExcerpt>)| {
            let attempt: &Attempt = &attempts[place];
            let message = format!(
                "event `{}` was acknowledged by replica {}, and afterwards replica {} does not find it: {answer}",
                attempt.event.as_deref().unwrap_or_default(),
                attempt.replica + 1,
                replica + 1
            );
            ChaosFinding {
                frames: attempt.frames.iter().cloned().chain(frames).collect(),
                ..lost(message, HINT)
            }
        };
        missing.into_iter().map(finding).collect()
    }

    /// What the provider has of these events: those that were acknowledged once, no other more often.
    async fn at_the_provider(&self, provider: &Provider, attempts: &[Attempt]) -> Vec<ChaosFinding> {
        let counted = || -> Vec<usize> {
            attempts.iter().map(|own| provider.events_with(Customer::Connected, &own.mark)).collect()
        };
        let began = Instant::now();
        let lacks = |counts: &[usize]| {
            counts.iter().zip(attempts).any(|(count, own)| *count == 0 && own.event.is_some())
        };
        let mut counts = counted();
        // A Hub may pass on what it has acknowledged.
        while lacks(&counts) && began.elapsed() < self.scaled_time(RECOVERY) {
            tokio::time::sleep(READ_AGAIN).await;
            counts = counted();
        }
        let mut findings = Vec::new();
        for (count, attempt) in counts.into_iter().zip(attempts) {
            let replica = attempt.replica + 1;
            let (kind, message) = match (count, &attempt.event) {
                (0, Some(event)) => (
                    ChaosKind::Lost,
                    format!(
                        "event `{event}` was acknowledged by replica {replica}, and the provider has none of its title"
                    ),
                ),
                (2.., _) => (
                    ChaosKind::Twice,
                    format!(
                        "replica {replica} was asked once for an event, and the provider has {count} of its title"
                    ),
                ),
                _ => continue,
            };
            findings.push(ChaosFinding { kind, frames: attempt.frames.clone(), ..lost(message, HINT) });
        }
        findings
    }

    /// What was lost or done twice, and why that is not all where nobody can tell.
    pub(super) async fn judge(
        &self,
        attempts: &[Attempt],
        known: Known,
        called: &[Called],
    ) -> (Vec<ChaosFinding>, Option<String>) {
        tokio::time::sleep(self.scaled_time(AFTERMATH)).await;
        let mut findings: Vec<ChaosFinding> = called.iter().filter_map(unanswered).collect();
        if let Some(provider) = &self.session.provider {
            findings.extend(self.at_the_provider(provider, attempts).await);
        }
        let (alive, gone) = self.alive().await;
        findings.extend(gone);
        findings.extend(self.lost_events(&alive, attempts).await);
        findings.extend(self.forgotten(known, &alive).await);
        let succeeded = called.iter().filter(|own| own.succeeded == Some(true)).count();
        let shows_nothing = findings.is_empty() && succeeded * 2 < called.len();
        let why = format!("of {} calls {succeeded} were acknowledged, which shows too little", called.len());
        (findings, shows_nothing.then_some(why))
    }
}

/// A call that nobody answered.
fn unanswered(own: &Called) -> Option<ChaosFinding> {
    if own.succeeded.is_some() {
        return None;
    }
    let times = if own.times == 1 { "once".to_owned() } else { format!("{} times", own.times) };
    Some(lost(
        format!(
            "call {} was sent {times}, to one replica after the other, and never answered",
            own.index + 1
        ),
        HINT,
    ))
}

fn lost(message: String, hint: &str) -> ChaosFinding {
    ChaosFinding { kind: ChaosKind::Lost, message, hint: hint.to_owned(), frames: Vec::new() }
}
