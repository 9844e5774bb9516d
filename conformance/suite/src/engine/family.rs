//! A family as the engine sees it: profiles that share one World, the steps that drive their scenarios, and the names
//! that reports give to what a target makes up.
//!
//! Neighbours: `run` drives the families of its library, `lint` checks their steps; `families::ALL` is the list.

use std::collections::BTreeSet;

use crate::engine::codec::{Codec, PlainJson};
use crate::engine::manifest::{Manifest, ManifestTable};
use crate::engine::naming::{Naming, Verbatim};
use crate::engine::open::SelectedProfiles;
use crate::engine::protocol::{Protocol, Restore, Scope};
use crate::engine::recording::observer::Observer;
use crate::engine::run::vocabulary::Vocabulary;
use crate::engine::session::{Session, Sessions, Snapshots};

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

    /// Whether its scenarios do little but wait: it runs beside the others and holds none of them up.
    fn mostly_waits(&self) -> bool {
        false
    }

    /// Whose target its sessions share, as the id of a family: what ends that target ends it for all who share it.
    fn target(&self) -> &'static str {
        self.id()
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

impl dyn Family {
    /// Whose target its session in a run shares, as the id of a family.
    pub fn target_in(&self, sessions: &Sessions) -> &'static str {
        let shared = sessions.of(self.id()).and_then(Session::shares_target_of);
        shared.unwrap_or_else(|| self.target())
    }
}

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

    /// Their tables in the manifest.
    pub fn tables(self) -> Vec<&'static dyn ManifestTable> {
        self.protocols().map(|protocol| protocol as &dyn ManifestTable).collect()
    }

    /// These profiles, by family. An id that no family has is none of them.
    pub fn select(self, profiles: &[String]) -> SelectedProfiles {
        let of = |profile: &String| Some((self.of(profile)?.id(), self.profile(profile)?.id));
        profiles.iter().filter_map(of).collect()
    }

    /// Why nothing that the target of these sessions does counts as a pass in `profile`.
    pub fn idle(self, sessions: &Sessions, profile: &str) -> Option<&'static str> {
        sessions.of(self.of(profile)?.id())?.idle(profile)
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

    /// Sessions that nobody opened, for traffic that others caused: they know what the manifest says, and reach nobody.
    pub fn unopened(self, manifest: &Manifest, scope: Scope) -> Sessions {
        let mut sessions = Sessions::default();
        for protocol in self.protocols() {
            sessions.extend(protocol.unopened(manifest, scope));
        }
        sessions
    }

    /// What puts messages together that nobody staged, of all protocols.
    pub fn observers(self, manifest: &Manifest) -> Vec<Box<dyn Observer>> {
        self.observers_of(manifest, None)
    }

    /// The same of one protocol, or of all.
    pub fn observers_of(self, manifest: &Manifest, protocol: Option<&str>) -> Vec<Box<dyn Observer>> {
        let is_wanted = |own: &&'static dyn Protocol| protocol.is_none_or(|protocol| own.name() == protocol);
        self.protocols().filter(is_wanted).filter_map(|own| own.observer(manifest)).collect()
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
