//! Replicas of the reference that share a database: conformant, also while they are disturbed.

use callmark_schemas::{SchemaName, violations};
use serde_json::Value;

use super::Home;
use super::replicas::{named, service, three};

#[path = "../../../../../reference/tests/it/postgres_cluster.rs"]
mod postgres_cluster;

use postgres_cluster::Cluster;

#[test]
fn tool_services_that_share_their_ledger_are_conformant_on_a_broker_that_keeps_nothing() {
    let (home, cluster) = (Home::new(), Cluster::start());
    let store = cluster.url("tools");
    let (code, said) = home.certify(&service("replicas = 3", &["--store", &store]));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    assert_eq!(named(&home), three());
    let open = cluster.psql("SELECT count(*) FROM tools.utp_calls WHERE NOT delivered");
    assert_eq!(open, "0", "each call that was carried out is delivered");
    assert_ne!(cluster.psql("SELECT count(*) FROM tools.utp_calls"), "0");
}

#[test]
fn tool_services_that_share_their_ledger_lose_nothing_and_do_nothing_twice() {
    let (home, cluster) = (Home::new(), Cluster::start());
    let store = cluster.url("tools");
    let command = ["certify", "--rule", "UTP-3.2-06", "--chaos", "--seed", "1", "--out", "out"];
    let (code, said) = home.run(&command, &service("replicas = 3", &["--store", &store]));
    assert_eq!(code, 0, "{said}");
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let record: Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(violations(SchemaName::Run, &record), [], "{record}");
    let chaos = &record["chaos"][0];
    assert_eq!(chaos["disturbances"].as_array().map(Vec::len), Some(8), "{chaos}");
    assert_eq!(chaos["findings"], Value::Array(Vec::new()), "{chaos}");
    assert_eq!(chaos["hindered"], Value::Null, "{chaos}");
}

#[test]
fn hubs_that_share_their_customers_are_conformant() {
    let (home, cluster) = (Home::new(), Cluster::start());
    let program = crate::support::program().display().to_string();
    let start = [program.as_str(), "serve", "hub", "--store", &cluster.url("hub")].map(str::to_owned);
    let bundled = include_str!("../../../src/bundled.toml");
    let hub =
        bundled.split("\n[").filter(|table| table.starts_with("hub") && !table.starts_with("hub.agent"));
    let replicas = |line: &str| {
        let is_start = line.starts_with("start = ");
        if is_start { format!("start = {start:?}\nreplicas = 3\n") } else { format!("{line}\n") }
    };
    let hub: Vec<String> =
        hub.flat_map(|table| format!("[{table}").lines().map(replicas).collect::<Vec<_>>()).collect();
    let (code, said) = home.certify(&format!("[target]\nname = \"hubs\"\n{}", hub.concat()));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    assert_ne!(cluster.psql("SELECT count(*) FROM hub.hub_windows"), "0");
    let renewed = cluster.psql("SELECT count(*) FROM hub.hub_grants WHERE generation > 0");
    assert_ne!(renewed, "0", "a token was renewed, and the others know of it");
}

#[test]
fn a_database_that_is_not_reached_ends_the_start_with_one_sentence_without_its_password() {
    let served = |words: &[&str]| {
        let output = std::process::Command::new(crate::support::program())
            .args(["serve"])
            .args(words)
            .env("CALLMARK_NATS_URL", "nats://127.0.0.1:1")
            .output()
            .expect("the binary runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!said.contains("hush"), "{said}");
        let words: Vec<&str> = said.split_whitespace().filter(|word| *word != "│").collect();
        (output.status.code(), words.join(" "))
    };
    let gone = "postgres://me:hush@127.0.0.1:1/db";
    for family in ["utp", "hub"] {
        let (code, said) = served(&[family, "--store", gone]);
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("PostgreSQL at `postgres://me@127.0.0.1:1/db`"), "{said}");
    }
    for wrong in
        ["postgres://me:hush@h/db?sslmode=full", "mysql://me:hush@h/db", "postgres://me:hush@h:port/db"]
    {
        let (code, said) = served(&["utp", "--store", wrong]);
        assert_eq!(code, Some(2), "{said}");
    }
    let (code, said) = served(&["toolbus", "--store", gone]);
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nothing of this is kept in PostgreSQL"), "{said}");
}
