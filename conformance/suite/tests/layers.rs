//! Who may know whom: the engine knows families, sessions and protocols, and none of them by its name.

use std::path::{Path, PathBuf};

use callmark_suite::engine::family::Family;
use callmark_suite::engine::manifest::ManifestTable;
use callmark_suite::families;

/// Every source file, with its path from `src`.
fn sources(directory: &Path) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(root.join(directory)).expect("a directory").map(|entry| entry.expect("an entry"))
    {
        let path = directory.join(entry.file_name());
        if entry.path().is_dir() {
            found.extend(sources(&path));
        } else {
            let text = std::fs::read_to_string(entry.path()).expect("a source file");
            found.push((path, text));
        }
    }
    found
}

/// The code of a file: neither its comments nor its unit tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]");
    lines
        .zip(1..)
        .map(|(line, number)| (number, line))
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

#[test]
fn only_protocols_know_protocols() {
    let sources = sources(Path::new(""));
    assert!(sources.len() > 200, "{} files", sources.len());
    let mut faults = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| !path.starts_with("families")) {
        let lines = code(text)
            .filter(|(_, line)| line.contains("crate::families") || line.contains("super::families"));
        faults
            .extend(lines.map(|(number, line)| format!("src/{}:{number}: {}", path.display(), line.trim())));
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_engine_names_no_protocol() {
    let names: Vec<&str> = families::ALL.tables().into_iter().map(ManifestTable::name).collect();
    assert_eq!(names.len(), 4);
    let mut faults = Vec::new();
    for (path, text) in sources(Path::new("engine")) {
        for (number, line) in code(&text) {
            let words: Vec<&str> = line.split(|char: char| !char.is_ascii_alphanumeric()).collect();
            let known = names.iter().find(|name| words.contains(name));
            faults.extend(known.map(|name| format!("src/{}:{number} names `{name}`", path.display())));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn the_doctor_names_no_protocol() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cli/src/doctor.rs");
    let text = std::fs::read_to_string(path).expect("the doctor's source");
    let uses: Vec<&str> = code(&text)
        .flat_map(|(_, line)| line.split("families::").skip(1))
        .filter(|rest| !rest.starts_with("ALL"))
        .collect();
    assert!(text.contains("families::ALL") && uses.is_empty(), "{uses:?}");
}

#[test]
fn families_share_neither_ids_nor_profiles() {
    let ids: Vec<&str> = families::ALL.iter().map(Family::id).collect();
    let profiles: Vec<&str> = families::ALL.profiles().map(|profile| profile.id).collect();
    let logs: Vec<&str> =
        families::ALL.protocols().flat_map(|protocol| protocol.logs().iter().copied()).collect();
    for (what, all) in [("families", ids), ("profiles", profiles), ("logs", logs)] {
        let mut once = all.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), all.len(), "{what}: {all:?}");
    }
    for profile in families::ALL.profiles() {
        let family = families::ALL.of(profile.id).expect("a family");
        assert!(profile.id.starts_with(family.protocol().name()), "{}", profile.id);
    }
}
