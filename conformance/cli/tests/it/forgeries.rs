//! What somebody who has the key could sign: `verify` says what does not agree. `ci/try-certificate` forges more.

use std::fs::Permissions;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use callmark_reports::certificate::{self, Item, PrivateKey, Statement};
use callmark_reports::record::{Outcome, RunRecord};
use callmark_schemas::SchemaName;
use serde_json::Value;

use crate::program;

/// A hub whose two setup addresses differ, which a SHOULD rule (HUB-115) notices.
const WARNED: (&str, &str) = (
    "apart = {name: {\"setup_url\": setup_url(name)",
    "apart = {name: {\"setup_url\": setup_url(name) + \"/other\"",
);

fn callmark(arguments: &[&str], directory: &Path) -> (Option<i32>, String) {
    let mut command = program::command(arguments, directory);
    command.env("SOURCE_DATE_EPOCH", "1767225600").env_remove("HUB_SECRET");
    program::printed(&command.output().expect("the binary runs"))
}

fn keygen(home: &Path) {
    assert_eq!(callmark(&["keygen", "--out", "key.pem"], home).0, Some(0));
}

/// The files of a signed run of the reference as a registry, which is a small one, and of its key. They are altered in many
/// ways, each time in a copy.
static CERTIFIED: LazyLock<Vec<(PathBuf, Permissions, Vec<u8>)>> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a directory");
    keygen(home.path());
    let run = ["certify", "--bundled", "--profile", "utp.registry", "--out", "out", "--sign", "key.pem"];
    let (code, text) = callmark(&[&run[..], &["--timeout-scale", "4"]].concat(), home.path());
    assert_eq!(code, Some(0), "{text}");
    let mut files = Vec::new();
    for folder in ["", "out"] {
        for entry in std::fs::read_dir(home.path().join(folder)).expect("a directory") {
            let entry = entry.expect("an entry");
            let kind = entry.metadata().expect("a kind");
            if kind.is_file() {
                let bytes = std::fs::read(entry.path()).expect("a file");
                files.push((Path::new(folder).join(entry.file_name()), kind.permissions(), bytes));
            }
        }
    }
    files
});

/// A copy of that run.
pub(crate) fn certified() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::create_dir(home.path().join("out")).expect("a directory");
    for (name, permissions, bytes) in &*CERTIFIED {
        let path = home.path().join(name);
        std::fs::write(&path, bytes).expect("a copy");
        std::fs::set_permissions(&path, permissions.clone()).expect("a copy");
    }
    home
}

/// Signs what the certificate said before, with the digests that the files have now, as somebody who has the key can.
fn sign_again(home: &Path, change: impl FnOnce(&mut Statement)) {
    let out = home.join("out");
    let text = |path: &Path| std::fs::read_to_string(path).expect("a file");
    let key = PrivateKey::read(&text(&home.join("key.pem"))).expect("a key");
    let path = out.join("certificate.json");
    let mut statement =
        certificate::open(&text(&path), Some(&key.public())).expect("a certificate").statement;
    let configuration = statement.predicate.configuration.iter_mut();
    for item in statement.subject.iter_mut().chain(configuration) {
        if let Ok(bytes) = std::fs::read(out.join(&item.name)) {
            *item = Item::of(&item.name, &bytes);
        }
    }
    change(&mut statement);
    std::fs::write(path, statement.sign(&key)).expect("written");
}

fn check(home: &Path, expect: i32, says: &str) {
    let (code, text) = callmark(&["verify", "out/certificate.json", "--key", "key.pem.pub"], home);
    assert!(code == Some(expect) && text.contains(says), "not {expect} with `{says}`: {code:?} {text}");
}

fn altered(home: &Path, name: &str, change: impl FnOnce(String) -> String) {
    let path = home.join("out").join(name);
    let before = std::fs::read_to_string(&path).expect("a file");
    let after = change(before.clone());
    assert_ne!(before, after, "{name}");
    std::fs::write(path, after).expect("written");
}

/// The signed statement fits its schema, and no longer with a member more, wherever that stands.
fn fits_its_schema(home: &Path) {
    let text = std::fs::read_to_string(home.join("out/certificate.json")).expect("a certificate");
    let statement = certificate::open(&text, None).expect("a certificate").statement;
    let statement = serde_json::to_value(statement).expect("JSON");
    let check = |statement: &Value| callmark_schemas::violations(SchemaName::Statement, statement);
    assert_eq!(check(&statement), []);
    let run = "/predicate/callmark_run";
    for place in ["", "/subject/0", "/predicate", run, &format!("{run}/word"), &format!("{run}/profiles/0")] {
        let mut more = statement.clone();
        more.pointer_mut(place).expect("a member")["invented"] = true.into();
        let found = check(&more);
        assert!(found.iter().any(|one| one.message.contains("invented")), "{place}: {found:?}");
    }
}

#[test]
fn a_statement_that_the_messages_do_not_give_is_refused() {
    let home = certified();
    let home = home.path();
    check(home, 0, "21 of 21 rules of utp.registry judged");
    check(home, 0, "by the signer's word: run of 2026-01-01T00:00:00Z");
    check(home, 0, "It does not show");
    fits_its_schema(home);
    let path = home.join("out/certificate.json");
    let own = std::fs::read(&path).expect("a certificate");
    let refused = |change: fn(&mut Statement), says: &str| {
        sign_again(home, change);
        check(home, 1, says);
        std::fs::write(&path, &own).expect("written");
    };
    let invented = |own: &mut Statement| {
        own.predicate.passed_tests.extend((0..449).map(|number| format!("utp.registry/INVENTED-{number}")));
    };
    refused(invented, "`predicate.passedTests` names \"utp.registry/INVENTED-0\"");
    refused(|own| own.predicate.passed_tests.clear(), "`predicate.passedTests`");
    refused(|own| own.predicate.result = "FAILED".to_owned(), "`predicate.result` is \"FAILED\"");
    refused(|own| own.subject.push(Item::of("acme.tar.gz", b"")), "`subject` names");
    refused(|own| own.predicate.configuration.push(Item::of("acme", b"")), "`predicate.configuration` names");
    refused(|own| own.predicate.run.profiles.clear(), "`predicate.callmark_run.profiles`");
    refused(|own| own.predicate.run.word.date = "soon".to_owned(), "the date of the run is `soon`");
    refused(|own| own.predicate.run.word.programs.push(Item::of("acme", b"")), "starts no program `acme`");
    refused(|own| own.predicate.run.suite_version = "9.9.9".to_owned(), "the version that made it");
    check(home, 0, "conforms");
}

#[test]
fn files_that_disagree_are_refused_though_all_are_signed() {
    let refused = |name: &str, change: fn(String) -> String, says: &str| {
        let home = certified();
        altered(home.path(), name, change);
        check(home.path(), 1, &format!("`out/{name}` was changed"));
        sign_again(home.path(), |_| {});
        check(home.path(), 1, says);
    };
    let name = |text: String| text.replacen("callmark reference", "acme", 1);
    refused(
        "manifest.json",
        name,
        "its target is `callmark reference 0.1.0`, and that of the manifest is `acme",
    );
    let elsewhere =
        |text: String| text.replace("\"base_url\":\"http://{listen}\"", "\"base_url\":\"http://acme\"");
    refused("manifest.json", elsewhere, "`utp.registry.base_url` is `http://acme`");
    let more = |text: String| text.replacen('{', "{\"invented\":1,", 1);
    refused("manifest.json", more, "manifest.json");
    refused("account.json", more, "account.json");
    refused("transcript.jsonl", more, "transcript.jsonl");
    refused("run.json", more, "judged again");
    let nobody = |text: String| text.replacen("[\"utp.registry\"]", "[]", 1);
    refused("account.json", nobody, "it names no profile");
    let other = |text: String| text.replacen("conformant", "best in class", 1);
    refused("badge.json", other, "`subject.badge.json.digest.sha256`");
}

#[test]
fn what_is_not_there_or_not_signed_is_named() {
    let home = certified();
    let home = home.path();
    let out = home.join("out");
    std::fs::remove_file(out.join("junit.xml")).expect("removed");
    std::fs::write(out.join("no\u{1b}tes.txt"), "best in class").expect("written");
    check(home, 0, "not there: junit.xml");
    check(home, 0, "not vouched for: no\\u{1b}tes.txt, timings.json");
    std::fs::rename(out.join("index.html"), home.join("index.html")).expect("moved");
    symlink(home.join("index.html"), out.join("index.html")).expect("a link");
    check(home, 1, "it is a link");
    std::fs::remove_file(out.join("index.html")).expect("removed");
    check(home, 0, "not there: index.html, junit.xml");
    std::fs::remove_file(out.join("account.json")).expect("removed");
    check(home, 1, "account.json`: No such file");
    std::fs::remove_file(out.join("certificate.json")).expect("removed");
    check(home, 1, "certificate.json`: No such file");
}

/// The Hub of the examples, with a change.
fn example_hub(home: &Path, change: (&str, &str)) {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/python-hub");
    for name in ["hub.py", "office.py", "callmark.toml"] {
        let text = std::fs::read_to_string(examples.join(name)).expect("an example");
        assert!(name != "hub.py" || text.contains(change.0), "the example has no `{}`", change.0);
        std::fs::write(home.join(name), text.replacen(change.0, change.1, 1)).expect("written");
    }
}

#[test]
fn a_strict_run_that_fails_is_no_certificate_whatever_its_account_says() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    keygen(home);
    example_hub(home, WARNED);
    let run = ["certify", "--target", "callmark.toml", "--sign", "key.pem", "--timeout-scale", "3"];
    let (code, text) = callmark(&[&run[..], &["--strict", "--out", "strict"]].concat(), home);
    assert!(code == Some(1) && text.contains("no certificate: the run is nonconformant"), "{text}");
    assert!(!home.join("strict/certificate.json").exists());
    let (code, text) = callmark(&[&run[..], &["--out", "out"]].concat(), home);
    assert_eq!(code, Some(0), "{text}");
    check(home, 0, "87 of 96 rules of hub.server judged, 9 not applicable");
    check(home, 0, "the target does not declare `provider`");
    check(home, 0, "1 warned: HUB-115");
    check(home, 0, "program `hub.py` sha256:");
    // The record of the strict run, with an account that says so: both agree, and neither conforms.
    std::fs::copy(home.join("strict/run.json"), home.join("out/run.json")).expect("copied");
    altered(home, "account.json", |text| {
        let text = text.replacen("\"strict\":false", "\"strict\":true", 1);
        text.replacen("--target callmark.toml", "--target callmark.toml --strict", 1)
    });
    for report in program::REPORTS.into_iter().filter(|name| *name != "run.json") {
        std::fs::copy(home.join("strict").join(report), home.join("out").join(report)).expect("copied");
    }
    sign_again(home, |own| own.predicate.run.strict = true);
    check(home, 1, "the run is nonconformant, and only a conformant one is certified");
}

#[test]
fn an_ordinary_word_in_the_environment_is_no_secret_and_keeps_nobody_from_a_certificate() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    keygen(home);
    example_hub(home, ("import os", "import os"));
    let path = home.join("callmark.toml");
    let text = std::fs::read_to_string(&path).expect("a manifest");
    let env = "env = { MODE = \"success\", AREA = \"email\", API_TOKEN = \"hush\" }";
    std::fs::write(&path, text.replacen("base_url", &format!("{env}\nbase_url"), 1)).expect("written");
    let run =
        ["certify", "--target", "callmark.toml", "--sign", "key.pem", "--out", "out", "--timeout-scale", "3"];
    let (code, text) = callmark(&run, home);
    assert_eq!(code, Some(0), "{text}");
    check(home, 0, "conforms");
    let manifest = std::fs::read_to_string(home.join("out/manifest.json")).expect("a manifest");
    assert!(manifest.contains("\"AREA\":\"email\"") && !manifest.contains("hush"), "{manifest}");
}

#[test]
fn who_declares_too_little_gets_no_certificate() {
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    keygen(home);
    let manifest = format!(
        "[target]\nname = \"acme\"\n[hub]\nstart = [{:?}, \"serve\", \"hub\"]\n",
        crate::support::program()
    );
    std::fs::write(home.join("callmark.toml"), manifest).expect("written");
    let run =
        ["certify", "--target", "callmark.toml", "--sign", "key.pem", "--out", "out", "--timeout-scale", "3"];
    let (code, text) = callmark(&run, home);
    assert_eq!(code, Some(0), "conformant as far as it was asked: {text}");
    let said = "no certificate: fewer than 60 % of the MUST rules of a profile were judged";
    assert!(text.contains(said), "{text}");
    assert!(text.contains("of hub.server: the target does not declare `customer.connected`"), "{text}");
    assert!(!home.join("out/certificate.json").exists());
    let record = std::fs::read(home.join("out/run.json")).expect("a record");
    let record: RunRecord = serde_json::from_slice(&record).expect("a record");
    assert!(Statement::certifiable(&record).is_err());
}

#[test]
fn a_hub_whose_tools_all_fail_gets_no_certificate() {
    const BROKEN: (&str, &str) =
        ("return tool.run(account, **inputs)", "raise RuntimeError(\"out of order\")");
    let home = tempfile::tempdir().expect("a directory");
    let home = home.path();
    keygen(home);
    example_hub(home, BROKEN);
    let manifest = "[target]\nname = \"acme\"\n[hub]\nstart = [\"python3\", \"hub.py\"]\n";
    std::fs::write(home.join("callmark.toml"), manifest).expect("written");
    let run = ["certify", "--target", "callmark.toml", "--sign", "key.pem", "--out", "out"];
    let (code, text) = callmark(&run, home);
    assert_ne!(code, Some(70), "{text}");
    assert!(!home.join("out/certificate.json").exists(), "{text}");
}

#[test]
fn a_date_that_is_none_is_reported_before_the_run() {
    let home = tempfile::tempdir().expect("a directory");
    keygen(home.path());
    let sign = ["certify", "--bundled", "--profile", "utp.registry", "--sign", "key.pem"];
    let output = program::command(&sign, home.path())
        .env("SOURCE_DATE_EPOCH", "yesterday")
        .output()
        .expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && text.contains("SOURCE_DATE_EPOCH"), "{text}");
}

#[test]
fn openssl_reads_the_keys() {
    let home = tempfile::tempdir().expect("a directory");
    keygen(home.path());
    let pem = std::fs::read_to_string(home.path().join("key.pem")).expect("a key");
    // The Base64 of 48 bytes is one line of 64 letters: PKCS #8 version 1, which holds the private key alone.
    assert_eq!(pem.lines().count(), 3, "{pem}");
    for arguments in [&["-in", "key.pem"][..], &["-pubin", "-in", "key.pem.pub"]] {
        let read = Command::new("openssl")
            .arg("pkey")
            .args(arguments)
            .args(["-noout", "-text"])
            .current_dir(home.path())
            .output();
        // A machine without it has the form of the key to go by.
        let Ok(read) = read else { return };
        let (text, errors) = (String::from_utf8_lossy(&read.stdout), String::from_utf8_lossy(&read.stderr));
        assert!(read.status.success() && text.contains("ED25519"), "{text}{errors}");
    }
}

#[test]
fn a_record_that_is_only_noted_counts_as_judged_and_not_as_holding() {
    let home = certified();
    let record = std::fs::read(home.path().join("out/run.json")).expect("a record");
    let mut record: RunRecord = serde_json::from_slice(&record).expect("a record");
    record.rules[0].outcome = Outcome::Noted;
    let coverage = Statement::certifiable(&record).expect("it conforms");
    assert_eq!(coverage[0].noted, [record.rules[0].id.clone()]);
    assert_eq!(coverage[0].judged, coverage[0].rules);
}
