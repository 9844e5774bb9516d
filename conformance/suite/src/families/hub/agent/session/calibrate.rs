//! What is found out before the first scenario: whether the agent answers, whether it asks the Hub and reports the
//! result, and how fast it is.

use std::time::{Duration, Instant};

use super::{AgentError, AgentSession, Liveness};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::hub::agent::call::Choice;
use crate::families::hub::agent::driver::{DriverResponse, Unanswered};
use crate::families::hub::agent::judge::{CallRecord, Made, outcome};
use crate::families::hub::agent::scene;

/// Calls that measure.
const ROUNDS: u32 = 3;
/// Between the first two tries of an agent that does not listen yet.
const AGAIN: Duration = Duration::from_millis(10);
/// Between later ones.
const AGAIN_AT_LAST: Duration = Duration::from_millis(250);

impl AgentSession {
    pub(super) async fn calibrate(
        &mut self,
        limits: &TimeoutLimits,
        within: Duration,
    ) -> Result<(), AgentError> {
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        for number in 1..=ROUNDS {
            let made = self.first_call(number);
            let took = self.try_until(&made, began + within).await?;
            slowest = slowest.max(took);
            let seen = self.seen(&made);
            self.liveness = self.liveness.max(seen);
            if seen < Liveness::Works || began.elapsed() > Duration::from_secs(5) {
                break;
            }
        }
        self.timeouts = Timeouts::calibrated(slowest, limits);
        Ok(())
    }

    pub(super) fn first_call(&self, number: u32) -> Made {
        let unique = &self.router.unattributed.unique;
        let call = self.usual_call(Choice::AnyHubTool, unique, "").unwrap_or_default();
        Made { call, customer_id: self.customer_id.clone(), number }
    }

    /// Makes a call until it is answered. An agent that is just starting may not listen yet, behind a gateway that closes
    /// connections meanwhile, or say that it is not ready.
    async fn try_until(&self, made: &Made, end: Instant) -> Result<Duration, AgentError> {
        let mut pause = AGAIN;
        let mut last = None;
        loop {
            let began = Instant::now();
            let left = end.saturating_duration_since(began);
            let scenario_channel = &self.router.unattributed;
            let why = match scene::drive(self, scenario_channel, made, left).await {
                Ok(DriverResponse { status: Some(status @ (502 | 503)), .. }) => {
                    format!("it is not ready, and answers {status}")
                }
                Ok(_) => return Ok(began.elapsed()),
                Err(Unanswered::Late(_)) => {
                    if let Some(why) = last {
                        return Err(AgentError::Reach(why));
                    }
                    let seconds = self.table.launch.start_timeout().as_secs();
                    return Err(AgentError::Silent { tool: made.call.tool.clone(), seconds });
                }
                Err(Unanswered::NoConnection(why)) => why,
                Err(Unanswered::Closed(why)) if self.may_be_starting(made) => why,
                Err(Unanswered::Closed(why) | Unanswered::Failed(why)) => return Err(AgentError::Reach(why)),
            };
            if let Some(why) = self.ended() {
                return Err(AgentError::Start(why));
            }
            if Instant::now() >= end {
                return Err(AgentError::Reach(why));
            }
            last = Some(why);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(AGAIN_AT_LAST);
        }
    }

    /// Whether the suite started it, and nothing has come from it yet.
    fn may_be_starting(&self, made: &Made) -> bool {
        self.table.launch.is_started() && self.seen(made) == Liveness::Idle
    }

    fn seen(&self, made: &Made) -> Liveness {
        let frames = self.early();
        let call_record = CallRecord { made, frames: &frames };
        if call_record.executions().is_empty() {
            Liveness::Idle
        } else if outcome::holds(&call_record, &self.router.unattributed.mark) {
            Liveness::Works
        } else {
            Liveness::Responsive
        }
    }
}
