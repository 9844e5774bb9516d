//! Makes calls at their pace, whatever became of those before, and hands each exchange to the judge.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::caller::{Caller, Exchanged};
use super::measured::{Ended, Measured};
use super::pace::Pace;
use crate::engine::recording::live::Feed;
use crate::engine::recording::{At, Window};
use crate::transcript::{Frame, bounds, lock};

/// How late a call may be sent when no more are due; what is later is left behind.
const GRACE: Duration = Duration::from_secs(1);
/// Calls that are sent one right after the other before others get their turn.
const BURST: u64 = 32;

/// What a load is driven with.
#[derive(Clone, Copy, Debug)]
pub struct LoadPlan {
    /// When calls are due.
    pub pace: Pace,
    /// How long after that an answer counts.
    pub deadline: Duration,
    /// Calls that are open at a time at most; more are not sent, which is counted.
    pub most_open: usize,
    /// Number of the first call. No two loads of a process have calls of the same number.
    pub first: u64,
}

/// Calls under way, as whoever shows them sees them.
pub struct Loaded {
    measured: Mutex<Measured>,
    open: Semaphore,
    most_open: usize,
}

impl Loaded {
    /// Before the first call.
    pub fn new(plan: &LoadPlan) -> Arc<Self> {
        let measured = Mutex::new(Measured::of(&plan.pace));
        Arc::new(Self { measured, open: Semaphore::new(plan.most_open), most_open: plan.most_open })
    }

    /// Looks at what is known so far.
    pub fn with<T>(&self, look: impl FnOnce(&Measured) -> T) -> T {
        look(&lock(&self.measured))
    }

    /// Calls that were sent and are neither answered nor given up.
    pub fn open(&self) -> usize {
        self.most_open - self.open.available_permits()
    }
}

/// Makes all calls, and returns when each has ended.
pub fn drive(
    plan: LoadPlan,
    caller: Arc<dyn Caller>,
    loaded: Arc<Loaded>,
    feed: Arc<Feed>,
) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let began = Instant::now();
        let call = Arc::new(Calls {
            began,
            plan,
            profiles: [caller.profile()].into(),
            caller,
            loaded,
            feed,
            lingering: Semaphore::new(plan.most_open),
        });
        let mut calls = JoinSet::new();
        let last = plan.pace.duration() + GRACE;
        for number in 0..plan.pace.calls() {
            let due = plan.pace.due(number);
            tokio::time::sleep_until((began + due).into()).await;
            if began.elapsed() > last {
                lock(&call.loaded.measured).counts.left_behind += plan.pace.calls() - number;
                break;
            }
            calls.spawn(Arc::clone(&call).make(number, due));
            while calls.try_join_next().is_some() {}
            if number % BURST == BURST - 1 {
                tokio::task::yield_now().await;
            }
        }
        while calls.join_next().await.is_some() {}
    })
}

/// What all calls of a load share.
struct Calls {
    began: Instant,
    plan: LoadPlan,
    profiles: Arc<[&'static str]>,
    caller: Arc<dyn Caller>,
    loaded: Arc<Loaded>,
    feed: Arc<Feed>,
    /// Calls that were answered, and whose messages are still gathered.
    lingering: Semaphore,
}

impl Calls {
    async fn make(self: Arc<Self>, number: u64, due: Duration) {
        let Ok(open) = self.loaded.open.try_acquire() else {
            lock(&self.loaded.measured).counts.crowded_out += 1;
            return;
        };
        lock(&self.loaded.measured).sent(due, self.began.elapsed());
        let own = self.plan.first + number;
        let deadline = self.began + due + self.plan.deadline;
        let Exchanged { answered, failure, messages } = self.caller.call(own, deadline).await;
        let ended = match answered {
            Some(at) => Ended::Answered(at.duration_since(self.began), failure.as_deref()),
            None => Ended::Unanswered(due + self.plan.deadline),
        };
        lock(&self.loaded.measured).ended(due, &ended);
        drop(open);
        // What is not waited for is judged as it is.
        if answered.is_some()
            && let Ok(_lingering) = self.lingering.try_acquire()
        {
            tokio::time::sleep(self.caller.linger()).await;
        }
        self.judge(own, messages());
    }

    /// Has an exchange judged.
    fn judge(&self, number: u64, mut frames: Vec<Frame>) {
        for (frame, n) in frames.iter_mut().zip(1..) {
            frame.n = n;
        }
        let bytes = frames.iter().map(|frame| bounds::weight(&frame.body)).sum();
        if !self.feed.reserve(bytes) {
            return self.feed.dropped();
        }
        let window =
            Window { profiles: Arc::clone(&self.profiles), frames, at: At { file: 0, line: number + 1 } };
        self.feed.offer_exchange(window, bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;
    use crate::engine::recording::live;

    /// Answers at once, or never.
    struct Mute {
        answers: bool,
        made: AtomicU64,
    }

    impl Caller for Mute {
        fn profile(&self) -> &'static str {
            "hub.server"
        }

        fn call(&self, _: u64, deadline: Instant) -> BoxFuture<'_, Exchanged> {
            Box::pin(async move {
                self.made.fetch_add(1, Ordering::Relaxed);
                if !self.answers {
                    tokio::time::sleep_until(deadline.into()).await;
                }
                let answered = self.answers.then(Instant::now);
                Exchanged { answered, failure: None, messages: Box::new(Vec::new) }
            })
        }

        fn linger(&self) -> Duration {
            Duration::ZERO
        }
    }

    async fn load(answers: bool, plan: LoadPlan) -> (Arc<Loaded>, u64) {
        let mute = Arc::new(Mute { answers, made: AtomicU64::new(0) });
        let loaded = Loaded::new(&plan);
        let (feed, _fed) = live::feed();
        drive(plan, Arc::clone(&mute) as Arc<dyn Caller>, Arc::clone(&loaded), feed).await;
        (loaded, mute.made.load(Ordering::Relaxed))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn calls_are_made_at_their_rate_though_none_is_answered() {
        let pace = Pace::new(200.0, Duration::from_millis(500));
        let plan = LoadPlan { pace, deadline: Duration::from_millis(50), most_open: 1_000, first: 0 };
        let (loaded, made) = load(false, plan).await;
        let counts = loaded.with(|measured| measured.counts);
        assert_eq!((counts.intended, made, counts.unanswered), (100, 100, 100), "{counts:?}");
        assert_eq!(loaded.open(), 0);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn open_calls_are_bounded_and_what_is_not_sent_is_counted() {
        let pace = Pace::new(1_000.0, Duration::from_millis(100));
        let plan = LoadPlan { pace, deadline: Duration::from_secs(2), most_open: 10, first: 0 };
        let (loaded, made) = load(false, plan).await;
        let counts = loaded.with(|measured| measured.counts);
        assert_eq!((made, counts.sent, counts.crowded_out), (10, 10, 90), "{counts:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_call_that_is_answered_counts_once() {
        let pace = Pace::new(2_000.0, Duration::from_millis(200));
        let plan = LoadPlan { pace, deadline: Duration::from_secs(5), most_open: 1_000, first: 0 };
        let (loaded, made) = load(true, plan).await;
        let counts = loaded.with(|measured| measured.counts);
        assert_eq!((made, counts.succeeded, counts.unanswered), (400, 400, 0), "{counts:?}");
    }
}
