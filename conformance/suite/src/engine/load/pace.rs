//! When each call of a load is due.

use std::time::Duration;

/// A fixed rate over some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    rate: f64,
    duration: Duration,
}

impl Pace {
    /// So many calls a second, for so long.
    pub fn new(rate: f64, duration: Duration) -> Self {
        Self { rate, duration }
    }

    /// Calls a second.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// How long calls are due.
    pub fn duration(&self) -> Duration {
        self.duration
    }

    /// Calls in all, at least one.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rates and times are bounded and positive"
    )]
    pub fn calls(&self) -> u64 {
        ((self.rate * self.duration.as_secs_f64()).round() as u64).max(1)
    }

    /// When a call is due, from the beginning. Calls are numbered from 0, and the first is due at once.
    #[expect(clippy::cast_precision_loss, reason = "there are far fewer calls than that matters for")]
    pub fn due(&self, number: u64) -> Duration {
        Duration::try_from_secs_f64(number as f64 / self.rate).unwrap_or(self.duration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_due_at_equal_distances() {
        let pace = Pace::new(500.0, Duration::from_secs(30));
        assert_eq!(pace.calls(), 15_000);
        assert_eq!([0, 1, 500].map(|number| pace.due(number).as_millis()), [0, 2, 1000]);
        assert!(pace.due(14_999) < Duration::from_secs(30));
    }

    #[test]
    fn a_slow_rate_has_a_call_all_the_same() {
        assert_eq!(Pace::new(0.1, Duration::from_secs(1)).calls(), 1);
    }
}
