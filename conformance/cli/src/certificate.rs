//! `keygen`, `certify --sign` and `verify`: a certificate, and the files that it is about.
//!
//! They stand in one directory. `again` judges the messages there once more, without the target, and makes the statement
//! that follows from what comes out; who signs has it signed, and `verify` compares it with what was signed.

mod again;
mod files;
mod verify;
mod word;

use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use callmark_reports::certificate::{CertificateError, Item, PrivateKey, Statement, Word};
use callmark_reports::record::RunRecord;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::replay_bundle::{MergedBundle, ReplayBundle};
use callmark_suite::engine::run::{Library, RunOutput};
use serde_json::Value;

use self::again::{Judged, difference};
use self::files::{ACCOUNT, CERTIFICATE, MANIFEST, MAX_LARGE, MAX_SMALL};
pub(crate) use self::verify::verify;
use crate::args::KeygenArguments;
use crate::exit::cannot_write;
use crate::exit::{self, Failure};

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

/// Who signs a run: read before it, so that a mistake is reported at once and the programs are those that are started.
#[derive(Debug)]
pub(crate) struct Signer {
    key: PrivateKey,
    word: Word,
}

impl Signer {
    /// With the key that `--sign` names.
    pub(crate) fn read(path: &Path, manifest: &Manifest, profiles: &[String]) -> Result<Self, Failure> {
        Ok(Self { key: private_key(path)?, word: word::of(manifest, profiles)? })
    }

    /// Of a run whose shards were made elsewhere, which say themselves what they started.
    pub(crate) fn of_shards(path: &Path, programs: Vec<Item>) -> Result<Self, Failure> {
        Ok(Self { key: private_key(path)?, word: Word { date: word::now()?, programs } })
    }

    /// Writes the certificate of a run whose reports are written, once its messages have been judged again.
    pub(crate) fn sign(
        self,
        out: &Path,
        library: &Arc<Library>,
        manifest: &Manifest,
        output: &RunOutput,
    ) -> Result<PathBuf, Failure> {
        keep(out, manifest, output)?;
        let word = serde_json::to_value(&self.word).map(|value| output.without_secrets(&value));
        let word: Word = word.and_then(serde_json::from_value).map_err(Failure::internal)?;
        Self { word, ..self }.attest(out, library, &output.record)
    }

    /// Writes the certificate of what stands in a directory, of which this is the record.
    fn attest(self, out: &Path, library: &Arc<Library>, record: &RunRecord) -> Result<PathBuf, Failure> {
        let refused = |why: String| {
            Failure::incomplete(format!("no certificate: {why}")).hint(
                "what the run wrote down must be enough to judge it again; a value of `env` or `headers` that is an \
                 ordinary word is taken for a secret and missing there",
            )
        };
        let judged = Judged::read(out, library)?.map_err(refused)?;
        if judged.record != *record {
            return Err(refused(difference(record, &judged.record)));
        }
        let statement = judged.statement(out, self.word).map_err(refused)?;
        let path = out.join(CERTIFICATE);
        std::fs::write(&path, statement.sign(&self.key)).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }

    /// Writes the certificate of merged shards whose reports are written. `manifest` is that of all of them.
    pub(crate) fn sign_merged(
        self,
        out: &Path,
        library: &Arc<Library>,
        record: &RunRecord,
        (manifest, accounts): (&Value, Vec<ReplayBundle>),
    ) -> Result<PathBuf, Failure> {
        write_json(&out.join(MANIFEST), manifest)?;
        write_json(&out.join(ACCOUNT), &MergedBundle::of(accounts))?;
        self.attest(out, library, record)
    }
}

/// The programs that the suite starts for a run, for whoever signs it later; nothing where one cannot be read.
pub(crate) fn programs(manifest: &Manifest, profiles: &[String]) -> Option<Vec<Item>> {
    word::programs(manifest, profiles).ok()
}

/// Writes what a run has to leave so that it can be judged again, beside its messages: manifest and account.
pub(crate) fn keep(out: &Path, manifest: &Manifest, output: &RunOutput) -> Result<(), Failure> {
    let account = output.account().ok_or_else(|| Failure::internal("the run was not kept"))?;
    let own = serde_json::to_value(manifest).map_err(Failure::internal)?;
    write_json(&out.join(MANIFEST), &output.without_secrets(&own))?;
    write_json(&out.join(ACCOUNT), account)
}

/// What [`keep`] wrote of a shard.
///
/// # Errors
/// It is not there, or something else.
pub(crate) fn kept(directory: &Path) -> Result<(Value, ReplayBundle), String> {
    let manifest = files::read_json(&directory.join(MANIFEST), MAX_SMALL, "a manifest")?;
    let account = files::read_json(&directory.join(ACCOUNT), MAX_LARGE, "an account of a run")?;
    Ok((manifest, account))
}

fn private_key(path: &Path) -> Result<PrivateKey, Failure> {
    PrivateKey::read(&files::read_text(path)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`callmark keygen --out FILE` makes one; `--sign` takes the private key, not the `.pub`")
    })
}
/// Files that belong to a certificate alone.
pub(crate) const WRITTEN: [&str; 3] = [CERTIFICATE, MANIFEST, ACCOUNT];

/// Takes away the certificate of an earlier run: it is not about what is written now.
pub(crate) fn remove_old(out: &Path) -> Result<(), Failure> {
    for name in WRITTEN {
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
    Statement::certifiable(record).map(drop)
}

fn write_json(path: &Path, value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = files::json(value).map_err(Failure::internal)?;
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}
