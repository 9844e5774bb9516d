//! What two editions do not have in common, and why.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Edition, Erratum, rule_of};
use crate::spec::registry::Registry;
use crate::spec::revision;

/// From one edition to another: what counted when the first was frozen, beside what counts in the second now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditionDiff {
    /// Name of the first.
    pub from: String,
    /// Name of the second.
    pub to: String,
    /// By profile, then by rule.
    pub changes: Vec<EditionChange>,
}

/// What became of scenarios of one rule in one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EditionChange {
    /// What became of them.
    pub kind: EditionChangeKind,
    /// For example `hub.server`.
    pub profile: String,
    /// The rule that they speak for.
    pub rule: String,
    /// Ids, in the second edition where they are in it.
    pub scenarios: Vec<String>,
    /// Why: the reason of the erratum; of what was added, the note of the edition, or else what the rule says.
    pub reason: String,
}

/// What became of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum EditionChangeKind {
    /// Only the second has it.
    Added,
    /// It asserts something else in the second.
    Changed,
    /// Only the first has it.
    Removed,
}

impl EditionChangeKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Added, Self::Changed, Self::Removed];

    /// `added`, `changed` or `removed`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

impl EditionDiff {
    /// Compares two editions.
    pub fn of(registry: &Registry, from: &Edition, to: &Edition) -> Self {
        let mut changes: BTreeMap<(String, String, EditionChangeKind, String), Vec<String>> = BTreeMap::new();
        let nothing = BTreeMap::new();
        let profiles = from.frozen().keys().chain(to.scenarios().keys());
        let mut profiles: Vec<&String> = profiles.collect();
        profiles.sort_unstable();
        profiles.dedup();
        for profile in profiles {
            let before = from.frozen().get(profile).unwrap_or(&nothing);
            let after = to.scenarios().get(profile).unwrap_or(&nothing);
            let is_in =
                |list: &BTreeMap<String, String>, digest: &String| list.values().any(|own| own == digest);
            let new = after.iter().filter(|(_, digest)| !is_in(before, digest));
            let new: Vec<&String> = new.map(|(id, _)| id).collect();
            let gone = before.iter().filter(|(_, digest)| !is_in(after, digest));
            let gone: Vec<&String> = gone.map(|(id, _)| id).collect();
            let kinds = new.iter().map(|id| {
                let is_changed = gone.contains(id);
                (id, if is_changed { EditionChangeKind::Changed } else { EditionChangeKind::Added })
            });
            let removed = gone.iter().filter(|id| !new.contains(id));
            for (id, kind) in kinds.chain(removed.map(|id| (id, EditionChangeKind::Removed))) {
                let rule = rule_of(id).unwrap_or_default();
                let reason = reason(registry, (from, to), id, kind);
                let key = ((*profile).clone(), rule.to_owned(), kind, reason);
                changes.entry(key).or_default().push((*id).clone());
            }
        }
        let changes = changes.into_iter().map(|((profile, rule, kind, reason), scenarios)| EditionChange {
            kind,
            profile,
            rule,
            scenarios,
            reason,
        });
        Self { from: from.name().to_owned(), to: to.name().to_owned(), changes: changes.collect() }
    }

    /// How many scenarios became this.
    pub fn count(&self, kind: EditionChangeKind) -> usize {
        self.changes.iter().filter(|own| own.kind == kind).map(|own| own.scenarios.len()).sum()
    }
}

fn reason(
    registry: &Registry,
    (from, to): (&Edition, &Edition),
    id: &str,
    kind: EditionChangeKind,
) -> String {
    let is_about = |erratum: &&Erratum| erratum.scenario == id || erratum.scenario == revision::split(id).0;
    if kind != EditionChangeKind::Added {
        let erratum = from.errata().iter().chain(to.errata()).rfind(is_about);
        let said = erratum.map(|own| format!("erratum of {}: {}", own.date, own.reason));
        return said.unwrap_or_else(|| "no erratum says why".to_owned());
    }
    let rule = rule_of(id).unwrap_or_default();
    let statement = || registry.rule(rule).map(|rule| rule.statement.clone());
    to.added()
        .get(rule)
        .cloned()
        .or_else(statement)
        .unwrap_or_else(|| "the rule is no longer there".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "[[rule]]\nid = \"A-1\"\nlevel = \"must\"\nprofiles = [\"p\"]\nstatement = \"It holds.\"\nsource = \"d\"\n";

    fn edition(name: &str, more: &str, lines: &[&str], errata: &str) -> Edition {
        let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
        let text =
            format!("edition = \"{name}\"\nreleased = true\n{more}[scenarios.p]\n{}{errata}", lines.concat());
        Edition::parse(name, &text).expect("an edition")
    }

    #[test]
    fn each_change_has_its_reason() {
        let registry = Registry::from_files([("rules.toml", RULES)]).expect("rules");
        let before = ["\"p/f/A-1/1\" = \"aa\"", "\"p/f/A-1/2\" = \"ab\"", "\"p/f/A-1/3\" = \"ac\""];
        let after = [
            "\"p/f/A-1/1\" = \"ax\"", // changed
            "\"p/f/A-1/2\" = \"ad\"", // put before what had this number
            "\"p/f/A-1/3\" = \"ab\"",
            "\"p/f/A-2/1\" = \"ae\"",
        ];
        let errata = "[[erratum]]\nscenario = \"p/f/A-1/1\"\ndate = \"2026-12-01\"\nold = \"aa\"\nnew = \"ax\"\nreason = \"0 is no absence\"\n";
        let from = edition("2026.1", "", &before, errata);
        let to = edition("2026.2", "[added]\n\"A-2\" = \"a service answered twice\"\n", &after, "");
        let diff = EditionDiff::of(&registry, &from, &to);
        let rows: Vec<(&str, &str, String, &str)> = diff
            .changes
            .iter()
            .map(|own| (own.kind.name(), own.rule.as_str(), own.scenarios.join(" "), own.reason.as_str()))
            .collect();
        let row = |kind, rule, ids: &str, reason| (kind, rule, ids.to_owned(), reason);
        assert_eq!(
            rows,
            [
                row("added", "A-1", "p/f/A-1/2", "It holds."),
                row("changed", "A-1", "p/f/A-1/1", "erratum of 2026-12-01: 0 is no absence"),
                row("removed", "A-1", "p/f/A-1/3", "no erratum says why"),
                row("added", "A-2", "p/f/A-2/1", "a service answered twice"),
            ]
        );
        assert_eq!(EditionChangeKind::ALL.map(|kind| diff.count(kind)), [2, 1, 1]);
    }
}
