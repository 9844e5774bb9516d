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

use callmark_reports::certificate::{CertificateError, PrivateKey, Statement, Word};
use callmark_reports::record::RunRecord;
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::run::{Library, RunOutput};

use self::again::{Judged, difference};
use self::files::{ACCOUNT, CERTIFICATE, MANIFEST};
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
        let key = PrivateKey::read(&files::read_text(path)?).map_err(|error| {
            Failure::usage(format!("`{}`: {error}", path.display())).hint(
                "`callmark keygen --out FILE` makes one; `--sign` takes the private key, not the `.pub`",
            )
        })?;
        Ok(Self { key, word: word::of(manifest, profiles)? })
    }

    /// Writes the certificate of a run whose reports are written, once its messages have been judged again.
    pub(crate) fn sign(
        self,
        out: &Path,
        library: &Arc<Library>,
        manifest: &Manifest,
        output: &RunOutput,
    ) -> Result<PathBuf, Failure> {
        let account = output.account().ok_or_else(|| Failure::internal("the run was not kept"))?;
        let without_secrets = |value: serde_json::Value| output.without_secrets(&value);
        let own = serde_json::to_value(manifest).map(without_secrets).map_err(Failure::internal)?;
        write_json(&out.join(MANIFEST), &own)?;
        write_json(&out.join(ACCOUNT), account)?;
        let word = serde_json::to_value(&self.word).map(without_secrets);
        let word: Word = word.and_then(serde_json::from_value).map_err(Failure::internal)?;
        let refused = |why: String| {
            Failure::incomplete(format!("no certificate: {why}")).hint(
                "what the run wrote down must be enough to judge it again; a value of `env` or `headers` that is an \
                 ordinary word is taken for a secret and missing there",
            )
        };
        let judged = Judged::read(out, library)?.map_err(refused)?;
        if judged.record != output.record {
            return Err(refused(difference(&output.record, &judged.record)));
        }
        let statement = judged.statement(out, word).map_err(refused)?;
        let path = out.join(CERTIFICATE);
        std::fs::write(&path, statement.sign(&self.key)).map_err(|error| cannot_write(&path, &error))?;
        Ok(path)
    }
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
