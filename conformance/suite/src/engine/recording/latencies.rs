//! How long exchanges took, in a fixed number of buckets, as Prometheus counts them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callmark_reports::record::Direction;

use crate::transcript::Frame;

/// Upper bounds of the buckets, in microseconds; what took longer is in none of them.
pub const BOUNDS: [u64; 13] = [
    1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000,
    10_000_000,
];

/// How long exchanges took.
#[derive(Debug, Default)]
pub struct Latencies {
    buckets: [AtomicU64; BOUNDS.len()],
    count: AtomicU64,
    sum_us: AtomicU64,
}

/// The same at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LatencyCounts {
    /// Exchanges that took no longer than each of the [`BOUNDS`].
    pub within: [u64; BOUNDS.len()],
    /// All exchanges.
    pub count: u64,
    /// Microseconds of all of them together.
    pub sum_us: u64,
}

impl Latencies {
    /// An exchange took so long.
    pub(super) fn took(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        if let Some(bucket) = BOUNDS.iter().position(|bound| us <= *bound) {
            self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
        self.sum_us.fetch_add(us, Ordering::Relaxed);
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted so far.
    pub fn counts(&self) -> LatencyCounts {
        let mut sum = 0;
        let within = std::array::from_fn(|bucket| {
            sum += self.buckets[bucket].load(Ordering::Relaxed);
            sum
        });
        // No bucket holds more than all.
        let count = self.count.load(Ordering::Relaxed).max(sum);
        LatencyCounts { within, count, sum_us: self.sum_us.load(Ordering::Relaxed) }
    }
}

/// From the message that asks the target to the last one of the target; nothing where it is not known when they passed.
pub(super) fn of(frames: &[Frame]) -> Option<Duration> {
    let first = frames.first().filter(|first| first.direction == Direction::ToTarget && first.at_us > 0)?;
    let last =
        frames.iter().rev().find(|frame| frame.direction == Direction::FromTarget && frame.at_us > 0)?;
    Some(Duration::from_micros(last.at_us.saturating_sub(first.at_us)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::transcript::{Kind, Message};

    #[test]
    fn a_bucket_holds_all_that_took_no_longer() {
        let latencies = Latencies::default();
        for ms in [0, 1, 2, 30, 20_000] {
            latencies.took(Duration::from_millis(ms));
        }
        let counts = latencies.counts();
        assert_eq!(counts.within[..6], [2, 3, 3, 3, 3, 4]);
        assert_eq!((counts.within[BOUNDS.len() - 1], counts.count, counts.sum_us), (4, 5, 20_033_000));
    }

    #[test]
    fn an_exchange_takes_until_the_last_message_of_the_target() {
        let frame = |direction, at_us| {
            let (channel, headers) = (String::new(), BTreeMap::new());
            let message = Message { direction, kind: Kind::Command, channel, headers, body: Value::Null };
            Frame { at_us, ..Frame::from(message) }
        };
        let (to, from) = (Direction::ToTarget, Direction::FromTarget);
        let frames = [frame(to, 10), frame(from, 500), frame(to, 600), frame(from, 1_010), frame(to, 5_000)];
        assert_eq!(of(&frames), Some(Duration::from_millis(1)));
        // A recording need not say when.
        assert_eq!(of(&[frame(to, 0), frame(from, 0)]), None);
        assert_eq!(of(&[frame(to, 10)]), None);
        // What the target begins is no answer.
        assert_eq!(of(&[frame(from, 10), frame(from, 20)]), None);
    }
}
