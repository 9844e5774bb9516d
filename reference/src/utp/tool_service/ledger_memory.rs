//! The ledger that ends with the process.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use super::command::CallKey;
use super::ledger::LedgerStore;
use super::result::CallResponse;
use crate::cause::Cause;
use crate::sync::locked;

/// How many outcomes the memory keeps before it drops the oldest.
const MEMORY_CAPACITY: usize = 100_000;

/// Outcomes and counters in memory.
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
        answer: CallResponse,
    ) -> Result<Arc<CallResponse>, Cause> {
        let state = &mut *locked(&self.state);
        if state.answers.contains_key(key) {
            return Err("the call has an outcome already".into());
        }
        let answer = match counter {
            Some(name) => {
                let count = state.counters.entry(name.to_owned()).or_default();
                *count += 1;
                answer.counted(*count)
            }
            None => answer,
        };
        let answer = Arc::new(answer);
        state.answers.insert(key.clone(), serde_json::to_string(&*answer)?.into_boxed_str());
        state.oldest_first.push_back(key.clone());
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
mod tests {
    use std::sync::Mutex;

    use super::{LedgerStore as _, MemoryState, MemoryStore};
    use crate::utp::tool_service::ledger_contract::{answer, check_store, key};

    #[test]
    fn the_memory_does_what_a_store_must() {
        check_store(&MemoryStore::default());
    }

    #[test]
    fn the_memory_drops_the_oldest() {
        let store = MemoryStore { capacity: 2, state: Mutex::new(MemoryState::default()) };
        for call in ["one", "two", "three"] {
            store.record(&key("turn", call), None, answer()).expect("no error");
        }
        let kept = |call| store.find(&key("turn", call)).expect("no error").is_some();
        assert_eq!([kept("one"), kept("two"), kept("three")], [false, true, true]);
    }
}
