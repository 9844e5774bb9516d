//! What travels inside the binary: the features, the registry and the mutants.

use std::sync::LazyLock;

use include_dir::{Dir, DirEntry, include_dir};
use sha2::{Digest, Sha256};

static FEATURES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../features");

/// A feature file: its path as reports write it (`features/…`) and its text.
pub fn feature_files() -> Vec<(String, &'static str)> {
    files("feature").into_iter().map(|(path, text)| (format!("features/{path}"), text)).collect()
}

/// The files of the registry, with their paths below `features/`.
pub fn registry_files() -> Vec<(&'static str, &'static str)> {
    let documents = ["utp", "tdg", "utp-v1r4", "hub", "breadcrumb", "toolbus", "mcp"];
    documents
        .iter()
        .filter_map(|name| {
            let file = FEATURES.get_file(format!("registry/{name}.toml"))?;
            Some((file.path().to_str()?, file.contents_utf8()?))
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
    walk(&FEATURES, extension, &mut found);
    found.sort_unstable();
    found
}
