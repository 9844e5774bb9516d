//! What a run is made of: what is selected, what it runs against, and who receives its progress.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::record::{Outcome, Partial, Shard, TargetInfo};
use serde_json::Value;

use super::replay::ReplayMode;
use super::tags;
use crate::engine::judge::Cause;
use crate::engine::secrets;
use crate::engine::session::Sessions;
use crate::net::outbound::Outbound;
use crate::spec::catalog::Case;

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
    /// Which shard those are; nothing where they are no part of something.
    pub shard: Option<Shard>,
    /// Why those are no whole run although they are no shard.
    pub partial: Option<Partial>,
    /// The edition whose scenarios count; nothing where all do. What is newer runs all the same.
    pub edition: Option<String>,
}

impl Selection {
    pub(super) fn takes(&self, case: &Case) -> bool {
        self.profiles.contains(&case.profile)
            && (self.rules.is_empty() || case.rules.iter().any(|rule| self.rules.contains(rule)))
            && self.tags.as_ref().is_none_or(|tags| tags.holds(&case.tags))
            && self.scenarios.as_ref().is_none_or(|scenarios| scenarios.contains(&case.id))
    }

    /// Whether a rule without any scenario (excluded) still belongs into the record.
    pub(super) fn names(&self, rule: &str) -> bool {
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
    /// Whether nothing more is begun once a scenario has failed.
    pub fail_fast: bool,
    /// Scenarios of one family at a time.
    pub jobs: usize,
    /// A scenario that is run before all others of its family, and alone: what it exchanges comes first.
    pub lead: Option<String>,
    /// Scenarios that are run again alone at most, because they ended in silence beside others.
    pub alone: usize,
    /// Seed of all ids.
    pub seed: u64,
    /// Start of the command that reruns a rule, for example `callmark certify --bundled`.
    pub rerun: String,
    /// Text of the manifest that must not be stored.
    pub secrets: Vec<String>,
    /// The way to the target's addresses: tokens that it got there must not be stored either.
    pub outbound: Arc<Outbound>,
    /// Receives the progress.
    pub progress: Arc<dyn Progress>,
    /// What is kept of it, so that it can be judged again.
    pub memory: Arc<ReplayMode>,
}

impl RunPlan {
    /// A run of this selection, one scenario at a time, that nobody watches and of which nothing is kept.
    pub fn new(selection: Selection, sessions: Sessions, target: TargetInfo) -> Self {
        Self {
            selection,
            sessions,
            blocked: BTreeMap::new(),
            target,
            places: BTreeMap::new(),
            strict: false,
            fail_fast: false,
            jobs: 1,
            lead: None,
            alone: ALONE,
            seed: 1,
            rerun: "callmark certify".to_owned(),
            secrets: Vec::new(),
            outbound: Arc::default(),
            progress: Arc::new(Quiet),
            memory: Arc::default(),
        }
    }

    /// What must not be stored, now that the run is over: tokens that were issued in mid-run come last.
    pub(super) async fn all_secrets(&self) -> Vec<String> {
        let issued = self.outbound.issued().await.into_iter();
        let issued = issued.filter(|token| token.len() >= secrets::SHORTEST && !self.secrets.contains(token));
        self.secrets.iter().cloned().chain(issued).collect()
    }
}

/// Receives the progress of a run.
pub trait Progress: Send + Sync {
    /// So many scenarios will run.
    fn begin(&self, scenarios: usize);
    /// One has ended.
    fn scenario(&self, id: &str, outcome: Outcome);
    /// All have ended, and so many are run again, one at a time.
    fn repeat(&self, _scenarios: usize) {}
    /// All have ended.
    fn end(&self);
    /// One begins.
    fn started(&self, _id: &str) {}
    /// Something is to be said of the run that is no verdict.
    fn remark(&self, _remark: &Remark) {}
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
    /// The end of a log that shows it, oldest line first.
    pub log: Vec<String>,
}

/// Reports no progress.
#[derive(Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn begin(&self, _: usize) {}
    fn scenario(&self, _: &str, _: Outcome) {}
    fn end(&self) {}
}
