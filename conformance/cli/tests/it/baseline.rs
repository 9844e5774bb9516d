//! `certify --baseline`, `diff`, and the guide about them.

use std::path::Path;

use serde_json::Value;

use crate::program;

const GUIDE: &str = include_str!("../../../../docs/gate-your-ci.md");

fn check(arguments: &[&str], directory: &Path, expect: i32, says: &str) {
    let text = program::done(expect, arguments, directory);
    assert!(text.contains(says), "{arguments:?} does not say `{says}`: {text}");
}

/// A capture whose callbacks have this status; anything but `success` breaks rules.
fn capture(home: &Path, status: &str) {
    let lines = format!(
        r#"{{"subject":"cg.v1r3.prj.public.cmd.tool.tides.table","body":{{"tool_call_id":"c","agent_turn_id":"t","turn_epoch":1,"agent_id":"a"}}}}
{{"kind":"tool","body":{{"project_id":"prj","tool_name":"tides","description":"d","parameters":{{}},"target_subject":"cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.tides.table","after_execution":"suspend","options":{{}}}}}}
{{"kind":"callback","body":{{"tool_call_id":"c","agent_turn_id":"t","turn_epoch":1,"agent_id":"a","tool_result_card_id":"r","status":"{status}","after_execution":"suspend"}}}}
{{"kind":"card","body":{{"card_id":"r","type":"tool.result","content":{{"status":"success","after_execution":"suspend","result":null,"error":null}}}}}}
"#
    );
    std::fs::write(home.join("bus.jsonl"), lines).expect("a capture");
    let manifest =
        "[target]\nname = \"acme-tides\"\n[utp.schema]\ncapture = \"bus.jsonl\"\nstatuses = [\"success\"]\n";
    std::fs::write(home.join("callmark.toml"), manifest).expect("a manifest");
}

/// The commands of each console block of the guide, of those that have some.
fn guide() -> Vec<Vec<&'static str>> {
    GUIDE
        .split("```console\n")
        .skip(1)
        .map(|block| {
            let block = block.split("```").next().unwrap_or_default();
            block.lines().filter_map(|line| line.strip_prefix("$ callmark ")).collect()
        })
        .filter(|commands: &Vec<&str>| !commands.is_empty())
        .collect()
}

#[test]
fn the_guide_s_commands_gate_a_target() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let blocks = guide();
    let run = |line: &str, expect: i32, says: &str| {
        check(&line.split(' ').collect::<Vec<_>>(), home, expect, says);
    };
    let [certify, write, known, diff, report] = &blocks[..] else { panic!("five blocks: {blocks:?}") };
    capture(home, "ok");
    run(certify[0], 1, "nonconformant");
    run(write[0], 0, "known failing");
    let baseline = std::fs::read_to_string(home.join("known.toml")).expect("the baseline");
    assert!(baseline.contains("[[known-failing]]\nrule = \"UTP-4.2-20\""), "{baseline}");
    run(known[0], 0, "known failing");
    std::fs::copy(home.join("reports/out/run.json"), home.join("last.json")).expect("a copy");
    // The target is mended: the entries are stale, and the difference is a fix.
    capture(home, "success");
    run(known[0], 5, "no longer fails");
    run(diff[0], 0, "fix");
    run(diff[1], 1, "fix");
    std::fs::copy(home.join("reports/out/run.json"), home.join("last.json")).expect("a copy");
    capture(home, "ok");
    run(certify[0], 1, "nonconformant");
    run(diff[0], 1, "regression");
    for line in report {
        run(line, 0, "");
    }
}

#[test]
fn a_baseline_is_kept_and_never_lost() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let certify = |baseline: &str, more: &[&str], expect: i32, says: &str| {
        std::fs::write(home.join("known.toml"), baseline).expect("a baseline");
        let arguments = ["certify", "--target", "callmark.toml", "--baseline", "known.toml"];
        check(&[&arguments, more].concat(), home, expect, says);
        std::fs::read_to_string(home.join("known.toml")).expect("the baseline")
    };
    capture(home, "ok");
    let known = "[[known-failing]]\nrule = \"UTP-4.2-20\"\nreason = \"ours\"\nissue = \"T-1\"\n";
    let kept = certify(known, &["--write-baseline"], 0, "known failing");
    assert!(kept.contains("reason = \"ours\"\nissue = \"T-1\""), "{kept}");
    certify(&format!("{kept}expires = 2020-01-31\n"), &[], 5, "was accepted until 2020-01-31");
    certify(&format!("{kept}[[known-failing]]\nrule = \"UTP-0-00\"\nreason = \"r\"\n"), &[], 5, "is no rule");
    // What fails beside a stale entry decides.
    certify("[[known-failing]]\nrule = \"UTP-0-00\"\nreason = \"r\"\n", &[], 1, "is no rule");
    let broken = "[[known-failing]]\nrule = \"UTP-4.2-20\"\n";
    assert_eq!(certify(broken, &["--write-baseline"], 2, "is no baseline"), broken, "it is left as it is");
    check(&["certify", "--target", "callmark.toml", "--baseline", "none.toml"], home, 2, "none.toml");
    check(&["certify", "--target", "callmark.toml", "--write-baseline"], home, 2, "--baseline");
}

#[test]
fn a_difference_is_shown_in_three_ways() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    for (status, out) in [("success", "a"), ("ok", "b")] {
        capture(home, status);
        program::output(&["certify", "--target", "callmark.toml", "--quiet", "--out", out], home);
    }
    check(&["diff", "a/run.json", "a/run.json", "--fail-on", "any"], home, 0, "no changes");
    check(&["diff", "a/run.json", "b/run.json", "--format", "markdown"], home, 1, "## Regressions");
    check(&["diff", "a/run.json", "none.json"], home, 2, "none.json");
    // A record that says something else than its own rules.
    let text = std::fs::read_to_string(home.join("b/run.json")).expect("a record");
    let mut record: Value = serde_json::from_str(&text).expect("JSON");
    record["verdict"] = "conformant".into();
    std::fs::write(home.join("altered.json"), record.to_string()).expect("written");
    check(&["diff", "a/run.json", "altered.json"], home, 2, "its rules come to `nonconformant`");
    check(&["report", "altered.json", "--format", "badge"], home, 2, "it says `conformant`");
    record["summary"]["passed"] = 9999.into();
    std::fs::write(home.join("altered.json"), record.to_string()).expect("written");
    check(&["report", "altered.json", "--format", "junit"], home, 2, "its summary is not that of its rules");
    check(&["diff", "a/run.json", "callmark.toml"], home, 2, "is no run record");
    let output = program::output(&["diff", "a/run.json", "b/run.json", "--format", "json"], home);
    let diff: Value = serde_json::from_slice(&output.stdout).expect("JSON alone on stdout");
    let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Diff, &diff);
    assert!(faults.is_empty(), "{faults:?}");
}
