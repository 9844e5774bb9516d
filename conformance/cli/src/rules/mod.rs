//! `rules` and `explain`: the registry, as people and programs read it. `search` finds rules by words, `named` what
//! `explain` is asked about.

mod named;
mod search;

use std::collections::BTreeSet;

use callmark_reports::pretty_json;
use callmark_suite::engine::invariant::ALWAYS;
use callmark_suite::engine::lint;
use callmark_suite::engine::run::Library;
use callmark_suite::mutation;
use callmark_suite::spec::catalog::Case;
use callmark_suite::spec::registry::Rule;
use serde_json::json;

use self::named::Named;
use crate::args::{ExplainArguments, RulesArguments, RulesFormat};
use crate::exit::{self, Failure};
use crate::setup::{known_profile, library, note_faults, unread};

/// `rules`.
pub(crate) fn list(arguments: &RulesArguments) -> Result<u8, Failure> {
    if let Some(profile) = &arguments.profile {
        known_profile(profile)?;
    }
    let library = library()?;
    note_faults(&library);
    let mut rules: Vec<&Rule> = library
        .registry
        .rules()
        .iter()
        .filter(|rule| arguments.profile.as_deref().is_none_or(|profile| rule.holds_for(profile)))
        .collect();
    if !arguments.search.is_empty() {
        let found = search::search(&library, &rules, &arguments.search);
        if found.is_empty() {
            return Err(nothing_found(&library, &rules, arguments));
        }
        rules = found;
    }
    match arguments.format {
        RulesFormat::Human if !arguments.search.is_empty() => lines(&rules),
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

/// Nothing has the words; with a word that was meant perhaps.
fn nothing_found(library: &Library, rules: &[&Rule], arguments: &RulesArguments) -> Failure {
    let words = arguments.search.join(" ");
    let failure = Failure::nothing(format!("no rule has `{words}` in its id, its statement or a scenario"));
    match search::advice(library, rules, &arguments.search) {
        Some(meant) => failure.hint(format!("did you mean `{meant}`?")),
        None if arguments.profile.is_some() => {
            failure.hint("search without `--profile`, or for fewer or shorter words")
        }
        None => failure.hint("search for fewer or shorter words; `callmark rules` lists all rules"),
    }
}

fn lines(rules: &[&Rule]) {
    for rule in rules {
        println!("{:<14} {:<6} {}", rule.id, rule.level.name(), rule.statement);
    }
    println!("\n{} {}", rules.len(), if rules.len() == 1 { "rule" } else { "rules" });
}

fn human(library: &Library, rules: &[&Rule], profile: Option<&str>) {
    lines(rules);
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
    match named::find(&library, &arguments.what)? {
        Named::Rule(rule) => explain_rule(&library, rule),
        Named::Scenarios(cases) => {
            explain_scenarios(&library, &cases);
            Ok(exit::CONFORMANT)
        }
    }
}

/// Where a scenario stands, what it does, and what it speaks for.
fn explain_scenarios(library: &Library, cases: &[&Case]) {
    for case in cases {
        println!(
            "{} ({})\n\n{}:{}\n  Scenario: {}",
            case.id, case.profile, case.at.file, case.at.line, case.name
        );
        let background: Vec<_> = library.catalogue.background(case).collect();
        let own = case.scenario().steps.iter().filter(|step| !background.contains(step));
        for step in background.iter().copied().chain(own) {
            println!("    {} {}", step.keyword.trim(), step.value);
        }
        if !case.capabilities.is_empty() {
            let needs: Vec<&str> = case.capabilities.iter().map(String::as_str).collect();
            println!("\nneeds:    {}", needs.join(", "));
        }
        println!();
        for rule in case.rules.iter().filter_map(|id| library.registry.rule(id)) {
            println!("{} ({})\n  {}\n", rule.id, rule.level.name(), rule.statement);
        }
    }
    if let Some(rule) = cases.first().and_then(|case| case.rules.first()) {
        println!("more: callmark explain {rule}");
    }
}

fn explain_rule(library: &Library, rule: &Rule) -> Result<u8, Failure> {
    println!("{} ({})\n\n  {}\n", rule.id, rule.level.name(), rule.statement);
    println!("source:   {}", rule.source);
    println!("profiles: {}", rule.profiles.join(", "));
    if rule.excluded.is_none() {
        println!("judged:   in {}", judged_in_words(library, rule));
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
    let mutants = mutation::mutants(&library.registry).map_err(unread)?;
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
