//! What the Worlds of all families have in common.
//!
//! Each family has a World of its own (`utp::world`, `runtime::world`, `management::world`,
//! `toolbus::world`, `hub::world`, `hub::agent::world`, `breadcrumb::world`), so that a step of one cannot stand in a
//! scenario of another, and so that a step is looked up among its own family's only.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cucumber::codegen::WorldInventory;
use futures::FutureExt as _;
use serde_json::Value;

use crate::breadcrumb::agent::session::CrumbAgentSession;
use crate::breadcrumb::session::RunnerSession;
use crate::by_hand::ByHand;
use crate::hub::agent::session::AgentSession;
use crate::hub::session::HubSession;
use crate::judge::{Cause, Judgement, Trouble};
use crate::management::session::ManagementSession;
use crate::runtime::session::RuntimeSession;
use crate::toolbus::session::ToolbusSession;
use crate::transcript::Transcript;
use crate::utp::capture::Capture;
use crate::utp::ground::Ground;
use crate::utp::judge::late::Late;
use crate::utp::session::{Liveness, UtpSession};
use crate::utp::tool::Role;

/// What all scenarios of a run share.
#[derive(Clone, Default)]
pub struct Stage {
    /// Broker, platform and process of a UTP target.
    pub ground: Option<Arc<Ground>>,
    /// What of it answers commands, by role.
    pub utp: BTreeMap<Role, Arc<UtpSession>>,
    /// An agent runtime under test.
    pub runtime: Option<Arc<RuntimeSession>>,
    /// A management API under test.
    pub management: Option<Arc<ManagementSession>>,
    /// Captured messages under test.
    pub capture: Option<Arc<Capture>>,
    /// An MCP server under test.
    pub toolbus: Option<Arc<ToolbusSession>>,
    /// A Hub under test.
    pub hub: Option<Arc<HubSession>>,
    /// An agent under test, the Hub's client.
    pub agent: Option<Arc<AgentSession>>,
    /// A tool runner under test.
    pub runner: Option<Arc<RunnerSession>>,
    /// An agent under test that writes invocations.
    pub crumb_agent: Option<Arc<CrumbAgentSession>>,
}

impl Stage {
    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        let mut capabilities = BTreeSet::new();
        for session in self.utp.values() {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.runtime {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.management {
            capabilities.extend(session.capabilities());
        }
        if let Some(capture) = &self.capture {
            capabilities.extend(capture.kinds.iter().map(|kind| format!("capture.{kind}")));
            capabilities.extend(capture.statuses.iter().map(|status| format!("status.{status}")));
        }
        if let Some(session) = &self.toolbus {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.hub {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.agent {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.runner {
            capabilities.extend(session.capabilities());
        }
        if let Some(session) = &self.crumb_agent {
            capabilities.extend(session.capabilities());
        }
        capabilities
    }

    /// What was made up for the run and must not be stored.
    pub fn secrets(&self) -> Vec<String> {
        let upstream = self.ground.iter().filter_map(|ground| ground.upstream.as_ref());
        let keys = upstream.flat_map(|upstream| upstream.plan.keys.iter().map(|key| key.expose().to_owned()));
        let parameter = self.runtime.iter().filter_map(|session| session.secret.clone());
        keys.chain(parameter).chain(self.runner.iter().flat_map(|session| session.secrets())).collect()
    }

    /// Why nothing that the target does counts as a pass in `profile`.
    pub fn idle(&self, profile: &str) -> Option<&'static str> {
        let never_echoed = "the target never did the work of its echo probe, so nothing counts as a pass";
        let (idle, why) = match profile {
            "utp.schema" => (false, never_echoed),
            "utp.tool-service" | "utp.pmo" | "utp.openapi" => {
                let session = Role::of(profile).and_then(|role| self.utp.get(&role));
                let stirs = |session: &Arc<UtpSession>| session.liveness == Liveness::Stirs;
                (
                    session.is_some_and(stirs),
                    session.map_or(never_echoed, |session| session.role.never_worked()),
                )
            }
            "utp.worker" | "utp.execution" => (
                self.runtime.as_ref().is_some_and(|session| !session.works()),
                "no tool call of the model came out as a command, so nothing counts as a pass",
            ),
            "utp.registry" => (
                self.management.as_ref().is_some_and(|session| !session.works()),
                "no uploaded definition could be read back, so nothing counts as a pass",
            ),
            "toolbus.server" | "toolbus.artifacts" => {
                (self.toolbus.as_ref().is_some_and(|session| !session.works()), never_echoed)
            }
            "hub.server" => (
                self.hub.as_ref().is_some_and(|session| !session.works()),
                "the Hub answers different requests alike, so nothing counts as a pass",
            ),
            "hub.agent" => (
                self.agent.as_ref().is_some_and(|session| !session.works()),
                "the agent never did what it was asked to, so nothing counts as a pass",
            ),
            "breadcrumb.runner" | "breadcrumb.tools" | "breadcrumb.workflow" => (
                self.runner.as_ref().is_some_and(|session| !session.works()),
                "the runner answers calls without doing the work of their tools, so nothing counts as a pass",
            ),
            "breadcrumb.agent" => (
                self.crumb_agent.as_ref().is_some_and(|session| !session.works()),
                "the agent never asked for the tool that it was told to use, so nothing counts as a pass",
            ),
            _ => return None,
        };
        idle.then_some(why)
    }

    /// Ends what the stage holds open, all at once.
    pub async fn close(&self) {
        let ground = self.ground.iter().map(|own| own.close().boxed());
        let management = self.management.iter().map(|own| own.close().boxed());
        let toolbus = self.toolbus.iter().map(|own| own.close().boxed());
        let hub = self.hub.iter().map(|own| own.close().boxed());
        let agent = self.agent.iter().map(|own| own.close().boxed());
        let runner = self.runner.iter().map(|own| own.close().boxed());
        let crumb_agent = self.crumb_agent.iter().map(|own| own.close().boxed());
        let all = ground.chain(management).chain(toolbus).chain(hub).chain(agent).chain(runner);
        futures::future::join_all(all.chain(crumb_agent)).await;
    }
}

/// What every World has, whatever its family.
#[derive(Default)]
pub struct Core {
    /// What all scenarios share.
    pub stage: Stage,
    /// Id of the scenario.
    pub scenario: String,
    /// What the scenario writes down.
    pub transcript: Arc<Transcript>,
    /// Why it ended early.
    pub trouble: Option<Trouble>,
    /// What MAY rules recorded.
    pub notes: Vec<String>,
}

impl Core {
    /// What the scenario writes down.
    pub(crate) fn written(&self) -> Arc<Transcript> {
        Arc::clone(&self.transcript)
    }

    /// What the ids of the scenario follow from: another text for each time that it is run.
    pub(crate) fn identity(&self) -> String {
        match self.transcript.attempt() {
            0 => self.scenario.clone(),
            attempt => format!("{}, attempt {}", self.scenario, attempt + 1),
        }
    }
}

impl std::fmt::Debug for Core {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("World")
            .field("scenario", &self.scenario)
            .field("trouble", &self.trouble)
            .finish_non_exhaustive()
    }
}

/// What every World has, and where.
pub(crate) trait HasCore {
    /// What every World has.
    fn core(&self) -> &Core;

    /// What every World has.
    fn core_mut(&mut self) -> &mut Core;
}

/// Says of a World with a field `core` that it has one, which is also what is to be seen of it.
macro_rules! has_core {
    ($world:ty) => {
        impl $crate::world::HasCore for $world {
            fn core(&self) -> &$crate::world::Core {
                &self.core
            }

            fn core_mut(&mut self) -> &mut $crate::world::Core {
                &mut self.core
            }
        }

        impl std::fmt::Debug for $world {
            fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.core.fmt(formatter)
            }
        }
    };
}
pub(crate) use has_core;

/// The World of a family, as the engine and its steps know it.
pub(crate) trait FamilyWorld: cucumber::World + std::fmt::Debug + WorldInventory + HasCore {
    /// What it leaves behind for the verdict, the evidence and the transcript.
    fn remains(&self) -> Remains;

    /// Gives back what other scenarios wait for.
    fn leave(&mut self) {}

    /// Whether it was given something that earlier scenarios may have harmed.
    fn borrowed(&self) -> bool {
        false
    }

    /// Ends the scenario.
    fn halt(&mut self, trouble: Trouble) -> Halt {
        self.core_mut().trouble = Some(trouble);
        Halt
    }

    /// Ends the scenario unless the judgement is good.
    fn judge(&mut self, judgement: Judgement) -> Step {
        judgement.map_err(|trouble| self.halt(trouble))
    }

    /// Records what a MAY rule is about.
    fn note(&mut self, text: impl Into<String>) {
        self.core_mut().notes.push(text.into());
    }

    /// Ends the scenario where the target's process has ended, for the reason that is given then.
    fn goes_on(&mut self, ended: Option<String>) -> Step {
        match ended {
            None => Ok(()),
            Some(message) => Err(self.halt(Trouble::CouldNotRun { cause: Cause::Implementation, message })),
        }
    }

    /// Ends the scenario for a fault of ours.
    fn suite_fault(&mut self, message: &str) -> Halt {
        self.halt(Trouble::CouldNotRun { cause: Cause::Suite, message: message.to_owned() })
    }
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
    /// What is judged again at the end.
    pub late: Vec<Late>,
    /// Body of the message that the scenario is about.
    pub subject: Option<Value>,
    /// How a message to the target is sent by hand.
    pub reproduce: Option<ByHand>,
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
