//! Targets that end on what they are sent: the scenario that sent it breaks its rule, however many ran beside it.

use std::path::Path;
use std::process::Command;

use callmark_reports::record::{Outcome, RunRecord, Verdict};

use crate::doctor::SMALL_TARGETS;
use crate::support;

/// The rule of a body that is no JSON.
const NO_JSON: &str = "HUB-16";

/// Certifies the Hub in Python, which ends on the first text that is no JSON. The record, and what was reported on
/// stderr.
fn certify_fragile(jobs: &str) -> (RunRecord, String) {
    let home = tempfile::tempdir().expect("a directory");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub");
    let manifest = std::fs::read_to_string(example.join("callmark.toml")).expect("the example's manifest");
    let program = home.path().join("small_targets.py");
    std::fs::write(&program, SMALL_TARGETS).expect("a file");
    let start = format!(
        "start = {:?}\ncwd = {:?}",
        ["python3", &program.to_string_lossy(), "fragile", "hub.py"],
        example.to_string_lossy()
    );
    let manifest = manifest.replace("start = [\"python3\", \"hub.py\"]", &start);
    assert!(manifest.contains("fragile"), "{manifest}");
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let mut command = Command::new(support::program());
    command.args(["certify", "--out", "out", "--jobs", jobs]).current_dir(home.path());
    let output = command.output().expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{errors}");
    let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
    (serde_json::from_str(&record).expect("a record"), errors)
}

#[test]
fn a_hub_that_ends_on_what_it_cannot_read_breaks_that_rule_with_any_number_of_jobs() {
    for jobs in ["1", "32"] {
        let (record, errors) = certify_fragile(jobs);
        assert_eq!(record.verdict, Verdict::Nonconformant, "{errors}");
        let failed: Vec<&str> = record
            .rules
            .iter()
            .filter(|rule| rule.outcome == Outcome::Failed)
            .map(|rule| rule.id.as_str())
            .collect();
        assert_eq!(failed, [NO_JSON], "{jobs} jobs: {errors}");
        assert!(record.rules.iter().any(|rule| rule.outcome == Outcome::CouldNotRun), "{jobs} jobs");
        let text = serde_json::to_string(&record).expect("JSON");
        assert!(text.contains("the target ends on what this scenario sends"), "{jobs} jobs");
        assert!(errors.contains("in flight then: "), "{jobs} jobs: {errors}");
        // The last forty of sixty lines.
        assert!(errors.contains("| frame 20 of the stack\n"), "{jobs} jobs: {errors}");
        assert!(!errors.contains("frame 19 of the stack"), "{jobs} jobs: {errors}");
    }
}

/// Certifies BUS-12 and BUS-13 for the reference behind a filter that ends with the given message. The exit code, the
/// outcomes, and what was reported on stderr.
fn certify_ending(nth: &str, word: &str) -> (Option<i32>, Vec<Outcome>, String) {
    let home = tempfile::tempdir().expect("a directory");
    let filter = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/ending.py");
    let program = support::program().display().to_string();
    let command = ["python3", filter, nth, word, &*program, "serve", "toolbus", "--stdio"];
    let manifest = format!(
        "[target]\nname = \"ending\"\n[toolbus]\ncommand = {command:?}\nrevisions = [\"2025-06-18\"]\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n"
    );
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let mut certify = Command::new(support::program());
    certify
        .args(["certify", "--out", "out", "--jobs", "4", "--rule", "BUS-12", "--rule", "BUS-13"])
        .current_dir(home.path());
    let output = certify.output().expect("the binary runs");
    let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
    let record: RunRecord = serde_json::from_str(&record).expect("a record");
    let outcomes = record.rules.iter().map(|rule| rule.outcome).collect();
    (output.status.code(), outcomes, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_server_that_ends_once_in_a_while_is_not_certified() {
    let (code, outcomes, errors) = certify_ending("12", "tools/call");
    assert_eq!(code, Some(3), "{errors}");
    assert!(outcomes.contains(&Outcome::CouldNotRun), "{outcomes:?}: {errors}");
    assert!(errors.contains("was repeated, since the server's process ended meanwhile"), "{errors}");
}

#[test]
fn a_server_that_ends_on_one_call_breaks_the_rule_of_that_call() {
    let (code, outcomes, errors) = certify_ending("1", "Alpha");
    assert_eq!(code, Some(1), "{errors}");
    assert_eq!(outcomes, [Outcome::Failed, Outcome::Passed], "{errors}");
    // A recommendation is not broken by that, and nobody may end on a call that follows it.
    let (code, outcomes, errors) = certify_ending("1", "alpha.beta");
    assert_eq!(code, Some(3), "{errors}");
    assert!(outcomes.contains(&Outcome::CouldNotRun), "{outcomes:?}: {errors}");
}
