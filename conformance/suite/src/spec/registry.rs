//! The registry: every rule of the five documents, as data.
//!
//! Neighbours: `catalog` says which scenario speaks for which rule, `lint` holds the two together.
//! Deliberately absent: anything about how a rule is tested.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::Level;
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use crate::spec::library;
use crate::spec::revision::{self, Period};

/// One normative statement of a document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// For example `UTP-4.1-35`.
    pub id: String,
    /// MUST, SHOULD or MAY.
    pub level: Level,
    /// The profiles that it holds for.
    pub profiles: Vec<String>,
    /// The rule in our own words.
    pub statement: String,
    /// Documents and sections.
    pub source: String,
    /// The first revision of its protocol that has it; absent: the one that the documents describe has it.
    #[serde(default)]
    since: Option<String>,
    /// The last revision that has it; absent: all later ones have it.
    #[serde(default)]
    until: Option<String>,
    /// The rules of earlier revisions that it takes the place of.
    #[serde(default)]
    pub replaces: Vec<String>,
    /// Why no black box can test it.
    #[serde(default)]
    pub excluded: Option<String>,
    /// Why a finding against it may be a warning although it is a MUST, with the row of the ambiguity.
    #[serde(default)]
    pub ambiguity: Option<String>,
    /// Why no scenario judges it in every exchange of a run.
    #[serde(default)]
    pub experiment_only: Option<ExperimentOnly>,
    /// The profiles in which it has no features yet.
    #[serde(default, deserialize_with = "pending")]
    pending: Pending,
}

impl Rule {
    /// Whether the rule still waits for its features in `profile`.
    pub fn is_pending(&self, profile: &str) -> bool {
        match &self.pending {
            Pending::No => false,
            Pending::Everywhere => true,
            Pending::In(profiles) => profiles.contains(revision::split(profile).0),
        }
    }

    /// Whether the rule holds for `profile`, in the revision that the profile is certified for.
    pub fn holds_for(&self, profile: &str) -> bool {
        let (base, revision) = revision::split(profile);
        self.profiles.iter().any(|own| own == base) && self.period().includes(revision)
    }

    /// The revisions of its protocol that have it.
    pub fn period(&self) -> Period {
        Period { since: self.since.clone(), until: self.until.clone() }
    }
}

/// Why a rule is judged only in what its own scenarios bring about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExperimentOnly {
    /// No other scenario sends what it is about.
    OwnStimulus,
    /// It is about what does not come, which shows only beside a sign of life.
    Absence,
    /// It is about how several exchanges go together.
    Comparison,
    /// It is about when something comes.
    Timing,
    /// What must come stands in no message.
    ScenarioKnowledge,
    /// It permits, and nothing can break it.
    Permission,
}

impl ExperimentOnly {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::OwnStimulus,
        Self::Absence,
        Self::Comparison,
        Self::Timing,
        Self::ScenarioKnowledge,
        Self::Permission,
    ];

    /// The word of the registry.
    pub fn name(self) -> &'static str {
        match self {
            Self::OwnStimulus => "own-stimulus",
            Self::Absence => "absence",
            Self::Comparison => "comparison",
            Self::Timing => "timing",
            Self::ScenarioKnowledge => "scenario-knowledge",
            Self::Permission => "permission",
        }
    }

    /// In a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::OwnStimulus => "no other scenario sends what it is about",
            Self::Absence => "it is about what does not come, which shows only beside a sign of life",
            Self::Comparison => "it is about how several exchanges go together",
            Self::Timing => "it is about when something comes",
            Self::ScenarioKnowledge => "what must come stands in no message, only its scenario knows it",
            Self::Permission => "it permits something, and no exchange can break it",
        }
    }
}

/// All rules, by id, in document order.
#[derive(Debug)]
pub struct Registry {
    rules: Vec<Rule>,
    by_id: BTreeMap<String, usize>,
}

impl Registry {
    /// Reads the registry that travels inside the binary.
    ///
    /// # Errors
    /// All faults of all files at once: syntax, a double id, an unknown profile.
    pub fn load() -> Result<Self, RegistryError> {
        Self::from_files(library::registry_files())
    }

    /// Reads the registry from `(path, text)` pairs.
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, RegistryError> {
        let mut registry = Self { rules: Vec::new(), by_id: BTreeMap::new() };
        let mut faults = Vec::new();
        for (path, text) in files {
            match toml::from_str::<RegistryFile>(text) {
                Ok(file) => registry.add(path, file.rule, &mut faults),
                Err(error) => faults.push(format!("`{path}`: {}", error.message())),
            }
        }
        if faults.is_empty() { Ok(registry) } else { Err(RegistryError { faults }) }
    }

    /// All rules in document order.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rule with this id.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.by_id.get(id).map(|&index| &self.rules[index])
    }

    /// The rules of one profile, in document order.
    pub fn of_profile(&self, profile: &str) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.holds_for(profile))
    }

    /// The known id that looks most like `id`.
    pub fn nearest(&self, id: &str) -> Option<&str> {
        nearest(id, self.rules.iter().map(|rule| rule.id.as_str()))
    }

    fn add(&mut self, path: &str, rules: Vec<Rule>, faults: &mut Vec<String>) {
        for rule in rules {
            if self.by_id.insert(rule.id.clone(), self.rules.len()).is_some() {
                faults.push(format!("`{path}`: rule `{}` stands twice", rule.id));
            }
            self.rules.push(rule);
        }
    }
}

/// The registry cannot be read. It travels inside the binary, so this is a bug of ours.
#[derive(Debug, Error)]
#[error("the rule registry has {} faults: {}", faults.len(), faults.join("; "))]
pub struct RegistryError {
    /// One sentence a fault.
    pub faults: Vec<String>,
}

/// The candidate that looks most like `word`, when one is close enough to be meant.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| (strsim::jaro_winkler(word, candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|left, right| left.0.total_cmp(&right.0))
        .map(|(_, candidate)| candidate)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RegistryFile {
    rule: Vec<Rule>,
}

#[derive(Clone, Debug, Default)]
enum Pending {
    #[default]
    No,
    Everywhere,
    In(BTreeSet<String>),
}

/// `pending = true`, or the list of profiles that wait.
fn pending<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Pending, D::Error> {
    use serde::de::Error as _;
    match toml::Value::deserialize(deserializer)? {
        toml::Value::Boolean(true) => Ok(Pending::Everywhere),
        toml::Value::Boolean(false) => Ok(Pending::No),
        toml::Value::Array(items) => items
            .into_iter()
            .map(|item| {
                item.as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| D::Error::custom("`pending` lists profile names"))
            })
            .collect::<Result<_, _>>()
            .map(Pending::In),
        _ => Err(D::Error::custom("`pending` is `true` or a list of profiles")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_have_the_names_that_the_registry_uses() {
        for reason in ExperimentOnly::ALL {
            assert_eq!(serde_json::to_value(reason).expect("a word"), reason.name());
        }
    }
}
