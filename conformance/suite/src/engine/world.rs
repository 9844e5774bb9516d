//! What the Worlds of all families have in common.
//!
//! Each family has a World of its own, so that a step of one cannot stand in a scenario of another, and so that a step
//! is looked up among its own family's only.

use std::any::Any;
use std::sync::Arc;

use callmark_reports::record::Direction;
use cucumber::codegen::WorldInventory;
use serde_json::Value;

use crate::engine::by_hand::ByHand;
use crate::engine::invariant::{Every, ExchangeKind, Invariant};
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::session::{Session, Sessions};
use crate::transcript::{Frame, Transcript};

/// What every World has, whatever its family.
#[derive(Default)]
pub struct Core {
    /// The open sessions of the run.
    pub sessions: Sessions,
    /// Id of the family.
    pub family: &'static str,
    /// Id of the scenario.
    pub scenario: String,
    /// What the scenario writes down.
    pub transcript: Arc<Transcript>,
    /// Why it ended early.
    pub trouble: Option<CheckFailure>,
    /// What MAY rules recorded.
    pub notes: Vec<String>,
    /// The judgements of every exchange of the run; nothing for a scenario that judges its own.
    pub(crate) every: Option<Box<dyn Invariant>>,
}

/// Whether a text within a body holds these words.
fn says(body: &Value, words: &str) -> bool {
    match body {
        Value::String(text) => text.contains(words),
        Value::Array(items) => items.iter().any(|item| says(item, words)),
        Value::Object(members) => members.values().any(|member| says(member, words)),
        _ => false,
    }
}

impl Core {
    /// What the scenario writes down.
    pub(crate) fn written(&self) -> Arc<Transcript> {
        Arc::clone(&self.transcript)
    }

    /// What this machine does not do for the bundled reference, by the reference's own word.
    pub(crate) fn fault_of_the_machine(&self) -> Option<String> {
        let known = self.sessions.faults_of_the_machine();
        if known.is_empty() {
            return None;
        }
        let from_target = |frame: &&Frame| frame.direction == Direction::FromTarget;
        // No look of a step: who judges again has no such faults to look for.
        self.transcript.peek(|frames| {
            let mut bodies = frames.iter().filter(from_target).map(|frame| &frame.body);
            bodies.find_map(|body| known.iter().find(|fault| says(body, fault)).cloned())
        })
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

/// Says of a World with a field `core` that it has one, which is also what is to be seen of it; and of one with a field
/// `scene` that the step which is named opens it.
macro_rules! has_core {
    ($world:ty, $visibility:vis $scene:ty, $opened_by:literal) => {
        $crate::engine::world::has_core!($world);

        impl $world {
            /// The scene that the first step opened.
            $visibility fn scene(&mut self) -> Result<&mut $scene, $crate::engine::world::Abort> {
                if self.scene.is_none() {
                    let message = concat!("no step opened the scene (`", $opened_by, "`)");
                    return Err($crate::engine::world::FamilyWorld::suite_fault(self, message));
                }
                self.scene.as_mut().ok_or($crate::engine::world::Abort)
            }
        }
    };
    ($world:ty) => {
        impl $crate::engine::world::HasCore for $world {
            fn core(&self) -> &$crate::engine::world::Core {
                &self.core
            }

            fn core_mut(&mut self) -> &mut $crate::engine::world::Core {
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
    fn artifacts(&self) -> ScenarioArtifacts;

    /// Has what follows judged of every exchange of a kind in the run, in place of those of one scenario.
    fn judge_every<K: ExchangeKind>(&mut self, kind: K) {
        self.core_mut().every = Some(Box::new(Every::of(kind)));
    }

    /// Whether the scenario judges the exchanges of others.
    fn judges_every(&self) -> bool {
        self.core().every.is_some()
    }

    /// The judgements of every exchange of a kind; nothing for a scenario that judges its own, or those of another kind.
    fn every<K: ExchangeKind>(&mut self) -> Option<&mut Every<K>> {
        let every: &mut dyn Any = self.core_mut().every.as_deref_mut()?;
        every.downcast_mut()
    }

    /// Adds a judgement of every exchange of a kind; `missing` is what is wrong where no step named that kind.
    fn check_every<K: ExchangeKind>(
        &mut self,
        missing: &str,
        check: impl for<'e, 'a> Fn(&'e K::Exchange<'a>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<K>() {
            Some(every) => {
                every.check(check);
                Ok(())
            }
            None => Err(self.suite_fault(missing)),
        }
    }

    /// What an `@always` scenario judges of every exchange; nothing for any other scenario.
    fn invariant(&mut self) -> Option<Arc<dyn Invariant>> {
        self.core_mut().every.take().map(Arc::from)
    }

    /// Gives back what other scenarios wait for.
    fn on_end(&mut self) {}

    /// Whether it was given something that earlier scenarios may have harmed.
    fn borrowed(&self) -> bool {
        false
    }

    /// How a process ended that the scenario had, and that nobody asked to.
    fn exited(&self) -> Option<String> {
        None
    }

    /// Ends the scenario.
    fn abort(&mut self, trouble: CheckFailure) -> Abort {
        self.core_mut().trouble = Some(trouble);
        Abort
    }

    /// Ends the scenario unless the judgement is good.
    fn judge(&mut self, judgement: Judgement) -> Step {
        judgement.map_err(|trouble| self.abort(trouble))
    }

    /// Ends the scenario unless the judgement is good. What is missing of a target that shows nothing, and never did, was
    /// not observed: `idle` says of what.
    fn judge_unless_idle(&mut self, judgement: Judgement, idle: Option<&str>) -> Step {
        match (judgement, idle) {
            (Err(CheckFailure::Broken(_)), Some(why)) => {
                Err(self.abort(CheckFailure::NotObserved(why.to_owned())))
            }
            (judgement, _) => self.judge(judgement),
        }
    }

    /// The session of the run; `what` it is one with, for a message.
    fn session_with<S: Session>(&mut self, what: &str) -> Result<Arc<S>, Abort> {
        let core = self.core();
        let session = core.sessions.of_type::<S>(core.family).or_else(|| core.sessions.get::<S>());
        session.ok_or_else(|| self.suite_fault(&format!("the scenario needs {what}, and the run has none")))
    }

    /// Ends a scenario that had no chance.
    fn could_not_run(&mut self, cause: Cause, message: String) -> Abort {
        self.abort(CheckFailure::CouldNotRun { cause, message })
    }

    /// Records what a MAY rule is about.
    fn note(&mut self, text: impl Into<String>) {
        self.core_mut().notes.push(text.into());
    }

    /// Ends the scenario where the target's process has ended, for the reason that is given then.
    fn ensure_running(&mut self, ended: Option<String>) -> Step {
        match ended {
            None => Ok(()),
            Some(message) => Err(self.could_not_run(Cause::Implementation, message)),
        }
    }

    /// Ends the scenario for a fault of ours.
    fn suite_fault(&mut self, message: &str) -> Abort {
        self.could_not_run(Cause::Suite, message.to_owned())
    }
}

/// Hexadecimal digits of a unique id that are the same in every run; a run's own follow them.
pub const STABLE: usize = 10;

/// What a World leaves behind.
#[derive(Clone, Debug, Default)]
pub struct ScenarioArtifacts {
    /// The messages of the scenario; some may still come.
    pub transcript: Option<Arc<Transcript>>,
    /// What this run made up, and the stable name that stands for it in reports.
    pub names: Vec<(String, String)>,
    /// What ends the unique part of every id of the run, where reports leave that out.
    pub nonce: Option<String>,
    /// Whether something is judged once more at the end of the run.
    pub is_rechecked: bool,
    /// Body of the message that the scenario is about.
    pub subject: Option<Value>,
    /// How a message to the target is sent by hand.
    pub reproduce: Option<ByHand>,
}

/// Ends a scenario; what happened is in the World.
#[derive(Debug)]
pub struct Abort;

/// What stands in a panic that is no fault.
const ABORT: &str = "the scenario ended; its World says why";

impl std::fmt::Display for Abort {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(ABORT)
    }
}

/// Whether a panic is only the way to end a scenario in cucumber.
///
/// cucumber keeps such panics quiet by a hook of the whole process, which several runs at a time take from each
/// other; who prints panics asks here first.
pub fn is_abort(payload: &(dyn std::any::Any + Send)) -> bool {
    payload.downcast_ref::<String>().is_some_and(|text| text.contains(ABORT))
}

/// What a step answers.
pub type Step = Result<(), Abort>;
