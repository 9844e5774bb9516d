//! A heartbeat of the process, by which deadlines are measured: while the machine stands still, they do too.
//!
//! A busy or suspended machine takes time from the suite and the target alike. What was taken is given back to every
//! deadline that was running.

use std::collections::VecDeque;
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::transcript::lock;

/// Between two beats.
const BEAT: Duration = Duration::from_millis(50);
/// From this time between two beats on, the machine stood still.
const STILL: Duration = Duration::from_millis(300);
/// Standstills that are kept.
const MAX_STILL: usize = 4096;

/// When the machine stood still.
#[derive(Debug)]
struct Heartbeat {
    last: Instant,
    /// From when, until when.
    still: VecDeque<(Instant, Instant)>,
}

impl Heartbeat {
    fn new(now: Instant) -> Self {
        Self { last: now, still: VecDeque::new() }
    }

    fn beat(&mut self, now: Instant) {
        if now.saturating_duration_since(self.last) >= STILL {
            if self.still.len() == MAX_STILL {
                self.still.pop_front();
            }
            self.still.push_back((self.last + BEAT, now));
        }
        self.last = now;
    }

    /// How long the machine stood still between two times. It may do so at the second one.
    fn still_between(&self, began: Instant, now: Instant) -> Duration {
        let overdue = now.saturating_duration_since(self.last);
        let at_last = (overdue >= STILL).then_some((self.last + BEAT, now));
        let all = self.still.iter().copied().chain(at_last);
        all.map(|(from, until)| until.min(now).saturating_duration_since(from.max(began))).sum()
    }
}

fn heartbeat() -> &'static Mutex<Heartbeat> {
    static HEARTBEAT: OnceLock<Mutex<Heartbeat>> = OnceLock::new();
    HEARTBEAT.get_or_init(|| {
        let beating = || {
            loop {
                std::thread::sleep(BEAT);
                if let Some(heartbeat) = HEARTBEAT.get() {
                    lock(heartbeat).beat(Instant::now());
                }
            }
        };
        // Without a thread every deadline would seem to be met by a standstill.
        match std::thread::Builder::new().name("heartbeat".to_owned()).spawn(beating) {
            Ok(_) => Mutex::new(Heartbeat::new(Instant::now())),
            Err(_) => Mutex::new(Heartbeat::new(Instant::now() + NEVER)),
        }
    })
}

/// When the tasks of the suite were held up.
static HELD_UP: Mutex<VecDeque<Instant>> = Mutex::new(VecDeque::new());

/// Watches, as a task among those of the parties that the suite plays, whether they are held up: they may be although the
/// process is not, and then they answer late.
pub(crate) async fn watch() {
    loop {
        let began = Instant::now();
        tokio::time::sleep(BEAT).await;
        if began.elapsed() >= STILL {
            let mut held_up = lock(&HELD_UP);
            if held_up.len() == MAX_STILL {
                held_up.pop_front();
            }
            held_up.push_back(Instant::now());
        }
    }
}

/// Whether the tasks of the suite were held up since then.
pub(crate) fn held_up_since(began: Instant) -> bool {
    lock(&HELD_UP).back().is_some_and(|last| *last >= began)
}

/// Longer than any run.
const NEVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Waits for something, at most for `deadline` of a machine that works.
pub(crate) async fn within<T>(deadline: Duration, work: impl Future<Output = T>) -> Option<T> {
    let still = |began: Instant| {
        let now = Instant::now();
        lock(heartbeat()).still_between(began, now)
    };
    lasting(deadline, work, still, tokio::time::sleep).await
}

async fn lasting<T>(
    deadline: Duration,
    work: impl Future<Output = T>,
    still: impl Fn(Instant) -> Duration,
    mut sleep: impl AsyncFnMut(Duration),
) -> Option<T> {
    let began = Instant::now();
    let (mut left, mut given) = (deadline, Duration::ZERO);
    let mut work = std::pin::pin!(work);
    // Begins to beat, if it does not yet.
    still(began);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            () = sleep(left) => {}
        }
        let lost = still(began);
        left = lost.saturating_sub(given);
        given = lost;
        if left.is_zero() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn after(began: Instant, millis: u64) -> Instant {
        began + Duration::from_millis(millis)
    }

    #[test]
    fn a_standstill_is_what_lies_between_two_beats_that_are_far_apart() {
        let began = Instant::now();
        let mut heartbeat = Heartbeat::new(began);
        for beat in [50, 100, 390, 1400, 1450] {
            heartbeat.beat(after(began, beat));
        }
        let check = |from: u64, until: u64, expect: u64| {
            let still = heartbeat.still_between(after(began, from), after(began, until));
            assert_eq!(still, Duration::from_millis(expect), "from {from} to {until}");
        };
        // 290 ms are still a beat; the rest of the second after 390 ms is lost but for the 50 ms that a beat takes.
        check(0, 380, 0);
        check(0, 1450, 960);
        check(1000, 1450, 400);
        check(1400, 1460, 0);
        // The next beat is overdue.
        check(1400, 2000, 500);
    }

    #[tokio::test]
    async fn a_deadline_is_stretched_by_what_the_machine_lost() {
        let check = async |lost: &[u64], expect: &[u64]| {
            let (lost, slept) = (RefCell::new(lost.iter()), RefCell::new(Vec::new()));
            // The first look only begins to beat.
            let still = |_: Instant| {
                let now = if slept.borrow().is_empty() { None } else { lost.borrow_mut().next() };
                Duration::from_secs(now.copied().unwrap_or_default())
            };
            let sleep = async |left: Duration| slept.borrow_mut().push(left.as_secs());
            let never = std::future::pending::<()>();
            assert_eq!(lasting(Duration::from_secs(10), never, still, sleep).await, None);
            assert_eq!(*slept.borrow(), expect);
        };
        check(&[0], &[10]).await;
        // What is lost is given once.
        check(&[3, 3], &[10, 3]).await;
        // The machine may stand still again meanwhile.
        check(&[3, 5, 5], &[10, 3, 2]).await;
    }
}
