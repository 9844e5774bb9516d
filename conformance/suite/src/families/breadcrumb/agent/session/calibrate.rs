//! What is found out before the first scenario: whether the agent calls the tools that it is asked to use, and how
//! fast it is.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{CrumbAgentError, CrumbAgentSession};
use crate::engine::timing::{TimeoutLimits, Timeouts};
use crate::families::breadcrumb::agent::agent_output::Utterance;
use crate::families::breadcrumb::agent::driver::Way;
use crate::families::breadcrumb::agent::ledger::Ledger;
use crate::families::breadcrumb::agent::task::Task;
use crate::families::breadcrumb::agent::user_request::UserRequest;
use crate::transcript::Frame;

/// For an agent that opens no event stream, before it is spoken to all the same.
const LISTENING: Duration = Duration::from_secs(5);
/// Before an agent that says nothing is spoken to again.
const AGAIN: Duration = Duration::from_secs(2);
/// What an agent that says something is given to call its tool, at least.
const MOMENT: Duration = Duration::from_secs(1);

/// When the agent first said something, and when it called its tool.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    spoke: Option<Duration>,
    called: Option<Duration>,
}

impl CrumbAgentSession {
    /// Asks for a note and for a memo, or a sum: who always does the same does one of them wrong.
    pub(super) async fn calibrate(
        &mut self,
        limits: &TimeoutLimits,
        within: Duration,
    ) -> Result<(), CrumbAgentError> {
        if matches!(self.around.driver.way, Way::Store) {
            let mut listeners = self.around.driver.store.contents.listeners();
            let someone = listeners.wait_for(|count| *count > 0);
            // Who reads lists in turn never listens.
            let _ = tokio::time::timeout(LISTENING.min(within), someone).await;
        }
        let (noted, first) = self.first_word("first", within).await?;
        self.timeouts = Timeouts::calibrated(first, limits);
        let mut second = None;
        if noted {
            second = self.try_once(UserRequest::Memo, "second", self.deadline()).await?.called;
            // Who may save nothing may work something out.
            if second.is_none() {
                second = self.try_once(UserRequest::Sum, "third", self.deadline()).await?.called;
            }
        }
        if let Some(second) = second {
            self.timeouts = Timeouts::calibrated(first.max(second), limits);
            self.works = true;
        }
        Ok(())
    }

    /// Asks until the agent says something. Whether that was the call, and how long it took.
    pub(super) async fn first_word(
        &self,
        name: &str,
        within: Duration,
    ) -> Result<(bool, Duration), CrumbAgentError> {
        let began = Instant::now();
        for number in 1.. {
            let left = within.saturating_sub(began.elapsed());
            let patience = (AGAIN * number).min(left);
            let first = self.try_once(UserRequest::Note, &format!("{name} {number}"), patience).await?;
            if let Some(spoke) = first.spoke {
                return Ok((first.called.is_some(), first.called.unwrap_or(spoke)));
            }
            let ended = self.ended();
            if ended.is_some() || began.elapsed() >= within {
                return Err(self.silent(within, ended));
            }
        }
        Err(self.silent(within, None))
    }

    /// Asks for a task, and sees what comes of it.
    async fn try_once(
        &self,
        user_request: UserRequest,
        name: &str,
        patience: Duration,
    ) -> Result<Tried, CrumbAgentError> {
        let unique = self.unique(&format!("calibration {name}"));
        let (state, _attending) = self.enter(&unique, Arc::default());
        let task = Task::new(user_request, &unique, 1, self.conversation("sess", &unique));
        self.say(&state, task).await.map_err(CrumbAgentError::Reach)?;
        let tasks = state.tasks();
        let spoke = |frames: &[Frame]| (!Utterance::all(frames).is_empty()).then_some(());
        // The tool that it was asked to use, and what for.
        let called = |frames: &[Frame]| {
            let ledger = Ledger::of(frames, &tasks);
            let planned_call = &tasks[0].stages[0][0];
            let all = Utterance::all(frames);
            let is_meant = all.iter().flat_map(Utterance::calls).any(|call| {
                let input = call.input().map(ToString::to_string).unwrap_or_default();
                planned_call.key.as_ref().is_some_and(|key| input.contains(key.as_str()))
                    && !input.contains("Use the tool")
            });
            (is_meant && ledger.made((0, 0, 0)).next().is_some()).then_some(())
        };
        let transcript = &state.scenario_channel.transcript;
        let began = Instant::now();
        if transcript.wait(patience, spoke).await.is_none() {
            return Ok(Tried::default());
        }
        let spoke = began.elapsed();
        let moment = MOMENT.max(patience.saturating_sub(spoke).min(self.deadline()));
        let called = transcript.wait(moment, called).await.map(|()| began.elapsed());
        Ok(Tried { spoke: Some(spoke), called })
    }

    fn silent(&self, within: Duration, ended: Option<String>) -> CrumbAgentError {
        if let Some(why) = self.around.driver.trouble() {
            return CrumbAgentError::Reach(why);
        }
        let listens = !matches!(self.around.driver.way, Way::Store)
            || *self.around.driver.store.contents.listeners().borrow() > 0;
        CrumbAgentError::Silent {
            seconds: within.as_secs(),
            what: if listens {
                "was sent a `user.message.v1`, and says nothing with `schema_name` `agent.response.v1`"
            } else {
                "never opened the event stream of the store at `CALLMARK_STORE_URL`"
            },
            ended: ended.map_or_else(String::new, |ended| format!("; {ended}")),
        }
    }
}
