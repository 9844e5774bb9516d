//! `rules` and `explain`: the registry, as people and programs read it.

use std::collections::BTreeSet;

use callmark_reports::pretty_json;
use callmark_suite::engine::invariant::ALWAYS;
use callmark_suite::engine::lint;
use callmark_suite::engine::run::Library;
use callmark_suite::mutation;
use callmark_suite::spec::registry::Rule;
use serde_json::json;

use crate::args::{ExplainArguments, RulesArguments, RulesFormat};
use crate::exit::{self, Failure};
use crate::setup::{known_profile, library};

/// `rules`.
pub(crate) fn list(arguments: &RulesArguments) -> Result<u8, Failure> {
    if let Some(profile) = &arguments.profile {
        known_profile(profile)?;
    }
    let library = library()?;
    let rules: Vec<&Rule> = library
        .registry
        .rules()
        .iter()
        .filter(|rule| arguments.profile.as_deref().is_none_or(|profile| rule.holds_for(profile)))
        .collect();
    match arguments.format {
        RulesFormat::Human => human(&library, &rules, arguments.profile.as_deref()),
        RulesFormat::Json => {
            let rows: Vec<_> = rules.iter().map(|rule| row(&library, rule)).collect();
            print!("{}", pretty_json(&rows).map_err(Failure::internal)?);
        }
        RulesFormat::Markdown => {
            println!("| rule | level | profiles | statement | source |\n|---|---|---|---|---|");
            for rule in rules {
                let statement = rule.statement.replace('|', "\\|");
                println!(
                    "| {} | {} | {} | {statement} | {} |",
                    rule.id,
                    rule.level.name(),
                    rule.profiles.join(", "),
                    rule.source
                );
            }
        }
    }
    Ok(exit::CONFORMANT)
}

fn human(library: &Library, rules: &[&Rule], profile: Option<&str>) {
    for rule in rules {
        println!("{:<14} {:<6} {}", rule.id, rule.level.name(), rule.statement);
    }
    println!("\n{} rules", rules.len());
    let pending = lint::pending(library);
    for known in library.families.profiles().filter(|known| profile.is_none_or(|own| own == known.id)) {
        let total = library.registry.of_profile(known.id).count();
        match pending.get(known.id) {
            None => println!("{:<20} {total} rules, all with features", known.id),
            Some(waiting) => println!("{:<20} {total} rules, {waiting} still without features", known.id),
        }
    }
}

fn row(library: &Library, rule: &Rule) -> serde_json::Value {
    let pending: Vec<&String> = rule.profiles.iter().filter(|profile| rule.is_pending(profile)).collect();
    json!({
        "id": rule.id, "level": rule.level, "profiles": rule.profiles, "statement": rule.statement,
        "source": rule.source, "excluded": rule.excluded, "pending": pending,
        "judged_in": judged_in(library, &rule.id), "experiment_only": rule.experiment_only,
        "scenarios": scenarios(library, &rule.id),
    })
}

/// The ways in which a rule is judged: in what a scenario brings about, or in every exchange of the run.
fn judged_in(library: &Library, rule: &str) -> BTreeSet<&'static str> {
    let own = library.catalogue.cases().iter().filter(|case| case.rules.iter().any(|own| own == rule));
    own.map(|case| if case.tags.contains(ALWAYS) { "every-exchange" } else { "experiment" }).collect()
}

/// As [`judged_in`], in a sentence, with the reason where that is not every exchange.
pub(crate) fn judged_in_words(library: &Library, rule: &Rule) -> String {
    match rule.experiment_only {
        Some(reason) => format!("what its own scenarios bring about, since {}", reason.text()),
        None if judged_in(library, &rule.id).len() == 1 => "every exchange of a run".to_owned(),
        None => "what its own scenarios bring about, and every exchange of a run".to_owned(),
    }
}

fn scenarios(library: &Library, rule: &str) -> Vec<String> {
    library
        .catalogue
        .cases()
        .iter()
        .filter(|case| case.rules.iter().any(|own| own == rule))
        .map(|case| format!("{}:{} {}", case.at.file, case.at.line, case.name))
        .collect()
}

/// `explain`.
pub(crate) fn explain(arguments: &ExplainArguments) -> Result<u8, Failure> {
    let library = library()?;
    let Some(rule) = library.registry.rule(&arguments.rule) else {
        let failure = Failure::usage(format!("there is no rule `{}`", arguments.rule));
        return Err(match library.registry.nearest(&arguments.rule) {
            Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
            None => failure.hint("`callmark rules` lists all of them"),
        });
    };
    println!("{} ({})\n\n  {}\n", rule.id, rule.level.name(), rule.statement);
    println!("source:   {}", rule.source);
    println!("profiles: {}", rule.profiles.join(", "));
    if rule.excluded.is_none() {
        println!("judged:   in {}", judged_in_words(&library, rule));
    }
    if let Some(reason) = &rule.excluded {
        println!("\nnot tested: {reason}");
    }
    for profile in rule.profiles.iter().filter(|profile| rule.is_pending(profile)) {
        println!("\n{profile}: no features yet");
    }
    for case in library.catalogue.cases().iter().filter(|case| case.rules.contains(&rule.id)) {
        println!("\n{}:{}\n  Scenario: {}", case.at.file, case.at.line, case.name);
        for step in &case.scenario().steps {
            println!("    {} {}", step.keyword.trim(), step.value);
        }
    }
    let mutants = mutation::mutants(&library.registry).map_err(Failure::internal)?;
    let own: Vec<_> = mutants.iter().filter(|mutant| mutant.rule == rule.id).collect();
    if !own.is_empty() {
        println!("\nbroken by an implementation that");
        for mutant in own {
            println!("  - {} ({}, {})", mutant.does, mutant.profile, mutant.id);
        }
    }
    println!("\ntry it: callmark certify --bundled --rule {}", rule.id);
    Ok(exit::CONFORMANT)
}
