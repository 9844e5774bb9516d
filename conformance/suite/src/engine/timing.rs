//! How long the suite waits, derived from how fast the target is.
//!
//! A correct target never meets a deadline, so deadlines are generous; "nothing happens" is judged after
//! a later command on the same path was answered and a quiet window has passed.

pub(crate) mod heartbeat;

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Waiting times of one session.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Timeouts {
    /// For an answer that must come.
    pub answer: Duration,
    /// After the sentinel's answer, for what must not come.
    pub settle_window: Duration,
    /// After the last such check, before they are made again at the end of the run.
    pub late: Duration,
    /// Scenarios at a time that the target is worth, beside those that were asked for.
    pub jobs: usize,
    scale: f64,
}

/// Limits of the waiting times.
#[derive(Clone, Copy, Debug)]
pub struct TimeoutLimits {
    /// Shortest deadline for an answer.
    pub answer_floor: Duration,
    /// Longest deadline for an answer, before scaling, unless the target itself took longer in the calibration.
    pub answer_ceiling: Duration,
    /// Shortest quiet window.
    pub settle_floor: Duration,
    /// Shortest time between the last check of what must not come and the second look at the end.
    pub late_floor: Duration,
    /// `--timeout-scale`.
    pub scale: f64,
}

impl TimeoutLimits {
    /// A waiting time under `--timeout-scale`.
    pub fn scaled(&self, time: Duration) -> Duration {
        scaled(time, self.scale)
    }
}

/// A scale beyond these bounds is a slip of the hand, and would overflow.
fn scaled(time: Duration, scale: f64) -> Duration {
    time.mul_f64(scale.clamp(0.01, 1000.0))
}

impl Default for TimeoutLimits {
    fn default() -> Self {
        Self {
            answer_floor: Duration::from_secs(8),
            answer_ceiling: Duration::from_secs(120),
            settle_floor: Duration::from_millis(25),
            late_floor: Duration::from_millis(1500),
            scale: 1.0,
        }
    }
}

/// Longest quiet window, before scaling.
const SETTLE_CEILING: Duration = Duration::from_secs(5);

/// From this latency on a target is slow.
const SLOW: Duration = Duration::from_millis(500);
/// Scenarios at a time for a slow target that works side by side.
const SLOW_JOBS: usize = 64;

impl Timeouts {
    /// Of a session that nobody opened: nothing is waited for.
    pub(crate) fn unopened() -> Self {
        Self::calibrated(Duration::ZERO, &TimeoutLimits::default())
    }

    /// The waiting times for a target whose slowest calibrated round trip took `latency`.
    pub fn calibrated(latency: Duration, limits: &TimeoutLimits) -> Self {
        let ceiling = limits.answer_ceiling.max(limits.answer_floor).max(latency * 4);
        let scaled = |time: Duration| limits.scaled(time);
        Self {
            answer: scaled((latency * 100).clamp(limits.answer_floor, ceiling)),
            settle_window: scaled(
                (latency * 4).clamp(limits.settle_floor, SETTLE_CEILING.max(limits.settle_floor)),
            ),
            late: scaled((latency * 8).clamp(limits.late_floor, SETTLE_CEILING.max(limits.late_floor))),
            jobs: 1,
            scale: limits.scale,
        }
    }

    /// A slow target that takes calls side by side, as the calibration's against one alone shows, is given
    /// more scenarios at a time; one that takes them in turn would only be late.
    #[must_use]
    pub fn side_by_side(self, alone: Duration, together: Duration) -> Self {
        let slow = together >= SLOW && together < alone * 2;
        Self { jobs: if slow { SLOW_JOBS } else { 1 }, ..self }
    }

    /// The waiting times of a target whose first round trip was a slow one: later ones take no more than `latency`.
    #[must_use]
    pub fn usually(self, latency: Duration, limits: &TimeoutLimits) -> Self {
        let usual = Self::calibrated(latency, limits);
        Self { settle_window: usual.settle_window, late: usual.late, ..self }
    }

    /// A time that the manifest gives, as `--timeout-scale` stretches it.
    pub fn scaled(&self, time: Duration) -> Duration {
        scaled(time, self.scale)
    }

    /// The quiet window after a sentinel that took `latency`: longer when the target is slower just now.
    pub fn settle_window_after(&self, latency: Duration) -> Duration {
        self.settle_window.max(self.scaled((latency * 2).min(SETTLE_CEILING)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_target_is_given_more_time() {
        let limits = TimeoutLimits::default();
        let fast = Timeouts::calibrated(Duration::from_millis(1), &limits);
        let slow = Timeouts::calibrated(Duration::from_millis(500), &limits);
        assert_eq!(fast.answer, Duration::from_secs(8));
        assert_eq!(slow.answer, Duration::from_secs(50));
        assert_eq!(slow.settle_window, Duration::from_secs(2));
    }

    #[test]
    fn a_target_that_works_in_turn_is_waited_for_as_long_as_its_queue() {
        let limits = TimeoutLimits::default();
        let serial = Timeouts::calibrated(Duration::from_secs(80), &limits);
        assert_eq!(serial.answer, Duration::from_secs(320));
        let jobs = |alone, together| {
            let (alone, together) = (Duration::from_millis(alone), Duration::from_millis(together));
            Timeouts::calibrated(together, &limits).side_by_side(alone, together).jobs
        };
        assert_eq!(jobs(5_000, 5_100), SLOW_JOBS);
        assert_eq!(jobs(5_000, 40_000), 1);
        assert_eq!(jobs(2, 3), 1);
    }

    #[test]
    fn a_slow_start_stretches_deadlines_and_no_quiet_window() {
        let limits = TimeoutLimits::default();
        let timeouts = Timeouts::calibrated(Duration::from_millis(500), &limits)
            .usually(Duration::from_millis(10), &limits);
        assert_eq!(
            (timeouts.answer, timeouts.settle_window),
            (Duration::from_secs(50), Duration::from_millis(40))
        );
    }

    #[test]
    fn scale_stretches_everything() {
        let limits = TimeoutLimits { scale: 3.0, ..TimeoutLimits::default() };
        let timeouts = Timeouts::calibrated(Duration::from_millis(1), &limits);
        assert_eq!(timeouts.answer, Duration::from_secs(24));
        assert_eq!(timeouts.settle_window, Duration::from_millis(75));
    }
}
