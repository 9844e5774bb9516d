//! Certificates: a signed run is judged again without its target, and what was altered is judged otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use callmark_reports::certificate::{self, Item, PrivateKey};
use callmark_reports::record::{Direction, Outcome, RunRecord};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run;
use callmark_suite::engine::run::Library;
use callmark_suite::engine::run::replay_bundle::ReplayBundle;
use callmark_suite::families;
use callmark_suite::transcript::{Frame, Kind};
use serde_json::Value;

use crate::program;

/// One of each family.
const PROFILES: [&str; 8] = [
    "utp.tool-service",
    "utp.worker",
    "utp.registry",
    "toolbus.server",
    "hub.server",
    "hub.agent",
    "breadcrumb.workflow",
    "breadcrumb.agent",
];
/// Scenarios of each that are altered.
const ALTERED: usize = 3;

fn read<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("its shape")
}

fn transcripts(path: &Path) -> BTreeMap<String, Vec<Frame>> {
    let mut all: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).expect("a transcript").lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let scenario = line["scenario"].as_str().expect("a scenario").to_owned();
        all.entry(scenario)
            .or_default()
            .push(serde_json::from_value(line["frame"].clone()).expect("a frame"));
    }
    all
}

/// Judges again; also the scenarios that went another way.
async fn judged(
    library: &Arc<Library>,
    out: &Path,
    frames: BTreeMap<String, Vec<Frame>>,
) -> (RunRecord, BTreeSet<String>) {
    let manifest =
        Manifest::of(&families::ALL.tables(), read(&out.join("manifest.json"))).expect("a manifest");
    let account: ReplayBundle = read(&out.join("account.json"));
    let plan = account.plan(families::ALL, &manifest, frames).expect("a manifest with all tables");
    let output = run::run(library, &plan).await;
    (output.record, plan.memory.divergences().into_iter().map(|(id, _)| id).collect())
}

/// Writes the certificate anew, as somebody with the key could who has altered a file.
fn sign_again(home: &Path) {
    let out = home.join("out");
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let key = PrivateKey::read(&text(&home.join("key.pem"))).expect("a key");
    let path = out.join("certificate.json");
    let mut statement = certificate::open(&text(&path), None).expect("a certificate").statement;
    for item in &mut statement.subject {
        *item = Item::of(&item.name, &std::fs::read(out.join(&item.name)).expect("a file"));
    }
    std::fs::write(path, statement.sign(&key)).expect("written");
}

/// A signed run of the reference, with its key beside it.
fn certified(home: &Path, profiles: &[&str]) {
    assert_eq!(program::run(&["keygen", "--out", "key.pem"], home).0, Some(0));
    let mut arguments =
        vec!["certify", "--bundled", "--out", "out", "--sign", "key.pem", "--timeout-scale", "4"];
    arguments.extend(profiles.iter().flat_map(|profile| ["--profile", profile]));
    let (code, text) = program::run(&arguments, home);
    // What cannot be judged again is not signed.
    assert_eq!(code, Some(0), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_scenario_passes_again_when_the_target_did_not_say_what_it_said() {
    let home = tempfile::tempdir().expect("a directory");
    let out = home.path().join("out");
    certified(home.path(), &PROFILES);
    let library = Arc::new(Library::load().expect("a sound library"));
    let written: RunRecord = read(&out.join("run.json"));
    let mut frames = transcripts(&out.join("transcript.jsonl"));
    let from_target = |frame: &Frame| frame.direction == Direction::FromTarget;
    let mut altered = BTreeSet::new();
    for profile in PROFILES {
        let rules = written.rules.iter().filter(|rule| rule.profile == profile);
        let passed = rules.flat_map(|rule| &rule.scenarios).filter(|own| own.outcome == Outcome::Passed);
        let spoken = |id: &&String| frames.get(*id).is_some_and(|frames| frames.iter().any(from_target));
        altered.extend(passed.map(|scenario| &scenario.id).filter(spoken).take(ALTERED).cloned());
    }
    assert!(altered.len() > PROFILES.len(), "{altered:?}");
    for (_, frames) in frames.iter_mut().filter(|(id, _)| altered.contains(*id)) {
        frames.iter_mut().filter(|frame| from_target(frame)).for_each(|frame| frame.kind = Kind::Unknown);
    }
    let (again, divergences) = judged(&library, &out, frames).await;
    let scenarios = again.rules.iter().flat_map(|rule| &rule.scenarios);
    let passes = scenarios
        .filter(|scenario| altered.contains(&scenario.id) && !divergences.contains(&scenario.id))
        .filter(|scenario| scenario.outcome == Outcome::Passed)
        .map(|scenario| scenario.id.as_str());
    // Steps that end take the hook that prints panics, so the names go first.
    let passes: Vec<&str> = passes.inspect(|id| eprintln!("passes whatever the target says: {id}")).collect();
    assert_eq!(passes, Vec::<&str>::new());
}

#[test]
fn who_has_the_key_can_sign_what_was_altered_and_judging_it_again_shows_it() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    certified(home, &["utp.registry"]);
    let verify = ["verify", "out/certificate.json", "--key", "key.pem.pub"];
    let check = |expect: i32, says: &str| {
        let (code, text) = program::run(&verify, home);
        assert!(code == Some(expect) && text.contains(says), "{text}");
    };
    check(0, "conforms");
    let path = home.join("out/transcript.jsonl");
    let text = std::fs::read_to_string(&path).expect("a transcript");
    let altered = text
        .replace("\"status\":\"201\"", "\"status\":\"500\"")
        .replace("\"status\":\"200\"", "\"status\":\"500\"");
    assert_ne!(text, altered);
    std::fs::write(&path, altered).expect("written");
    check(1, "`out/transcript.jsonl` was changed");
    sign_again(home);
    check(1, "judged again");
}

#[test]
fn what_is_no_key_is_reported_before_the_run() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    std::fs::write(home.join("none.pem"), "no key\n").expect("written");
    let (code, text) = program::run(&["certify", "--bundled", "--sign", "none.pem"], home);
    assert!(code == Some(2) && text.contains("`callmark keygen --out FILE`"), "{text}");
    let (code, text) =
        program::run(&["certify", "--bundled", "--sign", "absent.pem", "--rule", "HUB-01"], home);
    assert!(code == Some(2) && text.contains("--rule"), "{text}");
    assert_eq!(program::run(&["verify", "absent.json"], home).0, Some(1));
    assert_eq!(program::run(&["verify"], home).0, Some(2));
    let (code, text) = program::run(&["verify", "."], home);
    assert!(code == Some(2) && text.contains("`certificate.json`"), "{text}");
    std::fs::write(home.join("certificate.json"), b"{}\xff").expect("written");
    assert_eq!(program::run(&["verify", "certificate.json"], home).0, Some(1));
}
