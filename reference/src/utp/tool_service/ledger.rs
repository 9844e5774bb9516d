//! The ledger: one outcome for each call, whatever arrives how often (UTP §3.2).
//!
//! A call is known by project, turn and call id, the recommended anchor.
//! While it runs, a repetition does nothing, because the one answer serves both. One that comes when the answer may have
//! been sent waits until it is delivered; from then on a repetition gets the recorded answer again.
//! Which calls run is known in memory only where one process has the store to itself: a crash forgets it, and rightly so,
//! since the runs are gone too. A store that several instances share keeps a claim for each call that runs.
//! Outcomes are kept by a [`LedgerStore`]: in memory (`ledger_memory`), in a file (`ledger_file`), in buckets of
//! JetStream (`fleet::store`), in tables of PostgreSQL (`ledger_postgres`). One contract, `ledger_contract`, is tested with each of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry as HashEntry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::runtime::Handle;

use super::command::CallKey;
use super::result::CallResponse;
use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::error::ReferenceError;

/// Where outcomes and counters are kept.
pub(crate) trait LedgerStore: Send + Sync {
    /// The recorded answer of a call.
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause>;

    /// Claims a call for this instance. Within one instance the [`Ledger`] claims a call once at a time.
    fn claim(&self, key: &CallKey) -> Result<Claim, Cause> {
        Ok(match self.find(key)? {
            Some(answer) => Claim::Done { answer, delivered: false },
            None => Claim::New,
        })
    }

    /// Whether another instance has the call: cheaper than a claim, for whoever asks again and again.
    fn is_taken(&self, _key: &CallKey) -> Result<bool, Cause> {
        Ok(false)
    }

    /// Gives up a claim without a delivered answer, so that another instance may take the call.
    fn release(&self, _key: &CallKey) -> Result<(), Cause> {
        Ok(())
    }

    /// Adds one to the counter, if one is named, and records the answer with its value: both or neither.
    ///
    /// # Errors
    /// The store failed, or the call has an outcome already; then nothing is counted.
    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause>;

    /// Notes that the answer has reached the Inbox, which ends the claim.
    fn mark_delivered(&self, key: &CallKey) -> Result<(), Cause>;

    /// Answers that were recorded but may not have reached the Inbox, and that no living instance has claimed.
    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause>;

    /// Those of them whose instance is gone. One that gave up a delivery is none: the next repetition or start tries again.
    fn orphaned(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        Ok(Vec::new())
    }

    /// Says that this instance ends, so that others need not wait to take what it leaves.
    fn leave(&self) -> Result<(), Cause> {
        Ok(())
    }

    /// Whether the other instances take this one for alive; one that has no others needs no lease.
    fn is_leased(&self) -> bool {
        true
    }

    /// Whether the operations wait, for a disk or for a broker, and so do not belong on an async thread.
    fn waits_for_disk(&self) -> bool;

    /// Whether other instances use it at the same time.
    fn is_shared(&self) -> bool {
        false
    }
}

/// What a claim comes to.
#[derive(Debug)]
pub(crate) enum Claim {
    /// The call is new and now this instance's.
    New,
    /// Another instance has it, and has recorded its outcome or not.
    Elsewhere { is_recorded: bool },
    /// It is over, and its answer now this instance's to deliver; `delivered` where it is known to have reached the Inbox.
    Done { answer: Arc<CallResponse>, delivered: bool },
}

/// The calls that run at the moment, and whether their outcome is recorded.
type Running = Arc<Mutex<HashMap<CallKey, bool>>>;

/// Outcomes, and the calls that run at the moment.
#[derive(Clone)]
pub(crate) struct Ledger {
    running: Running,
    store: Arc<dyn LedgerStore>,
}

/// What a command finds in the ledger.
pub(crate) enum Entry {
    /// The call is new and now ours, until the guard is dropped.
    New(RunningCall),
    /// The call runs here. Unless its outcome is recorded, its answer will serve this command too.
    Running { is_recorded: bool },
    /// Another instance has the call, and has recorded its outcome or not.
    Elsewhere { is_recorded: bool },
    /// The call is over.
    Done { call: RunningCall, answer: Arc<CallResponse>, delivered: bool },
}

/// The right to run or answer a call; while it lives, repetitions find [`Entry::Running`].
pub(crate) struct RunningCall {
    key: CallKey,
    running: Running,
    store: Arc<dyn LedgerStore>,
    /// Whether the store may hold a claim that nothing has ended.
    claimed: AtomicBool,
}

impl RunningCall {
    /// From now on the answer may be sent at any time.
    fn note_recorded(&self) {
        if let Some(is_recorded) = locked(&self.running).get_mut(&self.key) {
            *is_recorded = true;
        }
    }
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        if self.claimed.load(Ordering::Relaxed)
            && self.store.is_shared()
            && let Ok(handle) = Handle::try_current()
        {
            let (key, running, store) =
                (self.key.clone(), Arc::clone(&self.running), Arc::clone(&self.store));
            // In this order, or a repetition here could claim the call, and then lose its claim to this release.
            handle.spawn_blocking(move || {
                // A claim that cannot be given up ends with this instance.
                let _ = store.release(&key);
                locked(&running).remove(&key);
            });
            return;
        }
        locked(&self.running).remove(&self.key);
    }
}

impl Ledger {
    pub(crate) fn new(store: Arc<dyn LedgerStore>) -> Self {
        Self { running: Arc::default(), store }
    }

    /// Whether other instances use the store at the same time.
    pub(crate) fn is_shared(&self) -> bool {
        self.store.is_shared()
    }

    /// Claims a call.
    pub(crate) async fn claim(&self, key: &CallKey) -> Result<Entry, ReferenceError> {
        match locked(&self.running).entry(key.clone()) {
            HashEntry::Occupied(running) => return Ok(Entry::Running { is_recorded: *running.get() }),
            HashEntry::Vacant(vacant) => drop(vacant.insert(false)),
        }
        let call = RunningCall {
            key: key.clone(),
            running: Arc::clone(&self.running),
            store: Arc::clone(&self.store),
            claimed: AtomicBool::new(true),
        };
        let wanted = key.clone();
        Ok(match self.with_store(move |store| store.claim(&wanted)).await? {
            Claim::New => Entry::New(call),
            Claim::Done { answer, delivered } => {
                call.note_recorded();
                Entry::Done { call, answer, delivered }
            }
            Claim::Elsewhere { is_recorded } => {
                call.claimed.store(false, Ordering::Relaxed);
                Entry::Elsewhere { is_recorded }
            }
        })
    }

    /// Whether a call is being carried out, here or elsewhere.
    pub(crate) async fn is_taken(&self, key: &CallKey) -> Result<bool, ReferenceError> {
        if locked(&self.running).contains_key(key) {
            return Ok(true);
        }
        let key = key.clone();
        self.with_store(move |store| store.is_taken(&key)).await
    }

    /// Records how a call ended.
    pub(crate) async fn record(
        &self,
        call: &RunningCall,
        counter: Option<String>,
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, ReferenceError> {
        let key = call.key.clone();
        let recorded = self.with_store(move |store| store.record(&key, counter.as_deref(), answer)).await?;
        call.note_recorded();
        Ok(recorded)
    }

    /// Notes that a call's answer has reached the Inbox.
    pub(crate) async fn mark_delivered(&self, call: &RunningCall) -> Result<(), ReferenceError> {
        let key = call.key.clone();
        self.with_store(move |store| store.mark_delivered(&key)).await?;
        call.claimed.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// What a crash may have kept from the Inbox.
    pub(crate) async fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, ReferenceError> {
        self.with_store(|store| store.undelivered()).await
    }

    /// What the crash of another instance may have kept from the Inbox.
    pub(crate) async fn orphaned(&self) -> Result<Vec<Arc<CallResponse>>, ReferenceError> {
        self.with_store(|store| store.orphaned()).await
    }

    /// Says that this instance ends; nothing is done with the ledger after that.
    pub(crate) async fn leave(&self) -> Result<(), ReferenceError> {
        self.with_store(|store| store.leave()).await
    }

    async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn LedgerStore) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, ReferenceError> {
        let outcome = if self.store.waits_for_disk() {
            let store = Arc::clone(&self.store);
            tokio::task::spawn_blocking(move || work(store.as_ref()))
                .await
                .unwrap_or_else(|error| Err(error.into()))
        } else {
            work(self.store.as_ref())
        };
        outcome.map_err(|source| ReferenceError::store("ledger", source))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Entry, Ledger};
    use crate::utp::tool_service::ledger_contract::{answer, key};
    use crate::utp::tool_service::ledger_memory::MemoryStore;

    #[tokio::test]
    async fn a_call_is_new_once_then_running_then_done() {
        let ledger = Ledger::new(Arc::new(MemoryStore::default()));
        let key = key("turn", "call");
        let Ok(Entry::New(call)) = ledger.claim(&key).await else { panic!("not new") };
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Running { is_recorded: false })));
        ledger.record(&call, None, answer()).await.expect("no error");
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Running { is_recorded: true })));
        drop(call);
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Done { .. })));
    }
}
