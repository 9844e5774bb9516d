//! How often a customer may call (contract, "Error Codes": `RATE_LIMITED`): a window that begins with its first call.
//!
//! Windows do not slide, so that the number of calls let through is exact, however many come at once.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::config::Allowance;
use crate::sync::locked;

/// The calls of one customer.
#[derive(Debug)]
pub(super) struct Limiter {
    allowance: Allowance,
    window: Mutex<Option<Window>>,
}

#[derive(Debug)]
struct Window {
    began: Instant,
    used: u32,
}

impl Limiter {
    pub(super) fn new(allowance: Allowance) -> Self {
        Self { allowance, window: Mutex::new(None) }
    }

    /// Counts one call.
    ///
    /// # Errors
    ///
    /// How long it is until calls are let through again.
    pub(super) fn admit(&self, now: Instant) -> Result<(), Duration> {
        let mut window = locked(&self.window);
        let current = match window.take() {
            Some(current) if now.saturating_duration_since(current.began) < self.allowance.per => current,
            _ => Window { began: now, used: 0 },
        };
        let current = window.insert(current);
        if current.used >= self.allowance.calls {
            return Err(self.allowance.per.saturating_sub(now.saturating_duration_since(current.began)));
        }
        current.used += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Allowance, Limiter};

    #[test]
    fn a_window_holds_its_number_of_calls_and_then_a_new_one_begins() {
        let limiter = Limiter::new(Allowance { calls: 2, per: Duration::from_secs(60) });
        let start = Instant::now();
        let after = |seconds| limiter.admit(start + Duration::from_secs(seconds));
        assert_eq!(after(0), Ok(()));
        assert_eq!(after(20), Ok(()));
        assert_eq!(after(50), Err(Duration::from_secs(10)));
        assert_eq!(after(59), Err(Duration::from_secs(1)));
        assert_eq!(after(60), Ok(()));
        assert_eq!(after(61), Ok(()));
        assert_eq!(after(119), Err(Duration::from_secs(1)));
    }
}
