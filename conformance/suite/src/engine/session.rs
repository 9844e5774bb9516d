//! What a run holds open of each family: the session with the target, as the engine sees it.
//!
//! Neighbours: each family's `session` opens one; its World takes it out of the [`Sessions`] by its type.

use std::any::Any;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt as _;
use futures::future::{BoxFuture, LocalBoxFuture, join_all};
use serde_json::Value;

use crate::engine::diagnosis::Check;
use crate::engine::judge::CheckFailure;
use crate::engine::load::Caller;
use crate::engine::target::SharedProcess;
use crate::spec::catalog::Case;
use crate::spec::revision;
use crate::transcript::Frame;

/// What all scenarios of one family share.
pub trait Session: Any + Send + Sync {
    /// Id of the family whose scenarios share it.
    fn family(&self) -> &'static str;

    /// What the target declares, as `@cap:` tags name it.
    fn capabilities(&self) -> BTreeSet<String>;

    /// What was made up for the run and must not be stored.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Why nothing that the target does counts as a pass in `profile`, one of the family's.
    fn idle(&self, profile: &str) -> Option<&'static str>;

    /// What the session found out before the first scenario; the family's protocol restores it from that.
    fn snapshot(&self) -> Value;

    /// Texts in what the target sends that say what this machine does not do for it.
    fn faults_of_the_machine(&self) -> &[String] {
        &[]
    }

    /// How many scenarios at a time the target is worth at least.
    fn least_jobs(&self) -> usize {
        1
    }

    /// When to judge once more, at the earliest, what must not have happened; nothing where nobody waits for it.
    fn recheck_at(&self) -> Option<Instant> {
        None
    }

    /// Judges it once more: what broke it, by the id of the scenario. `counts` has the attempt of each scenario that the
    /// record is about; what other attempts left is not looked at.
    fn recheck(&self, _counts: &BTreeMap<String, u32>) -> BTreeMap<String, Recheck> {
        BTreeMap::new()
    }

    /// The processes that the suite started for it; nothing where no end of them concerns all scenarios.
    fn process(&self) -> Option<&SharedProcess> {
        None
    }

    /// Whose target it shares, as the id of a family, where the manifest says so and the family does not: one start of a
    /// target may serve several revisions.
    fn shares_target_of(&self) -> Option<&'static str> {
        None
    }

    /// Waits until a target that was started once more answers.
    ///
    /// # Errors
    /// What it does in place of that.
    fn answers_again(&self) -> BoxFuture<'_, Result<(), String>> {
        async { Ok(()) }.boxed()
    }

    /// Deletes what the run made at the target, as far as the protocol can, when the last scenario is over.
    fn clean_up(&self) -> BoxFuture<'_, CleanedUp> {
        async { CleanedUp::default() }.boxed()
    }

    /// What was found out of the target, and what each thing that it declares does when it is tried once.
    fn diagnose(self: Arc<Self>) -> LocalBoxFuture<'static, Vec<Check>>;

    /// Who makes valid calls of `profile`, one of the family's, under load; nothing where the suite cannot.
    fn caller(self: Arc<Self>, _profile: &str) -> Option<Arc<dyn Caller>> {
        None
    }

    /// Ends what the session holds open.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// What became of what a run made at a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CleanedUp {
    /// What was deleted, for example `3 events`.
    pub deleted: Vec<String>,
    /// What stays there, and why.
    pub left: Vec<String>,
}

impl CleanedUp {
    /// Nothing was deleted, and this stays.
    pub(crate) fn left(left: impl IntoIterator<Item = String>) -> Self {
        Self { deleted: Vec::new(), left: left.into_iter().collect() }
    }
}

/// What the names of a run begin with, as the end of a phrase; nothing where they have no prefix.
pub(crate) fn with_prefix(names: &str, prefix: &str) -> String {
    if prefix.is_empty() {
        return String::new();
    }
    format!(", with {names} that begin with `{prefix}`")
}

/// A session that was calibrated; one that could not be is closed again.
///
/// # Errors
/// Why it could not be.
pub(crate) async fn established<S: Session, E>(session: S, calibrated: Result<(), E>) -> Result<Arc<S>, E> {
    if calibrated.is_err() {
        session.close().await;
    }
    calibrated.map(|()| Arc::new(session))
}

/// What the targets of a run declare, by the revision of their protocols.
#[derive(Clone, Debug, Default)]
pub struct Declared(BTreeMap<String, BTreeSet<String>>);

impl Declared {
    /// What those declare whose sessions these are.
    pub fn by(sessions: &Sessions) -> Self {
        let mut all = Self::default();
        for session in sessions.iter() {
            let revision = revision::split(session.family()).1.unwrap_or_default();
            all.0.entry(revision.to_owned()).or_default().extend(session.capabilities());
        }
        all
    }

    /// Capabilities that a case asks for and no target declares in the case's revision.
    pub fn undeclared(&self, case: &Case) -> Vec<String> {
        match self.0.get(&case.at.revision) {
            Some(declared) => case.capabilities.difference(declared).cloned().collect(),
            None => case.capabilities.iter().cloned().collect(),
        }
    }
}

/// What a judgement at the end of the run found.
#[derive(Clone, Debug)]
pub struct Recheck {
    /// What is wrong.
    pub trouble: CheckFailure,
    /// The messages that show it, which may be those of another scenario.
    pub frames: Vec<Frame>,
}

/// What the sessions of a run found out before its first scenario, by the id of their family.
pub type Snapshots = BTreeMap<String, Value>;

/// The sessions of a run, one a family at most.
#[derive(Clone, Default)]
pub struct Sessions(BTreeMap<&'static str, Arc<dyn Session>>);

impl std::fmt::Debug for Sessions {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

impl Sessions {
    /// The session of one family only.
    pub fn one(session: Arc<dyn Session>) -> Self {
        Self(BTreeMap::from([(session.family(), session)]))
    }

    /// Adds the session of a family.
    pub fn insert(&mut self, session: Arc<dyn Session>) {
        self.0.insert(session.family(), session);
    }

    /// Adds the sessions of other families.
    pub fn extend(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// What the sessions found out before the first scenario.
    pub fn snapshots(&self) -> Snapshots {
        self.0.iter().map(|(family, session)| ((*family).to_owned(), session.snapshot())).collect()
    }

    /// The session of this type.
    pub fn get<S: Session>(&self) -> Option<Arc<S>> {
        self.0.values().find_map(|session| {
            let session: Arc<dyn Any + Send + Sync> = Arc::clone(session) as _;
            session.downcast::<S>().ok()
        })
    }

    /// The session of the family with this id, where it is of this type.
    pub fn of_type<S: Session>(&self, family: &str) -> Option<Arc<S>> {
        let session: Arc<dyn Any + Send + Sync> = Arc::clone(self.0.get(family)?) as _;
        session.downcast::<S>().ok()
    }

    /// All of them, by the id of their family.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Session>> {
        self.0.values()
    }

    /// The session of the family with this id.
    pub fn of(&self, family: &str) -> Option<&dyn Session> {
        self.0.get(family).map(|session| &**session)
    }

    /// Texts in what the targets send that say what this machine does not do for them.
    pub(crate) fn faults_of_the_machine(&self) -> Vec<String> {
        self.0.values().flat_map(|session| session.faults_of_the_machine()).cloned().collect()
    }

    /// What the targets declare, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        self.0.values().flat_map(|session| session.capabilities()).collect()
    }

    /// What was made up for the run and must not be stored.
    pub fn secrets(&self) -> Vec<String> {
        self.0.values().flat_map(|session| session.secrets()).collect()
    }

    /// When to judge once more, at the earliest, what must not have happened; nothing where nobody waits for it.
    pub fn recheck_at(&self) -> Option<Instant> {
        self.0.values().filter_map(|session| session.recheck_at()).max()
    }

    /// All of them.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = &dyn Session> + Send {
        self.0.values().map(AsRef::as_ref)
    }

    /// Deletes what the run made at its targets, and says what stays.
    pub async fn clean_up(&self) -> CleanedUp {
        let mut all = CleanedUp::default();
        // One after the other: a target that is shared is not hurried.
        for session in self.0.values() {
            let CleanedUp { deleted, left } = session.clean_up().await;
            all.deleted.extend(deleted);
            all.left.extend(left);
        }
        all
    }

    /// Ends what the sessions hold open, all at once.
    pub async fn close(&self) {
        join_all(self.0.values().map(|session| session.close())).await;
    }
}
