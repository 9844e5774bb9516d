//! Sessions that callers name themselves, in revisions of MCP that have none (`toolbus.session_handle`).

use serde_json::Value;

use crate::daily::callmark;
use crate::support;

/// The outcomes of the rules on scopes for the reference with the scope `session` alone, reached by this command line.
fn outcomes(before: &[&str], handle: &str) -> Vec<(String, String)> {
    let home = tempfile::tempdir().expect("a directory");
    let program = support::program().display().to_string();
    let command: Vec<&str> =
        before.iter().copied().chain([&*program, "serve", "toolbus", "--stdio"]).collect();
    let manifest = format!(
        "[target]\nname = \"named\"\n\
         [toolbus]\ncommand = {command:?}\nrevisions = [\"2026-07-28\"]\nscopes = [\"session\"]\n{handle}\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n\
         [toolbus.probes.state]\ntool = \"mcp_state\"\n"
    );
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let rules = ["--rule", "BUS-22", "--rule", "BUS-26", "--rule", "BUS-27"];
    let output = callmark(&[&["certify", "--quiet", "--out", "out"][..], &rules].concat(), home.path());
    let shown = String::from_utf8_lossy(&output.stderr);
    let record = std::fs::read(home.path().join("out/run.json"));
    let record: Value = serde_json::from_slice(&record.expect("a record")).expect("JSON");
    let text = |rule: &Value, member: &str| rule[member].as_str().expect("a text").to_owned();
    println!("{shown}");
    let rules = record["rules"].as_array().expect("rules").iter();
    rules.map(|rule| (text(rule, "id"), text(rule, "outcome"))).collect()
}

fn check(before: &[&str], handle: &str, expect: [&str; 3]) {
    let expect = ["BUS-22", "BUS-26", "BUS-27"].into_iter().zip(expect);
    let expect: Vec<_> = expect.map(|(id, outcome)| (id.to_owned(), outcome.to_owned())).collect();
    assert_eq!(outcomes(before, handle), expect);
}

const HANDLE: &str =
    "session_handle = { tool = \"session_open\", pointer = \"/session\", argument = \"session\" }";

#[test]
fn two_handles_are_two_scopes() {
    check(&[], HANDLE, ["passed", "passed", "passed"]);
}

#[test]
fn a_server_that_looks_at_no_handle_has_one_scope_for_all() {
    let filter = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/one_session.py");
    check(&["python3", filter], HANDLE, ["passed", "passed", "warned"]);
}

#[test]
fn without_a_handle_no_scope_is_within_reach() {
    check(&[], "", ["not-applicable", "not-applicable", "not-applicable"]);
}

#[test]
fn a_tool_that_returns_no_handle_is_named() {
    let handle = HANDLE.replace("\"/session\"", "\"/nothing\"");
    check(&[], &handle, ["could-not-run", "could-not-run", "could-not-run"]);
}
