//! Several replicas of an MCP server: what outlives a session holds over all of them, and what each keeps for itself shows.

use std::collections::BTreeMap;

use super::Home;
use super::replicas::{named, three};

/// The rules on what replicas share.
const SHARED: [&str; 6] = ["BUS-11", "BUS-22", "BUS-26", "BUS-28", "BUS-31", "BUS-61"];

/// A manifest of the reference's MCP server, started by this script with these revisions.
fn server(script: &str, revisions: &[&str], further: &str) -> String {
    let program = crate::support::program().display().to_string();
    let start = ["sh", "-c", script, &program];
    format!(
        "[target]\nname = \"fleet\"\n[toolbus]\nstart = {start:?}\nrevisions = {revisions:?}\n{further}\n\
         session_handle = {{ tool = \"session_open\", pointer = \"/session\", argument = \"session\" }}\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n\
         [toolbus.probes.state]\ntool = \"mcp_state\"\n[toolbus.artifacts]\n"
    )
}

/// The outcomes of the rules, each with what was found; and the exit code.
fn certified(home: &Home, manifest: &str) -> (i32, BTreeMap<String, (String, String)>) {
    let rules = SHARED.iter().flat_map(|rule| ["--rule", rule]);
    let command: Vec<&str> = ["certify", "--out", "out"].into_iter().chain(rules).collect();
    let (code, said) = home.run(&command, manifest);
    let record =
        std::fs::read(home.path().join("out/run.json")).unwrap_or_else(|_| panic!("no record: {said}"));
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    let text = |rule: &serde_json::Value, member: &str| rule[member].as_str().unwrap_or_default().to_owned();
    let rules = record["rules"].as_array().expect("rules").iter();
    let rules = rules.map(|rule| (text(rule, "id"), (text(rule, "outcome"), rule.to_string())));
    (code, rules.collect())
}

/// The rules with another outcome than `passed`.
fn noticed(outcomes: &BTreeMap<String, (String, String)>) -> Vec<(&str, &str)> {
    let others = outcomes.iter().filter(|(_, (outcome, _))| outcome != "passed");
    others.map(|(rule, (outcome, _))| (rule.as_str(), outcome.as_str())).collect()
}

#[test]
fn replicas_that_share_their_state_are_conformant_in_both_eras() {
    let home = Home::new();
    let script = "exec \"$0\" serve toolbus --store files";
    let manifest = server(script, &["2025-11-25", "2026-07-28"], "replicas = 3");
    let (code, outcomes) = certified(&home, &manifest);
    assert_eq!((code, noticed(&outcomes)), (0, Vec::new()), "{outcomes:#?}");
    assert_eq!(outcomes.len(), SHARED.len());
    assert_eq!(named(&home), three());
}

#[test]
fn a_state_of_each_replica_shows_across_replicas_alone() {
    // A folder of its own below the root that all are given.
    let script = "export SF_CONTEXT_REPO_ROOT=\"$SF_CONTEXT_REPO_ROOT/of$CALLMARK_REPLICA\"; exec \"$0\" serve toolbus";
    let home = Home::new();
    let (code, outcomes) = certified(&home, &server(script, &["2025-11-25"], ""));
    assert_eq!((code, noticed(&outcomes)), (0, Vec::new()), "one alone: {outcomes:#?}");
    let (_, outcomes) = certified(&home, &server(script, &["2025-11-25"], "replicas = 2"));
    assert_eq!(noticed(&outcomes), [("BUS-28", "warned"), ("BUS-31", "warned")], "{outcomes:#?}");
    let finding = &outcomes["BUS-28"].1;
    assert!(
        finding.contains("it shows only across replicas") && finding.contains("where all replicas find it"),
        "{finding}"
    );
}

#[test]
fn a_session_that_one_replica_knows_is_none_where_calls_name_it() {
    let home = Home::new();
    let manifest = server("exec \"$0\" serve toolbus", &["2026-07-28"], "replicas = 2");
    let (code, outcomes) = certified(&home, &manifest);
    assert_eq!(code, 1, "{outcomes:#?}");
    let (outcome, finding) = &outcomes["BUS-26"];
    assert_eq!(outcome, "failed");
    assert!(finding.contains("went to another replica"), "{finding}");
    assert_eq!(outcomes["BUS-28"].0, "passed", "{outcomes:#?}");
}

#[test]
fn what_cannot_be_several_servers_is_refused() {
    let home = Home::new();
    let refused = |manifest: &str, why: &str| {
        let (code, said) = home.run(&["doctor"], manifest);
        assert_eq!(code, 2, "{said}");
        assert!(super::unwrapped(&said).contains(why), "{said}");
    };
    let started = server("exit 1", &["2026-07-28"], "replicas = 2");
    let without =
        |key: &str| started.lines().filter(|line| !line.starts_with(key)).collect::<Vec<_>>().join("\n");
    refused(
        &without("start").replace("replicas", "url = \"http://127.0.0.1:9/mcp\"\nreplicas"),
        "`toolbus.replicas` needs `start`",
    );
    refused(&started.replace("start =", "command ="), "`toolbus.replicas` is for streamable HTTP");
    refused(
        &started.replace("replicas", "transport = \"stdio\"\ncommand = [\"x\"]\nreplicas"),
        "`toolbus.replicas` is for streamable HTTP",
    );
    refused(&started.replace("replicas = 2", "replicas = 1"), "replicas");
}
