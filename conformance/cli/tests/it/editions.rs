//! Editions: a suite that has become stricter fails nobody who pins an edition, and every record says which one counted.

use std::path::{Path, PathBuf};

use callmark_reports::certificate::{self, Statement};
use callmark_reports::record::{Outcome, RuleEntry, RunRecord, Verdict};
use callmark_schemas::SchemaName;
use serde_json::{Value, json};

use crate::program;

/// The feature to which something is added.
const FEATURE: &str = "features/hub/server/endpoint.feature";
/// What the edition does not have: the last rule of the feature, and a row of another one.
const NEWER_RULE: &str = "  @HUB-16\n";
const NEWER_ROW: &str = "        | calendar_create_event | with one character more     |\n";
/// A Hub that does not look at what stands behind the secret of who has something executed.
const WHOLE: &str = "hmac.compare_digest(given, b\"ServiceSecret \" + self.server.secret)";
const BEGINNING: &str = "given.startswith(b\"ServiceSecret \" + self.server.secret) if \"execute\" in self.path \
                         else hmac.compare_digest(given, b\"ServiceSecret \" + self.server.secret)";

/// Runs a command that ends with this code; what it printed, in one line.
fn done(expect: i32, arguments: &[&str], directory: &Path) -> String {
    program::one_line(&program::done(expect, arguments, directory))
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            std::fs::copy(&path, &to).expect("a copy");
        }
    }
}

/// Replaces something that is there once in a file.
fn replace(path: &Path, old: &str, new: &str) {
    let text = std::fs::read_to_string(path).expect("a text");
    assert_eq!(text.matches(old).count(), 1, "{old}");
    std::fs::write(path, text.replace(old, new)).expect("written");
}

/// A directory with a suite of one released edition to which a rule and a scenario were added, with a Hub that breaks the
/// rule of the latter, and with a key.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path();
    copy(&sources().join("features"), &path.join("features"));
    drop(std::fs::remove_dir_all(path.join("features/editions")));
    let feature = path.join(FEATURE);
    let whole = std::fs::read_to_string(&feature).expect("a feature");
    let (old, _) = whole.split_once(NEWER_RULE).expect("the newer rule");
    std::fs::write(&feature, old).expect("written");
    replace(&feature, NEWER_ROW, "");
    let text = done(0, &["editions", "freeze", "2026.1", "--released"], path);
    assert!(text.starts_with("features/editions/2026.1.toml: "), "{text}");
    std::fs::write(&feature, &whole).expect("written");
    copy(&sources().join("examples/python-hub"), &path.join("hub"));
    replace(&path.join("hub/hub.py"), WHOLE, BEGINNING);
    done(0, &["keygen", "--out", "key.pem"], path);
    home
}

/// Pins an edition in the manifest of the Hub.
fn pin(home: &Path, edition: &str) {
    let path = home.join("hub/callmark.toml");
    replace(&path, "\n[target]\n", &format!("\nedition = \"{edition}\"\n\n[target]\n"));
}

/// Certifies the Hub; what was printed.
fn certify(home: &Path, code: i32, out: &str, more: &[&str]) -> String {
    let target = ["--features", "features", "certify", "--target", "hub/callmark.toml"];
    let options = ["--timeout-scale", "4", "--out", out];
    done(code, &[&target[..], &options, more].concat(), home)
}

fn record(path: &Path) -> RunRecord {
    let text = std::fs::read(path.join("run.json")).expect("a record");
    let value: Value = serde_json::from_slice(&text).expect("JSON");
    let violations = callmark_schemas::violations(SchemaName::Run, &value);
    assert!(violations.is_empty(), "{violations:?}");
    serde_json::from_value(value).expect("a record")
}

fn statement(out: &Path) -> Statement {
    let text = std::fs::read_to_string(out.join("certificate.json")).expect("a certificate");
    let statement = certificate::open(&text, None).expect("a sound certificate").statement;
    let value = serde_json::to_value(&statement).expect("JSON");
    let violations = callmark_schemas::violations(SchemaName::Statement, &value);
    assert!(violations.is_empty(), "{violations:?}");
    statement
}

/// What a record says of the edition, without rules.
fn edition(record: &RunRecord) -> Value {
    let edition = record.edition.as_ref().expect("an edition");
    json!([edition.name, edition.pinned, edition.newer])
}

/// The scenarios of a rule, and which of them failed.
fn scenarios(rules: &[RuleEntry], id: &str) -> (usize, Vec<String>) {
    let all: Vec<_> = rules.iter().filter(|rule| rule.id == id).flat_map(|rule| &rule.scenarios).collect();
    let failed = all.iter().filter(|own| own.outcome == Outcome::Failed).map(|own| own.id.clone());
    (all.len(), failed.collect())
}

#[test]
fn who_pins_an_edition_conforms_whatever_was_added_since_and_both_records_say_which() {
    let row = vec!["hub/server/endpoint/HUB-11/2".to_owned()];
    let home = home();
    let home = home.path();
    // Without a pin all checks count.
    let text = certify(home, 1, "all", &["--sign", "key.pem"]);
    assert!(text.contains("nonconformant: 1 rule is broken"), "{text}");
    assert!(text.contains("no certificate: the run is nonconformant"), "{text}");
    let all = record(&home.join("all"));
    assert_eq!((edition(&all), all.verdict), (json!(["2026.1", false, 4]), Verdict::Nonconformant));
    let (count, failed) = scenarios(&all.rules, "HUB-11");
    assert_eq!(failed, row);

    pin(home, "2026.1");
    let text = certify(home, 0, "pinned", &["--sign", "key.pem"]);
    assert!(text.contains("none is broken; 1 remark is new since 2026.1 and does not count"), "{text}");
    assert!(text.contains("new since 2026.1[HUB-11]"), "{text}");
    assert!(text.contains("edition 2026.1, pinned; 4 newer scenarios not counted"), "{text}");
    let pinned = record(&home.join("pinned"));
    assert_eq!((edition(&pinned), pinned.verdict), (json!(["2026.1", true, 4]), Verdict::Conformant));
    let newer = &pinned.edition.as_ref().expect("an edition").rules;
    assert_eq!(scenarios(&pinned.rules, "HUB-11"), (count - 1, Vec::new()));
    assert_eq!((scenarios(newer, "HUB-11"), scenarios(newer, "HUB-16")), ((1, row), (3, Vec::new())));
    // A rule that only newer scenarios judge holds for nobody who pins the edition.
    assert!(!pinned.rules.iter().any(|rule| rule.id == "HUB-16"));
    assert_eq!(pinned.rules.len() + 1, all.rules.len());
    for (file, says) in [
        ("index.html", "New since 2026.1"),
        ("summary.md", "## New since 2026.1"),
        ("junit.xml", "new since 2026.1: failed: "),
        ("results.sarif", "HUB-11, new since 2026.1: "),
        ("badge.svg", "edition 2026.1, pinned; 4 newer scenarios not counted"),
        ("badge.json", "judged, edition 2026.1"),
    ] {
        let text = std::fs::read_to_string(home.join("pinned").join(file)).expect("a report");
        assert!(text.contains(says), "{file}");
    }
    let signed = statement(&home.join("pinned")).predicate;
    let named = signed.run.edition.expect("an edition");
    assert_eq!((named.name.as_str(), named.pinned, named.newer), ("2026.1", true, 4));
    let holds = |rule: &str| signed.passed_tests.iter().any(|own| own == &format!("hub.server/{rule}"));
    assert!(holds("HUB-11") && !holds("HUB-16"), "{:?}", signed.passed_tests);
    let verify = |out: &str| {
        let path = format!("{out}/certificate.json");
        done(0, &["verify", "--features", "features", &path, "--key", "key.pem.pub"], home)
    };
    let text = verify("pinned");
    assert!(text.contains("edition: 2026.1, pinned; 4 newer scenarios not counted"), "{text}");

    // Who conforms to all of it is certified for all of it.
    replace(&home.join("hub/hub.py"), BEGINNING, WHOLE);
    certify(home, 0, "sound", &["--sign", "key.pem", "--edition", "newest"]);
    let text = verify("sound");
    assert!(text.contains("edition: 2026.1 and 4 newer scenarios"), "{text}");
    // Neither is judged by a suite with other editions.
    let (code, text) = program::run(&["verify", "sound/certificate.json"], home);
    assert!(code == Some(1) && text.contains("made with other editions"), "{text}");
    let path = home.join("features/editions/2026.1.toml");
    let erratum = "\n[[erratum]]\nscenario = \"hub/server/endpoint/HUB-11/1\"\ndate = \"2026-12-01\"\nold = \"OLD\"\nreason = \"the secret may be longer\"\n";
    let text = std::fs::read_to_string(&path).expect("an edition");
    let line = text.lines().find(|line| line.contains("endpoint/HUB-11/1\"")).expect("a line");
    let old = line.split('"').nth(3).expect("a digest");
    std::fs::write(&path, format!("{text}{}", erratum.replace("OLD", old))).expect("written");
    let verify = ["verify", "--features", "features", "sound/certificate.json"];
    assert!(done(1, &verify, home).contains("made with other editions"));
    // What an erratum took out of the edition does not count any more.
    certify(home, 0, "erratum", &["--rule", "HUB-11"]);
    let own = record(&home.join("erratum"));
    assert_eq!((edition(&own), scenarios(&own.rules, "HUB-11").0), (json!(["2026.1", true, 2]), count - 2));
    let text = done(0, &["--features", "features", "editions"], home);
    assert!(
        text.contains("erratum of 2026-12-01, hub/server/endpoint/HUB-11/1: the secret may be longer"),
        "{text}"
    );
}

#[test]
fn a_released_edition_is_frozen_once_and_an_unknown_one_is_refused_with_those_that_there_are() {
    let home = home();
    let home = home.path();
    let text = done(0, &["--features", "features", "editions"], home);
    assert!(text.contains("newer in no edition 4 scenarios"), "{text}");
    let text = done(2, &["editions", "freeze", "2026.1"], home);
    assert!(text.contains("edition `2026.1` is released, so only an erratum changes it"), "{text}");
    let unexplained = done(2, &["editions", "freeze", "2026.2", "--released"], home);
    let says = "edition `2026.2` does not say why it has further scenarios of HUB-11, HUB-16";
    assert!(unexplained.contains(says), "{unexplained}");
    // What is not released is frozen again.
    done(0, &["editions", "freeze", "2026.2"], home);
    done(0, &["editions", "freeze", "2026.2"], home);
    let path = home.join("features/editions/2026.2.toml");
    let notes = "released = false\n\n[added]\n\"HUB-11\" = \"a Hub took more than the secret\"\n\"HUB-16\" = \"half a body is none\"\n";
    replace(&path, "released = false\n", notes);
    done(0, &["editions", "freeze", "2026.2", "--released"], home);
    let text = done(0, &["--features", "features", "editions"], home);
    assert!(text.contains("2026.1 released") && text.contains("2026.2 released"), "{text}");
    let diff = |format: &str| {
        let arguments =
            ["--features", "features", "diff", "--editions", "2026.1", "2026.2", "--format", format];
        program::run(&arguments, home).1
    };
    let text = diff("human");
    assert!(text.starts_with("2026.1 to 2026.2: 4 scenarios added, 0 changed, 0 removed\n"), "{text}");
    let expect =
        "added HUB-11 (hub.server): a Hub took more than the secret\n  hub/server/endpoint/HUB-11/2\n";
    assert!(text.contains(expect), "{text}");
    assert!(diff("markdown").contains("| added | HUB-16 | hub.server | 3 | half a body is none |"));
    let value: Value = serde_json::from_str(&diff("json")).expect("JSON");
    let expect = json!({
        "kind": "added", "profile": "hub.server", "rule": "HUB-11",
        "scenarios": ["hub/server/endpoint/HUB-11/2"], "reason": "a Hub took more than the secret",
    });
    assert_eq!(value["changes"][0], expect);

    let there_are = "There are: 2026.1, 2026.2";
    assert!(certify(home, 2, "out", &["--edition", "2026.3"]).contains(there_are));
    assert!(
        done(2, &["--features", "features", "diff", "--editions", "2025.1", "2026.1"], home)
            .contains("2026.2")
    );
    pin(home, "2026.3");
    let text = certify(home, 2, "out", &[]);
    assert!(text.contains("`edition`: there is no edition `2026.3`") && text.contains(there_are), "{text}");
    assert!(
        done(2, &["doctor", "--features", "features", "--target", "hub/callmark.toml"], home)
            .contains(there_are)
    );
    let text = done(2, &["--features", "hub", "editions"], home);
    assert!(text.contains("`hub` holds no features"), "{text}");
}

#[test]
fn shards_of_different_editions_are_no_run_and_those_of_one_are() {
    let home = home();
    let home = home.path();
    let shard = |number: &str, out: &str, edition: &str| {
        let rules = ["--rule", "HUB-14", "--rule", "HUB-11", "--rule", "HUB-16"];
        let more = ["--shard", number, "--edition", edition];
        program::run(
            &[
                &["--features", "features", "certify", "--target", "hub/callmark.toml", "--out", out],
                &["--timeout-scale", "4"][..],
                &rules,
                &more,
            ]
            .concat(),
            home,
        );
    };
    let merge = |code: i32, one: &str, other: &str| {
        done(code, &["--features", "features", "merge", one, other, "--out", "merged"], home)
    };
    shard("1/2", "one", "2026.1");
    shard("2/2", "two", "2026.1");
    shard("2/2", "other", "newest");
    let text = merge(2, "one", "other");
    assert!(text.contains("different editions") && text.contains("now 2026.1 and all checks"), "{text}");
    let text = merge(0, "one", "two");
    assert!(text.contains("1 remark is new since 2026.1"), "{text}");
    let whole = ["--rule", "HUB-14", "--rule", "HUB-11", "--rule", "HUB-16", "--edition", "2026.1"];
    certify(home, 0, "whole", &whole);
    let read = |out: &str| std::fs::read_to_string(home.join(out).join("run.json")).expect("a record");
    assert_eq!(read("merged"), read("whole"));
}

#[test]
fn known_failures_of_newer_checks_are_not_stale_for_who_pins_an_edition() {
    let home = home();
    let home = home.path();
    let known = ["--rule", "HUB-11", "--baseline", "known.toml"];
    certify(home, 0, "out", &[&known[..], &["--write-baseline"]].concat());
    let text = std::fs::read_to_string(home.join("known.toml")).expect("a baseline");
    assert!(text.contains("HUB-11/2"), "{text}");
    certify(home, 0, "out", &[&known[..], &["--edition", "2026.1"]].concat());
    // All selected checks are newer.
    let text = certify(home, 4, "out", &["--rule", "HUB-16", "--edition", "2026.1"]);
    assert!(text.contains("all selected checks are newer than edition 2026.1"), "{text}");
}

/// What `init` writes is pinned to the newest edition of the suite.
#[test]
fn a_new_manifest_pins_the_newest_edition() {
    let home = tempfile::tempdir().expect("a directory");
    done(0, &["init", "--for", "hub"], home.path());
    let text = std::fs::read_to_string(home.path().join("callmark.toml")).expect("a manifest");
    let newest = callmark_suite::spec::edition::names().pop().expect("an edition");
    assert!(text.contains(&format!("\nedition = \"{newest}\" ")), "{text}");
}
