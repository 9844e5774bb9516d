//! `[breadcrumb.agent]`: an agent that writes invocations (`docs/breadcrumbs.md`, "An agent").

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::engine::manifest::{LaunchTable, durations};

/// Placeholders that `env` and `drive` may hold.
pub const CRUMB_AGENT_PLACEHOLDERS: [&str; 3] = ["store_url", "model_url", "listen"];

/// `[breadcrumb.agent]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrumbAgentTable {
    /// How the agent is started, and the environment of all its command lines; [`CRUMB_AGENT_PLACEHOLDERS`] are filled
    /// in.
    #[serde(flatten)]
    pub launch: LaunchTable,
    /// How it is spoken with; over the store when absent.
    #[serde(default)]
    pub drive: Option<CrumbDriveTable>,
    /// What it posts to the store.
    #[serde(default)]
    pub capture: Capture,
    /// Where its language model is.
    #[serde(default)]
    pub model: CrumbModel,
    /// Another form of the user's message, with `{text}` and `{session}`.
    #[serde(default)]
    pub say: Option<Value>,
    /// Whether it ever names a `config_id`.
    #[serde(default = "yes")]
    pub config: bool,
    /// Where the suite's store listens, for an agent that runs already.
    #[serde(default)]
    pub listen: Option<String>,
    /// Where the suite's model listens, for an agent that runs already.
    #[serde(default)]
    pub model_listen: Option<String>,
    /// A JSON file with breadcrumbs that the store holds from the start.
    #[serde(default)]
    pub fixtures: Option<PathBuf>,
    /// For an answer; 10 seconds when absent.
    #[serde(default)]
    pub deadline_seconds: Option<f64>,
    /// One scenario at a time.
    #[serde(default)]
    pub serial: bool,
}

const fn yes() -> bool {
    true
}

impl CrumbAgentTable {
    /// Whether the whole invocation is seen.
    pub fn shows_envelopes(&self) -> bool {
        self.drive.is_some() || self.capture == Capture::Envelope
    }
}

/// `[breadcrumb.agent.drive]`: one of `http` and `command`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CrumbDriveTable {
    /// Breadcrumbs are posted there; `{listen}` stands for the address that a started agent was given.
    #[serde(default)]
    pub http: Option<String>,
    /// JSON lines on the standard input and output of this command line.
    #[serde(default)]
    pub command: Option<Vec<String>>,
}

/// What an agent posts to the store (resolution A8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Capture {
    /// The breadcrumb.
    #[default]
    Breadcrumb,
    /// The whole invocation.
    Envelope,
}

/// Where an agent's language model is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CrumbModel {
    /// The suite plays it behind an OpenAI-compatible endpoint.
    #[default]
    Openai,
    /// The suite plays it behind a tool that the agent calls.
    Tool,
    /// It has its own.
    None,
}

impl CrumbAgentTable {
    /// For an answer.
    pub fn deadline(&self) -> Duration {
        durations::or(self.deadline_seconds, Duration::from_secs(10))
    }

    pub(crate) fn contradictions(&self, faults: &mut Vec<String>) {
        let drive = self.drive.as_ref();
        let command = drive.is_some_and(|drive| drive.command.is_some());
        if drive.is_some_and(|drive| drive.http.is_some() == drive.command.is_some()) {
            faults.push("`breadcrumb.agent.drive` needs exactly one of `http` and `command`".to_owned());
        }
        if !self.launch.is_started() && !command {
            if drive.is_none() && self.listen.is_none() {
                faults.push(
                    "`breadcrumb.agent.listen` is needed for an agent that runs already: its store must have an \
                     address that it knows"
                        .to_owned(),
                );
            }
            if self.model == CrumbModel::Openai && self.model_listen.is_none() {
                faults.push(
                    "`breadcrumb.agent.model_listen` is needed for an agent that runs already, unless `model` is \
                     `tool` or `none`"
                        .to_owned(),
                );
            }
        }
        if self.listen.is_some() && self.listen == self.model_listen {
            faults.push("`breadcrumb.agent.listen` and `model_listen` are one address".to_owned());
        }
    }
}
