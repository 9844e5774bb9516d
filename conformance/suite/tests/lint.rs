//! The lint as a test: registry, features, steps and mutants agree.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use callmark_suite::engine::lint;
use callmark_suite::engine::run::Library;
use callmark_suite::families;
use callmark_suite::mutation;
use callmark_suite::mutation::mutant::{Action, Condition};
use callmark_suite::spec::phrases::Phrases;

#[test]
fn registry_features_and_steps_agree() {
    let library = Library::load().expect("a sound library");
    let faults = lint::faults(&library);
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_breakable_rule_of_a_complete_profile_has_a_mutant() {
    let library = Library::load().expect("a sound library");
    if let Err(error) = mutation::mutants(&library.registry) {
        panic!("\n{}", error.faults.join("\n"));
    }
}

/// A rule that was lost leaves a gap in the numbers of its section, or a row that the library does not have.
#[test]
fn the_registry_holds_all_rules() {
    let library = Library::load().expect("a sound library");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../features/registry");
    let files =
        std::fs::read_dir(directory).expect("the registry").map(|entry| entry.expect("an entry").path());
    let rows = |path: PathBuf| {
        let text = std::fs::read_to_string(path).expect("a file of the registry");
        text.lines().filter(|line| line.trim() == "[[rule]]").count()
    };
    assert_eq!(library.registry.rules().len(), files.map(rows).sum::<usize>());
    let mut sections: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for rule in library.registry.rules() {
        let (section, number) = rule.id.rsplit_once('-').expect("a section and a number");
        sections.entry(section).or_default().push(number.parse().expect("a number"));
    }
    for (section, mut numbers) in sections {
        numbers.sort_unstable();
        let gapless: Vec<u32> = (1..).take(numbers.len()).collect();
        assert_eq!(numbers, gapless, "{section}");
    }
    for (profile, waiting) in lint::pending(&library) {
        println!("{profile}: {waiting} rules wait for their features");
    }
}

/// Prints the phrases that only one line uses: `cargo test -p callmark-suite --test lint phrases -- --nocapture`.
#[test]
fn few_step_definitions_serve_the_phrases_of_many_lines() {
    let library = Library::load().expect("a sound library");
    let phrases = Phrases::load().expect("sound features");
    let definitions = lint::definitions(library.families).len();
    for phrase in phrases.used_once() {
        println!("used once: {phrase}");
    }
    let (lines, count, once) = (phrases.lines(), phrases.count(), phrases.used_once().count());
    println!("{lines} lines say {count} phrases, {once} of them once, by {definitions} step definitions");
    assert!(lines >= 10 * definitions, "{lines} lines on {definitions} step definitions");
}

/// Every reason for which a scenario may judge nothing: a key of the manifest, or a place in a document.
#[test]
fn what_may_stay_unjudged_has_its_reason_in_the_manifest_or_in_a_document() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/callmark/manifest.schema.json");
    let schema = std::fs::read_to_string(path).expect("the schema of manifests");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    for reason in families::ALL.protocols().flat_map(|own| own.reasons().undeclared) {
        println!("{:<28} {}", reason.basis, reason.text);
        let place: Vec<String> = reason.basis.split('.').map(|name| format!("/properties/{name}")).collect();
        assert!(schema.pointer(&place.concat()).is_some(), "a manifest has no `{}`", reason.basis);
        assert!(reason.text.contains(reason.basis), "{reason:?} does not say what to declare");
    }
    let library = Library::load().expect("a sound library");
    let documents: BTreeSet<&str> = library
        .registry
        .rules()
        .iter()
        .flat_map(|rule| rule.source.split("; "))
        .filter_map(|source| source.split(" §").next()?.split(" L").next())
        .collect();
    for way in families::ALL.protocols().flat_map(|own| own.reasons().alternatives) {
        println!("{:<48} {}", way.basis, way.text);
        assert!(
            documents.iter().any(|document| way.basis.starts_with(document)),
            "no rule comes from `{}`, which is to permit {way:?}",
            way.basis
        );
    }
}

/// A reason that nothing gives is one that somebody forgot to remove.
#[test]
fn each_reason_is_given_somewhere() {
    let families = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/families");
    for protocol in families::ALL.protocols() {
        let text = sources(families.join(protocol.name()));
        let reasons = protocol.reasons();
        let undeclared = reasons.undeclared.iter().map(|own| format!("Undeclared::{}", own.name));
        let alternatives = reasons.alternatives.iter().map(|own| format!("Alternative::{}", own.name));
        for name in undeclared.chain(alternatives) {
            assert!(text.contains(&name), "nothing gives `{name}`");
        }
    }
}

/// All source files below a folder.
fn sources(folder: PathBuf) -> String {
    let mut text = String::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path())
        {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                text += &std::fs::read_to_string(entry).expect("a source file");
            }
        }
    }
    text
}

/// What serde says that it expects, between backquotes.
fn known<T: serde::de::DeserializeOwned>() -> Vec<String> {
    let error = serde_json::from_value::<T>(serde_json::json!("?")).err().expect("no such word").to_string();
    let (_, names) = error.split_once("expected one of ").expect("a list");
    names.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn the_page_on_mutants_names_every_condition_and_change() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/write-mutants.md");
    let page = std::fs::read_to_string(path).expect("the page");
    let (conditions, changes) = (known::<Condition>(), known::<Action>());
    assert!(conditions.len() > 10 && changes.len() > 25, "{conditions:?} {changes:?}");
    for name in conditions.iter().chain(&changes) {
        let row = [format!("| `{{ {name} = "), format!("| `\"{name}\"` |")];
        assert!(row.iter().any(|row| page.contains(row)), "`{name}` has no row");
    }
}
