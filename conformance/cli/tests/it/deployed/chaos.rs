//! Replicas that are disturbed while they work: a ledger that they share holds, and each fault of one is found.

use callmark_schemas::{SchemaName, violations};
use serde_json::Value;

use super::Home;
use super::replicas::service;
use super::streams::streaming;

/// One rule is enough: it is the rest of the run that is of interest here.
const RUN: [&str; 4] = ["certify", "--rule", "UTP-3.2-06", "--chaos"];
/// Whether a fault shows depends on what is at work when a disturbance comes, and so on the load: others are tried then.
const SEEDS: [&str; 4] = ["1", "2", "3", "4"];

/// The record of a run, which is a valid one.
fn record(home: &Home) -> Value {
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let record = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(violations(SchemaName::Run, &record), [], "{record}");
    record
}

fn chaos(home: &Home, manifest: &str) -> (i32, String) {
    home.run(&[&RUN[..], &["--seed", SEEDS[0], "--out", "out"]].concat(), manifest)
}

#[test]
fn replicas_that_share_their_ledger_lose_nothing_and_do_nothing_twice() {
    let home = Home::new();
    let server = streaming(&home, "");
    let at = format!("nats = \"nats://127.0.0.1:{}\"\nreplicas = 3", server.port);
    let (code, said) = chaos(&home, &service(&at, &["--store", "nats"]));
    assert_eq!(code, 0, "{said}");
    let record = record(&home);
    let chaos = &record["chaos"][0];
    assert_eq!(chaos["profile"], "utp.tool-service");
    assert_eq!(
        (&chaos["findings"], chaos["hindered"].as_str()),
        (&Value::Array(Vec::new()), None),
        "{chaos}"
    );
    assert_eq!(chaos["disturbances"].as_array().map(Vec::len), Some(8));
    assert!(said.contains("nothing was lost, and nothing done twice"), "{said}");
    let page = std::fs::read_to_string(home.path().join("out/index.html")).expect("a page");
    assert!(page.contains("Chaos: ") && page.contains("cut off from the broker for"));
}

/// Kinds of what is found of the example with this fault, with the first seed that finds anything.
fn found(fault: &str, further: &[&str]) -> Vec<String> {
    let kinds = |seed: &&str| found_with(seed, fault, further);
    SEEDS.iter().map(kinds).find(|kinds| !kinds.is_empty()).unwrap_or_default()
}

/// Kinds of what is found of the example with a ledger that all replicas share.
fn found_with(seed: &str, fault: &str, further: &[&str]) -> Vec<String> {
    let home = Home::new();
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let fleet = here.join("tests/it/deployed/fleet.py").display().to_string();
    let mut start = vec!["python3", &fleet];
    let (example, ledger) = (here.join("../../examples/python"), home.path().join("ledger.db"));
    let [example, ledger] = [example, ledger].map(|path| path.display().to_string());
    start.extend([example.as_str(), &ledger]);
    start.extend(Some(fault).filter(|fault| !fault.is_empty()));
    let probe = |name: &str| {
        let subject = format!("cg.v1r3.{{project_id}}.{{channel_id}}.cmd.tool.tides.probe.{name}");
        format!(
            "[utp.tool-service.probes.{name}]\ntool_name = \"probe.{name}\"\ntarget_subject = \"{subject}\"\n"
        )
    };
    let manifest = format!(
        "[target]\nname = \"fleet\"\n[utp]\nstart = {start:?}\nreplicas = 3\n\
         {}result_pointer = \"/echo\"\n{}result_pointer = \"/count\"\n{}{}",
        probe("echo"),
        probe("count"),
        probe("fail"),
        probe("ctl")
    );
    let (code, said) = home.run(&[&RUN[..], &["--seed", seed, "--out", "out"], further].concat(), &manifest);
    let record = record(&home);
    // The rule that was asked for holds: the chaos is an own section.
    assert_eq!(record["verdict"], "conformant", "{said}");
    let chaos = &record["chaos"][0];
    assert_eq!(chaos["hindered"], Value::Null, "{chaos}");
    let findings = chaos["findings"].as_array().expect("findings");
    assert_eq!(code, i32::from(!findings.is_empty()), "{said}");
    let kinds = findings.iter().map(|own| own["kind"].as_str().expect("a kind").to_owned());
    kinds.collect::<std::collections::BTreeSet<_>>().into_iter().collect()
}

#[test]
fn a_ledger_with_claims_that_end_and_one_outcome_holds() {
    assert_eq!(found_with(SEEDS[0], "", &[]), [""; 0]);
}

#[test]
fn what_is_claimed_for_ever_is_lost_with_who_claimed_it() {
    // Each call is waited for a fifth as long.
    assert_eq!(found("no-lease", &["--timeout-scale", "0.2"]), ["lost"]);
}

#[test]
fn what_is_counted_before_it_is_done_is_counted_twice() {
    assert_eq!(found("counts-first", &[]), ["twice"]);
}

#[test]
fn an_outcome_that_is_stored_over_another_one_is_done_twice() {
    assert_eq!(found("no-fence", &[]), ["twice"]);
}

#[test]
fn one_alone_and_the_reference_in_this_process_are_not_disturbed() {
    let home = Home::new();
    let (code, said) = chaos(&home, &service("", &[]));
    assert_eq!(code, 2, "{said}");
    assert!(super::unwrapped(&said).contains("several replicas that the suite starts"), "{said}");
    assert!(!home.path().join("out").exists());
}
