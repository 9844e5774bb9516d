//! Shards: several parts of a run make what one run makes, and what is no whole run is refused.

use std::collections::BTreeSet;
use std::path::Path;

use callmark_reports::certificate::{self, Item, PrivateKey};
use callmark_reports::record::{Outcome, RunRecord, Summary, Verdict};
use callmark_suite::engine::run::replay_bundle::{MergedBundle, ReplayBundle};
use serde_json::{Value, json};

use crate::doctor::SMALL_TARGETS;
use crate::program::{self, REPORTS, done};

/// Runs a command that is refused with these words, and with something that helps.
fn refused(says: &str, arguments: &[&str], directory: &Path) {
    let text = done(2, arguments, directory);
    let plain = program::one_line(&text);
    assert!(plain.contains(says) && plain.contains("help: "), "{says}: {text}");
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn record(path: &Path) -> RunRecord {
    serde_json::from_slice(&read(&path.join("run.json"))).expect("a record")
}

/// The scenarios of which messages were written down, in the order of the file.
fn spoken(path: &Path) -> Vec<String> {
    let text = String::from_utf8(read(&path.join("transcript.jsonl"))).expect("text");
    let scenario = |line: &str| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        line["scenario"].as_str().expect("a scenario").to_owned()
    };
    let mut all: Vec<String> = text.lines().map(scenario).collect();
    all.dedup();
    all
}

fn are_alike(one: &Path, other: &Path) {
    for name in REPORTS {
        assert!(read(&one.join(name)) == read(&other.join(name)), "`{name}` of {} differs", other.display());
    }
    assert_eq!(spoken(one), spoken(other), "messages of other scenarios, or in another order");
}

#[test]
fn four_shards_make_what_one_run_makes_and_a_certificate_is_about_all_of_them() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let profiles =
        ["--profile", "hub.server", "--profile", "toolbus.server", "--profile", "utp.tool-service"];
    let certify = |more: &[&str], code: i32| {
        done(
            code,
            &[&["certify", "--bundled"], &profiles[..], &["--timeout-scale", "4"], more].concat(),
            home,
        )
    };
    certify(&["--out", "whole"], 0);
    let mut seen = BTreeSet::new();
    for (index, jobs) in ["32", "5", "64", "32"].iter().enumerate() {
        let (shard, out) = (format!("{}/4", index + 1), format!("shard-{}", index + 1));
        let more = ["--shard", &shard, "--timings", "whole/timings.json", "--jobs", jobs, "--out", &out];
        let text = certify(&more, 0);
        assert!(
            text.contains(&format!("incomplete (shard {shard}): nothing is known to be broken")),
            "{text}"
        );
        let own = record(&home.join(&out));
        assert_eq!(own.shard.map(|own| own.to_string()), Some(shard));
        assert_eq!(own.verdict, Verdict::Incomplete, "a part does not conform");
        let scenarios = spoken(&home.join(&out));
        assert!(scenarios.len() > 100, "{out}: {}", scenarios.len());
        assert!(scenarios.into_iter().all(|id| seen.insert(id)), "{out} ran what another shard ran");
    }
    done(0, &["keygen", "--out", "key.pem"], home);
    let shards = ["merge", "shard-3", "shard-1", "shard-4", "shard-2"];
    let text = done(0, &[&shards[..], &["--out", "merged"]].concat(), home);
    assert!(text.starts_with("conformant: "), "{text}");
    are_alike(&home.join("whole"), &home.join("merged"));
    assert!(!home.join("merged/shard.json").exists() && !home.join("merged/account.json").exists());
    // What the shards took is read again by those of the next run.
    let timings = |run: &str| -> Value { serde_json::from_slice(&read(&home.join(run))).expect("timings") };
    let names =
        |timings: &Value| timings["scenarios_us"].as_object().map(|own| own.keys().cloned().collect());
    let merged: Option<Vec<String>> = names(&timings("merged/timings.json"));
    assert_eq!(merged, names(&timings("whole/timings.json")));

    let text = done(0, &[&shards[..], &["--out", "signed", "--sign", "key.pem"]].concat(), home);
    assert!(text.contains("certificate: signed/certificate.json"), "{text}");
    are_alike(&home.join("whole"), &home.join("signed"));
    let verify = ["verify", "signed/certificate.json", "--key", "key.pem.pub"];
    assert!(done(0, &verify, home).contains("judged again, give the same run record"));
    no_part_passes_for_the_whole(home, &verify);
}

/// Whoever has the key cannot have less than all shards pass for the run.
fn no_part_passes_for_the_whole(home: &Path, verify: &[&str]) {
    let signed = home.join("signed");
    let account: MergedBundle =
        serde_json::from_slice(&read(&signed.join("account.json"))).expect("an account");
    let says = |says: &str, change: &dyn Fn(&mut Vec<ReplayBundle>)| {
        let mut altered = account.clone();
        change(&mut altered.shards);
        let text = serde_json::to_string(&altered).expect("JSON");
        std::fs::write(signed.join("account.json"), text + "\n").expect("written");
        sign_again(home);
        let text = done(1, verify, home);
        assert!(text.contains(says), "{says}: {text}");
    };
    says("its part 1 is not the account of shard 1/3", &|shards| drop(shards.pop()));
    says("its part 4 is not the account of shard 4/4", &|shards| shards[3] = shards[2].clone());
    says("shards 1/4 and 2/4 have another seed", &|shards| shards[1].seed = 7);
    let left = spoken(&home.join("shard-2")).remove(0);
    says(&format!("messages of `{left}`, which no shard ran"), &|shards| {
        let own = shards[1].shard.as_mut().expect("a shard");
        assert!(own.scenarios.remove(&left) && shards[1].scenarios.remove(&left).is_some());
    });
    // One shard alone, with its own record and messages.
    for name in ["run.json", "transcript.jsonl", "account.json"] {
        std::fs::copy(home.join("shard-2").join(name), signed.join(name)).expect("copied");
    }
    sign_again(home);
    let text = done(1, verify, home);
    assert!(text.contains("only a whole run is certified"), "{text}");
}

/// Writes the certificate anew about the files that there are, as somebody with the key could.
fn sign_again(home: &Path) {
    let signed = home.join("signed");
    let text = |path: &Path| String::from_utf8(read(path)).expect("text");
    let key = PrivateKey::read(&text(&home.join("key.pem"))).expect("a key");
    let path = signed.join("certificate.json");
    let mut statement = certificate::open(&text(&path), None).expect("a certificate").statement;
    let items = statement.subject.iter_mut().chain(&mut statement.predicate.configuration);
    for item in items.filter(|item| signed.join(&item.name).is_file()) {
        *item = Item::of(&item.name, &read(&signed.join(&item.name)));
    }
    std::fs::write(path, statement.sign(&key)).expect("written");
}

#[test]
fn what_shards_find_broken_is_broken_in_the_run_with_the_same_words() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub");
    let manifest = std::fs::read_to_string(example.join("callmark.toml")).expect("the example's manifest");
    std::fs::write(home.join("small_targets.py"), SMALL_TARGETS).expect("a file");
    let program = home.join("small_targets.py");
    let start = format!(
        "start = {:?}\ncwd = {:?}",
        ["python3", &program.to_string_lossy(), "forgetful", "hub.py"],
        example.to_string_lossy()
    );
    let manifest = manifest.replace("start = [\"python3\", \"hub.py\"]", &start);
    assert!(manifest.contains("forgetful"), "{manifest}");
    std::fs::write(home.join("callmark.toml"), &manifest).expect("a file");
    done(1, &["certify", "--out", "whole"], home);
    for shard in ["1/3", "2/3", "3/3"] {
        done(1, &["certify", "--out", &shard[..1], "--shard", shard], home);
    }
    let text = done(1, &["merge", "1", "2", "3", "--out", "merged"], home);
    assert!(text.starts_with("nonconformant: "), "{text}");
    are_alike(&home.join("whole"), &home.join("merged"));
    let whole = record(&home.join("whole"));
    let elsewhere = whole.rules.iter().flat_map(|rule| &rule.scenarios).any(|scenario| {
        scenario.outcome == Outcome::Failed
            && scenario.evidence.as_ref().is_some_and(|evidence| evidence.scenario.is_some())
    });
    assert!(elsewhere, "what judges every exchange has to be among what is broken");

    others_are_refused(home, &manifest);
    std::fs::write(home.join("callmark.toml"), manifest).expect("a file");

    // Known failures are those of a run, so they are named where there is one.
    refused_by_clap(&["certify", "--shard", "1/3", "--baseline", "known.toml"], home);
    let known = ["--baseline", "known.toml"];
    done(0, &[&["merge", "1", "2", "3", "--out", "merged", "--write-baseline"], &known[..]].concat(), home);
    done(0, &[&["certify", "--out", "whole"], &known[..]].concat(), home);
    are_alike(&home.join("whole"), &home.join("merged"));
}

/// Targets that differ in nothing but what a manifest says of them.
fn others_are_refused(home: &Path, manifest: &str) {
    for (what, from, to) in [
        ("different targets", "version = \"1.0.0\"", "version = \"1.0.1\""),
        ("different manifests", "subject_word = \"harvest\"", "subject_word = \"count\""),
    ] {
        let other = manifest.replace(from, to);
        assert_ne!(other, manifest);
        std::fs::write(home.join("callmark.toml"), other).expect("a file");
        done(1, &["certify", "--out", "other", "--shard", "3/3"], home);
        refused(what, &["merge", "1", "2", "other"], home);
    }
}

fn refused_by_clap(arguments: &[&str], home: &Path) {
    let text = done(2, arguments, home);
    assert!(text.contains("error: ") && text.contains("--shard"), "{text}");
}

#[test]
fn what_is_not_all_shards_of_one_run_is_refused() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    let run = |out: &str, arguments: &[&str]| {
        let base = ["certify", "--bundled", "--quiet", "--profile", "hub.server", "--out", out];
        done(0, &[&base[..], arguments].concat(), home)
    };
    let rule = ["--rule", "HUB-67"];
    run("whole", &rule);
    run("1", &["--rule", "HUB-67", "--shard", "1/3"]);
    run("2", &["--rule", "HUB-67", "--shard", "2/3"]);
    let said = run("3", &["--rule", "HUB-67", "--shard", "3/3"]);
    assert!(said.contains("shard 3/3 has no scenario"), "{said}");
    done(0, &["merge", "2", "3", "1", "--out", "merged", "--quiet"], home);
    are_alike(&home.join("whole"), &home.join("merged"));

    for text in ["0/3", "4/3", "1/0", "0/0", "2", "second"] {
        refused_by_clap(&["certify", "--bundled", "--shard", text], home);
    }
    refused_by_clap(&["certify", "--bundled", "--shard", "1/3", "--sign", "key.pem"], home);
    refused_by_clap(&["certify", "--bundled", "--timings", "1/timings.json"], home);
    let merge = |says: &str, directories: &[&str]| refused(says, &[&["merge"], directories].concat(), home);
    let certify = ["certify", "--bundled", "--shard", "1/3", "--timings"];
    refused("`1/run.json` holds no timings", &[&certify[..], &["1/run.json"]].concat(), home);
    merge("shard 2/3 is missing", &["1", "3"]);
    merge("shards 1/3, 3/3 are missing", &["2"]);
    merge("are both shard 2/3", &["1", "2", "3", "2"]);
    merge("`nowhere` holds no shard: there is no such directory", &["1", "nowhere"]);
    merge("`whole` holds no shard: it is the record of a whole run", &["1", "whole", "3"]);
    std::fs::create_dir(home.join("empty")).expect("a directory");
    merge("`empty` holds no shard: there is no `run.json` in it", &["1", "empty", "3"]);
    merge("is the directory of a shard", &["1", "2", "3", "--out", "2"]);
    refused("is the record of shard 1/3", &["diff", "1/run.json", "whole/run.json"], home);

    run("of-2", &["--rule", "HUB-67", "--shard", "2/2"]);
    merge("different numbers of shards", &["1", "of-2"]);
    run("seed", &["--rule", "HUB-67", "--shard", "2/3", "--seed", "7"]);
    merge("different seeds", &["1", "seed", "3"]);
    run("rule", &["--rule", "HUB-10", "--shard", "1/2"]);
    merge("different selections", &["rule", "of-2"]);
    run("strict", &["--rule", "HUB-67", "--shard", "2/3", "--strict"]);
    merge("different options", &["1", "strict", "3"]);
    // The one that took longest leaves the others to the other shard.
    run("rule-2", &["--rule", "HUB-10", "--shard", "2/2"]);
    let ids: Vec<String> = ["rule", "rule-2"].iter().flat_map(|out| spoken(&home.join(out))).collect();
    assert!(ids.len() > 2, "{ids:?}");
    let took: serde_json::Map<String, Value> = ids
        .iter()
        .zip(0..)
        .map(|(id, place)| (id.clone(), json!(if place == 0 { 9000 } else { 1 })))
        .collect();
    let timings = json!({"schema": "callmark.timings/1", "scenarios_us": took});
    std::fs::write(home.join("timings.json"), timings.to_string()).expect("written");
    run("timed", &["--rule", "HUB-10", "--shard", "1/2", "--timings", "timings.json"]);
    assert_eq!(spoken(&home.join("timed")), ids[..1]);
    merge("different divisions of the scenarios", &["timed", "rule-2"]);

    let file = home.join("rule-2/run.json");
    let mut altered = record(&home.join("rule-2"));
    altered.rules[0].scenarios.clear();
    altered.summary = Summary::of(&altered.rules);
    std::fs::write(&file, serde_json::to_string(&altered).expect("JSON")).expect("written");
    merge("the record of shard 2 does not hold", &["rule", "rule-2"]);
    std::fs::remove_file(home.join("rule-2/shard.json")).expect("removed");
    merge("its `shard.json` is missing", &["rule", "rule-2"]);
    refused(
        "`--sign` is for whole profiles",
        &["merge", "1", "2", "3", "--out", "merged", "--sign", "key.pem"],
        home,
    );
}
