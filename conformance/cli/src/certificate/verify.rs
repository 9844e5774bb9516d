//! `verify`: whether a certificate says what its files give when they are judged again.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use callmark_reports::Format;
use callmark_reports::certificate::{self, Item, Opened, PublicKey, Statement};
use callmark_reports::record::RunRecord;
use callmark_suite::spec::library;

use super::again::{self, Judged, difference};
use super::files::{self, ACCOUNT, CERTIFICATE, MANIFEST, MAX_LARGE, MAX_SMALL, NEEDED, RECORD, TRANSCRIPT};
use crate::args::VerifyArguments;
use crate::exit::{self, Failure};
use crate::reports::MARK;
use crate::setup;

/// Files that are named before the rest is counted.
const NAMED: usize = 12;
/// What the signature of a certificate is worth.
const MEANING: &str = "\
what this shows: who signed, and that the files agree with each other and are judged the same again. It does not show
that a run took place against the program that is named: whoever has the key could have made the messages up. Whose key
it is must be known from elsewhere (`--key`).
";

/// Checks a certificate, and says what holds.
pub(crate) fn verify(arguments: &VerifyArguments) -> Result<u8, Failure> {
    let expected = arguments.key.as_deref().map(public_key).transpose()?;
    let path = &arguments.certificate;
    if path.is_dir() {
        return Err(Failure::usage(format!("`{}` is a directory", path.display())).hint(
            "name the `certificate.json` that `callmark certify --sign KEY` wrote beside the reports",
        ));
    }
    let mut said = String::new();
    let checked = check(&arguments.certificate, expected.as_ref(), &mut said)?;
    print!("{said}");
    match checked {
        Ok(()) => {
            print!("{MEANING}");
            Ok(exit::CONFORMANT)
        }
        Err(why) => {
            eprintln!("the certificate does not hold: {}", files::plain(&why));
            Ok(exit::NONCONFORMANT)
        }
    }
}

fn public_key(path: &Path) -> Result<PublicKey, Failure> {
    PublicKey::read(&files::read_text(path)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`--key` takes the public key, which `callmark keygen` writes with the ending `.pub`")
    })
}

/// Says what holds, up to something that does not: the inner error says what.
fn check(
    path: &Path,
    expected: Option<&PublicKey>,
    said: &mut String,
) -> Result<Result<(), String>, Failure> {
    let opened = match open(path, expected) {
        Ok(opened) => opened,
        Err(why) => return Ok(Err(why)),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(said, "signature: right, by {}", opened.key.id());
    if expected.is_none() {
        let _ = writeln!(said, "           (whose key that is, `--key FILE.pub` of the signer shows)");
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Some(why) = made_by_another(&opened.statement).or_else(|| changed(directory, &opened.statement)) {
        return Ok(Err(why));
    }
    let _ = writeln!(said, "files:     as they were signed");
    let absent: Vec<&str> = reports().filter(|name| !directory.join(name).exists()).collect();
    if !absent.is_empty() {
        let _ = writeln!(said, "           not there: {}", absent.join(", "));
    }
    let known: Vec<&str> =
        [CERTIFICATE, TRANSCRIPT, MANIFEST, ACCOUNT, MARK].into_iter().chain(all_reports()).collect();
    let others = files::others(directory, &known);
    if !others.is_empty() {
        let shown: Vec<String> = others.iter().take(NAMED).map(|name| files::plain(name)).collect();
        let rest = others.len().saturating_sub(NAMED);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let _ = writeln!(said, "           not vouched for: {}{rest}", shown.join(", "));
    }
    let library = Arc::new(setup::library()?);
    let judged = match Judged::read(directory, &library)? {
        Ok(judged) => judged,
        Err(why) => return Ok(Err(why)),
    };
    Ok(agrees(directory, &opened, &judged, said))
}

fn open(path: &Path, expected: Option<&PublicKey>) -> Result<Opened, String> {
    let shown = path.display();
    let text = String::from_utf8(files::read(path, MAX_SMALL)?);
    let text = text.map_err(|_| format!("`{shown}` is no text"))?;
    certificate::open(&text, expected).map_err(|error| format!("`{shown}`: {error}"))
}

/// Whether the record and the statement are what the judged files give.
fn agrees(directory: &Path, opened: &Opened, judged: &Judged, said: &mut String) -> Result<(), String> {
    let path = directory.join(RECORD);
    if files::read(&path, MAX_LARGE)? != callmark_reports::json(&judged.record).into_bytes() {
        let written: RunRecord = serde_json::from_slice(&files::read(&path, MAX_LARGE)?)
            .map_err(|error| format!("`{}` is not a run record: {error}", path.display()))?;
        return Err(difference(&written, &judged.record));
    }
    let _ = writeln!(said, "judgement: the messages, judged again, give the same run record");
    if let Some(folder) = library::folder() {
        let _ = writeln!(
            said,
            "           (by what `{}` holds, not by this program's own rules)",
            folder.display()
        );
    }
    let statement = judged.statement(directory, opened.statement.predicate.run.word.clone())?;
    if let Some(why) = opened.disagreement(&statement) {
        return Err(why);
    }
    for line in statement.lines(&judged.record) {
        let _ = writeln!(said, "{line}");
    }
    Ok(())
}

/// Every report, the record first.
fn all_reports() -> impl Iterator<Item = &'static str> {
    Format::ALL.into_iter().map(Format::file_name)
}

/// The reports without which a certificate holds as well.
fn reports() -> impl Iterator<Item = &'static str> {
    all_reports().filter(|name| !NEEDED.contains(name))
}

/// Why this binary cannot judge it again.
fn made_by_another(statement: &Statement) -> Option<String> {
    let signed = |name: &str| statement.items().find(|item| item.name == name);
    let ours = env!("CARGO_PKG_VERSION");
    let other = again::ours().into_iter().find(|own| signed(&own.name) != Some(own));
    let other = other.map(|own| own.name);
    let version = &statement.predicate.run.suite_version;
    let other =
        other.or_else(|| (version != ours).then(|| format!("version (`{}`)", files::plain(version))))?;
    Some(format!(
        "it was made with other {other} than this `callmark {ours}` has; verify it with the version that made it"
    ))
}

/// What is not as it was signed.
fn changed(directory: &Path, statement: &Statement) -> Option<String> {
    let signed = |name: &str| statement.items().find(|item: &&Item| item.name == name);
    let differs = |name: &str| {
        let path = directory.join(name);
        let is_needed = NEEDED.contains(&name);
        match again::item(directory, name) {
            Err(_) if !is_needed && path.symlink_metadata().is_err() => None,
            Err(why) if is_needed => Some(format!("{why}; the file belongs beside the certificate")),
            Err(why) => Some(why),
            Ok(item) if signed(name) != Some(&item) => {
                Some(format!("`{}` was changed after it was signed", path.display()))
            }
            Ok(_) => None,
        }
    };
    NEEDED.into_iter().chain(reports()).find_map(differs)
}
