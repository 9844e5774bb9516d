//! The ledger of a fleet, in three buckets of JetStream named after its queue group.
//!
//! - `…_calls`: for each call that runs or is being delivered a claim, and for each that is over its outcome. A claim is
//!   removed once the answer has reached the Inbox, so the claims are all that a sweep has to look through. Outcomes are
//!   kept for a week: longer than a stream keeps commands (a day), and so longer than one can be delivered again.
//! - `…_counters`: values of counters.
//! - `…_instances`: who is alive.
//!
//! Claiming a call creates its claim, which only one instance can. The claim of an instance that is gone is taken over.
//! Recording an outcome creates it, which only one can as well: an instance that stood still, lost its claim, and wakes up
//! late has its outcome refused, whatever the other's came to.
//! After claim and outcome are known to the broker, nothing depends on a process that may be killed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::Client;
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bucket::{Bucket, Write};
use super::counters::{Counters, KEPT, Outcome, outcome_key};
use super::instances::{Instances, LEASE, Owner};
use crate::cause::Cause;
use crate::log::Log;
use crate::sync::locked;
use crate::utp::tool_service::command::CallKey;
use crate::utp::tool_service::ledger::{Claim, LedgerStore};
use crate::utp::tool_service::result::CallResponse;

/// How long outcomes are kept.
const OUTCOMES_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);
/// For an operation with all its reads and writes.
const DEADLINE: Duration = Duration::from_secs(30);
/// Claims that one sweep looks at, and answers that it returns; the next one sees the others.
const SWEPT: usize = 4096;
const RECOVERED: usize = 256;
/// What begins the key of a claim.
const CLAIM: &str = "claim.";

/// A claim as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct ClaimEntry {
    /// Whose it is; absent where whoever had it gave it up with an answer that is not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<Owner>,
}

/// Outcomes, counters and claims in buckets. Its operations wait, and are called on threads for that.
pub(super) struct NatsStore {
    calls: Bucket,
    counters: Counters,
    instances: Arc<Instances>,
    /// The revisions of the claims that this instance has, by digest.
    held: Mutex<HashMap<String, u64>>,
    handle: Handle,
    renewing: JoinHandle<()>,
}

impl Drop for NatsStore {
    fn drop(&mut self) {
        self.renewing.abort();
    }
}

/// Whose answers a sweep is after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sweep {
    /// Those of instances that are gone.
    Orphaned,
    /// Those that were given up as well.
    Undelivered,
}

impl NatsStore {
    /// Opens the buckets of a group and joins its instances.
    ///
    /// # Errors
    /// The group's name cannot be that of a bucket, or the broker has no JetStream, or does not answer.
    pub(super) async fn open(
        client: Client,
        group: &str,
        instance: Option<&str>,
        log: Log,
    ) -> Result<Self, Cause> {
        let bucket = |kind: &str| format!("{group}_{kind}");
        let calls = Bucket::open(&client, &bucket("calls"), OUTCOMES_KEPT).await?;
        let counters = Bucket::open(&client, &bucket("counters"), KEPT).await?;
        let instances = Bucket::open(&client, &bucket("instances"), LEASE).await?;
        let (instances, lease) = Instances::join(instances, instance, log).await?;
        let instances = Arc::new(instances);
        Ok(Self {
            calls: calls.clone(),
            counters: Counters::new(calls, counters),
            renewing: tokio::spawn(Arc::clone(&instances).renew(lease)),
            instances,
            held: Mutex::default(),
            handle: Handle::current(),
        })
    }

    /// Waits for an operation, on a thread for that.
    fn wait<T>(&self, operation: impl Future<Output = Result<T, Cause>>) -> Result<T, Cause> {
        self.handle.block_on(async {
            timeout(DEADLINE, operation).await.unwrap_or_else(|_elapsed| {
                Err(format!("the broker does not answer within {DEADLINE:?}").into())
            })
        })
    }

    async fn claimed(&self, call: &str) -> Result<Claim, Cause> {
        let key = claim_key(call);
        let own = ClaimEntry { owner: Some(self.instances.own()) };
        let (revision, is_free) = match self.calls.write(&key, &own, 0).await? {
            Write::Done(revision) => (revision, true),
            Write::Conflict => {
                let Some((revision, claim)) = self.calls.read::<ClaimEntry>(&key).await? else {
                    // It ended just now, and whoever asks again sees how.
                    return self.elsewhere(call).await;
                };
                // One's own is left from a claim that could not be ended. It is written anew, so that a late end misses it.
                let may_take = match &claim.owner {
                    Some(owner) => own.owner.as_ref() == Some(owner) || self.instances.is_dead(owner).await?,
                    None => true,
                };
                if !may_take {
                    return self.elsewhere(call).await;
                }
                match self.calls.write(&key, &own, revision).await? {
                    Write::Done(revision) => (revision, false),
                    Write::Conflict => return self.elsewhere(call).await,
                }
            }
        };
        locked(&self.held).insert(call.to_owned(), revision);
        // Read after the claim, so that no other instance can record an outcome in between.
        Ok(match self.counters.find(call).await? {
            // A claim is removed when its answer is delivered: an outcome without one is.
            Some(answer) => Claim::Done { answer: Arc::new(answer), delivered: is_free },
            None => Claim::New,
        })
    }

    /// Whether a living instance has a claim: one read, where that instance was seen alive a moment ago.
    async fn taken(&self, call: &str) -> Result<bool, Cause> {
        let claim = self.calls.read::<ClaimEntry>(&claim_key(call)).await?;
        Ok(match claim.and_then(|(_, claim)| claim.owner) {
            Some(owner) if owner != self.instances.own() => !self.instances.is_dead(&owner).await?,
            _ => false,
        })
    }

    async fn elsewhere(&self, call: &str) -> Result<Claim, Cause> {
        let is_recorded = self.calls.read::<Outcome>(&outcome_key(call)).await?.is_some();
        Ok(Claim::Elsewhere { is_recorded })
    }

    async fn recorded(
        &self,
        call: &str,
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        let outcome = Outcome { by: self.instances.own(), uncounted: counter.map(str::to_owned), answer };
        match self.calls.write(&outcome_key(call), &outcome, 0).await? {
            Write::Done(revision) => self.counters.complete(call, revision, outcome).await.map(Arc::new),
            Write::Conflict => Err("the call has an outcome already".into()),
        }
    }

    /// Ends a claim: without a trace where its answer is delivered or there is none, else so that it can be taken.
    async fn ended(&self, call: &str, is_delivered: bool) -> Result<(), Cause> {
        let held = locked(&self.held).remove(call);
        let revision = match held {
            Some(revision) => revision,
            // The answer to the claim may have been lost.
            None => match self.calls.read::<ClaimEntry>(&claim_key(call)).await? {
                Some((revision, claim)) if claim.owner == Some(self.instances.own()) => revision,
                _ => return Ok(()),
            },
        };
        if is_delivered || self.calls.read::<Outcome>(&outcome_key(call)).await?.is_none() {
            return self.calls.remove(&claim_key(call), revision).await;
        }
        // A conflict means that another instance has it already.
        self.calls.write(&claim_key(call), &ClaimEntry { owner: None }, revision).await.map(drop)
    }

    async fn swept(&self, sweep: Sweep) -> Result<Vec<Arc<CallResponse>>, Cause> {
        let (mut answers, mut dead) = (Vec::new(), HashMap::new());
        for key in self.calls.keys(CLAIM, SWEPT).await? {
            let Some((_, claim)) = self.calls.read::<ClaimEntry>(&key).await? else { continue };
            let is_wanted = match claim.owner {
                None => sweep == Sweep::Undelivered,
                Some(owner) => {
                    if let Some(is_dead) = dead.get(&owner) {
                        *is_dead
                    } else {
                        let is_dead = self.instances.is_dead(&owner).await?;
                        dead.insert(owner, is_dead);
                        is_dead
                    }
                }
            };
            let call = key.strip_prefix(CLAIM).unwrap_or_default();
            if is_wanted && let Some(answer) = self.counters.find(call).await? {
                answers.push(Arc::new(answer));
            }
            if answers.len() == RECOVERED {
                break;
            }
        }
        Ok(answers)
    }
}

impl LedgerStore for NatsStore {
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause> {
        self.wait(async { Ok(self.counters.find(&key.digest()).await?.map(Arc::new)) })
    }

    fn claim(&self, key: &CallKey) -> Result<Claim, Cause> {
        self.wait(self.claimed(&key.digest()))
    }

    fn is_taken(&self, key: &CallKey) -> Result<bool, Cause> {
        self.wait(self.taken(&key.digest()))
    }

    fn release(&self, key: &CallKey) -> Result<(), Cause> {
        self.wait(self.ended(&key.digest(), false))
    }

    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        self.wait(self.recorded(&key.digest(), counter, answer))
    }

    fn mark_delivered(&self, key: &CallKey) -> Result<(), Cause> {
        self.wait(self.ended(&key.digest(), true))
    }

    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        self.wait(self.swept(Sweep::Undelivered))
    }

    fn orphaned(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        self.wait(self.swept(Sweep::Orphaned))
    }

    fn is_leased(&self) -> bool {
        self.instances.is_leased()
    }

    fn waits_for_disk(&self) -> bool {
        true
    }

    fn is_shared(&self) -> bool {
        true
    }
}

fn claim_key(call: &str) -> String {
    format!("{CLAIM}{call}")
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
