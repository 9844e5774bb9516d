//! First calls: whether the runner answers, whether it does the work, and how fast it is.

use std::time::{Duration, Instant};

use serde_json::json;

use super::RunnerSession;
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::breadcrumb::crumb::{INVOCATION, REQUEST};
use crate::families::breadcrumb::manifest::Dispatch;
use crate::families::breadcrumb::router::ScenarioChannel;
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::error::RunnerError;
use crate::transcript::Frame;

/// Between two tries of the first call.
const RETRY: Duration = Duration::from_millis(250);
/// Calls after the first that was answered.
const WARM: usize = 2;
/// For a runner that opens no event stream, before it is asked all the same.
const LISTENING: Duration = Duration::from_secs(2);

impl RunnerSession {
    /// Makes first calls until one is answered.
    pub(super) async fn calibrate(
        &mut self,
        limits: &TimeoutLimits,
        within: Duration,
    ) -> Result<(), RunnerError> {
        let began = Instant::now();
        if let Some(contents) = self.store_access.contents() {
            let mut listeners = contents.listeners();
            let someone = listeners.wait_for(|count| *count > 0);
            // Who reads lists in turn never listens.
            let _ = tokio::time::timeout(LISTENING.min(within), someone).await;
        }
        let mut tries = 0_u32;
        let mut calls: Vec<(Call, Instant)> = Vec::new();
        let mut scenes = Vec::new();
        loop {
            tries += 1;
            let unique = self.unique(&format!("calibration {tries}"));
            let scenario_channel = self.router.enter(&unique);
            let call = self.sentinel(&unique, "hello");
            let sent_at = Instant::now();
            self.first_call(&scenario_channel, &unique, &call).await.map_err(RunnerError::Reach)?;
            calls.push((call.clone(), sent_at));
            scenes.push(scenario_channel);
            let until = Instant::now() + RETRY * tries.min(8);
            while Instant::now() < until {
                for (scenario_channel, (call, sent_at)) in scenes.iter().zip(&calls) {
                    let wait = Duration::from_millis(5).min(until.saturating_duration_since(Instant::now()));
                    let answered = scenario_channel
                        .transcript
                        .wait(wait, |frames| {
                            Answer::of(frames, call).map(|answer| Self::is_own_work(call, &answer))
                        })
                        .await;
                    if let Some(works) = answered {
                        self.works = works;
                        self.timeouts = Timeouts::calibrated(sent_at.elapsed(), limits);
                        if works {
                            self.settle(limits).await;
                        }
                        return Ok(());
                    }
                }
            }
            let ended = self.ended();
            if ended.is_some() || began.elapsed() > within {
                return Err(RunnerError::Silent {
                    tool: call.tool().to_owned(),
                    seconds: within.as_secs(),
                    what: self.store_access.silence(),
                    ended: ended.map_or_else(String::new, |ended| format!("; {ended}")),
                });
            }
        }
    }

    /// The first call may have waited for the runner to start; what it usually takes shows in further ones.
    async fn settle(&mut self, limits: &TimeoutLimits) {
        let mut slowest = Duration::ZERO;
        for number in 1..=WARM {
            let unique = self.unique(&format!("calibration, warm {number}"));
            let scenario_channel = self.router.enter(&unique);
            let call = self.sentinel(&unique, "again");
            let sent_at = Instant::now();
            let answered = |frames: &[Frame]| Answer::of(frames, &call).map(|_| ());
            // Who answers the first call only is the scenarios' business.
            if self.first_call(&scenario_channel, &unique, &call).await.is_err()
                || scenario_channel.transcript.wait(self.timeouts.answer, answered).await.is_none()
            {
                return;
            }
            slowest = slowest.max(sent_at.elapsed());
        }
        self.timeouts = self.timeouts.usually(slowest, limits);
    }

    /// Makes first calls until one is answered, by whatever.
    ///
    /// # Errors
    /// What the runner does in place of that.
    pub(super) async fn wait_for_it(&self, within: Duration) -> Result<(), String> {
        let began = Instant::now();
        for number in 1_u32.. {
            let unique = self.unique(&format!("restart {}, {number}", self.process.restarts()));
            let scenario_channel = self.router.enter(&unique);
            let call = self.sentinel(&unique, "hello");
            self.first_call(&scenario_channel, &unique, &call).await?;
            let answered = |frames: &[Frame]| Answer::of(frames, &call).map(|_| ());
            if scenario_channel.transcript.wait(RETRY * number.min(8), answered).await.is_some() {
                return Ok(());
            }
            if let Some(ended) = self.ended() {
                return Err(ended);
            }
            if began.elapsed() > within {
                break;
            }
        }
        Err(format!("it answers no call within {} s", within.as_secs()))
    }

    /// A call before the first scenario.
    async fn first_call(
        &self,
        scenario_channel: &ScenarioChannel,
        unique: &str,
        call: &Call,
    ) -> Result<(), String> {
        let session = self.session_tag(unique);
        let body = if self.runner.dispatch == Dispatch::Agent {
            json!({"schema_name": INVOCATION, "title": self.named("Response"), "tags": ["agent:response", session],
                "context": {"message": "Hello.", "tool_requests": [call.request()]}})
        } else {
            let mut tags = self.runner.request_tags.clone();
            tags.push(session);
            let title = self.named(&format!("Tool Request: {}", call.tool()));
            json!({"schema_name": REQUEST, "title": title, "tags": tags, "context": call.single(self.runner.routes())})
        };
        let turn = self.outbound.turn().await;
        self.router.open_calls.hold(vec![call.id().to_owned()], turn, self.deadline(call));
        self.store_access.put(&self.router, scenario_channel, body).await.map(|_| ())
    }
}
