//! What travels inside the binary: the features, the registry, the editions and the mutants.
//!
//! Whoever writes features can have them read from a directory instead ([`read_from`]).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, OnceLock};

use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest, Sha256};

use crate::engine::files;

/// Largest file that is read from a directory.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

static FEATURES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../features");
/// What is read in place of [`FEATURES`].
static FOLDER: OnceLock<Folder> = OnceLock::new();

/// A directory of features, and its files with their paths below it.
struct Folder {
    path: PathBuf,
    files: Vec<(&'static str, &'static str)>,
}

/// Has everything read from a directory for the rest of the process, in place of what travels inside the binary.
///
/// To be called before anything is read.
///
/// # Errors
/// A file cannot be read, or the directory is not the first one.
pub fn read_from(path: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    read_all(path, path, &mut files)?;
    FOLDER
        .set(Folder { path: path.to_owned(), files })
        .map_err(|_| io::Error::new(io::ErrorKind::AlreadyExists, "features are read from another directory"))
}

/// The directory that everything is read from; nothing where it is what travels inside the binary.
pub fn folder() -> Option<&'static Path> {
    FOLDER.get().map(|folder| folder.path.as_path())
}

fn read_all(root: &Path, path: &Path, files: &mut Vec<(&'static str, &'static str)>) -> io::Result<()> {
    for entry in std::fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            read_all(root, &path, files)?;
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            let text = files::read_text(&path, MAX_BYTES)
                .map_err(|error| io::Error::new(error.kind(), format!("`{name}`: {error}")))?;
            // Once in a process, so that both sources have one type.
            files.push((String::leak(name.to_owned()), String::leak(text)));
        }
    }
    Ok(())
}

/// A feature file: its path as reports write it (`features/…`) and its text.
pub fn feature_files() -> Vec<(String, &'static str)> {
    files("feature").into_iter().map(|(path, text)| (format!("features/{path}"), text)).collect()
}

/// The files of the registry, with their paths below `features/`.
pub fn registry_files() -> Vec<(&'static str, &'static str)> {
    let documents = ["utp", "tdg", "utp-v1r4", "hub", "breadcrumb", "toolbus", "mcp"];
    let all = files("toml");
    documents
        .iter()
        .filter_map(|name| {
            let path = format!("registry/{name}.toml");
            all.iter().find(|(own, _)| *own == path).copied()
        })
        .collect()
}

/// The editions: name and text of `features/editions/<name>.toml`, by path.
pub fn edition_files() -> Vec<(&'static str, &'static str)> {
    files("toml")
        .into_iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("editions/")?.strip_suffix(".toml")?;
            Some((name, text))
        })
        .collect()
}

/// The mutants: profile name and text of `features/mutants/<profile>.toml`.
pub fn mutant_files() -> Vec<(&'static str, &'static str)> {
    files("toml")
        .into_iter()
        .filter_map(|(path, text)| {
            let profile = path.strip_prefix("mutants/")?.strip_suffix(".toml")?;
            Some((profile, text))
        })
        .collect()
}

/// SHA-256 over the paths and contents of all features and the registry, lower-case hex.
pub fn features_sha256() -> &'static str {
    static SUM: LazyLock<String> = LazyLock::new(|| {
        let mut all = files("feature");
        all.extend(registry_files());
        digest(&all)
    });
    &SUM
}

/// SHA-256 over the paths and contents of the registry, lower-case hex.
pub fn registry_sha256() -> String {
    digest(&registry_files())
}

/// SHA-256 over the names and contents of the editions, lower-case hex.
pub fn editions_sha256() -> String {
    digest(&edition_files())
}

fn digest(files: &[(&str, &str)]) -> String {
    let mut hash = Sha256::new();
    for (path, text) in files {
        hash.update(path.as_bytes());
        hash.update([0]);
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// All files with this extension, by path.
fn files(extension: &str) -> Vec<(&'static str, &'static str)> {
    fn walk(dir: &'static Dir<'static>, extension: &str, found: &mut Vec<(&'static str, &'static str)>) {
        for entry in dir.entries() {
            match entry {
                DirEntry::Dir(dir) => walk(dir, extension, found),
                DirEntry::File(file) => {
                    let path = file.path();
                    if path.extension().is_some_and(|own| own == extension)
                        && let (Some(path), Some(text)) = (path.to_str(), file.contents_utf8())
                    {
                        found.push((path, text));
                    }
                }
            }
        }
    }
    let mut found = Vec::new();
    match FOLDER.get() {
        None => walk(&FEATURES, extension, &mut found),
        Some(folder) => {
            let is_own = |path: &str| Path::new(path).extension().is_some_and(|own| own == extension);
            found.extend(folder.files.iter().filter(|(path, _)| is_own(path)).copied());
        }
    }
    found.sort_unstable();
    found
}
