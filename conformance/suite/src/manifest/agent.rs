//! `[hub.agent]`: an agent, how it is started and driven.

use serde::Deserialize;

/// `[hub.agent]`: selects the profile `hub.agent`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentTable {}
