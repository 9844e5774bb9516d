//! The baseline: what it covers, what makes an entry stale, and what is written.

use callmark_reports::record::{Outcome, RunRecord, Verdict};
use callmark_reports::{Baseline, Date, RuleScenario, StaleCause};

use crate::support;

/// 2026-01-01.
const TODAY: u64 = 1_767_225_600;

fn today() -> Date {
    Date::of_unix_seconds(TODAY)
}

fn baseline(text: &str) -> Baseline {
    Baseline::parse(text).expect("a sound baseline")
}

/// The scenarios of the record itself, all of them expected: a whole run.
fn whole(record: &RunRecord) -> impl Fn(&str) -> Option<Vec<RuleScenario>> + use<> {
    let record = record.clone();
    move |id| {
        let rules = record.rules.iter().filter(|rule| rule.id == id);
        let ids: Vec<_> = rules
            .flat_map(|rule| &rule.scenarios)
            .map(|own| RuleScenario { id: own.id.clone(), is_expected: true })
            .collect();
        (!ids.is_empty()).then_some(ids)
    }
}

/// Applies a baseline; answers the record and the ids and causes of stale entries.
fn applied(text: &str, mut record: RunRecord) -> (RunRecord, Vec<(String, StaleCause)>) {
    let scenarios = whole(&record);
    let stale = baseline(text).apply(&mut record, today(), &scenarios);
    (record, stale.into_iter().map(|stale| (stale.entry.rule, stale.cause)).collect())
}

/// One rule fails in two scenarios and holds in a third; nothing else is wrong.
fn one_failure() -> RunRecord {
    let mut record = support::every_outcome();
    record
        .rules
        .retain(|rule| matches!(rule.outcome, Outcome::Failed | Outcome::Passed | Outcome::NotApplicable));
    record
}

#[test]
fn a_rule_that_is_known_does_not_decide_the_verdict() {
    let (record, stale) = applied(
        "[[known-failing]]\nrule = \"UTP-4.2-10\"\nreason = \"our queue\"\nissue = \"T-1\"\nexpires = 2026-01-01\n",
        one_failure(),
    );
    assert_eq!((record.verdict, record.summary.known_failing, stale), (Verdict::Conformant, 1, vec![]));
    let rule = record.rules.iter().find(|rule| rule.id == "UTP-4.2-10").expect("the rule");
    assert_eq!(rule.outcome, Outcome::KnownFailing);
    assert_eq!(rule.reason.as_deref(), Some("our queue (T-1, until 2026-01-01)"));
    let outcomes: Vec<_> = rule.scenarios.iter().map(|scenario| scenario.outcome).collect();
    assert_eq!(outcomes, [Outcome::KnownFailing, Outcome::KnownFailing, Outcome::Passed]);
    assert!(rule.scenarios[0].evidence.is_some(), "what was found stays");
    let value = serde_json::to_value(&record).expect("a record is plain data");
    let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Run, &value);
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn a_scenario_that_is_known_leaves_the_others_of_its_rule() {
    let entry = "[[known-failing]]\nrule = \"UTP-4.2-10\"\n\
                 scenario = \"utp/tool-service/callback/UTP-4.2-10/1\"\nreason = \"r\"\n";
    let (record, stale) = applied(entry, one_failure());
    assert_eq!((record.verdict, record.summary.failed, stale), (Verdict::Nonconformant, 1, vec![]));
    let rule = record.rules.iter().find(|rule| rule.id == "UTP-4.2-10").expect("the rule");
    let outcomes: Vec<_> = rule.scenarios.iter().map(|scenario| scenario.outcome).collect();
    assert_eq!(outcomes, [Outcome::KnownFailing, Outcome::Failed, Outcome::Passed]);
}

#[test]
fn a_warning_can_be_known_too() {
    let (record, stale) =
        applied("[[known-failing]]\nrule = \"UTP-5-07\"\nreason = \"r\"\n", support::every_outcome());
    assert_eq!((record.summary.warned, stale), (0, vec![]));
}

#[test]
fn an_entry_without_its_failure_is_stale() {
    let check = |entry: &str, expect: &[(&str, StaleCause)]| {
        let (record, stale) = applied(&format!("[[known-failing]]\nreason = \"r\"\n{entry}"), one_failure());
        let stale: Vec<_> = stale.iter().map(|(rule, cause)| (rule.as_str(), *cause)).collect();
        assert_eq!(stale, expect, "{entry}");
        record
    };
    check("rule = \"UTP-4.1-35\"", &[("UTP-4.1-35", StaleCause::NoLongerFails)]);
    check("rule = \"UTP-8-03\"", &[("UTP-8-03", StaleCause::NoLongerFails)]);
    check("rule = \"UTP-0-00\"", &[("UTP-0-00", StaleCause::UnknownRule)]);
    check("rule = \"UTP-4.2-10\"\nscenario = \"x\"", &[("UTP-4.2-10", StaleCause::UnknownScenario)]);
    check(
        "rule = \"UTP-4.2-10\"\nscenario = \"utp/tool-service/callback/UTP-4.2-10/3\"",
        &[("UTP-4.2-10", StaleCause::NoLongerFails)],
    );
    let expired =
        check("rule = \"UTP-4.2-10\"\nexpires = 2025-12-31", &[("UTP-4.2-10", StaleCause::Expired)]);
    assert_eq!(
        expired.verdict,
        Verdict::Conformant,
        "an expired entry is reported as that, and not as a failure"
    );
}

#[test]
fn a_run_that_did_not_look_says_nothing_about_an_entry() {
    let mut record = support::every_outcome();
    let scenarios = whole(&record);
    let known = |rule: &str| baseline(&format!("[[known-failing]]\nrule = \"{rule}\"\nreason = \"r\"\n"));
    // Could not run, and not observed.
    for rule in ["HUB-05", "UTP-6-02"] {
        assert_eq!(known(rule).apply(&mut record, today(), &scenarios), []);
    }
    // Not selected: the features know the rule, the record has nothing of it.
    record.rules.retain(|rule| rule.id != "UTP-4.1-35");
    assert_eq!(known("UTP-4.1-35").apply(&mut record, today(), &scenarios), []);
    // Held in one profile, and not run in another.
    let other = |_: &str| {
        let scenario = |id: &str| RuleScenario { id: id.to_owned(), is_expected: true };
        Some(vec![
            scenario("utp/tool-service/callback/UTP-4.1-35/1"),
            scenario("utp/pmo/callback/UTP-4.1-35/1"),
        ])
    };
    let mut record = one_failure();
    assert_eq!(known("UTP-4.1-35").apply(&mut record, today(), &other), []);
}

#[test]
fn what_is_written_covers_every_failure_and_keeps_reasons() {
    let record = one_failure();
    let old = baseline(
        "[[known-failing]]\nrule = \"UTP-4.1-35\"\nreason = \"gone\"\n\
         [[known-failing]]\nrule = \"UTP-4.2-10\"\nscenario = \"utp/tool-service/callback/UTP-4.2-10/2\"\n\
         reason = \"ours, for now\"\nissue = \"T-2\"\n",
    );
    let scenarios = whole(&record);
    let new = old.renewed(&record, today(), &scenarios);
    insta::assert_snapshot!(new.to_toml());
    assert_eq!(Baseline::parse(&new.to_toml()), Ok(new.clone()));
    let mut covered = record.clone();
    assert_eq!(new.apply(&mut covered, today(), &scenarios), []);
    assert_eq!(covered.verdict, Verdict::Conformant);
    assert_eq!(new.renewed(&record, today(), &scenarios), new, "written twice, it is the same");
}

#[test]
fn a_rule_that_fails_everywhere_is_one_entry() {
    let mut record = one_failure();
    for rule in &mut record.rules {
        rule.scenarios.retain(|scenario| scenario.outcome != Outcome::Passed || rule.id != "UTP-4.2-10");
    }
    let new = Baseline::default().renewed(&record, today(), &whole(&record));
    let [entry] = &new.entries[..] else { panic!("{new:?}") };
    assert_eq!((entry.rule.as_str(), &entry.scenario), ("UTP-4.2-10", &None));
}

#[test]
fn a_hostile_target_s_words_stay_a_string() {
    let record = support::hostile();
    let new = Baseline::default().renewed(&record, today(), &whole(&record));
    let text = new.to_toml();
    assert_eq!(text.matches("[[known-failing]]").count(), 1, "{text}");
    assert_eq!(text.find(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), None);
    assert_eq!(Baseline::parse(&text), Ok(new));
}

#[test]
fn all_faults_of_a_file_are_reported() {
    let check = |text: &str, expect: &[&str]| {
        let faults = Baseline::parse(text).expect_err("a faulty baseline").faults;
        assert_eq!(faults.len(), expect.len(), "{faults:?}");
        for (fault, part) in faults.iter().zip(expect) {
            assert!(fault.contains(part), "`{fault}` does not say `{part}`");
        }
    };
    check("[[known-failing]]\nrule = \"a\"\n", &["reason"]);
    check("[[known-failing]]\nrule = \"a\"\nreason = \"r\"\nreasn = \"r\"\n", &["reasn"]);
    check("[[known-failing]\n", &["1"]);
    check(
        "[[known-failing]]\nrule = \"a\"\nreason = \" \"\n[[known-failing]]\nrule = \"a\"\nreason = \"r\"\nexpires = 07:30:00\n",
        &["the `reason` is empty", "names the same", "is no day"],
    );
    assert_eq!(Baseline::parse(""), Ok(Baseline::default()));
}
