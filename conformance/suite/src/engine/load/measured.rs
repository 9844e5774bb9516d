//! What a load came to: counts, latencies from the intended time, and both over time.
//!
//! Memory does not depend on how many calls there are: histograms have a fixed number of buckets, and time a fixed number
//! of intervals.

use std::collections::BTreeMap;
use std::time::Duration;

use callmark_reports::load::{LoadCalls, LoadError, LoadInterval, LoadLatency};
use hdrhistogram::{Counter, Histogram};

use super::pace::Pace;
use crate::transcript::shorten_text;

/// Longest latency that is distinguished from longer ones, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;
/// Significant digits of the latencies of the whole load, and of an interval.
const DIGITS: u8 = 3;
const DIGITS_OF_AN_INTERVAL: u8 = 2;
/// Intervals of the time in which calls are due.
const INTERVALS: u32 = 60;
/// Shortest interval.
const SHORTEST: Duration = Duration::from_millis(250);
/// Kinds of failures that are distinguished.
const KINDS: usize = 16;
/// What stands for all others.
const OTHERS: &str = "others";

/// Calls, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// That were due.
    pub intended: u64,
    /// Of these, those that were sent.
    pub sent: u64,
    /// Of these, those that were answered with a success.
    pub succeeded: u64,
    /// That were answered with something else.
    pub failed: u64,
    /// That were not answered before the deadline.
    pub unanswered: u64,
    /// That were not sent, because too many were open.
    pub crowded_out: u64,
    /// That were not sent, because this process was behind.
    pub left_behind: u64,
}

/// One part of the time.
struct Interval {
    sent: u64,
    /// Of the calls that were due in it.
    failed: u64,
    unanswered: u64,
    /// Answers that came in it.
    answers: u64,
    latency: Histogram<u32>,
}

/// What came of the calls so far.
pub struct Measured {
    /// How many.
    pub counts: Counts,
    length: Duration,
    /// Microseconds from when a call was due to its answer; of a call without one, to the deadline.
    latency: Histogram<u64>,
    /// Microseconds from when a call was due to when it was sent.
    lateness: Histogram<u64>,
    intervals: Vec<Interval>,
    errors: BTreeMap<String, u64>,
}

impl std::fmt::Debug for Measured {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Measured").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// How a call ended. Times count from the beginning of the load.
pub(super) enum Ended<'a> {
    /// Answered then, and with what in place of a success.
    Answered(Duration, Option<&'a str>),
    /// Given up then.
    Unanswered(Duration),
}

impl Measured {
    /// Of calls at this pace.
    pub fn of(pace: &Pace) -> Self {
        let length = (pace.duration() / INTERVALS).max(SHORTEST);
        let count = pace.duration().as_nanos().div_ceil(length.as_nanos()).clamp(1, u128::from(INTERVALS));
        Self {
            counts: Counts { intended: pace.calls(), ..Counts::default() },
            length,
            latency: histogram(DIGITS),
            lateness: histogram(DIGITS),
            intervals: (0..count).map(|_| Interval::new()).collect(),
            errors: BTreeMap::new(),
        }
    }

    /// A call was sent.
    pub(super) fn sent(&mut self, due: Duration, sent: Duration) {
        self.counts.sent += 1;
        self.interval(due).sent += 1;
        record(&mut self.lateness, sent.saturating_sub(due));
    }

    /// A call that was sent has ended.
    pub(super) fn ended(&mut self, due: Duration, ended: &Ended<'_>) {
        let at = match ended {
            Ended::Answered(at, failure) => {
                if let Some(answers) = self.at(*at) {
                    answers.answers += 1;
                }
                match failure {
                    Some(failure) => {
                        self.counts.failed += 1;
                        self.interval(due).failed += 1;
                        self.failed(failure);
                    }
                    None => self.counts.succeeded += 1,
                }
                *at
            }
            Ended::Unanswered(at) => {
                self.counts.unanswered += 1;
                self.interval(due).unanswered += 1;
                *at
            }
        };
        let latency = at.saturating_sub(due);
        record(&mut self.latency, latency);
        record(&mut self.interval(due).latency, latency);
    }

    fn failed(&mut self, failure: &str) {
        let kind = shorten_text(failure);
        let is_room = self.errors.len() < KINDS || self.errors.contains_key(&kind);
        *self.errors.entry(if is_room { kind } else { OTHERS.to_owned() }).or_default() += 1;
    }

    fn index(&self, at: Duration) -> usize {
        usize::try_from(at.as_nanos() / self.length.as_nanos()).unwrap_or(usize::MAX)
    }

    /// The interval in which a call was due.
    fn interval(&mut self, due: Duration) -> &mut Interval {
        let index = self.index(due).min(self.intervals.len() - 1);
        &mut self.intervals[index]
    }

    /// The interval that something falls into; nothing where no call is due any more.
    fn at(&mut self, at: Duration) -> Option<&mut Interval> {
        let index = self.index(at);
        self.intervals.get_mut(index)
    }

    /// The 99th percentile of the latencies.
    pub fn p99(&self) -> Duration {
        Duration::from_micros(self.latency.value_at_quantile(0.99))
    }

    /// For the report.
    pub(super) fn calls(&self) -> LoadCalls {
        let Counts { intended, sent, succeeded, failed, unanswered, crowded_out, left_behind } = self.counts;
        LoadCalls { intended, sent, succeeded, failed, unanswered, crowded_out, left_behind }
    }

    pub(super) fn latency(&self) -> LoadLatency {
        percentiles(&self.latency)
    }

    pub(super) fn lateness(&self) -> LoadLatency {
        percentiles(&self.lateness)
    }

    pub(super) fn errors(&self) -> Vec<LoadError> {
        let mut all: Vec<LoadError> =
            self.errors.iter().map(|(what, count)| LoadError { what: what.clone(), count: *count }).collect();
        all.sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.what.cmp(&other.what)));
        all
    }

    pub(super) fn intervals(&self) -> Vec<LoadInterval> {
        let of = |(own, number): (&Interval, u32)| LoadInterval {
            begins_ms: milliseconds(self.length * number),
            sent: own.sent,
            answers: own.answers,
            failed: own.failed,
            unanswered: own.unanswered,
            p50_us: own.latency.value_at_quantile(0.5),
            p99_us: own.latency.value_at_quantile(0.99),
            max_us: own.latency.max(),
        };
        self.intervals.iter().zip(0..).map(of).collect()
    }

    pub(super) fn interval_ms(&self) -> u64 {
        milliseconds(self.length)
    }
}

impl Interval {
    fn new() -> Self {
        Self { sent: 0, failed: 0, unanswered: 0, answers: 0, latency: histogram(DIGITS_OF_AN_INTERVAL) }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn histogram<C: Counter>(digits: u8) -> Histogram<C> {
    Histogram::new_with_bounds(1, LONGEST, digits).expect("the bounds are sound")
}

fn record<C: Counter>(histogram: &mut Histogram<C>, time: Duration) {
    histogram.saturating_record(u64::try_from(time.as_micros()).unwrap_or(LONGEST));
}

fn percentiles(histogram: &Histogram<u64>) -> LoadLatency {
    let at = |quantile| histogram.value_at_quantile(quantile);
    LoadLatency {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p99_9_us: at(0.999),
        max_us: histogram.max(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    /// A target that stands still for 200 ms every 5 s, and otherwise takes a millisecond, under 100 calls a second.
    #[test]
    fn a_stall_shows_in_every_call_that_was_due_in_it() {
        let pace = Pace::new(100.0, Duration::from_secs(30));
        let mut measured = Measured::of(&pace);
        for number in 0..pace.calls() {
            let due = pace.due(number);
            let into = Duration::from_millis(u64::try_from(due.as_millis()).expect("small") % 5_000);
            let stalled = ms(200).saturating_sub(into);
            measured.sent(due, due);
            measured.ended(due, &Ended::Answered(due + stalled + ms(1), None));
        }
        let latency = measured.latency();
        assert!(latency.p50_us < 2_000, "{latency:?}");
        assert!(latency.p99_9_us > 190_000 && latency.max_us >= 200_000, "{latency:?}");
        // 20 of 500 calls wait.
        assert!(latency.p99_us > 100_000, "{latency:?}");
        let stalls = measured.intervals().iter().filter(|own| own.max_us > 150_000).count();
        assert_eq!((measured.intervals().len(), stalls), (60, 6));
    }

    #[test]
    fn calls_are_counted_by_what_became_of_them() {
        let pace = Pace::new(10.0, Duration::from_secs(1));
        let mut measured = Measured::of(&pace);
        for number in 0..3 {
            measured.sent(pace.due(number), pace.due(number) + ms(1));
        }
        measured.ended(pace.due(0), &Ended::Answered(ms(5), None));
        measured.ended(pace.due(1), &Ended::Answered(ms(150), Some("failed")));
        measured.ended(pace.due(2), &Ended::Unanswered(ms(10_200)));
        let Counts { intended, sent, succeeded, failed, unanswered, .. } = measured.counts;
        assert_eq!((intended, sent, succeeded, failed, unanswered), (10, 3, 1, 1, 1));
        // Who is not answered is not left out of the latencies.
        assert!(measured.latency().max_us >= 10_000_000);
        assert_eq!(measured.lateness().p50_us / 100, 10);
        assert_eq!(measured.errors()[0].what, "failed");
        let answers: u64 = measured.intervals().iter().map(|own| own.answers).sum();
        assert_eq!(answers, 2);
    }

    #[test]
    fn kinds_of_failures_are_bounded() {
        let pace = Pace::new(10.0, Duration::from_secs(100));
        let mut measured = Measured::of(&pace);
        for number in 0..1_000 {
            measured.ended(pace.due(number), &Ended::Answered(ms(1), Some(&format!("failure {number}"))));
        }
        assert_eq!(measured.errors().len(), KINDS + 1);
        assert_eq!(measured.errors()[0].what, OTHERS);
    }
}
