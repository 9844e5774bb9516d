//! How long the suite waits, derived from how fast the target is.
//!
//! A correct target never meets a deadline, so deadlines are generous; "nothing happens" is judged after
//! a later command on the same path was answered and a quiet window has passed.

use std::time::Duration;

/// Waiting times of one session.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// For an answer that must come.
    pub answer: Duration,
    /// After the sentinel's answer, for what must not come.
    pub quiet: Duration,
    /// After the last such check, before they are made again at the end of the run.
    pub late: Duration,
    scale: f64,
}

/// Limits of the waiting times.
#[derive(Clone, Copy, Debug)]
pub struct PaceLimits {
    /// Shortest deadline for an answer.
    pub answer_floor: Duration,
    /// Shortest quiet window.
    pub quiet_floor: Duration,
    /// Shortest time between the last check of what must not come and the second look at the end.
    pub late_floor: Duration,
    /// `--timeout-scale`.
    pub scale: f64,
}

impl Default for PaceLimits {
    fn default() -> Self {
        Self {
            answer_floor: Duration::from_secs(8),
            quiet_floor: Duration::from_millis(25),
            late_floor: Duration::from_millis(1500),
            scale: 1.0,
        }
    }
}

/// Longest deadline for an answer, before scaling.
const ANSWER_CEILING: Duration = Duration::from_secs(120);
/// Longest quiet window, before scaling.
const QUIET_CEILING: Duration = Duration::from_secs(5);

impl Pace {
    /// The pace for a target whose slowest calibrated round trip took `latency`.
    pub fn calibrated(latency: Duration, limits: &PaceLimits) -> Self {
        let scaled = |time: Duration| time.mul_f64(limits.scale.clamp(0.01, 1000.0));
        Self {
            answer: scaled(
                (latency * 100).clamp(limits.answer_floor, ANSWER_CEILING.max(limits.answer_floor)),
            ),
            quiet: scaled((latency * 4).clamp(limits.quiet_floor, QUIET_CEILING.max(limits.quiet_floor))),
            late: scaled((latency * 8).clamp(limits.late_floor, QUIET_CEILING.max(limits.late_floor))),
            scale: limits.scale,
        }
    }

    /// The quiet window after a sentinel that took `latency`: longer when the target is slower just now.
    pub fn quiet_after(&self, latency: Duration) -> Duration {
        let now = (latency * 2).min(QUIET_CEILING).mul_f64(self.scale.clamp(0.01, 1000.0));
        self.quiet.max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_target_is_given_more_time() {
        let limits = PaceLimits::default();
        let fast = Pace::calibrated(Duration::from_millis(1), &limits);
        let slow = Pace::calibrated(Duration::from_millis(500), &limits);
        assert_eq!(fast.answer, Duration::from_secs(8));
        assert_eq!(slow.answer, Duration::from_secs(50));
        assert_eq!(slow.quiet, Duration::from_secs(2));
    }

    #[test]
    fn scale_stretches_everything() {
        let limits = PaceLimits { scale: 3.0, ..PaceLimits::default() };
        let pace = Pace::calibrated(Duration::from_millis(1), &limits);
        assert_eq!(pace.answer, Duration::from_secs(24));
        assert_eq!(pace.quiet, Duration::from_millis(75));
    }
}
