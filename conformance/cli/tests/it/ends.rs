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
    command
        .args(["certify", "--out", "out", "--jobs", jobs, "--timeout-scale", "0.5"])
        .current_dir(home.path());
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
