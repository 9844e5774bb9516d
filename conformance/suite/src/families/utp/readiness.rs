//! What is found out about a target before the first scenario: that it works, how fast it is, how it counts.
//!
//! A tool may take long, so patience ends only with the deadline of the manifest, or with evidence that the
//! target does not do the work: a report or a result card without the token that only the card holds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::call::Call;
use super::error::SessionError;
use super::judge::seen;
use super::platform::Project;
use super::scene::Scene;
use super::session::{Counter, Liveness, UtpSession};
use super::tool::Tool;
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::transcript::{Frame, Kind};

/// Concurrent calls of the calibration.
const CALIBRATION_CALLS: usize = 8;
/// Time between the first two commands; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(40);
/// Longest time between commands to a target that has not stirred yet.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Time between commands to a target that has taken one and works on it.
const RESEND: Duration = Duration::from_secs(8);
/// How long a target that has answered without doing the work may still show that it can do it.
const GRACE: Duration = Duration::from_secs(2);
/// Commands in this time.
const GRACE_CALLS: u32 = 4;

/// What a target showed of itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub liveness: Liveness,
    /// Of one call at a time.
    pub latency: Duration,
}

/// What the calls of the readiness have brought.
enum Sign {
    /// The work of one was done, after so long.
    Worked(Duration),
    /// One was answered without its work.
    Idle,
}

impl Sign {
    fn of(frames: &[Frame], calls: &[Call]) -> Option<Self> {
        if let Some(latency) = calls.iter().find_map(|call| seen::latency(frames, call)) {
            return Some(Self::Worked(latency));
        }
        frames.iter().any(seen::is_outcome).then_some(Self::Idle)
    }
}

impl UtpSession {
    /// Sends commands until the target shows what it can do, or the deadline passes.
    pub(super) async fn await_target(&self, within: Duration) -> Result<Ready, SessionError> {
        let start = match self.test_environment.process.restarts() {
            0 => String::new(),
            restarts => format!(" after restart {restarts}"),
        };
        let project = self.test_environment.project(&format!("readiness of {}{start}", self.role.profile()));
        let began = Instant::now();
        let mut scene = Scene::bare(self, Arc::clone(&project));
        let mut calls = self.wake_target(&mut scene, within).await?;
        loop {
            let left = within.saturating_sub(began.elapsed());
            let sign = project.transcript.wait(left.min(RESEND), |frames| Sign::of(frames, &calls)).await;
            match sign {
                Some(Sign::Worked(latency)) => return Ok(self.reported(&project, latency).await),
                Some(Sign::Idle) => {
                    let grace = GRACE.max(began.elapsed() * 2).min(within);
                    return Ok(match self.insist(&mut scene, calls, grace).await {
                        Some(latency) => self.reported(&project, latency).await,
                        None => Ready { liveness: Liveness::Responsive, latency: Duration::ZERO },
                    });
                }
                None => self.still_runs().await?,
            }
            if left.is_zero() {
                return Ok(Ready { liveness: Liveness::Responsive, latency: Duration::ZERO });
            }
            calls.push(echo(self, &mut scene).await);
        }
    }

    /// Sends commands until anything comes from the target.
    pub(super) async fn wake_target(
        &self,
        scene: &mut Scene,
        within: Duration,
    ) -> Result<Vec<Call>, SessionError> {
        let began = Instant::now();
        let project = Arc::clone(&scene.project);
        let mut calls = Vec::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let call = echo(self, scene).await;
            let is_responsive = |frames: &[Frame]| seen::is_responsive(frames).then_some(());
            let stirred = project.transcript.wait(pause, is_responsive).await.is_some();
            calls.push(call);
            if stirred {
                return Ok(calls);
            }
            self.still_runs().await?;
            if began.elapsed() > within {
                return Err(self.silent(&project, calls.pop(), within).await);
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// What there is to say of a target that did not react to this command.
    async fn silent(&self, project: &Project, call: Option<Call>, within: Duration) -> SessionError {
        let seconds = within.as_secs();
        let Some(call) = call else {
            let (tool_name, subject) = (String::new(), String::new());
            return SessionError::Silent { tool_name, subject, seconds, has_no_subscriber: false };
        };
        let has_no_subscriber = self.test_environment.has_no_subscriber(&call.subject).await;
        let subject = call.subject.replace(&project.name.unique, &project.name.stable);
        SessionError::Silent { tool_name: call.tool_name, subject, seconds, has_no_subscriber }
    }

    /// Asks a target that has answered without doing the work a few times more.
    async fn insist(&self, scene: &mut Scene, mut calls: Vec<Call>, grace: Duration) -> Option<Duration> {
        for _ in 0..GRACE_CALLS {
            calls.push(echo(self, scene).await);
            let worked = |frames: &[Frame]| calls.iter().find_map(|call| seen::latency(frames, call));
            if let Some(latency) = scene.project.transcript.wait(grace / GRACE_CALLS, worked).await {
                return Some(latency);
            }
        }
        None
    }

    /// After the work was seen: does a report follow?
    async fn reported(&self, project: &Project, latency: Duration) -> Ready {
        let report = |frames: &[Frame]| frames.iter().any(|frame| frame.kind == Kind::Report).then_some(());
        let liveness = match project.transcript.wait(GRACE.max(latency * 2), report).await {
            Some(()) => Liveness::Answers,
            None => Liveness::Works,
        };
        Ready { liveness, latency }
    }

    pub(super) async fn still_runs(&self) -> Result<(), SessionError> {
        self.test_environment.target_ended().await.map_or(Ok(()), |ended| Err(SessionError::Start(ended)))
    }

    /// Measures the target's own latency, with a few calls at a time.
    pub(super) async fn calibrate(
        &self,
        limits: &TimeoutLimits,
        within: Duration,
        alone: Duration,
    ) -> Result<Timeouts, SessionError> {
        let project = self.test_environment.project(&format!("calibration of {}", self.role.profile()));
        let mut scene = Scene::bare(self, Arc::clone(&project));
        let calls: Vec<_> = (0..CALIBRATION_CALLS).map(|_| scene.prepare(self.sentinel())).collect();
        for call in &calls {
            scene.send(self, call).await;
        }
        let deadline = Instant::now() + within.max(self.timeouts.answer);
        let mut slowest = Duration::ZERO;
        for call in &calls {
            let left = deadline.saturating_duration_since(Instant::now());
            // The work of another call is an answer too, and so ends the waiting.
            let took = |frames: &[Frame]| {
                seen::latency(frames, call)
                    .or_else(|| seen::is_mixed_up(frames, call).then_some(Duration::ZERO))
            };
            // A call that gets lost here is for the scenarios to find; it must not stretch all waiting.
            let latency = project.transcript.wait(left, took).await;
            slowest = slowest.max(latency.unwrap_or_default());
        }
        let misplaced =
            project.transcript.with(|frames| calls.iter().all(|call| seen::is_misplaced(frames, call)));
        if misplaced {
            return Err(SessionError::Pointer { pointer: calls[0].result_pointer.clone() });
        }
        Ok(Timeouts::calibrated(slowest, limits).side_by_side(alone, slowest))
    }

    /// Finds out whether scenarios that count would disturb each other.
    pub(super) async fn observe_counter(&self) -> Counter {
        if !self.declares(Tool::Count) {
            return Counter::Isolated;
        }
        let mut readings = Vec::new();
        for name in ["counter a", "counter b", "counter c"] {
            let project = self.test_environment.project(name);
            let mut scene = Scene::bare(self, Arc::clone(&project));
            readings.push(scene.read_counter(self).await);
        }
        match readings.as_slice() {
            [Some(a), Some(b), Some(c)] if a == b && b == c => Counter::Isolated,
            _ => Counter::Shared,
        }
    }
}

async fn echo(session: &UtpSession, scene: &mut Scene) -> Call {
    let call = scene.prepare(session.sentinel());
    scene.send(session, &call).await;
    call
}
