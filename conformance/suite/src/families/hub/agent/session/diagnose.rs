//! What the doctor asks of an agent.

use std::sync::Arc;

use super::AgentSession;
use crate::families::hub::agent::call::Choice;
use crate::families::hub::agent::judge::{CallRecord, outcome};
use crate::families::hub::agent::scene::Scene;
use crate::families::hub::contract::TOOLS;

impl AgentSession {
    /// Has the agent call one of its Hub tools, and says what came of it.
    ///
    /// # Errors
    /// What came in place of the call and its result.
    pub async fn try_tool(self: &Arc<Self>, tool: &str) -> Result<String, String> {
        let place = TOOLS.iter().position(|own| *own == tool).unwrap_or(TOOLS.len());
        let mut scene = Scene::enter(self, &format!("doctor {tool}"), Arc::default()).await;
        let call = scene.prepare(Choice::Tool(place)).ok_or("it is no tool of a Hub")?;
        scene.make(call, None).await;
        scene.rest();
        let frames = scene.frames();
        let call_record = CallRecord { made: &scene.made[0], frames: &frames };
        if !call_record.executions().iter().any(|frame| frame.text("/tool") == Some(tool)) {
            return Err(format!("it does not call it at the mock Hub: {}", call_record.told()));
        }
        match outcome::is_a_success(&call_record, &scene.scenario_channel.mark) {
            Ok(()) => Ok("calls it at the mock Hub and gives back its result".to_owned()),
            Err(_) => Err(format!("it calls it, and gives back no success: {}", call_record.told())),
        }
    }
}
