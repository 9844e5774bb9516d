//! A run: from a selection and open sessions to a run record.
//!
//! `engine` drives the families, `vocabulary` drives cucumber with the steps of one, `writer` gathers what its events say, `verdict` folds that into the record.

mod alone;
mod company;
mod evidence;
mod exchange;
mod names;
pub mod replay;
mod scenario_result;
mod scheduler;
mod steps;
pub mod tags;
mod verdict;
pub mod vocabulary;
mod writer;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use callmark_reports::record::{FrameExcerpt, Outcome, RunRecord, TargetInfo};
use serde_json::Value;

use self::replay::{Account, ReplayMode};
use self::steps::Steps;
use crate::engine::family::Families;
use crate::engine::judge::Cause;
use crate::engine::session::Sessions;
use crate::spec::catalog::{Case, Catalogue, CatalogueError};
use crate::spec::registry::{Registry, RegistryError};
use crate::transcript::{Frame, Kind};

pub use exchange::ExchangeError;
pub use scheduler::run;
pub(crate) use verdict::ABSENCE;

/// Rules and scenarios.
#[derive(Debug)]
pub struct Library {
    /// The rules.
    pub registry: Registry,
    /// The scenarios.
    pub catalogue: Catalogue,
    /// Whose scenarios they are.
    pub families: Families,
    steps: Steps,
}

/// The library that travels inside the binary is faulty: a bug of ours.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// The rules.
    #[error(transparent)]
    Registry(#[from] RegistryError),
    /// The scenarios.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
}

impl Library {
    /// Reads what travels inside the binary.
    pub(crate) fn of(families: Families) -> Result<Self, LibraryError> {
        let (registry, catalogue) = (Registry::load()?, Catalogue::load()?);
        Ok(Self { registry, catalogue, families, steps: Steps::default() })
    }

    /// For many runs after each other: what is compiled once is kept.
    #[must_use]
    pub fn for_many_runs(self) -> Self {
        Self { steps: Steps::keeping(), ..self }
    }

    /// The cases that a selection names, in file order.
    pub fn select(&self, selection: &Selection) -> Vec<&Case> {
        self.catalogue.cases().iter().filter(|case| selection.takes(case)).collect()
    }
}

/// What is to be run.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Profiles; none means none.
    pub profiles: Vec<String>,
    /// Rules; none means all of the profiles.
    pub rules: Vec<String>,
    /// Tag expression; none means all.
    pub tags: Option<tags::Expression>,
    /// Ids of scenarios; none means all.
    pub scenarios: Option<BTreeSet<String>>,
}

impl Selection {
    fn takes(&self, case: &Case) -> bool {
        self.profiles.contains(&case.profile)
            && (self.rules.is_empty() || case.rules.iter().any(|rule| self.rules.contains(rule)))
            && self.tags.as_ref().is_none_or(|tags| tags.holds(&case.tags))
            && self.scenarios.as_ref().is_none_or(|scenarios| scenarios.contains(&case.id))
    }

    /// Whether a rule without any scenario (excluded) still belongs into the record.
    fn names(&self, rule: &str) -> bool {
        self.tags.is_none() && (self.rules.is_empty() || self.rules.iter().any(|own| own == rule))
    }
}

/// Everything that a run needs.
pub struct RunPlan {
    /// What is to be run.
    pub selection: Selection,
    /// What it is run against.
    pub sessions: Sessions,
    /// Profiles whose session could not be opened, with the cause.
    pub blocked: BTreeMap<String, (Cause, String)>,
    /// Identity of the target.
    pub target: TargetInfo,
    /// By what it is started and reached, as [`Manifest::places`](crate::engine::manifest::Manifest::places) gives it.
    pub places: BTreeMap<String, Value>,
    /// Whether warnings are failures.
    pub strict: bool,
    /// Scenarios of one family at a time.
    pub jobs: usize,
    /// Scenarios that are run again alone at most, because they ended in silence beside others.
    pub alone: usize,
    /// Seed of all ids.
    pub seed: u64,
    /// Start of the command that reruns a rule, for example `callmark certify --bundled`.
    pub rerun: String,
    /// Text of the manifest that must not be stored.
    pub secrets: Vec<String>,
    /// Receives the progress.
    pub progress: Arc<dyn Progress>,
    /// What is kept of it, so that it can be judged again.
    pub memory: Arc<ReplayMode>,
}

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// So many scenarios will run.
    fn begin(&self, scenarios: usize);
    /// One has ended.
    fn scenario(&self, id: &str, outcome: Outcome);
    /// All have ended.
    fn end(&self);
    /// One begins.
    fn started(&self, _id: &str) {}
    /// Something is to be said of the run that is no verdict.
    fn remark(&self, _text: &str) {}
}

/// Scenarios that [`RunPlan::alone`] allows for, unless somebody wants it otherwise.
pub const ALONE: usize = 50;

/// What is to be said of a run beside its verdict. It depends on luck, so it is no part of the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The scenario that it is about.
    pub scenario: Option<String>,
    /// One sentence.
    pub text: String,
}

/// Tells nobody.
#[derive(Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: usize) {}
    fn scenario(&self, _: &str, _: Outcome) {}
    fn end(&self) {}
}

/// What a run leaves behind.
#[derive(Debug)]
pub struct RunOutput {
    /// The record, the same for every run of one target.
    pub record: RunRecord,
    /// How long each scenario took.
    pub timings: BTreeMap<String, Duration>,
    /// What was run again, and why.
    pub remarks: Vec<Remark>,
    remains: BTreeMap<String, scenario_result::ScenarioResult>,
    secrets: Vec<String>,
    account: Option<Account>,
    families: Families,
}

impl RunOutput {
    /// The messages of every scenario, by scenario id. Each secret has a name in its place.
    pub fn transcripts(&self) -> impl Iterator<Item = (&str, Vec<Frame>)> {
        let names = scenario_result::numbered(&self.secrets);
        self.remains.iter().map(move |(id, remains)| {
            (id.as_str(), scenario_result::without_secrets(remains.written(), &names))
        })
    }

    /// What whoever judges the run again has to know beside its messages; none where it was not kept.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// JSON with a name in place of each secret: the one that stands for it in the transcripts.
    pub fn without_secrets(&self, value: &Value) -> Value {
        scenario_result::numbered(&self.secrets).rename(value)
    }

    /// Writes the messages of every scenario as JSON, one a line with the scenario's id, without the manifest's secrets.
    ///
    /// # Errors
    /// What `out` answers.
    pub fn write_transcripts(&self, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let lines = scenario_result::Lines::without(&self.secrets);
        self.remains.iter().try_for_each(|(id, remains)| lines.write(id, remains, out))
    }

    /// The messages of one scenario as a report would show them, in the order of a story that names their kinds: ids and
    /// times that the run made up have names in their place.
    ///
    /// # Errors
    /// The scenario did not run, or has other messages than the story.
    pub fn exchange(&self, case: &Case, story: &[Kind]) -> Result<Vec<FrameExcerpt>, ExchangeError> {
        let naming = self.families.naming(&case.profile);
        exchange::of(case, naming, self.remains.get(&case.id), &self.secrets, story)
    }
}
