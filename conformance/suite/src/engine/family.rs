//! A family as the engine sees it: profiles that share one World, the steps that drive their scenarios, and the names
//! that reports give to what a target makes up.
//!
//! Neighbours: `run` drives the families of its library, `lint` checks their steps; `families::ALL` is the list.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::engine::codec::{Codec, PlainJson};
use crate::engine::judge::Finding;
use crate::engine::manifest::Manifest;
use crate::engine::protocol::{Protocol, Restore, Snapshots};
use crate::engine::run::vocabulary::Vocabulary;
use crate::engine::session::Sessions;
use crate::transcript::Frame;

/// Profiles that share one World and one session with the target.
pub trait Family: Sync {
    /// For example `hub.server`; unique among all families.
    fn id(&self) -> &'static str;

    /// Its profiles, in the order of reports. No other family has one of them.
    fn profiles(&self) -> &'static [Profile];

    /// Whether a profile is one of its own.
    fn has(&self, profile: &str) -> bool {
        self.profiles().iter().any(|own| own.id == profile)
    }

    /// What it shares its table of the manifest with.
    fn protocol(&self) -> &'static dyn Protocol;

    /// Its step definitions.
    fn vocabulary(&self) -> &'static dyn Vocabulary;

    /// How much of its scenarios is waiting, compared with other families: a run begins with those that wait most.
    fn waits(&self) -> u8 {
        0
    }

    /// Whether its session finds out which scenario a target ended for; else it is the one that was alone with it.
    fn attributes_ends(&self) -> bool {
        false
    }

    /// Names for what its targets make up.
    fn naming(&self) -> &'static dyn Naming;

    /// How its messages are read.
    fn codec(&self) -> &'static dyn Codec {
        &PlainJson
    }
}

/// A role that an implementation can be certified for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// For example `hub.server`.
    pub id: &'static str,
    /// Who that is.
    pub title: &'static str,
    /// What it does, a sentence.
    pub about: &'static str,
    /// Whom the suite plays for it.
    pub peers: &'static str,
    /// Whether every rule of the profile has features; the lint holds it to that.
    pub is_complete: bool,
}

impl std::fmt::Debug for dyn Family {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.id())
    }
}

/// Names for what a target makes up, so that two runs of one target give the same report.
pub trait Naming: Sync {
    /// Names for the ids in these frames, in the order of their first appearance. Such an id may also be a part of a text.
    fn ids(&self, _frames: &[Frame]) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Names for the ids that a report shows as whole texts: those in the frames that it shows, and in the finding.
    fn whole_ids(
        &self,
        _finding: &Finding,
        _frames: &[Frame],
        _shown: &[&Frame],
    ) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Names for the ids of an exchange that is shown as a whole, but for those that have one already.
    fn ids_of_exchange(
        &self,
        _shown: &[&Frame],
        _is_named: &dyn Fn(&str) -> bool,
    ) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// A body with names in place of what the target measured or numbered.
    fn normalized(&self, body: &Value) -> Value {
        body.clone()
    }
}

/// Leaves everything as it is.
#[derive(Debug)]
struct Verbatim;

impl Naming for Verbatim {}

/// The families that a library has scenarios of.
#[derive(Clone, Copy, Debug)]
pub struct Families(&'static [&'static dyn Family]);

impl Families {
    /// These families, in the order of reports.
    pub const fn new(all: &'static [&'static dyn Family]) -> Self {
        Self(all)
    }

    /// All of them, in their order.
    pub fn iter(self) -> impl Iterator<Item = &'static dyn Family> {
        self.0.iter().copied()
    }

    /// The family of a profile.
    pub fn of(self, profile: &str) -> Option<&'static dyn Family> {
        self.iter().find(|family| family.has(profile))
    }

    /// All profiles, in the order of reports.
    pub fn profiles(self) -> impl Iterator<Item = &'static Profile> {
        self.iter().flat_map(Family::profiles)
    }

    /// The profile with this id.
    pub fn profile(self, id: &str) -> Option<&'static Profile> {
        self.profiles().find(|profile| profile.id == id)
    }

    /// Their protocols, each once.
    pub fn protocols(self) -> impl Iterator<Item = &'static dyn Protocol> {
        let mut seen = BTreeSet::new();
        self.iter().map(Family::protocol).filter(move |protocol| seen.insert(protocol.name()))
    }

    /// The sessions of a run that is judged again: they know what was found out, and reach nobody.
    ///
    /// # Errors
    /// What cannot have been found out about the target of this manifest.
    pub fn restore(self, snapshots: Snapshots, manifest: &Manifest, seed: u64) -> Result<Sessions, String> {
        let mut restore = Restore::new(snapshots, manifest, seed);
        let mut sessions = Sessions::default();
        for protocol in self.protocols() {
            sessions.extend(protocol.restore(&mut restore)?);
        }
        match restore.left() {
            Some(family) => Err(format!("there is no session `{family}`")),
            None => Ok(sessions),
        }
    }

    /// How messages to and from a target of this profile are read.
    pub fn codec(self, profile: &str) -> &'static dyn Codec {
        self.of(profile).map_or(&PlainJson, |family| family.codec())
    }

    /// Names for what a target of this profile makes up.
    pub(crate) fn naming(self, profile: &str) -> &'static dyn Naming {
        self.of(profile).map_or(&Verbatim, |family| family.naming())
    }
}
