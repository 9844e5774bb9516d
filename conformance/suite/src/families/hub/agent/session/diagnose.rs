//! What the doctor asks of an agent.

use std::sync::Arc;

use super::AgentSession;
use crate::engine::diagnosis::Check;
use crate::engine::judge::Cause;
use crate::engine::session::Session as _;
use crate::families::hub::agent::call::Choice;
use crate::families::hub::agent::judge::{CallRecord, outcome};
use crate::families::hub::agent::scene::Scene;
use crate::families::hub::contract::TOOLS;

impl AgentSession {
    /// What the calibration of a session with an agent found.
    pub(super) async fn checks(self: &Arc<Self>) -> Vec<Check> {
        if !self.works() {
            let message = "it was asked to call a Hub tool, and either asked the mock Hub nothing or did not give back \
                           what the Hub answered: check `hub.agent.drive`, and that the agent takes its Hub from \
                           `CALLMARK_HUB_URL`";
            return vec![Check::bad("agent", Cause::Fixture, format!("{message}; {}", self.summary()))];
        }
        let found = format!("calls `{}` at the mock Hub and gives back its result", self.hub_tool());
        let mut checks = vec![Check::good("agent", found), Check::timeouts(&self.timeouts)];
        for tool in &self.table.tools {
            checks.push(match self.try_tool(tool).await {
                Ok(outcome) => Check::good(tool, outcome),
                Err(why) => Check::bad(tool, Cause::Fixture, why),
            });
        }
        let capabilities = self.capabilities();
        let untried = capabilities.iter().filter(|name| !name.starts_with("tool."));
        checks.extend(untried.map(|name| Check::untried(name)));
        checks
    }

    /// Has the agent call one of its Hub tools, and says what came of it.
    ///
    /// # Errors
    /// What came in place of the call and its result.
    async fn try_tool(self: &Arc<Self>, tool: &str) -> Result<String, String> {
        let place = TOOLS.iter().position(|own| *own == tool).unwrap_or(TOOLS.len());
        let mut scene = Scene::enter(self, &format!("doctor {tool}"), Arc::default()).await;
        let call = scene.prepare(Choice::Tool(place)).ok_or("it is no tool of a Hub")?;
        scene.make(call, None).await;
        scene.rest();
        let frames = scene.frames();
        let call_record = CallRecord { made: &scene.made[0], frames: &frames };
        if !call_record.executions().iter().any(|frame| frame.text("/tool") == Some(tool)) {
            return Err(format!("it does not call it at the mock Hub: {}", call_record.summary()));
        }
        match outcome::is_a_success(&call_record, &scene.scenario_channel.mark) {
            Ok(()) => Ok("calls it at the mock Hub and gives back its result".to_owned()),
            Err(_) => Err(format!("it calls it, and gives back no success: {}", call_record.summary())),
        }
    }
}
