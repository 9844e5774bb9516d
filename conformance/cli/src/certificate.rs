//! `keygen`, `certify --sign` and `verify`: a certificate, and the files that it is about.
//!
//! They stand in one directory. The certificate holds their digests; `verify` compares them, and has the suite judge
//! the messages again, without the target.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callmark_reports::certificate::{self, CertificateError, Item, PrivateKey, PublicKey, Statement};
use callmark_reports::record::RunRecord;
use callmark_suite::library;
use callmark_suite::manifest::Manifest;
use callmark_suite::run::memory::{ACCOUNT_SCHEMA, Account};
use callmark_suite::run::{self, Library, RunOutput};
use callmark_suite::transcript::Frame;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::args::{KeygenArguments, VerifyArguments};
use crate::certify::{self, cannot_write};
use crate::exit::{self, Failure};

/// The certificate.
const CERTIFICATE: &str = "certificate.json";
/// The record of the run.
const RECORD: &str = "run.json";
/// Its messages.
const TRANSCRIPT: &str = "transcript.jsonl";
/// The target, without its secrets.
const MANIFEST: &str = "manifest.json";
/// What judging again needs beside the messages.
const ACCOUNT: &str = "account.json";
/// The scenarios.
const FEATURES: &str = "features";
/// The rules.
const REGISTRY: &str = "registry";
/// Files that a certificate is about, beside it.
const FILES: [&str; 4] = [RECORD, TRANSCRIPT, MANIFEST, ACCOUNT];
/// Largest certificate and key that are read.
const MAX_SMALL: u64 = 4 * 1024 * 1024;
/// Largest other file that is read.
const MAX_LARGE: u64 = 1024 * 1024 * 1024;

/// `keygen`: writes a private key that only its owner can read, and beside it the public one.
pub(crate) fn keygen(arguments: &KeygenArguments) -> Result<u8, Failure> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(Failure::internal)?;
    let key = PrivateKey::new(&secret);
    let path = &arguments.out;
    let public = beside(path);
    // Nothing is written where one of the two is there already.
    if let Some(there) = [path, &public].into_iter().find(|path| path.exists()) {
        return Err(Failure::usage(format!("`{}` is there already", there.display()))
            .hint("a key is never written over; choose another `--out`"));
    }
    write_new(path, 0o600, &key.pem().map_err(Failure::internal)?)?;
    write_new(&public, 0o644, &key.public().pem().map_err(Failure::internal)?)?;
    println!("private key: {} (keep it to yourself)", path.display());
    println!("public key:  {} (give it to whoever checks your certificates)", public.display());
    println!("key id:      {}", key.public().id());
    Ok(exit::CONFORMANT)
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".pub");
    PathBuf::from(name)
}

fn write_new(path: &Path, mode: u32, text: &str) -> Result<(), Failure> {
    let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        Failure::usage(format!("`{}` cannot be written: {error}", path.display()))
            .hint("choose another file with `--out`")
    })
}

/// The key that `--sign` names, read before the run, so that a mistake is told at once.
pub(crate) fn signing_key(path: &Path) -> Result<PrivateKey, Failure> {
    let text = read_text(path, MAX_SMALL)?;
    PrivateKey::read(&text).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`callmark keygen --out FILE` makes one; `--sign` takes the private key, not the `.pub`")
    })
}

/// Takes away the certificate of an earlier run: it is not about what is written now.
pub(crate) fn forget(out: &Path) -> Result<(), Failure> {
    for name in [CERTIFICATE, MANIFEST, ACCOUNT] {
        let path = out.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(cannot_write(&path, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether there is something to certify.
pub(crate) fn certifiable(record: &RunRecord) -> Result<(), CertificateError> {
    Statement::of(record, Vec::new(), Vec::new()).map(drop)
}

/// Writes the certificate of a run whose reports are written, once its messages have been judged again.
pub(crate) fn sign(
    out: &Path,
    key: &PrivateKey,
    library: &Arc<Library>,
    manifest: &Manifest,
    output: &RunOutput,
) -> Result<PathBuf, Failure> {
    let account = output.account().ok_or_else(|| Failure::internal("the run was not kept"))?;
    let told = serde_json::to_value(manifest).map_err(Failure::internal)?;
    write_json(&out.join(MANIFEST), &output.without_secrets(&told))?;
    write_json(&out.join(ACCOUNT), account)?;
    let record = judged_again(out, library)?;
    if record != output.record {
        return Err(not_the_same(&output.record, &record)
            .hint("please report this; with a manifest whose `env` holds ordinary words, take those out"));
    }
    let statement = Statement::of(&output.record, items(out, &[RECORD, TRANSCRIPT])?, configuration(out)?)
        .map_err(Failure::internal)?;
    let path = out.join(CERTIFICATE);
    std::fs::write(&path, key.sign(&statement)).map_err(|error| cannot_write(&path, &error))?;
    Ok(path)
}

fn configuration(out: &Path) -> Result<Vec<Item>, Failure> {
    let mut configuration = ours();
    configuration.extend(items(out, &[MANIFEST, ACCOUNT])?);
    Ok(configuration)
}

/// What travels inside this binary.
fn ours() -> Vec<Item> {
    vec![
        Item::known(FEATURES, library::features_sha256().to_owned()),
        Item::known(REGISTRY, library::registry_sha256()),
    ]
}

fn items(out: &Path, names: &[&str]) -> Result<Vec<Item>, Failure> {
    names.iter().map(|name| Ok(Item::of(name, &read(&out.join(name), MAX_LARGE)?))).collect()
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = serde_json::to_string(value).map_err(Failure::internal)?;
    text.push('\n');
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

/// `verify`: whether a certificate and everything that it is about are as they were signed, and hold.
pub(crate) fn verify(arguments: &VerifyArguments) -> Result<u8, Failure> {
    let path = &arguments.certificate;
    let text = read_text(path, MAX_SMALL)?;
    let expected = arguments.key.as_deref().map(public_key).transpose()?;
    let (statement, key) = match certificate::open(&text, expected.as_ref()) {
        Ok(opened) => opened,
        Err(error) => return Ok(refused(&format!("`{}`: {error}", path.display()))),
    };
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(why) = changed(directory, &statement)? {
        return Ok(refused(&why));
    }
    println!("signature: right, by {}", key.id());
    if expected.is_none() {
        println!("           (whose key that is, `--key FILE.pub` of the signer tells)");
    }
    println!("files:     as they were signed");
    let library = Arc::new(certify::library()?);
    let record = judged_again(directory, &library)?;
    let written: RunRecord = read_json(&directory.join(RECORD), "a run record")?;
    if record != written || callmark_reports::json(&record).into_bytes() != read(&directory.join(RECORD), MAX_LARGE)? {
        return Ok(refused(&difference(&written, &record)));
    }
    let rules = statement.predicate.passed_tests.len() + statement.predicate.warned_tests.len();
    println!("judgement: the messages, judged again, give the same run record");
    let target = format!("{} {}", record.target.name, record.target.version);
    println!("{} conforms: {rules} rules, {} of them with a warning", target.trim(), statement.predicate.warned_tests.len());
    Ok(exit::CONFORMANT)
}

/// Says why a certificate does not hold.
fn refused(why: &str) -> u8 {
    eprintln!("the certificate does not hold: {why}");
    exit::NONCONFORMANT
}

fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    PublicKey::read(&read_text(path, MAX_SMALL)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`--key` takes the public key, which `callmark keygen` writes with the ending `.pub`")
    })
}

/// What is not as it was signed.
fn changed(directory: &Path, statement: &Statement) -> Result<Option<String>, Failure> {
    let signed = |name: &str| statement.items().find(|item| item.name == name);
    for own in ours() {
        if signed(&own.name) != Some(&own) {
            return Ok(Some(format!(
                "it was made with other {} than this `callmark {}` has; verify it with the version that made it",
                own.name,
                env!("CARGO_PKG_VERSION"),
            )));
        }
    }
    for name in FILES {
        let path = directory.join(name);
        if !path.is_file() {
            return Ok(Some(format!("`{}` is not there; it belongs beside the certificate", path.display())));
        }
        if signed(name) != Some(&Item::of(name, &read(&path, MAX_LARGE)?)) {
            return Ok(Some(format!("`{}` was changed after it was signed", path.display())));
        }
    }
    Ok(None)
}

/// The record that the messages in a directory give when they are judged again.
fn judged_again(directory: &Path, library: &Arc<Library>) -> Result<RunRecord, Failure> {
    let manifest: Manifest = read_json(&directory.join(MANIFEST), "a manifest")?;
    let account: Account = read_json(&directory.join(ACCOUNT), "an account of a run")?;
    if account.schema != ACCOUNT_SCHEMA {
        return Err(Failure::usage(format!("`{ACCOUNT}` is `{}`, not `{ACCOUNT_SCHEMA}`", account.schema)));
    }
    let plan = account.plan(&manifest, transcripts(&directory.join(TRANSCRIPT))?).map_err(Failure::usage)?;
    let output = certify::runtime()?.block_on(run::run(library, &plan));
    for (scenario, how) in plan.memory.strayed() { eprintln!("DEBUG {scenario}: {how}"); }
    if let Some((scenario, how)) = plan.memory.strayed().into_iter().next() {
        return Err(Failure::internal(format!("`{scenario}` cannot be judged again: {how}")));
    }
    Ok(output.record)
}

/// A line of `transcript.jsonl`.
#[derive(Deserialize)]
struct Line {
    scenario: String,
    frame: Frame,
}

fn transcripts(path: &Path) -> Result<BTreeMap<String, Vec<Frame>>, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| Failure::usage(format!("`{}`: {error}", path.display()));
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut all: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
    for (line, number) in BufReader::new(file.take(MAX_LARGE)).lines().zip(1..) {
        let line = line.map_err(|error| unreadable(&error))?;
        let line: Line =
            serde_json::from_str(&line).map_err(|error| unreadable(&format!("line {number}: {error}")))?;
        all.entry(line.scenario).or_default().push(line.frame);
    }
    Ok(all)
}

fn not_the_same(written: &RunRecord, again: &RunRecord) -> Failure {
    Failure::internal(format!("no certificate: {}", difference(written, again)))
}

/// Where two records of one run differ.
fn difference(written: &RunRecord, again: &RunRecord) -> String {
    let differs = written.rules.iter().zip(&again.rules).find(|(one, other)| one != other);
    match differs {
        Some((one, other)) => format!(
            "judged again, the messages say something else about {}: {:?}, where the record says {:?}",
            one.id, other.outcome, one.outcome
        ),
        None => "judged again, the messages give another run record".to_owned(),
    }
}

fn read(path: &Path, limit: u64) -> Result<Vec<u8>, Failure> {
    let unreadable = |error: &dyn std::fmt::Display| Failure::usage(format!("`{}`: {error}", path.display()));
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let mut bytes = Vec::new();
    let read = file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error))?;
    if u64::try_from(read).unwrap_or(u64::MAX) > limit {
        return Err(unreadable(&format!("more than {limit} bytes")));
    }
    Ok(bytes)
}

fn read_text(path: &Path, limit: u64) -> Result<String, Failure> {
    String::from_utf8(read(path, limit)?)
        .map_err(|_| Failure::usage(format!("`{}` is no text", path.display())))
}

fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, Failure> {
    serde_json::from_slice(&read(path, MAX_LARGE)?)
        .map_err(|error| Failure::usage(format!("`{}` is not {what}: {error}", path.display())))
}
