//! `junit.xml`: one suite per profile, one case per rule and scenario, valid against the schema that Jenkins publishes.
//!
//! The file is green exactly when the verdict is `conformant`, so that a CI system that reads nothing else agrees:
//! a check that could not run or saw nothing is an error in it, not a skip.
//! Deliberately absent: times and host names, which would make two runs differ, and a `file` attribute,
//! which that schema does not allow.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::record::{Outcome, RuleEntry, RunRecord, ScenarioEntry};
use crate::{plain, text, view};

/// The record as JUnit XML.
pub fn junit(record: &RunRecord) -> String {
    let mut report = Report::new("callmark");
    for profile in profiles(record) {
        let mut suite = TestSuite::new(text::line(profile.name, text::LINE));
        suite.add_property(("target", view::target(record).as_str()));
        suite.add_property(("verdict", record.verdict.name()));
        if let Some(shard) = record.shard {
            suite.add_property(("shard", shard.to_string().as_str()));
        }
        if let Some(partial) = record.partial {
            suite.add_property(("partial", partial.name()));
        }
        if let Some(edition) = view::edition(record) {
            suite.add_property(("edition", edition.as_str()));
        }
        suite.add_property(("suite_version", text::line(&record.suite.version, text::LINE).as_str()));
        suite.add_property((
            "features_sha256",
            text::line(&record.suite.features_sha256, text::LINE).as_str(),
        ));
        suite.add_property(("seed", record.suite.seed.to_string().as_str()));
        let mut names = BTreeMap::new();
        for rule in profile.rules {
            suite.add_test_cases(cases(rule, &mut names));
        }
        let newer = view::newer_rules(record).iter().filter(|rule| rule.profile == profile.name);
        for rule in newer {
            suite.add_test_cases(newer_cases(&view::newer_title(record), rule, &mut names));
        }
        report.add_test_suite(suite);
    }
    let xml = report.to_string().expect("writing to memory does not fail");
    // The writer counts skips on the root too, where Jenkins' schema has no such attribute; the first one is the root's.
    xml.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1)
}

/// Every profile, also those of which no check counts.
fn profiles(record: &RunRecord) -> Vec<view::Profile<'_>> {
    let mut profiles = view::profiles(record);
    for rule in view::newer_rules(record) {
        if !profiles.iter().any(|own| own.name == rule.profile) {
            profiles.push(view::Profile { name: &rule.profile, rules: Vec::new() });
        }
    }
    profiles
}

fn cases(rule: &RuleEntry, names: &mut BTreeMap<String, u32>) -> Vec<TestCase> {
    let mut cases = Vec::new();
    // A rule whose outcome no scenario accounts for would be lost, and with it a failure.
    if view::explaining(rule).is_empty() {
        let why = rule.reason.as_deref();
        let text = plain::rule_lines(rule);
        let outcome = rule.outcome;
        cases.push(Case { rule, outcome, why, text }.build(unique(&rule.id, names)));
    }
    for scenario in &rule.scenarios {
        let why = view::why(scenario).or(rule.reason.as_deref());
        let text = plain::scenario(rule, scenario);
        let outcome = view::outcome_of(rule, scenario);
        let name = unique(&format!("{} {}", rule.id, scenario.name), names);
        cases.push(Case { rule, outcome, why, text }.build(name));
    }
    cases
}

/// Checks that do not count are skipped, whatever they say; what that is stands beside them.
fn newer_cases(title: &str, rule: &RuleEntry, names: &mut BTreeMap<String, u32>) -> Vec<TestCase> {
    let case = |scenario: &ScenarioEntry| {
        let why = view::why(scenario).unwrap_or(&rule.statement);
        let said = format!("{title}: {}: {}", view::label(scenario.outcome), text::line(why, text::LINE));
        let mut status = TestCaseStatus::skipped();
        status.set_type("new");
        status.set_message(said.as_str());
        let mut case = TestCase::new(unique(&format!("{} {}", rule.id, scenario.name), names), status);
        case.set_classname(text::line(&rule.profile, text::LINE));
        if scenario.evidence.is_some() {
            case.set_system_out(format!("{said}\n{}", plain::scenario(rule, scenario)));
        }
        case
    };
    rule.scenarios.iter().map(case).collect()
}

/// Readers take two cases with one name for one case.
fn unique(name: &str, names: &mut BTreeMap<String, u32>) -> String {
    let name = text::line(name, text::LINE);
    let seen = names.entry(name.clone()).or_default();
    *seen += 1;
    if *seen == 1 { name } else { format!("{name} #{seen}") }
}

struct Case<'a> {
    rule: &'a RuleEntry,
    outcome: Outcome,
    why: Option<&'a str>,
    text: String,
}

impl Case<'_> {
    fn build(self, name: String) -> TestCase {
        let mut case = TestCase::new(name, self.status());
        case.set_classname(text::line(&self.rule.profile, text::LINE));
        if matches!(self.outcome, Outcome::Warned | Outcome::Noted) {
            case.set_system_out(format!("{}: {}\n{}", view::label(self.outcome), self.message(), self.text));
        }
        case
    }

    fn status(&self) -> TestCaseStatus {
        let mut status = match self.outcome {
            Outcome::Passed | Outcome::Warned | Outcome::Noted => return TestCaseStatus::success(),
            Outcome::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            Outcome::CouldNotRun | Outcome::NotObserved => TestCaseStatus::non_success(NonSuccessKind::Error),
            Outcome::KnownFailing | Outcome::NotApplicable | Outcome::Excluded => TestCaseStatus::skipped(),
        };
        status.set_type(self.outcome.name());
        status.set_message(format!("{}: {}", view::label(self.outcome), self.message()));
        if !matches!(self.outcome, Outcome::NotApplicable | Outcome::Excluded) {
            status.set_description(self.text.as_str());
        }
        status
    }

    fn message(&self) -> String {
        text::line(self.why.unwrap_or(&self.rule.statement), text::LINE)
    }
}
