//! The files of a certificate's directory, and how they are read: bounded, and each in one form only.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Take};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use callmark_suite::engine::files;
use callmark_suite::transcript::Frame;
use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::exit::Failure;

/// The certificate.
pub(super) const CERTIFICATE: &str = "certificate.json";
/// The record of the run.
pub(super) const RECORD: &str = "run.json";
/// Its messages.
pub(super) const TRANSCRIPT: &str = "transcript.jsonl";
/// The target, without its secrets.
pub(super) const MANIFEST: &str = "manifest.json";
/// What judging again needs beside the messages.
pub(super) const ACCOUNT: &str = "account.json";
/// Files without which a certificate does not hold.
pub(super) const NEEDED: [&str; 4] = [RECORD, TRANSCRIPT, MANIFEST, ACCOUNT];
/// Largest certificate, key and manifest that are read.
pub(super) const MAX_SMALL: u64 = 4 * 1024 * 1024;
/// Largest other file that is read: many times what a run of all profiles writes.
pub(super) const MAX_LARGE: u64 = 512 * 1024 * 1024;

/// A file of the directory, of at most so many bytes: an ordinary one, and no link, since what is handed out is the
/// directory.
pub(super) fn open(path: &Path, limit: u64) -> Result<Take<File>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    // Without waiting: a named pipe would be waited for without end.
    let file = File::options().read(true).custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path);
    let is_link = path.symlink_metadata().is_ok_and(|own| own.is_symlink());
    if is_link {
        return Err(unreadable(&"it is a link, and not the file itself"));
    }
    let file = file.map_err(|error| unreadable(&error))?;
    let kind = file.metadata().map_err(|error| unreadable(&error))?;
    if !kind.is_file() {
        return Err(unreadable(&"it is no ordinary file"));
    }
    // Memory and time are taken only for what will be kept.
    if kind.len() > limit { Err(unreadable(&too_long(limit))) } else { Ok(file.take(limit)) }
}

/// The bytes of a file of the directory.
pub(super) fn read(path: &Path, limit: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = open(path, limit)?.read_to_end(&mut bytes);
    read.map_err(|error| format!("`{}`: {error}", path.display()))?;
    Ok(bytes)
}

fn too_long(limit: u64) -> String {
    format!("is longer than {limit} bytes")
}

/// The text of a file that the command line names; a link to it is fine.
pub(super) fn read_text(path: &Path) -> Result<String, Failure> {
    files::read_text(path, MAX_SMALL)
        .map_err(|error| Failure::usage(format!("`{}`: {error}", path.display())))
}

/// JSON as it stands in the directory.
pub(super) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    serde_json::to_string(value).map(|text| text + "\n")
}

/// Text of somebody else's on one line, with nothing in it that acts on a terminal.
pub(super) fn plain(text: &str) -> String {
    let plain = |c: char| {
        let acts = c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}');
        if acts { c.escape_default().collect() } else { String::from(c) }
    };
    text.chars().map(plain).collect()
}

/// What a file of the directory says. It has one form: a member that is not known, or stands twice, is not passed over.
pub(super) fn read_json<T: Serialize + DeserializeOwned>(
    path: &Path,
    limit: u64,
    what: &str,
) -> Result<T, String> {
    let bytes = read(path, limit)?;
    let value: T = serde_json::from_slice(&bytes)
        .map_err(|error| format!("`{}` is not {what}: {error}", path.display()))?;
    let again = json(&value).map_err(|error| format!("`{}`: {error}", path.display()))?;
    if again.as_bytes() != bytes {
        return Err(format!(
            "`{}` holds what is not read of {what}: an unknown member, or another form",
            path.display()
        ));
    }
    Ok(value)
}

/// A line of `transcript.jsonl`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    scenario: String,
    frame: Frame,
}

/// The messages of each scenario.
pub(super) fn transcripts(path: &Path) -> Result<BTreeMap<String, Vec<Frame>>, String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("`{}`: {error}", path.display());
    let mut all: BTreeMap<String, Vec<Frame>> = BTreeMap::new();
    for (text, number) in BufReader::new(open(path, MAX_LARGE)?).lines().zip(1..) {
        let text = text.map_err(|error| unreadable(&error))?;
        let line: Line =
            serde_json::from_str(&text).map_err(|error| unreadable(&format!("line {number}: {error}")))?;
        if serde_json::to_string(&line).ok().as_deref() != Some(text.as_str()) {
            let why = format!(
                "line {number} holds what is not read of a message: an unknown member, or another form"
            );
            return Err(unreadable(&why));
        }
        all.entry(line.scenario).or_default().push(line.frame);
    }
    Ok(all)
}

/// Names in the directory that are none of these, in order; those of directories end in `/`.
pub(super) fn others(directory: &Path, known: &[&str]) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut others: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let end = if entry.file_type().is_ok_and(|own| own.is_dir()) { "/" } else { "" };
            (!known.contains(&name.as_str())).then(|| format!("{name}{end}"))
        })
        .collect();
    others.sort();
    others
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use serde_json::Value;

    use super::*;

    #[test]
    fn only_an_ordinary_file_is_read_and_only_so_much_of_it() {
        let home = tempfile::tempdir().expect("a directory");
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("file"), "12345").expect("written");
        assert_eq!(read(&at("file"), 5), Ok(b"12345".to_vec()));
        let says = |read: Result<Vec<u8>, String>, word: &str| {
            let why = read.expect_err(word);
            assert!(why.contains(word), "{why}");
        };
        says(read(&at("file"), 4), "is longer than 4 bytes");
        symlink(at("file"), at("link")).expect("a link");
        says(read(&at("link"), 5), "it is a link");
        nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a named pipe");
        says(read(&at("pipe"), 5), "no ordinary file");
        says(read(home.path(), 5), "no ordinary file");
        says(read(&at("absent"), 5), "No such file");
    }

    #[test]
    fn json_has_one_form() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("file.json");
        let check = |text: &str| {
            std::fs::write(&path, text).expect("written");
            read_json::<Value>(&path, 100, "a value").is_ok()
        };
        assert!(check("{\"a\":1}\n"));
        assert!(!check("{\"a\":1}"));
        assert!(!check("{\"a\": 1}\n"));
        assert!(!check("{\"a\":1,\"a\":2}\n"));
        assert!(!check("{\"a\":NaN}\n"));
    }

    #[test]
    fn what_nobody_vouches_for_is_named() {
        let home = tempfile::tempdir().expect("a directory");
        for name in ["run.json", "notes.txt", "b.log"] {
            std::fs::write(home.path().join(name), "").expect("written");
        }
        std::fs::create_dir(home.path().join("more")).expect("a directory");
        assert_eq!(others(home.path(), &["run.json", "index.html"]), ["b.log", "more/", "notes.txt"]);
    }
}
