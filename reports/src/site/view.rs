//! What the pages look up: rules by id, scenarios by rule, outcomes of the run.

use std::collections::BTreeMap;

use super::model::{Chapter, Entry, Group, RuleText, ScenarioText, Site};
use crate::record::{Outcome, RuleEntry, ScenarioEntry};
use crate::view;

/// The site with its indices.
pub(super) struct View<'a> {
    pub(super) site: &'a Site,
    rules: BTreeMap<&'a str, &'a RuleText>,
    scenarios: BTreeMap<&'a str, Vec<Found<'a>>>,
    /// Rules of later revisions, by the rule that they take the place of.
    replaced_by: BTreeMap<&'a str, Vec<&'a str>>,
    outcomes: BTreeMap<(&'a str, &'a str), &'a RuleEntry>,
    /// By scenario and rule: one scenario can break one of its rules and not the other.
    entries: BTreeMap<&'a str, Vec<(&'a RuleEntry, &'a ScenarioEntry)>>,
}

/// A scenario and where it stands.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) chapter: &'a Chapter,
    pub(super) group: &'a Group,
    pub(super) scenario: &'a ScenarioText,
}

impl<'a> View<'a> {
    pub(super) fn of(site: &'a Site) -> Self {
        let mut scenarios = BTreeMap::<&str, Vec<Found<'_>>>::new();
        for chapter in &site.chapters {
            for group in &chapter.groups {
                for scenario in &group.scenarios {
                    for rule in scenario.rules() {
                        scenarios.entry(rule).or_default().push(Found { chapter, group, scenario });
                    }
                }
            }
        }
        let mut replaced_by = BTreeMap::<&str, Vec<&str>>::new();
        for rule in &site.rules {
            for replaced in &rule.replaces {
                replaced_by.entry(replaced).or_default().push(&rule.id);
            }
        }
        let judged = site.run.iter().flat_map(|run| &run.rules);
        let mut entries = BTreeMap::<&str, Vec<_>>::new();
        for rule in judged.clone() {
            for scenario in &rule.scenarios {
                entries.entry(scenario.id.as_str()).or_default().push((rule, scenario));
            }
        }
        Self {
            site,
            rules: site.rules.iter().map(|rule| (rule.id.as_str(), rule)).collect(),
            scenarios,
            replaced_by,
            outcomes: judged.map(|rule| ((rule.id.as_str(), rule.profile.as_str()), rule)).collect(),
            entries,
        }
    }

    pub(super) fn rule(&self, id: &str) -> Option<&'a RuleText> {
        self.rules.get(id).copied()
    }

    /// Ids of the rules that took the place of a rule in a later revision, in document order.
    pub(super) fn replaced_by(&self, rule: &str) -> &[&'a str] {
        self.replaced_by.get(rule).map(Vec::as_slice).unwrap_or_default()
    }

    /// The scenarios that speak for a rule, in feature order.
    pub(super) fn scenarios(&self, rule: &str) -> &[Found<'a>] {
        self.scenarios.get(rule).map(Vec::as_slice).unwrap_or_default()
    }

    /// The chapters of a role, in order of their paths.
    pub(super) fn chapters(&self, profile: &str) -> Vec<&'a Chapter> {
        self.site.chapters.iter().filter(|chapter| chapter.profile == profile).collect()
    }

    /// The rules of a role, in document order.
    pub(super) fn of_role(&self, profile: &str) -> Vec<&'a RuleText> {
        self.site.rules.iter().filter(|rule| rule.profiles.iter().any(|own| own == profile)).collect()
    }

    /// The rules of a document, in its order.
    pub(super) fn of_document(&self, prefix: &str) -> Vec<&'a RuleText> {
        self.site.rules.iter().filter(|rule| rule.id.starts_with(prefix)).collect()
    }

    /// What the run says of a rule in a role.
    pub(super) fn outcome(&self, rule: &str, profile: &str) -> Option<&'a RuleEntry> {
        self.outcomes.get(&(rule, profile)).copied()
    }

    /// What the run says of a case, for one rule or for all of them, with the reason. The most urgent comes first.
    pub(super) fn of_case(&self, entry: &Entry, rule: Option<&str>) -> Option<(Outcome, Option<&'a str>)> {
        let outcomes = self.entries.get(entry.id.as_str())?.iter();
        let outcomes = outcomes.filter(|(own, _)| rule.is_none_or(|rule| own.id == rule));
        let outcomes =
            outcomes.map(|(rule, scenario)| (view::outcome_of(rule, scenario), view::why(scenario)));
        outcomes.min_by_key(|(outcome, _)| *outcome)
    }

    /// Names of a rule's outcomes in all roles, for the filter.
    pub(super) fn names(&self, rule: &RuleText) -> String {
        let outcomes = rule.profiles.iter().filter_map(|profile| self.outcome(&rule.id, profile));
        outcomes.map(|entry| entry.outcome.name()).collect::<Vec<_>>().join(" ")
    }

    /// How many of the rules had which outcome in one role.
    pub(super) fn counts(&self, profile: &str) -> Option<String> {
        let run = self.site.run.as_ref()?;
        let own: Vec<_> = run.rules.iter().filter(|rule| rule.profile == profile).collect();
        (!own.is_empty())
            .then(|| view::counts(|outcome| own.iter().filter(|rule| rule.outcome == outcome).count()))
    }
}

impl ScenarioText {
    /// Its case, or those of its rows.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        let rows = self.examples.iter().flat_map(|example| &example.rows);
        self.entry.iter().chain(rows.map(|(_, entry)| entry))
    }

    /// The rules that it speaks for, each once, in order.
    pub(super) fn rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for rule in self.entries().flat_map(|entry| &entry.rules) {
            if !rules.contains(&rule.as_str()) {
                rules.push(rule);
            }
        }
        rules
    }
}
