//! The ledger: one outcome for each call, whatever arrives how often (UTP §3.2).
//!
//! A call is known by project, turn and call id, the recommended anchor.
//! While it runs, a repetition does nothing, because the one answer serves both; afterwards it gets the recorded answer again.
//! Which calls run is known in memory only: a crash forgets it, and rightly so, since the runs are gone too.
//! Outcomes are kept by a [`LedgerStore`]: in memory here, in a file in `ledger_file`.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};

use super::command::CallKey;
use super::result::CallResponse;
use crate::cause::Cause;
use crate::sync::locked;
use crate::utp::error::ReferenceError;

/// How many outcomes the memory keeps before it drops the oldest.
const MEMORY_CAPACITY: usize = 100_000;

/// Builds the answer from the value of the counter that the outcome asked for.
pub(crate) type BuildResponse = Box<dyn FnOnce(Option<u64>) -> CallResponse + Send>;

/// Where outcomes and counters are kept.
pub(crate) trait LedgerStore: Send + Sync {
    /// The recorded answer of a call.
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause>;

    /// Adds one to the counter, if one is named, and records the answer built from it: both or neither.
    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        build: BuildResponse,
    ) -> Result<Arc<CallResponse>, Cause>;

    /// Notes that the answer has reached the Inbox.
    fn mark_delivered(&self, key: &CallKey) -> Result<(), Cause>;

    /// Answers that were recorded but may not have reached the Inbox.
    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause>;

    /// Whether the operations wait for a disk and so do not belong on an async thread.
    fn waits_for_disk(&self) -> bool;
}

/// Outcomes, and the calls that run at the moment.
#[derive(Clone)]
pub(crate) struct Ledger {
    running: Arc<Mutex<HashSet<CallKey>>>,
    store: Arc<dyn LedgerStore>,
}

/// What a command finds in the ledger.
pub(crate) enum Entry {
    /// The call is new and now ours, until the guard is dropped.
    New(RunningCall),
    /// The call runs; its answer will serve this command too.
    Running,
    /// The call is over.
    Done(RunningCall, Arc<CallResponse>),
}

/// The right to run or answer a call; while it lives, repetitions find [`Entry::Running`].
pub(crate) struct RunningCall {
    key: CallKey,
    running: Arc<Mutex<HashSet<CallKey>>>,
}

impl Drop for RunningCall {
    fn drop(&mut self) {
        locked(&self.running).remove(&self.key);
    }
}

impl Ledger {
    pub(crate) fn new(store: Arc<dyn LedgerStore>) -> Self {
        Self { running: Arc::default(), store }
    }

    /// Claims a call.
    pub(crate) async fn claim(&self, key: &CallKey) -> Result<Entry, ReferenceError> {
        if !locked(&self.running).insert(key.clone()) {
            return Ok(Entry::Running);
        }
        let call = RunningCall { key: key.clone(), running: Arc::clone(&self.running) };
        let wanted = key.clone();
        Ok(match self.with_store(move |store| store.find(&wanted)).await? {
            Some(answer) => Entry::Done(call, answer),
            None => Entry::New(call),
        })
    }

    /// Records how a call ended.
    pub(crate) async fn record(
        &self,
        call: &RunningCall,
        counter: Option<String>,
        build: BuildResponse,
    ) -> Result<Arc<CallResponse>, ReferenceError> {
        let key = call.key.clone();
        self.with_store(move |store| store.record(&key, counter.as_deref(), build)).await
    }

    /// Notes that a call's answer has reached the Inbox.
    pub(crate) async fn mark_delivered(&self, call: &RunningCall) -> Result<(), ReferenceError> {
        let key = call.key.clone();
        self.with_store(move |store| store.mark_delivered(&key)).await
    }

    /// What a crash may have kept from the Inbox.
    pub(crate) async fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, ReferenceError> {
        self.with_store(|store| store.undelivered()).await
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

/// A ledger that ends with the process.
pub(crate) struct MemoryStore {
    capacity: usize,
    state: Mutex<MemoryState>,
}

#[derive(Default)]
struct MemoryState {
    /// As JSON text, which takes up much less than the value does.
    answers: HashMap<CallKey, Box<str>>,
    oldest_first: VecDeque<CallKey>,
    counters: HashMap<String, u64>,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self { capacity: MEMORY_CAPACITY, state: Mutex::default() }
    }
}

impl LedgerStore for MemoryStore {
    fn find(&self, key: &CallKey) -> Result<Option<Arc<CallResponse>>, Cause> {
        let state = locked(&self.state);
        let read = |text: &str| serde_json::from_str(text).map(Arc::new);
        Ok(state.answers.get(key).map(|text| read(text)).transpose()?)
    }

    fn record(
        &self,
        key: &CallKey,
        counter: Option<&str>,
        build: BuildResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        let state = &mut *locked(&self.state);
        let count = counter.map(|name| {
            let count = state.counters.entry(name.to_owned()).or_default();
            *count += 1;
            *count
        });
        let answer = Arc::new(build(count));
        let text = serde_json::to_string(&*answer)?.into_boxed_str();
        if state.answers.insert(key.clone(), text).is_none() {
            state.oldest_first.push_back(key.clone());
        }
        while state.oldest_first.len() > self.capacity {
            if let Some(oldest) = state.oldest_first.pop_front() {
                state.answers.remove(&oldest);
            }
        }
        Ok(answer)
    }

    fn mark_delivered(&self, _: &CallKey) -> Result<(), Cause> {
        Ok(())
    }

    fn undelivered(&self) -> Result<Vec<Arc<CallResponse>>, Cause> {
        // What a crash would leave undelivered, it also forgets.
        Ok(Vec::new())
    }

    fn waits_for_disk(&self) -> bool {
        false
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, Mutex};

    use serde_json::json;

    use super::{CallResponse, Entry, Ledger, LedgerStore, MemoryState, MemoryStore};
    use crate::utp::message::{AfterExecution, Callback, Status};
    use crate::utp::revision::Revision;
    use crate::utp::tool_service::command::CallKey;

    pub(crate) fn key(turn: &str, call: &str) -> CallKey {
        CallKey {
            project_id: "prj".to_owned(),
            agent_turn_id: turn.to_owned(),
            tool_call_id: call.to_owned(),
        }
    }

    pub(crate) fn answer(count: Option<u64>) -> CallResponse {
        CallResponse {
            revision: Revision::V1r3,
            project_id: "prj".to_owned(),
            channel_id: "ch".to_owned(),
            source_agent_id: "tool.probe".to_owned(),
            card: json!({"card_id": "c", "count": count}),
            callback: Callback {
                tool_call_id: "call".to_owned(),
                agent_turn_id: "turn".to_owned(),
                turn_epoch: json!(6),
                agent_id: "ag".to_owned(),
                tool_result_card_id: "c".to_owned(),
                status: Status::Success,
                after_execution: AfterExecution::Suspend,
                step_id: None,
            },
            headers: Vec::new(),
        }
    }

    /// What every store must do.
    pub(crate) fn check_store(store: &dyn LedgerStore) {
        let (first, second) = (key("turn", "one"), key("turn", "two"));
        assert!(store.find(&first).expect("no error").is_none());
        let recorded = store.record(&first, Some("prj"), Box::new(answer)).expect("no error");
        assert_eq!(recorded.card["count"], 1);
        assert_eq!(store.find(&first).expect("no error"), Some(recorded));
        let recorded = store.record(&second, Some("prj"), Box::new(answer)).expect("no error");
        assert_eq!(recorded.card["count"], 2);
        let uncounted = store.record(&key("other", "one"), None, Box::new(answer));
        assert!(uncounted.expect("no error").card["count"].is_null());
        store.mark_delivered(&first).expect("no error");
    }

    #[test]
    fn the_memory_does_what_a_store_must() {
        check_store(&MemoryStore::default());
    }

    #[test]
    fn the_memory_drops_the_oldest() {
        let store = MemoryStore { capacity: 2, state: Mutex::new(MemoryState::default()) };
        for call in ["one", "two", "three"] {
            store.record(&key("turn", call), None, Box::new(answer)).expect("no error");
        }
        let kept = |call| store.find(&key("turn", call)).expect("no error").is_some();
        assert_eq!([kept("one"), kept("two"), kept("three")], [false, true, true]);
    }

    #[tokio::test]
    async fn a_call_is_new_once_then_running_then_done() {
        let ledger = Ledger::new(Arc::new(MemoryStore::default()));
        let key = key("turn", "call");
        let Ok(Entry::New(call)) = ledger.claim(&key).await else { panic!("not new") };
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Running)));
        ledger.record(&call, None, Box::new(answer)).await.expect("no error");
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Running)));
        drop(call);
        assert!(matches!(ledger.claim(&key).await, Ok(Entry::Done(..))));
    }
}
