//! A protocol as the engine sees it: the families that one table of the manifest describes, and whose sessions are
//! opened together.

use std::sync::Arc;

use futures::future::LocalBoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::engine::chaos::Fleet;
use crate::engine::effect::Effect;
use crate::engine::judge::Reasons;
use crate::engine::manifest::{Manifest, ManifestTable};
use crate::engine::open::{OpenPlan, Opened};
use crate::engine::recording::observer::Observer;
use crate::engine::session::{Sessions, Snapshots};
use crate::spec::catalog::Case;

/// What the families of one protocol have in common.
pub trait Protocol: ManifestTable {
    /// Names of the files to which what it starts logs. No other protocol has one of them.
    fn logs(&self) -> &'static [&'static str];

    /// Why its scenarios may judge nothing although nothing went wrong.
    fn reasons(&self) -> Reasons;

    /// The broker that the manifest names, where targets of the protocol may be reached over one: `embedded`, `server`
    /// or a URL.
    fn broker<'m>(&self, _: &'m Manifest) -> Option<&'m str> {
        None
    }

    /// Whether a target of a profile, one of the protocol's, is reached over that broker.
    fn is_on_bus(&self, _: &str) -> bool {
        false
    }

    /// The revisions that its profiles are for whose ids name none; nothing where the protocol has one revision.
    fn first_revisions(&self) -> &'static [&'static str] {
        &[]
    }

    /// Finds out what the manifest leaves to the target and profiles depend on, before any is selected; nothing where it
    /// leaves nothing.
    fn settle<'a>(&'a self, _: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Option<Settled>> {
        Box::pin(std::future::ready(None))
    }

    /// Opens the sessions that the selected profiles need.
    fn open<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Opened>;

    /// The sessions of a run that is judged again: they know what was found out, and reach nobody.
    ///
    /// # Errors
    /// What cannot have been found out about the target of the manifest.
    fn restore(&self, restore: &mut Restore<'_>) -> Result<Sessions, String>;

    /// Sessions that nobody opened, for traffic that others caused: they know what the manifest says of the target and
    /// nothing that would have to be found out, and reach nobody. A family whose rules cannot be judged without that
    /// has none.
    fn unopened(&self, manifest: &Manifest, scope: Scope) -> Sessions;

    /// Rules that are judged in every exchange, and that traffic between a target and its callers cannot show.
    fn unseen_by_callers(&self) -> &'static [&'static str] {
        &[]
    }

    /// What a scenario of the protocol leaves at a target, as far as its steps say so.
    fn effects(&self, _: &Manifest, _: &Case) -> Vec<Effect> {
        Vec::new()
    }

    /// The replicas of a profile, one of the family with this id; nothing where there are not several that the suite started,
    /// or nothing would show what they lose.
    fn fleet(&self, _sessions: &Sessions, _family: &str, _profile: &str) -> Option<Arc<dyn Fleet>> {
        None
    }

    /// Puts messages of the protocol together that nobody staged; `None` where they do not show what belongs together.
    fn observer(&self, _: &Manifest) -> Option<Box<dyn Observer>> {
        None
    }
}

/// Writes into the manifest what was found out about its target.
pub type Settled = Box<dyn FnOnce(&mut Manifest)>;

/// What traffic shows that others caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// What every party of a scenario sent, as the transcript of a run has it.
    AllParties,
    /// What passed between the target and those who call it.
    Callers,
}

/// What sessions are restored from.
pub struct Restore<'a> {
    /// What is not yet restored.
    snapshots: Snapshots,
    /// The target.
    pub manifest: &'a Manifest,
    /// Seed of all ids.
    pub seed: u64,
}

impl<'a> Restore<'a> {
    /// Of what was found out about the target of this manifest.
    pub(super) const fn new(snapshots: Snapshots, manifest: &'a Manifest, seed: u64) -> Self {
        Self { snapshots, manifest, seed }
    }

    /// What the session of the family with this id found out, where the run had one.
    ///
    /// # Errors
    /// It has not the shape of what such a session finds out.
    pub fn take<T: DeserializeOwned>(&mut self, family: &str) -> Result<Option<T>, String> {
        let Some(snapshot) = self.snapshots.remove(family) else { return Ok(None) };
        serde_json::from_value(snapshot)
            .map(Some)
            .map_err(|error| format!("what it found out about `{family}` cannot be read: {error}"))
    }

    /// A family whose session nobody restored.
    pub(super) fn left(&self) -> Option<&str> {
        self.snapshots.keys().next().map(String::as_str)
    }
}

/// A snapshot of a session. One that cannot be written is refused when it is restored.
pub fn snapshot(found: &impl Serialize) -> Value {
    serde_json::to_value(found).unwrap_or_default()
}

/// The table that a session is restored with.
///
/// # Errors
/// The manifest has none.
pub fn table<T>(table: Option<T>, name: &str) -> Result<T, String> {
    table.ok_or_else(|| format!("the manifest has no table `[{name}]`"))
}
