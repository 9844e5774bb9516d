//! Replicas that are disturbed while they work: what they share holds, and what each keeps for itself is done twice.

use callmark_schemas::{SchemaName, violations};
use serde_json::Value;

use super::Home;
use super::replicas::service;
use super::streams::streaming;

/// One rule is enough: it is the rest of the run that is of interest here.
const RUN: [&str; 6] = ["certify", "--rule", "UTP-3.2-06", "--chaos", "--seed", "1"];

/// The record of a run, which is a valid one.
fn record(home: &Home) -> Value {
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let record = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(violations(SchemaName::Run, &record), [], "{record}");
    record
}

fn chaos(home: &Home, manifest: &str) -> (i32, String) {
    home.run(&[&RUN[..], &["--out", "out"]].concat(), manifest)
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

#[test]
fn a_ledger_of_each_replica_does_calls_twice_under_chaos() {
    let home = Home::new();
    let (code, said) = chaos(&home, &service("replicas = 3", &[]));
    assert_eq!(code, 1, "{said}");
    let record = record(&home);
    // The rules that were asked for hold: the chaos is an own section.
    assert_eq!(record["verdict"], "conformant");
    let findings = record["chaos"][0]["findings"].as_array().expect("findings");
    assert!(!findings.is_empty() && findings.iter().all(|own| own["hint"].is_string()), "{findings:?}");
}

#[test]
fn one_alone_and_the_reference_in_this_process_are_not_disturbed() {
    let home = Home::new();
    let (code, said) = chaos(&home, &service("", &[]));
    assert_eq!(code, 2, "{said}");
    assert!(super::unwrapped(&said).contains("several replicas that the suite starts"), "{said}");
    assert!(!home.path().join("out").exists());
}
