//! The difference between two records: what counts as what, and how it reads.

use callmark_reports::record::{Outcome, RunRecord, Summary, Verdict};
use callmark_reports::{ChangeKind, Diff, diff_human, diff_json, diff_markdown};
use serde_json::json;

use crate::support;

/// The same record with one outcome set.
fn with(outcome: Outcome) -> RunRecord {
    let mut record = support::conformant();
    record.rules[0].outcome = outcome;
    record.rules[0].scenarios[0].outcome = outcome;
    record.summary = Summary::of(&record.rules);
    record.verdict = Verdict::of(&record.rules);
    record
}

fn kinds(old: &RunRecord, new: &RunRecord) -> Vec<ChangeKind> {
    Diff::of(old, new).changes.iter().map(|change| change.kind).collect()
}

#[test]
fn outcomes_change_for_better_or_worse() {
    use Outcome::{
        CouldNotRun, Excluded, Failed, KnownFailing, NotApplicable, NotObserved, Noted, Passed, Warned,
    };
    let check = |old, new, expect| assert_eq!(kinds(&with(old), &with(new)), [expect], "{old:?} → {new:?}");
    for worse in [Failed, Warned, KnownFailing, CouldNotRun, NotObserved, NotApplicable] {
        check(Passed, worse, ChangeKind::Regression);
        check(worse, Passed, ChangeKind::Fix);
    }
    check(KnownFailing, Failed, ChangeKind::Regression);
    check(NotApplicable, Failed, ChangeKind::Regression);
    check(CouldNotRun, Failed, ChangeKind::Regression);
    check(Failed, KnownFailing, ChangeKind::Other);
    check(Failed, NotApplicable, ChangeKind::Other);
    check(Failed, CouldNotRun, ChangeKind::Other);
    check(Passed, Excluded, ChangeKind::Other);
    check(Noted, Passed, ChangeKind::Other);
    for outcome in Outcome::ALL {
        assert_eq!(kinds(&with(outcome), &with(outcome)), []);
    }
}

#[test]
fn rules_come_and_go() {
    let (whole, mut part) = (support::conformant(), support::conformant());
    part.rules.remove(2);
    assert_eq!(kinds(&whole, &part), [ChangeKind::Gone]);
    assert_eq!(kinds(&part, &whole), [ChangeKind::New]);
}

#[test]
fn evidence_is_compared_by_what_it_claims() {
    let old = support::every_outcome();
    let mut same = old.clone();
    for evidence in same.rules[1].scenarios.iter_mut().filter_map(|own| own.evidence.as_mut()) {
        evidence.frames.reverse();
        evidence.rerun = "callmark certify --target elsewhere.toml --rule UTP-4.2-10".into();
    }
    assert_eq!(kinds(&old, &same), []);
    let mut other = old.clone();
    if let Some(evidence) = other.rules[1].scenarios[0].evidence.as_mut() {
        evidence.actual = Some(json!("pending"));
    }
    assert_eq!(kinds(&old, &other), [ChangeKind::Evidence]);
    let mut further = old.clone();
    further.rules[1].scenarios[2].outcome = Outcome::Failed;
    assert_eq!(kinds(&old, &further), [ChangeKind::Evidence]);
}

#[test]
fn a_difference_reads_well() {
    let mut old = support::conformant();
    old.rules[2].outcome = Outcome::KnownFailing;
    old.rules[2].scenarios[0].outcome = Outcome::KnownFailing;
    old.rules.remove(3);
    let mut new = support::every_outcome();
    new.suite.features_sha256 = "0".repeat(64);
    let diff = Diff::of(&old, &new);
    insta::assert_snapshot!("diff.txt", diff_human(&diff));
    insta::assert_snapshot!("diff.md", diff_markdown(&diff));
    insta::assert_snapshot!("diff.json", diff_json(&diff));
    let none = Diff::of(&new, &new);
    insta::assert_snapshot!("no_diff.txt", diff_human(&none));
    let value = serde_json::from_str(&diff_json(&diff)).expect("our own JSON is JSON");
    let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Diff, &value);
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn nothing_of_a_hostile_target_acts() {
    let diff = Diff::of(&support::conformant(), &support::hostile());
    for report in [diff_human(&diff), diff_markdown(&diff), diff_json(&diff)] {
        let acts = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{202e}' | '\u{2066}');
        assert_eq!(report.find(acts), None);
        assert!(report.len() < 20_000, "{} bytes", report.len());
    }
    assert!(!diff_markdown(&diff).contains("<script"));
}
