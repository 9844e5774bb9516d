//! How a target is used that others use too: at most so many requests a second, and at most so many at a time.
//!
//! Who sends takes a turn first, and keeps it until the answer is there. Deadlines begin after that, so that nobody is late
//! for having waited.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use crate::engine::manifest::target::MannersTable;

/// Who may send, and when.
#[derive(Debug, Default)]
pub(super) struct Manners {
    /// Between two requests, and when the next one may leave.
    pace: Option<(Duration, Mutex<Instant>)>,
    slots: Option<Arc<Semaphore>>,
}

/// Held by who sends until its answer is there.
#[derive(Debug, Default)]
#[must_use = "dropped, it lets the next one send"]
pub struct Turn {
    slot: Option<OwnedSemaphorePermit>,
}

impl Turn {
    /// Whether others wait for its end.
    pub(crate) fn is_counted(&self) -> bool {
        self.slot.is_some()
    }
}

impl Manners {
    pub(super) fn of(table: Option<&MannersTable>) -> Self {
        let rate = table.and_then(|table| table.requests_per_second);
        let interval = rate.and_then(|rate| Duration::try_from_secs_f64(rate.recip()).ok());
        Self {
            pace: interval.map(|interval| (interval, Mutex::new(Instant::now()))),
            slots: table.and_then(|table| table.in_flight).map(|count| Arc::new(Semaphore::new(count))),
        }
    }

    /// Waits until one more request may be sent.
    pub(super) async fn turn(&self) -> Turn {
        let slot = match &self.slots {
            // Nobody closes it.
            Some(slots) => Arc::clone(slots).acquire_owned().await.ok(),
            None => None,
        };
        self.rate().await;
        Turn { slot }
    }

    /// Waits until one more message may be sent, whatever is on its way.
    pub(super) async fn rate(&self) {
        if let Some((interval, next)) = &self.pace {
            let leaves = {
                let mut next = next.lock().await;
                let leaves = (*next).max(Instant::now());
                *next = leaves + *interval;
                leaves
            };
            tokio::time::sleep_until(leaves).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    fn manners(requests_per_second: Option<f64>, in_flight: Option<usize>) -> Manners {
        Manners::of(Some(&MannersTable { requests_per_second, in_flight, ..MannersTable::default() }))
    }

    #[tokio::test(start_paused = true)]
    async fn requests_leave_at_the_pace_of_the_manifest() {
        let manners = manners(Some(4.0), None);
        let began = Instant::now();
        for _ in 0..5 {
            drop(manners.turn().await);
        }
        assert_eq!(began.elapsed().as_millis(), 1000);
        // Who was slow is not made up for.
        tokio::time::advance(Duration::from_secs(10)).await;
        let began = Instant::now();
        for _ in 0..2 {
            drop(manners.turn().await);
        }
        assert_eq!(began.elapsed().as_millis(), 250);
    }

    #[tokio::test]
    async fn no_more_are_on_their_way_than_may_be() {
        let manners = manners(None, Some(2));
        let (first, second) = (manners.turn().await, manners.turn().await);
        assert!(manners.turn().now_or_never().is_none());
        drop(first);
        assert!(manners.turn().now_or_never().is_some());
        drop(second);
    }

    #[tokio::test]
    async fn a_target_that_asks_for_nothing_is_not_waited_for() {
        let manners = Manners::of(None);
        let turns: Vec<Turn> = (0..100).filter_map(|_| manners.turn().now_or_never()).collect();
        assert_eq!(turns.len(), 100);
    }
}
