//! Calls whose answers come in on another way than they left: over a bus, a store or a pipe.
//!
//! Each keeps its turn until it is answered, or until that can no longer be expected, so that no more are open at the
//! target than its manners permit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::manners::Turn;
use crate::transcript::lock;

/// The open calls of a session.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    next: u64,
    open: HashMap<u64, OpenCall>,
}

/// One message, which may make several calls.
#[derive(Debug)]
struct OpenCall {
    /// The ids of those that are not answered yet.
    ids: Vec<String>,
    _turn: Turn,
}

impl OpenCalls {
    /// Keeps the turn of a message until the calls with these ids are answered, and for so long at most. One that has no
    /// ids keeps it for that long.
    pub(crate) fn hold(self: &Arc<Self>, ids: Vec<String>, turn: Turn, within: Duration) {
        if !turn.is_counted() {
            return;
        }
        let number = {
            let mut calls = lock(&self.calls);
            calls.next += 1;
            let number = calls.next;
            calls.open.insert(number, OpenCall { ids, _turn: turn });
            number
        };
        let own = Arc::clone(self);
        tokio::spawn(async move {
            tokio::time::sleep(within).await;
            lock(&own.calls).open.remove(&number);
        });
    }

    /// Whether a call is not answered yet.
    pub(crate) fn is_open(&self, id: &str) -> bool {
        lock(&self.calls).open.values().any(|call| call.ids.iter().any(|own| own == id))
    }

    /// A call was answered. Of several messages that make it the first is meant.
    pub(crate) fn answered(&self, id: &str) {
        let mut calls = lock(&self.calls);
        let makes_it = |open: &&u64| calls.open[*open].ids.iter().any(|own| own == id);
        let Some(number) = calls.open.keys().filter(makes_it).min().copied() else { return };
        let Some(call) = calls.open.get_mut(&number) else { return };
        call.ids.retain(|own| own != id);
        if call.ids.is_empty() {
            calls.open.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::super::manners::Manners;
    use super::*;
    use crate::engine::manifest::target::MannersTable;

    const WITHIN: Duration = Duration::from_secs(3);

    fn manners(in_flight: Option<usize>) -> Manners {
        Manners::of(Some(&MannersTable { in_flight, ..MannersTable::default() }))
    }

    fn ids(ids: &[&str]) -> Vec<String> {
        ids.iter().map(|&id| id.to_owned()).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_open_until_all_of_it_is_answered() {
        let (manners, calls) = (manners(Some(1)), Arc::new(OpenCalls::default()));
        calls.hold(ids(&["a", "b"]), manners.turn().await, WITHIN);
        calls.answered("a");
        calls.answered("a");
        calls.answered("c");
        assert!(manners.turn().now_or_never().is_none());
        assert!(calls.is_open("b") && !calls.is_open("a"));
        calls.answered("b");
        assert!(manners.turn().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn of_two_messages_with_one_id_the_first_is_answered_first() {
        let (manners, calls) = (manners(Some(2)), Arc::new(OpenCalls::default()));
        calls.hold(ids(&["a"]), manners.turn().await, WITHIN);
        calls.hold(ids(&["a"]), manners.turn().await, WITHIN);
        calls.answered("a");
        let _third = manners.turn().await;
        assert!(manners.turn().now_or_never().is_none());
        calls.answered("a");
        assert!(manners.turn().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_never_answered_is_not_waited_for_without_end() {
        let (manners, calls) = (manners(Some(1)), Arc::new(OpenCalls::default()));
        calls.hold(Vec::new(), manners.turn().await, WITHIN);
        let began = tokio::time::Instant::now();
        drop(manners.turn().await);
        assert_eq!(began.elapsed(), WITHIN);
    }

    #[tokio::test]
    async fn nothing_is_kept_where_nothing_is_counted() {
        let calls = Arc::new(OpenCalls::default());
        calls.hold(ids(&["a"]), manners(None).turn().await, WITHIN);
        assert!(lock(&calls.calls).open.is_empty());
    }
}
