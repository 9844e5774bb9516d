//! Several replicas of one target: what they share holds over all of them, and what each keeps for itself shows.

use std::collections::BTreeSet;

use super::Home;
use super::streams::streaming;

/// A manifest of the reference's Tool Service.
pub(super) fn service(further: &str, store: &[&str]) -> String {
    let program = crate::support::program().display().to_string();
    let start = [&[program.as_str(), "serve", "utp", "--service"], store].concat();
    let probe = |name: &str| format!("[utp.tool-service.probes.{name}]\ntool_name = \"probe.{name}\"\n");
    format!(
        "[target]\nname = \"fleet\"\n[utp]\nstart = {start:?}\n{further}\n\
         {}result_pointer = \"/echo\"\n{}result_pointer = \"/count\"\n{}{}",
        probe("echo"),
        probe("count"),
        probe("fail"),
        probe("ctl")
    )
}

/// Rules that are broken, each with what was said of it.
fn broken(home: &Home) -> Vec<(String, String)> {
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    let rules = record["rules"].as_array().expect("rules").iter();
    rules
        .filter(|rule| rule["outcome"] == "failed")
        .map(|rule| (rule["id"].as_str().unwrap_or_default().to_owned(), rule.to_string()))
        .collect()
}

/// The replicas that the transcript names.
pub(super) fn named(home: &Home) -> BTreeSet<String> {
    let transcript = std::fs::read_to_string(home.path().join("out/transcript.jsonl")).expect("a transcript");
    let frames =
        transcript.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    frames
        .filter_map(|line| Some(line["frame"]["headers"]["callmark-replica"].as_str()?.to_owned()))
        .collect()
}

pub(super) fn three() -> BTreeSet<String> {
    ["1", "2", "3"].map(str::to_owned).into()
}

#[test]
fn replicas_that_share_their_ledger_are_conformant() {
    let home = Home::new();
    let server = streaming(&home, "");
    let at = format!("nats = \"nats://127.0.0.1:{}\"\nreplicas = 3", server.port);
    let (code, said) = home.certify(&service(&at, &["--store", "nats"]));
    assert_eq!((code, home.failed()), (0, 0), "{said}");
    assert_eq!(named(&home), three());
}

#[test]
fn a_ledger_of_each_replica_breaks_the_rule_on_repeats_and_no_other() {
    let home = Home::new();
    let (code, said) = home.certify(&service("", &[]));
    assert_eq!((code, home.failed()), (0, 0), "one alone: {said}");
    assert_eq!(named(&home), BTreeSet::new());
    let (code, said) = home.certify(&service("replicas = 3", &[]));
    assert_eq!(code, 1, "{said}");
    assert_eq!(named(&home), three());
    let broken = broken(&home);
    let [(rule, finding)] = broken.as_slice() else { panic!("{broken:#?}") };
    assert_eq!(rule, "UTP-3.2-04");
    assert!(
        finding.contains("several replicas received it") && finding.contains("all replicas find it"),
        "{finding}"
    );
}

#[test]
fn what_cannot_be_several_is_refused() {
    let home = Home::new();
    let refused = |manifest: &str, why: &str| {
        let (code, said) = home.run(&["doctor"], manifest);
        assert_eq!(code, 2, "{said}");
        assert!(super::unwrapped(&said).contains(why), "{said}");
    };
    let running = service("replicas = 3\nnats = \"nats://127.0.0.1:4222\"", &[]);
    let running: Vec<&str> = running.lines().filter(|line| !line.starts_with("start")).collect();
    refused(&running.join("\n"), "`utp.replicas` needs `start`");
    refused(&service("replicas = 1", &[]), "replicas");
    refused(
        "[target]\nname = \"fleet\"\n[hub]\nbase_url = \"http://127.0.0.1:8080\"\nsecret = \"s\"\nreplicas = 2\n",
        "`hub.replicas` needs `start`",
    );
}
