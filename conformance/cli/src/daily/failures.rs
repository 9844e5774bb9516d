//! `certify --failed`: the scenarios that the last run in `--out` did not pass.

use std::collections::BTreeSet;
use std::path::Path;

use callmark_reports::Format;
use callmark_reports::record::{Outcome, Partial, RuleEntry, RunRecord};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::{Library, Selection};

use crate::exit::Failure;
use crate::report;

/// The flag that asks for it.
pub(crate) const FAILED: &str = "--failed";

/// What of a selection the last run in `out` did not pass: what failed, could not run or saw nothing.
///
/// # Errors
/// There is no record, it is of another target, or nothing failed.
pub(crate) fn failures(
    library: &Library,
    selection: Selection,
    manifest: &Manifest,
    (out, strict): (&Path, bool),
) -> Result<Selection, Failure> {
    let path = out.join(Format::Json.file_name());
    if !path.exists() {
        return Err(Failure::usage(format!("there is no record of a run: `{}`", path.display())).hint(
            format!("certify once without `{FAILED}`, or name the directory of the reports with `--out`"),
        ));
    }
    let record = report::read(&path)?;
    if record.target.name != manifest.target.name {
        return Err(Failure::usage(format!(
            "the record `{}` is of the target `{}`, and the manifest describes `{}`",
            path.display(),
            record.target.name,
            manifest.target.name
        ))
        .hint("name the directory of its reports with `--out`"));
    }
    let wanted = not_passed(&record, strict);
    if wanted.is_empty() {
        return Err(Failure::nothing(format!("nothing failed in the last run (`{}`)", path.display()))
            .hint(format!("certify without `{FAILED}` for a verdict")));
    }
    let whole = Selection { scenarios: Some(wanted), partial: Some(Partial::Failures), ..selection };
    let cases = library.select(&whole);
    if cases.is_empty() {
        return Err(Failure::nothing(format!(
            "nothing of what failed in the last run (`{}`) is selected",
            path.display()
        ))
        .hint("the record may be of other profiles or rules, or of another version of the suite"));
    }
    // Sessions of others need not be opened.
    let concerned: BTreeSet<&str> = cases.iter().map(|case| case.profile.as_str()).collect();
    let profiles = whole.profiles.iter().filter(|own| concerned.contains(own.as_str())).cloned().collect();
    Ok(Selection { profiles, ..whole })
}

/// Ids of the scenarios that kept rules of a record from holding.
fn not_passed(record: &RunRecord, strict: bool) -> BTreeSet<String> {
    let is_bad = |outcome: Outcome| {
        matches!(outcome, Outcome::Failed | Outcome::CouldNotRun | Outcome::NotObserved)
            || (strict && outcome == Outcome::Warned)
    };
    let mut ids = BTreeSet::new();
    for rule in record.rules.iter().filter(|rule| is_bad(rule.outcome)) {
        let own: Vec<_> = rule.scenarios.iter().filter(|scenario| is_bad(scenario.outcome)).collect();
        for scenario in &own {
            ids.insert(scenario.id.clone());
            // What judges every exchange needs the one that it found fault with.
            ids.extend(scenario.evidence.iter().filter_map(|evidence| evidence.scenario.clone()));
        }
        if own.iter().any(|scenario| scenario.outcome == Outcome::NotObserved) {
            ids.extend(all(rule));
        }
    }
    ids
}

/// Whatever could show the subject of a rule: what saw nothing may see it in the exchanges of its neighbours.
fn all(rule: &RuleEntry) -> impl Iterator<Item = String> + '_ {
    let applies = rule.scenarios.iter().filter(|own| own.outcome != Outcome::NotApplicable);
    applies.map(|own| own.id.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Id, outcome, and the scenario that judges every exchange, where that failed.
    type Scenario<'a> = (&'a str, &'a str, Option<&'a str>);

    fn record(rules: &[(&str, &[Scenario<'_>])]) -> RunRecord {
        let rules: Vec<_> = rules
            .iter()
            .map(|(outcome, scenarios)| {
                let scenarios: Vec<_> = scenarios
                    .iter()
                    .map(|(id, outcome, of)| {
                        let evidence = (*outcome == "failed").then(|| {
                            json!({"step": "Then", "location": "f:1:1", "message": "m", "hint": "h", "frames": [],
                                   "rerun": "r", "scenario": of})
                        });
                        json!({"id": id, "name": "n", "file": "f", "line": 1, "outcome": outcome, "evidence": evidence})
                    })
                    .collect();
                json!({"id": "HUB-01", "level": "must", "profile": "hub.server", "statement": "s", "source": "d",
                       "outcome": outcome, "scenarios": scenarios})
            })
            .collect();
        serde_json::from_value(json!({
            "schema": "callmark.run/1", "suite": {"version": "0", "features_sha256": "", "seed": 1},
            "target": {"name": "a", "version": ""}, "verdict": "nonconformant",
            "summary": callmark_reports::record::Summary::default(), "rules": rules
        }))
        .expect("a record")
    }

    #[test]
    fn what_kept_a_rule_from_holding_is_run_again() {
        let check = |rules: &[(&str, &[Scenario<'_>])], strict: bool, wanted: &[&str]| {
            let ids = not_passed(&record(rules), strict);
            assert_eq!(ids.iter().map(String::as_str).collect::<Vec<_>>(), wanted);
        };
        check(&[("passed", &[("a", "passed", None)]), ("not-applicable", &[])], false, &[]);
        check(&[("failed", &[("a", "failed", None), ("b", "passed", None)])], false, &["a"]);
        check(&[("could-not-run", &[("a", "could-not-run", None)])], false, &["a"]);
        check(&[("warned", &[("a", "warned", None)])], false, &[]);
        check(&[("warned", &[("a", "warned", None)])], true, &["a"]);
        check(&[("known-failing", &[("a", "known-failing", None)])], false, &[]);
        // What judges every exchange, and the scenario whose exchange it was.
        check(
            &[("failed", &[("every", "failed", Some("c")), ("b", "passed", None)])],
            false,
            &["c", "every"],
        );
        // What saw nothing, with whatever may show it; a silent judge of every exchange alone keeps no rule from holding.
        let all = [("every", "not-observed", None), ("b", "passed", None), ("c", "not-applicable", None)];
        check(&[("not-observed", &all)], false, &["b", "every"]);
        check(&[("passed", &all)], false, &[]);
    }
}
