//! The command line as a user meets it: exit codes, files, messages.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program;

fn callmark(arguments: &[&str], directory: &Path) -> Output {
    let mut command = program::command(arguments, directory);
    command.env_remove("NATS_SERVER_BIN").output().expect("the binary runs")
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("an exit code")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
fn the_bundled_reference_is_conformant_and_the_same_each_time() {
    let home = directory();
    // One role of each protocol; all of them, and one at a time, are the gate's.
    let profiles = ["utp.tool-service", "hub.server", "toolbus.artifacts", "breadcrumb.runner"];
    for (name, jobs) in [("a", "32"), ("b", "64")] {
        let mut arguments = vec!["certify", "--bundled", "--out", name, "--jobs", jobs];
        arguments.extend(profiles.iter().flat_map(|profile| ["--profile", profile]));
        let output = callmark(&arguments, home.path());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
    for file in program::REPORTS {
        let read = |name: &str| std::fs::read(home.path().join(name).join(file)).expect(file);
        assert!(read("a") == read("b"), "{file} differs between runs");
    }
    let record: Value =
        serde_json::from_slice(&std::fs::read(home.path().join("a/run.json")).expect("run.json"))
            .expect("JSON");
    let schema = callmark_schemas::violations(callmark_schemas::SchemaName::Run, &record);
    assert!(schema.is_empty(), "{schema:?}");
    for rule in record["rules"].as_array().expect("rules") {
        let outcome = rule["outcome"].as_str().expect("an outcome");
        let expect = ["passed", "noted", "excluded"];
        assert!(expect.contains(&outcome), "{} is {outcome}", rule["id"]);
    }
    for file in ["timings.json", "transcript.jsonl"] {
        assert!(home.path().join("a").join(file).is_file(), "{file}");
    }
}

#[test]
fn json_is_the_record_and_nothing_else() {
    let home = directory();
    let output = callmark(
        &[
            "certify",
            "--bundled",
            "--profile",
            "utp.tool-service",
            "--rule",
            "UTP-4.2-10",
            "--format",
            "json",
            "--out",
            "out",
        ],
        home.path(),
    );
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let record: Value = serde_json::from_slice(&output.stdout).expect("JSON alone on stdout");
    assert_eq!(record["rules"].as_array().map(Vec::len), Some(1));
}

#[test]
fn where_no_rule_applies_nothing_conforms() {
    let home = directory();
    let program = crate::support::program();
    let manifest = format!(
        "[target]\nname = \"a\"\n[toolbus]\ncommand = ['{}', \"serve\", \"toolbus\", \"--stdio\"]\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n",
        program.display()
    );
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let arguments =
        ["certify", "--target", "callmark.toml", "--profile", "toolbus.server", "--rule", "BUS-71"];
    let output = callmark(&arguments, home.path());
    assert_eq!(code(&output), 4, "{}", stderr(&output));
    assert!(stderr(&output).contains("does not declare `probe.fail`"), "{}", stderr(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("incomplete: no rule was judged") && !text.contains("conformant:"), "{text}");
}

#[test]
fn what_cannot_be_used_is_reported_with_its_exit_code() {
    let home = directory();
    let write = |name: &str, text: &str| std::fs::write(home.path().join(name), text).expect("a file");
    write("typo.toml", "[target]\nname = \"a\"\n[utp]\nplatfrom = \"nats\"\n");
    write("empty.toml", "[target]\nname = \"a\"\n");
    write(
        "dead.toml",
        "[target]\nname = \"a\"\n[utp]\nstart = [\"./nothing\"]\n[utp.tool-service.probes.echo]\ntool_name = \"e\"\n",
    );
    write(
        "ends.toml",
        "[target]\nname = \"a\"\n[utp]\nstart = [\"sh\", \"-c\", \"echo no port >&2; exit 7\"]\n[utp.tool-service.probes.echo]\ntool_name = \"e\"\n",
    );
    write("echoless.toml", "[target]\nname = \"a\"\n[utp.tool-service]\n");
    let check = |arguments: &[&str], expect: i32, says: &str| {
        let output = callmark(arguments, home.path());
        let text = stderr(&output);
        assert_eq!(code(&output), expect, "{arguments:?}: {text}");
        assert!(text.contains(says), "{arguments:?} does not say `{says}`: {text}");
    };
    check(&["certify", "--target", "typo.toml"], 2, "did you mean `platform`?");
    check(&["certify", "--target", "none.toml"], 2, "none.toml");
    check(&["certify", "--target", "empty.toml"], 4, "nothing is selected");
    check(&["certify", "--profile", "utp.tool-servise"], 2, "did you mean `utp.tool-service`?");
    check(&["certify", "--rule", "UTP-4.2-1"], 2, "there is no rule `UTP-4.2-1`");
    check(&["certify", "--tags", "(("], 2, "is no tag expression");
    check(&["certify", "--tags", "@nowhere"], 4, "no scenario is selected");
    check(&["certify", "--broker", "rabbit"], 2, "rabbit");
    check(&["certify", "--broker", "nats://127.0.0.1:1"], 3, "127.0.0.1:1");
    check(&["certify", "--target", "dead.toml"], 3, "./nothing");
    check(&["certify", "--target", "ends.toml"], 3, "no port");
    check(&["certify", "--target", "echoless.toml"], 3, "echo");
    check(&["certify", "--target", "echoless.toml", "--profile", "hub.server"], 2, "has no table `[hub]`");
    let execution = ["certify", "--target", "echoless.toml", "--profile", "utp.execution"];
    check(&execution, 2, "has no table `[utp.execution]`");
    check(&["explain", "UTP-4.1-99"], 2, "there is no rule");
    check(&["report", "none.json", "--format", "html"], 2, "none.json");
    check(&["certify", "--jobs", "0"], 2, "--jobs");
}

#[test]
fn a_broker_that_no_selected_profile_needs_changes_nothing() {
    let home = directory();
    let run = |profile: &str, rule: &str| {
        let arguments =
            ["certify", "--bundled", "--profile", profile, "--rule", rule, "--broker", "embedded"];
        let output = callmark(&arguments, home.path());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stderr(&output).contains("`--broker` changes nothing")
    };
    assert!(run("hub.server", "HUB-10"));
    assert!(!run("utp.tool-service", "UTP-4.2-10"));
}

#[test]
fn a_record_can_be_rendered_again() {
    let home = directory();
    let output = callmark(&["certify", "--bundled", "--rule", "TDG-2-04", "--out", "out"], home.path());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    for (format, file) in [
        ("json", "run.json"),
        ("html", "index.html"),
        ("junit", "junit.xml"),
        ("sarif", "results.sarif"),
        ("markdown", "summary.md"),
        ("messages", "messages.ndjson"),
        ("badge", "badge.svg"),
        ("badge-json", "badge.json"),
    ] {
        let output = callmark(&["report", "out/run.json", "--format", format], home.path());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(output.stdout == std::fs::read(home.path().join("out").join(file)).expect(file), "{format}");
    }
    let messages = std::fs::read_to_string(home.path().join("out/messages.ndjson")).expect("messages");
    assert!(messages.contains("{\"source\":"), "the features are quoted");
    // A record of other features must not be explained with these.
    let record = std::fs::read_to_string(home.path().join("out/run.json")).expect("a record");
    let (before, rest) = record.split_once("\"features_sha256\": \"").expect("a digest");
    let other = format!("{before}\"features_sha256\": \"{}{}", "0".repeat(64), &rest[64..]);
    std::fs::write(home.path().join("other.json"), other).expect("a file");
    let output = callmark(&["report", "other.json", "--format", "messages"], home.path());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(!String::from_utf8_lossy(&output.stdout).contains("{\"source\":"));
}

#[test]
fn a_mutant_is_killed_and_the_matrix_has_its_schema() {
    let home = directory();
    let output = callmark(&["sabotage", "--rule", "UTP-4.2-10", "--format", "json"], home.path());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let matrix: Value = serde_json::from_slice(&output.stdout).expect("JSON alone on stdout");
    let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Sabotage, &matrix);
    assert!(faults.is_empty(), "{faults:?}");
    assert!(matrix["summary"]["killed"].as_u64() >= Some(1), "{matrix}");
}

#[test]
fn a_capture_from_a_file_is_judged() {
    let home = directory();
    let line = |status: &str, result: &str| {
        format!(
            r#"{{"kind":"callback","body":{{"tool_call_id":"c","agent_turn_id":"t","turn_epoch":1,"agent_id":"a","tool_result_card_id":"r-{result}","status":"{status}","after_execution":"suspend"}}}}
{{"kind":"card","body":{{"card_id":"r-{result}","type":"tool.result","content":{{"status":"{result}","after_execution":"suspend","result":null,"error":null}}}}}}
"#
        )
    };
    let command = r#"{"subject":"cg.v1r3.prj.public.cmd.tool.tides.table","body":{"tool_call_id":"c","agent_turn_id":"t","turn_epoch":1,"agent_id":"a"}}
{"kind":"tool","body":{"project_id":"prj","tool_name":"tides","description":"d","parameters":{},"target_subject":"cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table","after_execution":"suspend","options":{}}}
"#;
    let manifest =
        "[target]\nname = \"a\"\n[utp.schema]\ncapture = \"bus.jsonl\"\nstatuses = [\"success\"]\n";
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a manifest");
    let check = |capture: String, expect: i32| {
        std::fs::write(home.path().join("bus.jsonl"), capture).expect("a capture");
        let output = callmark(&["certify", "--target", "callmark.toml", "--out", "out"], home.path());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(code(&output), expect, "{text}{}", stderr(&output));
        text
    };
    check(format!("{command}{}", line("success", "success")), 0);
    assert!(check(format!("{command}{}", line("ok", "success")), 1).contains("UTP-4.2-20"));
    assert!(check(line("success", "success"), 3).contains("the capture has no tool command"));
    check("not json\n".to_owned(), 3);
}

#[test]
fn init_writes_a_manifest_once() {
    let home = directory();
    assert_eq!(code(&callmark(&["init"], home.path())), 0);
    let again = callmark(&["init"], home.path());
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("left as it is"), "{}", stderr(&again));
}

#[test]
fn explain_shows_rule_scenario_and_mutant() {
    let home = directory();
    let output = callmark(&["explain", "UTP-4.1-35"], home.path());
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "tool_call_card_id",
        "UTP Tool Protocol §4.1",
        "judged:   in what its own scenarios bring about, since no other scenario sends",
        "features/utp/tool-service/validation.feature",
        "broken by",
    ] {
        assert!(text.contains(part), "`{part}` is missing: {text}");
    }
}
