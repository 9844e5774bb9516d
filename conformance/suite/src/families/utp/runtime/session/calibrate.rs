//! What is found out before the first scenario: whether the runtime works, how it goes on, and how fast it is.

use std::time::{Duration, Instant};

use super::{Baseline, RuntimeSession, STATUSES};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::utp::error::SessionError;
use crate::families::utp::runtime::reach::below;
use crate::families::utp::runtime::scene::Scene;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::seen::Behaviour;

/// Longest time between two turns that are started in the hope of a command.
const RETRY: Duration = Duration::from_secs(4);

impl RuntimeSession {
    /// Starts turns until a command comes. How long that took, `None` when the target reacts and never sends one; and
    /// how the last start was refused, if it was.
    pub(super) async fn await_command(
        &self,
        within: Duration,
    ) -> Result<(Option<Duration>, Option<String>), SessionError> {
        let began = Instant::now();
        let start = self.test_environment.process.restarts();
        let mut refusal = None;
        let mut pause = Duration::from_millis(250);
        let mut stirred = false;
        for attempt in 1.. {
            let project =
                self.test_environment.project(&format!("readiness of the runtime {start}.{attempt}"));
            let mut scene = Scene::bare(self, project);
            let sent_at = Instant::now();
            scene.plan_call(self, "suspend");
            let started = scene.start_turn(self, 0, pause.max(Duration::from_secs(1))).await;
            stirred |= started.is_ok() || scene.is_responsive();
            refusal = started.is_err().then(|| scene.refusal()).flatten();
            if started.is_ok() && scene.await_command(self, 0, pause.max(Duration::from_secs(2))).await {
                return Ok((Some(sent_at.elapsed()), refusal));
            }
            stirred |= scene.is_responsive();
            self.is_within_reach().await?;
            if began.elapsed() > within {
                break;
            }
            if started.is_err() {
                // Nobody answers yet: there is nothing to wait for but time.
                tokio::time::sleep(pause.min(within.saturating_sub(began.elapsed()))).await;
            }
            pause = (pause * 2).min(RETRY);
        }
        if stirred {
            return Ok((None, refusal));
        }
        let tool_name = "turns.start".to_owned();
        let subject = format!("{}.<project_id>.<channel_id>.turns.start", below(self.revision()));
        Err(SessionError::Silent { tool_name, subject, seconds: within.as_secs(), has_no_subscriber: false })
    }

    /// Whether an execution service takes a report, and how it refused the last, if it did.
    pub(super) async fn takes_a_report(
        &self,
        within: Duration,
    ) -> Result<(bool, Option<String>), SessionError> {
        let began = Instant::now();
        let start = self.test_environment.process.restarts();
        let mut refusal = None;
        for attempt in 1.. {
            let project = self
                .test_environment
                .project(&format!("readiness of the execution service {start}.{attempt}"));
            let mut scene = Scene::bare(self, project);
            scene.plan_call(self, "suspend");
            scene.make_up(0);
            if scene.report(self, 0).await.is_some_and(|answer| answer.accepted) {
                return Ok((true, None));
            }
            refusal = scene.refusal();
            self.is_within_reach().await?;
            if began.elapsed() > within {
                break;
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Ok((false, refusal))
    }

    /// Fails where nothing more is to be expected of the runtime: its process has ended, or it cannot be reached.
    async fn is_within_reach(&self) -> Result<(), SessionError> {
        if let Some(ended) = self.test_environment.target_ended().await {
            return Err(SessionError::Start(ended));
        }
        self.reach.trouble().map_or(Ok(()), |why| Err(SessionError::Reach(why)))
    }

    /// What follows a plain call of each kind, and whether calls are made side by side.
    pub(super) async fn calibrate(&mut self, limits: &TimeoutLimits) {
        let began = Instant::now();
        let (suspend, terminate, parallel) = futures::join!(
            self.plain("suspend", "success"),
            self.plain("terminate", "success"),
            self.side_by_side()
        );
        let ((suspend, asks, keeps_consumed), (terminate, ..)) = (suspend, terminate);
        let slowest = if suspend == Behaviour::Stays { Duration::ZERO } else { began.elapsed() };
        self.timeouts = Timeouts::calibrated(slowest, limits);
        let after_failure = self.after_failure().await;
        self.baseline = Baseline { suspend, terminate, after_failure, asks, parallel, keeps_consumed };
    }

    async fn after_failure(&self) -> [[Behaviour; 4]; 2] {
        let of_kind = |kind: &'static str| {
            futures::future::join_all(STATUSES.map(|status| async move { self.plain(kind, status).await.0 }))
        };
        let (suspend, terminate) = futures::join!(of_kind("suspend"), of_kind("terminate"));
        let all = |found: Vec<Behaviour>| found.try_into().unwrap_or([Behaviour::Stays; 4]);
        [all(suspend), all(terminate)]
    }

    async fn plain(&self, after_execution: &str, status: &str) -> (Behaviour, usize, bool) {
        let project = self.test_environment.project(&format!("baseline of {after_execution}, {status}"));
        let mut scene = Scene::bare(self, project);
        let call = scene.plan_call(self, after_execution);
        if scene.wait_for_commands(self).await.is_err() {
            return (Behaviour::Stays, 1, true);
        }
        if status != "success" {
            scene.calls[call].set_status(status);
        }
        scene.report(self, call).await;
        let behaviour = scene.behaviour(self, call).await;
        let mut keeps_consumed = true;
        if behaviour == Behaviour::Next {
            scene.wait_settle_window(self).await;
            if self.capabilities.contains("inbox") && scene.read_inbox(self, 0).await.is_some() {
                let own = &scene.calls[call];
                keeps_consumed =
                    scene.project.transcript.with(|frames| !seen::records(frames, own).is_empty());
            }
        }
        let own = scene.turns[0].clone();
        let asks = scene.project.transcript.with(|frames| seen::nexts(frames, &own).count());
        (behaviour, asks.max(1), keeps_consumed)
    }

    /// Whether two calls of one answer are made together, or the second only once the first has its result.
    ///
    /// A worker alone goes on for others, so that its second call does not come is all that there is to see.
    pub(super) async fn side_by_side(&self) -> Option<bool> {
        let mut scene = Scene::bare(self, self.test_environment.project("two calls of one answer"));
        scene.plan_call(self, "suspend");
        scene.plan_call(self, "suspend");
        scene.start_turn(self, 0, self.timeouts.answer).await.ok()?;
        if !scene.await_command(self, 0, self.timeouts.answer).await {
            return None;
        }
        if scene.await_command(self, 1, self.timeouts.answer.min(Duration::from_secs(2))).await {
            return Some(true);
        }
        if !self.resumes() {
            return Some(false);
        }
        scene.report(self, 0).await;
        let comes_then = scene.await_command(self, 1, self.timeouts.answer).await;
        // One that makes the first call only says so to the model.
        (comes_then || scene.behaviour(self, 0).await == Behaviour::Next).then_some(false)
    }
}
