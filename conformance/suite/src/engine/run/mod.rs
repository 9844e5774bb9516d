//! A run: from a selection and open sessions to a run record.
//!
//! `engine` drives the families, `vocabulary` drives cucumber with the steps of one, `writer` gathers what its events say, `counting` says what of it counts, `verdict` folds that into the record.

mod alone;
mod always;
mod breaker;
mod company;
mod counting;
mod division;
mod ends;
mod evidence;
mod exchange;
mod exits;
mod hung;
mod merge;
mod names;
mod order;
mod plan;
mod queue;
mod repeats;
pub mod replay;
pub mod replay_bundle;
mod rerun;
mod scenario_result;
mod scheduler;
mod standing;
mod steps;
mod stop;
pub mod tags;
mod threads;
mod verdict;
pub mod vocabulary;
mod writer;

use std::collections::BTreeMap;
use std::time::Duration;

use callmark_reports::record::{FrameExcerpt, RunRecord};
use serde_json::Value;

use self::replay_bundle::ReplayBundle;
use self::steps::Steps;
use crate::engine::family::Families;
use crate::engine::invariant::ALWAYS;
use crate::spec::catalog::{Case, Catalogue, CatalogueError};
use crate::spec::edition::{EditionError, Editions};
use crate::spec::library;
use crate::spec::registry::{Registry, RegistryError};
use crate::transcript::{Frame, Kind};

pub use always::{Offence, Watched};
pub use division::{Division, Durations};
pub use exchange::ExchangeError;
pub use merge::{MergeError, ShardOutput, merge};
pub(crate) use order::{HOLDS, LAST};
pub use plan::{ALONE, Progress, Quiet, Remark, RunPlan, Selection};
pub use scheduler::run;
pub(crate) use standing::evidence as evidence_of;
pub use standing::{Standing, standing};
pub(crate) use verdict::ABSENCE;

/// Rules and scenarios.
#[derive(Debug)]
pub struct Library {
    /// The rules.
    pub registry: Registry,
    /// The scenarios.
    pub catalogue: Catalogue,
    /// Which of them count for whom.
    pub editions: Editions,
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
    /// The editions.
    #[error(transparent)]
    Editions(#[from] EditionError),
}

impl Library {
    /// Reads what travels inside the binary.
    pub(crate) fn of(families: Families) -> Result<Self, LibraryError> {
        Self::new(families, Catalogue::load()?, Editions::load()?)
    }

    /// Of the scenarios only those of files with `@always`, and no edition: what judges messages that no run caused. The
    /// others would be most of the memory that a judge takes.
    pub(crate) fn of_traffic(families: Families) -> Result<Self, LibraryError> {
        let tag = format!("@{ALWAYS}");
        let files = library::feature_files().into_iter().filter(|(_, text)| text.contains(&tag));
        Self::new(families, Catalogue::from_files(files)?, Editions::default())
    }

    fn new(families: Families, catalogue: Catalogue, editions: Editions) -> Result<Self, LibraryError> {
        let catalogue = catalogue.for_profiles(families.profiles().map(|profile| profile.id));
        Ok(Self { registry: Registry::load()?, catalogue, editions, families, steps: Steps::default() })
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

/// What a run leaves behind.
#[derive(Debug)]
pub struct RunOutput {
    /// The record, the same for every run of one target.
    pub record: RunRecord,
    /// How long each scenario took.
    pub timings: BTreeMap<String, Duration>,
    /// What was run again, and why.
    pub remarks: Vec<Remark>,
    /// What judges every exchange came to, by scenario.
    pub watched: BTreeMap<String, Watched>,
    results: BTreeMap<String, scenario_result::ScenarioResult>,
    secrets: Vec<String>,
    account: Option<ReplayBundle>,
    families: Families,
}

impl RunOutput {
    /// The messages of every scenario, by scenario id. Each secret has a name in its place.
    pub fn transcripts(&self) -> impl Iterator<Item = (&str, Vec<Frame>)> {
        let names = scenario_result::numbered(&self.secrets);
        self.results.iter().map(move |(id, result)| {
            (id.as_str(), scenario_result::without_secrets(result.written(), &names))
        })
    }

    /// What whoever judges the run again has to know beside its messages; none where it was not kept.
    pub fn account(&self) -> Option<&ReplayBundle> {
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
        self.results.iter().try_for_each(|(id, result)| lines.write(id, result, out))
    }

    /// The messages of one scenario as a report would show them, in the order of a story that names their kinds: ids and
    /// times that the run made up have names in their place.
    ///
    /// # Errors
    /// The scenario did not run, or has other messages than the story.
    pub fn exchange(&self, case: &Case, story: &[Kind]) -> Result<Vec<FrameExcerpt>, ExchangeError> {
        let naming = self.families.naming(&case.profile);
        exchange::of(case, naming, self.results.get(&case.id), &self.secrets, story)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::families;

    #[test]
    fn what_judges_traffic_judges_all_of_it() {
        let whole = Library::of(families::ALL).expect("a sound library");
        let less = Library::of_traffic(families::ALL).expect("a sound library");
        let ids = |library: &Library| -> Vec<String> {
            let cases = library.catalogue.cases().iter();
            cases.filter(|case| always::is_always(case)).map(|case| case.id.clone()).collect()
        };
        assert_eq!(ids(&less), ids(&whole));
        let numbers = (less.catalogue.cases().len(), whole.catalogue.cases().len());
        assert!(numbers.0 * 4 < numbers.1, "{numbers:?}");
    }
}
