//! What the Worlds of all families have in common.
//!
//! Each family has a World of its own (`utp::world`, `toolbus::world`), so that a step of one cannot stand in a
//! scenario of another, and so that a step is looked up among its own family's only.

use std::collections::BTreeSet;
use std::sync::Arc;

use cucumber::codegen::WorldInventory;
use serde_json::Value;

use crate::judge::Trouble;
use crate::manifest::ProbeName;
use crate::toolbus::session::ToolbusSession;
use crate::transcript::Transcript;
use crate::utp::capture::Capture;
use crate::utp::judge::late::Late;
use crate::utp::session::{Liveness, UtpSession};

/// What all scenarios of a run share.
#[derive(Clone, Default)]
pub struct Stage {
    /// A Tool Service under test.
    pub utp: Option<Arc<UtpSession>>,
    /// Captured messages under test.
    pub capture: Option<Arc<Capture>>,
    /// An MCP server under test.
    pub toolbus: Option<Arc<ToolbusSession>>,
}

impl Stage {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        let mut capabilities = BTreeSet::new();
        if let Some(session) = &self.utp {
            let probes = ProbeName::ALL.into_iter().filter(|probe| session.declares(*probe));
            capabilities.extend(probes.map(|probe| format!("probe.{}", probe.name())));
        }
        if let Some(capture) = &self.capture {
            capabilities.extend(capture.kinds.iter().map(|kind| format!("capture.{kind}")));
            capabilities.extend(capture.statuses.iter().map(|status| format!("status.{status}")));
        }
        if let Some(session) = &self.toolbus {
            capabilities.extend(session.capabilities());
        }
        capabilities
    }

    /// Why nothing that the target does counts as a pass in `profile`.
    pub fn idle(&self, profile: &str) -> Option<&'static str> {
        let idle = match Family::of(profile) {
            Family::Utp if profile == "utp.schema" => false,
            Family::Utp => self.utp.as_ref().is_some_and(|session| session.liveness == Liveness::Stirs),
            Family::Toolbus => self.toolbus.as_ref().is_some_and(|session| !session.works()),
        };
        idle.then_some("the target never did the work of its echo probe, so nothing counts as a pass")
    }

    /// Ends what the stage holds open.
    pub async fn close(&self) {
        if let Some(session) = &self.utp {
            session.close().await;
        }
        if let Some(session) = &self.toolbus {
            session.close().await;
        }
    }
}

/// Protocols that share a World.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// UTP over NATS.
    Utp,
    /// The tool bus over MCP.
    Toolbus,
}

impl Family {
    /// All families that have features.
    pub const ALL: [Self; 2] = [Self::Utp, Self::Toolbus];

    /// The family of a profile.
    pub fn of(profile: &str) -> Self {
        if profile.starts_with("toolbus.") { Self::Toolbus } else { Self::Utp }
    }
}

/// The World of a family, as the engine knows it.
pub(crate) trait FamilyWorld: cucumber::World + std::fmt::Debug + WorldInventory {
    /// Puts the World on the stage before its first step.
    fn enter(&mut self, stage: Stage, scenario: &str);

    /// Why the scenario ended early.
    fn trouble(&self) -> Option<&Trouble>;

    /// What it leaves behind for the verdict, the evidence and the transcript.
    fn remains(&self) -> Remains;

    /// Gives back what other scenarios wait for.
    fn leave(&mut self) {}
}

/// What a World leaves behind.
#[derive(Clone, Debug, Default)]
pub struct Remains {
    /// The messages of the scenario; some may still come.
    pub transcript: Option<Arc<Transcript>>,
    /// What this run made up, and the stable name that stands for it in reports.
    pub names: Vec<(String, String)>,
    /// What ends the unique part of every id of the run, where reports leave that out.
    pub nonce: Option<String>,
    /// What MAY rules recorded.
    pub notes: Vec<String>,
    /// What is judged again at the end.
    pub late: Vec<Late>,
    /// Body of the message that the scenario is about.
    pub subject: Option<Value>,
    /// A command line that sends it by hand, where that is not the publishing of a message.
    pub reproduce: Option<String>,
}

/// Ends a scenario; what happened is in the World.
#[derive(Debug)]
pub struct Halt;

/// What stands in a panic that is no fault.
const HALT: &str = "the scenario ended; its World says why";

impl std::fmt::Display for Halt {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(HALT)
    }
}

/// Whether a panic is only how cucumber is told that a scenario ended.
///
/// cucumber keeps such panics quiet by a hook of the whole process, which several runs at a time take from each
/// other; who prints panics asks here first.
pub fn is_halt(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.downcast_ref::<String>().is_some_and(|text| text.contains(HALT))
}

/// What a step answers.
pub type Step = Result<(), Halt>;
