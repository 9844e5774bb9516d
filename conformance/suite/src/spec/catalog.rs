//! The catalogue: every scenario of `features/`, and which rule it speaks for.
//!
//! Outlines are expanded here, so that what is selected, run and reported is one list of cases.
//! Neighbours: `registry` (the rules), `run` (feeds the selected cases to cucumber).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::record::Level;
use cucumber::feature::Ext as _;
use gherkin::{Feature, GherkinEnv, Scenario, Step};
use thiserror::Error;

use crate::spec::library;
use crate::spec::revision::{self, Period};

/// One scenario, or one row of an outline.
#[derive(Clone, Debug)]
pub struct Case {
    /// Where it stands; also what events of a run are matched by.
    pub at: Place,
    /// Stable id, for example `utp/tool-service/callback/UTP-4.2-05/1`.
    pub id: String,
    /// Title with the row's values.
    pub name: String,
    /// The profile whose feature it stands in.
    pub profile: String,
    /// The rules that it speaks for.
    pub rules: Vec<String>,
    /// Set where the case asks for less than its rule's level, by the tag `@level:should`.
    pub level: Option<Level>,
    /// What the target must declare, from `@cap:` tags.
    pub capabilities: BTreeSet<String>,
    /// The revisions of its protocol that it is about, from `@since:` and `@until:`.
    pub period: Period,
    /// All tags, without `@`. Cases for several revisions share them, and so do neighbours that have the same.
    pub tags: Arc<BTreeSet<String>>,
    feature: usize,
    rule: Option<usize>,
    /// Without the table of its outline. Cases for several revisions share it.
    scenario: Arc<Scenario>,
}

impl Case {
    /// The steps with the row's values, the background's first.
    pub fn scenario(&self) -> &Scenario {
        &self.scenario
    }
}

/// A feature file and a line in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Relative path, for example `features/utp/tool-service/callback.feature`.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The revision that it is run for; empty for the one that the documents describe.
    pub revision: String,
}

/// Tag of a feature that is run for another revision than the one that the documents describe.
const REVISION: &str = "revision:";

impl Place {
    /// Where a scenario of a feature stands, as cucumber runs it.
    pub fn of(feature: &Feature, scenario: &Scenario) -> Self {
        let revision = feature.tags.iter().find_map(|tag| tag.strip_prefix(REVISION));
        Self {
            file: feature.path.as_ref().map(|path| path.display().to_string()).unwrap_or_default(),
            line: u32::try_from(scenario.position.line).unwrap_or(u32::MAX),
            revision: revision.unwrap_or_default().to_owned(),
        }
    }
}

/// All cases in file order.
#[derive(Debug)]
pub struct Catalogue {
    /// Without their scenarios, which are the cases'.
    features: Vec<Feature>,
    cases: Vec<Case>,
}

impl Catalogue {
    /// Parses the features that travel inside the binary.
    pub fn load() -> Result<Self, CatalogueError> {
        Self::from_files(library::feature_files())
    }

    /// Parses features from `(path, text)` pairs.
    pub fn from_files<'a>(
        files: impl IntoIterator<Item = (String, &'a str)>,
    ) -> Result<Self, CatalogueError> {
        let files: Vec<_> = files.into_iter().collect();
        let parsed = |files: &[(String, &str)]| -> Result<Vec<Feature>, CatalogueError> {
            files.iter().map(|(path, text)| parsed(path, text)).collect()
        };
        // Two at a time, since every run waits for it.
        let (first, second) = files.split_at(files.len() / 2);
        let (first, second) = std::thread::scope(|scope| {
            let second = scope.spawn(|| parsed(second));
            let first = parsed(first);
            (first, second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut catalogue = Self { features: Vec::new(), cases: Vec::new() };
        for ((path, _), feature) in files.iter().zip(first?.into_iter().chain(second?)) {
            catalogue.add(path, feature).map_err(|message| CatalogueError::new(path, message))?;
        }
        Ok(catalogue)
    }

    /// All cases in file order.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// The steps that run before those of a case: the backgrounds of its feature and of its rule.
    pub fn background(&self, case: &Case) -> impl Iterator<Item = &Step> {
        let feature = &self.features[case.feature];
        let rule = case.rule.and_then(|rule| feature.rules.get(rule));
        let backgrounds = feature.background.iter().chain(rule.and_then(|rule| rule.background.as_ref()));
        backgrounds.flat_map(|background| &background.steps)
    }

    /// The cases for every one of these profiles: each for the revision that stands in the profile's id, if it holds for
    /// that. A scenario has an id of its own for each revision.
    #[must_use]
    pub fn for_profiles<'a>(mut self, profiles: impl Iterator<Item = &'a str>) -> Self {
        let mut revised: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        for profile in profiles {
            if let (base, Some(revision)) = revision::split(profile) {
                revised.entry(base).or_default().push((profile, revision));
            }
        }
        let mut all = Vec::with_capacity(self.cases.len());
        for case in self.cases {
            let first = all.len();
            for (profile, revision) in revised.get(case.profile.as_str()).into_iter().flatten() {
                if case.period.includes(Some(revision)) {
                    let at = Place { revision: (*revision).to_owned(), ..case.at.clone() };
                    let id = format!("{}@{revision}", case.id);
                    all.push(Case { at, id, profile: (*profile).to_owned(), ..case.clone() });
                }
            }
            if case.period.includes(None) {
                all.insert(first, case);
            }
        }
        self.cases = all;
        self
    }

    /// The features again, holding only `cases`: what a run feeds to cucumber.
    pub fn select(&self, cases: &[&Case]) -> Vec<Feature> {
        let mut revisions: Vec<&str> = cases.iter().map(|case| case.at.revision.as_str()).collect();
        revisions.sort_unstable();
        revisions.dedup();
        let of_revision = |revision: &str| {
            let own: Vec<&Case> = cases.iter().copied().filter(|case| case.at.revision == revision).collect();
            let mut features = self.select_of_one_revision(&own);
            if !revision.is_empty() {
                for feature in &mut features {
                    feature.tags.push(format!("{REVISION}{revision}"));
                }
            }
            features
        };
        revisions.into_iter().flat_map(of_revision).collect()
    }

    fn select_of_one_revision(&self, cases: &[&Case]) -> Vec<Feature> {
        self.features
            .iter()
            .enumerate()
            .filter_map(|(index, whole)| {
                let own: Vec<_> = cases.iter().filter(|case| case.feature == index).collect();
                if own.is_empty() {
                    return None;
                }
                let of = |rule: Option<usize>| -> Vec<Scenario> {
                    own.iter()
                        .filter(|case| case.rule == rule)
                        .map(|case| Scenario::clone(&case.scenario))
                        .collect()
                };
                let mut feature = whole.clone();
                feature.scenarios = of(None);
                for (position, rule) in feature.rules.iter_mut().enumerate() {
                    rule.scenarios = of(Some(position));
                }
                feature.rules.retain(|rule| !rule.scenarios.is_empty());
                Some(feature)
            })
            .collect()
    }

    fn add(&mut self, path: &str, mut feature: Feature) -> Result<(), String> {
        let index = self.features.len();
        let profile = feature
            .tags
            .iter()
            .find_map(|tag| tag.strip_prefix("role:"))
            .ok_or("a feature needs a tag `@role:<profile>`")?
            .to_owned();
        let mut groups = vec![(None, Vec::new(), std::mem::take(&mut feature.scenarios))];
        for (position, rule) in feature.rules.iter_mut().enumerate() {
            groups.push((Some(position), rule.tags.clone(), std::mem::take(&mut rule.scenarios)));
        }
        let mut cases = Vec::new();
        for (rule, rule_tags, scenarios) in groups {
            for scenario in scenarios {
                let mut tags: BTreeSet<String> = feature.tags.iter().cloned().collect();
                tags.extend(rule_tags.iter().chain(&scenario.tags).cloned());
                let before =
                    cases.last().map(|before: &Case| &before.tags).filter(|before| ***before == tags);
                let tags = before.map_or_else(|| Arc::new(tags), Arc::clone);
                cases.push(case(path, index, rule, scenario, &profile, tags)?);
            }
        }
        number(path, &mut cases);
        self.cases.extend(cases);
        self.features.push(feature);
        Ok(())
    }
}

/// A feature with its outlines expanded.
fn parsed(path: &str, text: &str) -> Result<Feature, CatalogueError> {
    let fault = |message: String| CatalogueError::new(path, message);
    let mut feature =
        Feature::parse(text, GherkinEnv::default()).map_err(|error| fault(error.to_string()))?;
    feature.path = Some(path.into());
    feature.expand_examples().map_err(|error| fault(error.to_string()))
}

/// A feature cannot be read. Features travel inside the binary, so this is a bug of ours.
#[derive(Debug, Error)]
#[error("`{path}`: {message}")]
pub struct CatalogueError {
    path: String,
    message: String,
}

impl CatalogueError {
    pub(crate) fn new(path: &str, message: String) -> Self {
        Self { path: path.to_owned(), message }
    }
}

/// Whether a tag is a rule's id rather than one of ours (`role:`, `cap:`, `level:`).
pub fn is_rule_tag(tag: &str) -> bool {
    !tag.contains(':') && tag.contains('-')
}

fn case(
    path: &str,
    feature: usize,
    rule: Option<usize>,
    mut scenario: Scenario,
    profile: &str,
    tags: Arc<BTreeSet<String>>,
) -> Result<Case, String> {
    let level = match tags.iter().find_map(|tag| tag.strip_prefix("level:")) {
        None => None,
        Some("should") => Some(Level::Should),
        Some(other) => return Err(format!("`@level:{other}`: only `@level:should` lowers a case")),
    };
    let rules = match column(&scenario, "rule") {
        Some(id) => vec![id.to_owned()],
        None => tags.iter().filter(|tag| is_rule_tag(tag)).cloned().collect(),
    };
    if rules.is_empty() {
        return Err(format!("`{}` speaks for no rule", scenario.name));
    }
    let line = u32::try_from(scenario.position.line).map_err(|error| error.to_string())?;
    // The row has been filled in.
    scenario.examples = Vec::new();
    Ok(Case {
        at: Place { file: path.to_owned(), line, revision: String::new() },
        id: String::new(),
        name: scenario.name.clone(),
        profile: profile.to_owned(),
        rules,
        level,
        period: Period::of_tags(&tags),
        capabilities: tags.iter().filter_map(|tag| tag.strip_prefix("cap:")).map(str::to_owned).collect(),
        tags,
        feature,
        rule,
        scenario: Arc::new(scenario),
    })
}

/// The value of a column in the one row that an expanded outline keeps.
fn column<'a>(scenario: &'a Scenario, name: &str) -> Option<&'a str> {
    let [header, row] = scenario.examples.first()?.table.as_ref()?.rows.as_slice() else {
        return None;
    };
    let position = header.iter().position(|cell| cell == name)?;
    row.get(position).map(String::as_str)
}

/// Gives each case its id: path, first rule, running number among the cases of that rule in the file.
fn number(path: &str, cases: &mut [Case]) {
    let stem = path.trim_start_matches("features/").trim_end_matches(".feature");
    let mut counts = BTreeMap::<String, u32>::new();
    for case in cases {
        let rule = case.rules[0].clone();
        let count = counts.entry(rule.clone()).or_default();
        *count += 1;
        case.id = format!("{stem}/{rule}/{count}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURE: &str = "@role:toolbus.server
Feature: Calls

  @BUS-01
  Rule: A call runs a tool

    Scenario: In all revisions
      Given a server

    @since:2026-07-28
    Scenario: Since one
      Given a server

    @until:2025-11-25
    Scenario: Until one
      Given a server
";

    fn catalogue() -> Catalogue {
        let files = [("features/toolbus/server/calls.feature".to_owned(), FEATURE)];
        Catalogue::from_files(files).expect("a feature")
    }

    #[test]
    fn a_scenario_is_run_for_each_revision_that_it_holds_for() {
        let ids = |profiles: &[&str]| -> Vec<String> {
            let catalogue = catalogue().for_profiles(profiles.iter().copied());
            catalogue.cases().iter().map(|case| case.id.clone()).collect()
        };
        let id = |number: u32| format!("toolbus/server/calls/BUS-01/{number}");
        assert_eq!(ids(&["toolbus.server"]), [id(1), id(3)]);
        let modern = |number: u32| format!("{}@2026-07-28", id(number));
        assert_eq!(
            ids(&["toolbus.server", "toolbus.server@2026-07-28"]),
            [id(1), modern(1), modern(2), id(3)]
        );
        assert_eq!(ids(&["toolbus.server", "hub.server@2026-07-28"]), [id(1), id(3)]);
    }

    #[test]
    fn a_feature_says_which_revision_it_is_run_for() {
        let catalogue = catalogue().for_profiles(["toolbus.server@2026-07-28"].into_iter());
        let cases: Vec<&Case> = catalogue.cases().iter().collect();
        let features = catalogue.select(&cases);
        let places: BTreeSet<Place> = features
            .iter()
            .flat_map(|feature| {
                let rules = feature.rules.iter().flat_map(|rule| &rule.scenarios);
                rules.map(|scenario| Place::of(feature, scenario)).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(places, cases.iter().map(|case| case.at.clone()).collect());
        assert_eq!(places.len(), 4, "two for each revision, and nothing twice");
    }
}
