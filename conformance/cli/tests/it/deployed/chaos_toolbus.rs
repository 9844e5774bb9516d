//! Replicas of an MCP server over HTTP that are disturbed while they work: what a call stored and left is there, and each fault
//! of one is found.

use super::Home;
use super::chaos::{SEEDS, first_found, kinds, record};

/// Runs one rule of this profile, and the chaos of this seed.
fn chaos(home: &Home, seed: &str, profiles: &[&str], manifest: &str) -> (i32, String) {
    let mut command = vec!["certify", "--chaos", "--seed", seed, "--out", "out"];
    command.extend(profiles.iter().flat_map(|profile| ["--profile", profile]));
    command.extend(["--rule", "BUS-05"]);
    home.run(&command, manifest)
}

/// A manifest of the reference, in both eras of MCP.
fn reference() -> String {
    let program = crate::support::program().display().to_string();
    let start = [program.as_str(), "serve", "toolbus", "--store", "files"];
    format!(
        "[target]\nname = \"fleet\"\n[toolbus]\nstart = {start:?}\nreplicas = 3\nstart_timeout_seconds = 120\n\
         revisions = [\"2025-11-25\", \"2026-07-28\"]\n\
         session_handle = {{ tool = \"session_open\", pointer = \"/session\", argument = \"session\" }}\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n\
         [toolbus.probes.state]\ntool = \"mcp_state\"\n[toolbus.artifacts]\n"
    )
}

/// Kinds of what is found in these profiles of the example, whose replicas share their state.
fn of_example(seed: &str, profiles: &[&str], fault: &str) -> Vec<String> {
    let home = Home::new();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let [fleet, example] = ["tests/it/deployed/toolbus_fleet.py", "../../examples/python-toolbus"]
        .map(|path| here.join(path).display().to_string());
    let start = ["python3", &fleet, &example, fault];
    let start = if fault.is_empty() { &start[..3] } else { &start[..] };
    let manifest = format!(
        "[target]\nname = \"fleet\"\n[toolbus]\nstart = {start:?}\nreplicas = 3\nstart_timeout_seconds = 120\nresult_pointer = \"/result\"\n\
         path_base = \"label.\"\n[toolbus.probes.echo]\ntool = \"label_preview\"\n\
         arguments = {{ fields = \"{{value}}\" }}\n[toolbus.probes.state]\ntool = \"mcp_state\"\n[toolbus.artifacts]\n"
    );
    // One that stores late breaks rules on that; this one it does not, and only the chaos is of interest here.
    let mut command = vec!["certify", "--rule", "BUS-05", "--chaos", "--seed", seed, "--out", "out"];
    command.extend(profiles.iter().flat_map(|profile| ["--profile", profile]));
    let (code, said) = home.run(&command, &manifest);
    kinds(&home, (code, &said))
}

#[test]
fn the_reference_keeps_state_and_artifacts_in_both_eras() {
    let home = Home::new();
    let profiles = ["toolbus.server", "toolbus.artifacts", "toolbus.server@2026-07-28"];
    let (code, said) = chaos(&home, SEEDS[0], &profiles, &reference());
    assert_eq!(code, 0, "{said}");
    let record = record(&home);
    let chaos = record["chaos"].as_array().expect("chaos");
    let of: Vec<&str> = chaos.iter().map(|own| own["profile"].as_str().expect("a role")).collect();
    assert_eq!(of, profiles);
    for own in chaos {
        assert_eq!(
            (own["findings"].as_array().map(Vec::len), own["hindered"].as_str()),
            (Some(0), None),
            "{own}"
        );
        assert!(own["calls"].as_u64().is_some_and(|calls| calls > 100), "{own}");
    }
}

/// Both profiles of the example.
const BOTH: [&str; 2] = ["toolbus.server", "toolbus.artifacts"];

#[test]
fn replicas_that_share_what_they_store_lose_nothing() {
    assert_eq!(of_example(SEEDS[0], &BOTH, ""), [""; 0]);
}

#[test]
fn state_that_only_memory_holds_is_lost_with_it() {
    assert_eq!(first_found(|seed| of_example(seed, &BOTH[..1], "behind")), ["lost"]);
}

#[test]
fn artifacts_that_only_memory_holds_are_lost_with_it() {
    assert_eq!(first_found(|seed| of_example(seed, &BOTH, "artifacts-behind")), ["lost"]);
}
