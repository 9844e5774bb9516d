//! `editions` and `diff --editions`: which checks count for whom, and what a later edition checks beyond an earlier one.

use std::path::Path;

use callmark_reports::pretty_json;
use callmark_suite::spec::edition::{self, Edition, EditionChange, EditionChangeKind, EditionDiff};
use callmark_suite::spec::library as features;
use serde_json::{Value, json};

use crate::args::{DiffFormat, EditionsArguments, EditionsCommand, Format, FreezeArguments};
use crate::exit::{self, Failure, cannot_write};
use crate::setup::{library, read_features};

/// Name of the shape of `editions --format json`.
const LIST_SCHEMA: &str = "callmark.editions/1";
/// Name of the shape of `diff --editions --format json`.
const DIFF_SCHEMA: &str = "callmark.edition-diff/1";
/// Where the features lie in Callmark's sources.
const FEATURES: &str = "features";

/// `editions`.
pub(crate) fn run(arguments: &EditionsArguments) -> Result<u8, Failure> {
    match &arguments.command {
        None => list(arguments.format),
        Some(EditionsCommand::Freeze(arguments)) => freeze(arguments),
    }
}

fn list(format: Format) -> Result<u8, Failure> {
    let library = library()?;
    let scenarios = edition::scenarios(&library.registry, &library.catalogue);
    let newer = library.editions.newest().map(|newest| {
        let all =
            scenarios.iter().flat_map(|(profile, own)| own.values().map(move |digest| (profile, digest)));
        all.filter(|(profile, digest)| !newest.counts(profile, digest)).count()
    });
    match format {
        Format::Json => {
            let editions: Vec<Value> = library.editions.iter().map(row).collect();
            let list = json!({"schema": LIST_SCHEMA, "editions": editions, "newer": newer});
            print!("{}", pretty_json(&list).map_err(Failure::internal)?);
        }
        Format::Human => {
            let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
            for edition in library.editions.iter() {
                let state = if edition.is_released() { "released" } else { "not released" };
                println!(
                    "{:<8} {state:<13} {} of {}",
                    edition.name(),
                    count(edition.len(), "scenario"),
                    count(edition.rules(), "rule")
                );
                for erratum in edition.errata() {
                    println!(
                        "         erratum of {}, {}: {}",
                        erratum.date, erratum.scenario, erratum.reason
                    );
                }
            }
            if let Some(newer) = newer.filter(|newer| *newer > 0) {
                println!("{:<8} {:<13} {}", "newer", "in no edition", count(newer, "scenario"));
            }
        }
    }
    Ok(exit::CONFORMANT)
}

fn row(edition: &Edition) -> Value {
    json!({
        "name": edition.name(), "released": edition.is_released(), "scenarios": edition.len(),
        "rules": edition.rules(), "added": edition.added(), "errata": edition.errata(),
    })
}

/// `editions freeze`.
fn freeze(arguments: &FreezeArguments) -> Result<u8, Failure> {
    // What travels inside the program may be older than what is to be frozen.
    if features::folder().is_none() {
        read_features(Path::new(FEATURES))?;
    }
    let library = library()?;
    let scenarios = edition::scenarios(&library.registry, &library.catalogue);
    let name = &arguments.edition;
    let text = edition::freeze(&library.editions, name, arguments.released, &scenarios).map_err(|error| {
        Failure::usage(error)
            .hint("docs/extend-the-suite.md, \"A change of a check\", says how editions change")
    })?;
    let directory = features::folder().unwrap_or(Path::new(FEATURES)).join("editions");
    let path = directory.join(format!("{name}.toml"));
    std::fs::create_dir_all(&directory).map_err(|error| cannot_write(&directory, &error))?;
    std::fs::write(&path, &text).map_err(|error| cannot_write(&path, &error))?;
    let written = Edition::parse(name, &text).map_err(Failure::internal)?;
    println!("{}: {} scenarios of {} rules", path.display(), written.len(), written.rules());
    Ok(exit::CONFORMANT)
}

/// `diff --editions`.
pub(crate) fn compare(from: &str, to: &str, format: DiffFormat) -> Result<u8, Failure> {
    let library = library()?;
    let named = |name: &str| {
        let hint = "`callmark editions` lists them";
        library.editions.named(name).map_err(|error| Failure::usage(error).hint(hint))
    };
    let diff = EditionDiff::of(&library.registry, named(from)?, named(to)?);
    match format {
        DiffFormat::Human => human(&diff),
        DiffFormat::Markdown => markdown(&diff),
        DiffFormat::Json => {
            let mut value = serde_json::to_value(&diff).map_err(Failure::internal)?;
            value["schema"] = DIFF_SCHEMA.into();
            print!("{}", pretty_json(&value).map_err(Failure::internal)?);
        }
    }
    Ok(exit::CONFORMANT)
}

/// `3 scenarios added, 0 changed, 1 removed`.
fn counts(diff: &EditionDiff) -> String {
    let [added, changed, removed] = EditionChangeKind::ALL.map(|kind| diff.count(kind));
    let noun = if added == 1 { "scenario" } else { "scenarios" };
    format!("{added} {noun} added, {changed} changed, {removed} removed")
}

fn human(diff: &EditionDiff) {
    println!("{} to {}: {}", diff.from, diff.to, counts(diff));
    for EditionChange { kind, profile, rule, scenarios, reason } in &diff.changes {
        println!("\n{} {rule} ({profile}): {reason}", kind.name());
        for scenario in scenarios {
            println!("  {scenario}");
        }
    }
}

fn markdown(diff: &EditionDiff) {
    println!("# {} to {}\n\n{}.\n", diff.from, diff.to, counts(diff));
    if diff.changes.is_empty() {
        return;
    }
    println!("| | rule | profile | scenarios | why |\n|---|---|---|---:|---|");
    for EditionChange { kind, profile, rule, scenarios, reason } in &diff.changes {
        let reason = reason.replace('|', "\\|");
        println!("| {} | {rule} | {profile} | {} | {reason} |", kind.name(), scenarios.len());
    }
}
