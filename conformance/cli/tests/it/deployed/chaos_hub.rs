//! Replicas of a Hub that are disturbed while they work: what it acknowledged is there, and each fault of one is found.

use serde_json::Value;

use super::Home;
use super::chaos::{SEEDS, first_found, kinds, record};

/// The customers of the reference that are looked at.
const CUSTOMERS: &str = "[hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n\
    not_connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0002\"\nlimited = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0006\"\n";

/// A manifest of a Hub of three replicas.
fn hub(start: &[&str], further: &str) -> String {
    format!(
        "[target]\nname = \"fleet\"\n[hub]\nstart = {start:?}\nbase_url = \"http://{{listen}}\"\nreplicas = 3\n\
         start_timeout_seconds = 120\n{further}"
    )
}

/// A file of these tests.
fn beside(name: &str) -> String {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("tests/it/deployed").join(name).display().to_string()
}

/// Runs one rule, and the chaos of this seed.
fn chaos(home: &Home, seed: &str, manifest: &str) -> (i32, String) {
    home.run(&["certify", "--rule", "HUB-10", "--chaos", "--seed", seed, "--out", "out"], manifest)
}

/// Kinds of what is found of the example with a calendar that all replicas share.
fn of_example(seed: &str, fault: &str) -> Vec<String> {
    let home = Home::new();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub");
    let (fleet, example) = (beside("hub_fleet.py"), example.display().to_string());
    let calendar = home.path().join("calendar.db").display().to_string();
    let start = ["python3", &fleet, &example, &calendar, fault];
    let start = if fault.is_empty() { &start[..4] } else { &start[..] };
    let customers = "[hub.customers]\nconnected = \"7d0c2a5e-41b9-4f0e-8a53-9be1c60f3d21\"\n\
                     not_connected = \"e2b86f14-9c3d-4a77-b1d8-05f7a94c6e32\"\n";
    let (code, said) = chaos(&home, seed, &hub(start, customers));
    kinds(&home, (code, &said))
}

/// Kinds of what is found of the reference, each of whose calls takes a while.
fn of_slow(seed: &str, fault: &str) -> Vec<String> {
    let home = Home::new();
    let (slow, program) = (beside("hub_slow.py"), crate::support::program().display().to_string());
    let start = ["python3", &slow, &program, fault];
    let start = if fault.is_empty() { &start[..3] } else { &start[..] };
    let (code, said) = chaos(&home, seed, &hub(start, &format!("{CUSTOMERS}[hub.provider]\n")));
    kinds(&home, (code, &said))
}

#[test]
fn the_reference_keeps_what_it_acknowledged_and_knows_its_customers() {
    let home = Home::new();
    let program = crate::support::program().display().to_string();
    let manifest = hub(&[&program, "serve", "hub"], &format!("{CUSTOMERS}[hub.provider]\n"));
    for seed in &SEEDS[..2] {
        let (code, said) = chaos(&home, seed, &manifest);
        assert_eq!((code, kinds(&home, (code, &said))), (0, Vec::new()), "{said}");
        let chaos = &record(&home)["chaos"][0];
        assert_eq!(chaos["profile"], "hub.server");
        assert_eq!(chaos["disturbances"].as_array().map(Vec::len), Some(8));
        assert!(chaos["calls"].as_u64().is_some_and(|calls| calls > 100), "{chaos}");
        assert_eq!(chaos["broker_nodes"], Value::Null);
    }
}

#[test]
fn events_that_all_replicas_share_are_there_afterwards() {
    assert_eq!(of_example(SEEDS[0], ""), [""; 0]);
}

#[test]
fn an_event_that_only_memory_holds_is_lost_with_it() {
    assert_eq!(first_found(|seed| of_example(seed, "behind")), ["lost"]);
}

#[test]
fn a_customer_that_a_replica_does_not_know_again_is_found() {
    assert_eq!(of_example(SEEDS[0], "forgets"), ["lost"]);
}

#[test]
fn what_a_replica_does_again_when_it_wakes_is_done_twice() {
    assert_eq!(of_slow(SEEDS[0], ""), [""; 0]);
    assert_eq!(first_found(|seed| of_slow(seed, "again")), ["twice"]);
}

#[test]
fn one_that_does_not_share_its_events_is_not_judged() {
    let home = Home::new();
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub/hub.py");
    let customers = "[hub.customers]\nconnected = \"7d0c2a5e-41b9-4f0e-8a53-9be1c60f3d21\"\n";
    let (code, said) = chaos(&home, SEEDS[0], &hub(&["python3", &example.display().to_string()], customers));
    assert_eq!(code, 3, "{said}");
    let why = &record(&home)["chaos"][0]["hindered"];
    let says = |part: &str| why.as_str().is_some_and(|why| why.contains(part));
    assert!(says("does not change an event that replica 1 has made"), "{why}");
}
