//! `sabotage`: run every mutant of the reference against the features, and show which rule notices.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use callmark_reports::matrix::{BrokenRules, matrix_markdown};
use callmark_reports::pretty_json;
use callmark_suite::mutation;
use callmark_suite::mutation::{Breadth, Effort, Matrix, Mutant, MutantResult, Pace};

use crate::args::{MatrixFormat, SabotageArguments};
use crate::bundled::{self, ReferenceFactory};
use crate::exit::{self, Failure};
use crate::setup::{known_profile, library, note_faults, seconds, unread};

/// Scenarios of one mutant at a time.
const SCENARIOS: usize = 24;

/// Those with which every verdict must be the same.
const COMPARED: [usize; 4] = [1, 4, 32, 64];

/// Runs it.
pub(crate) fn run(arguments: &SabotageArguments) -> Result<u8, Failure> {
    for profile in &arguments.profile {
        known_profile(profile)?;
    }
    let library = Arc::new(library()?.for_many_runs());
    note_faults(&library);
    let mut all = mutation::mutants(&library.registry).map_err(unread)?;
    all.extend(mutation::late_twins(&all, &library.catalogue));
    let chosen: Vec<Mutant> = all
        .into_iter()
        .filter(|mutant| arguments.profile.is_empty() || arguments.profile.contains(&mutant.profile))
        .filter(|mutant| arguments.rule.is_empty() || arguments.rule.contains(&mutant.rule))
        .collect();
    let chosen = match arguments.sample {
        Some(number) => mutation::sample(chosen, number.get()),
        None => chosen,
    };
    if chosen.is_empty() {
        return Err(Failure::nothing("no mutant is selected")
            .hint("`callmark explain RULE-ID` shows a rule's mutants"));
    }
    bundled::keep_files_in_memory();
    let began = Instant::now();
    let done = AtomicUsize::new(0);
    let total = chosen.len();
    let on_result = |result: &MutantResult, effort: &Effort| {
        let number = done.fetch_add(1, Ordering::Relaxed) + 1;
        let word = if result.killed { "killed" } else { "SURVIVED" };
        let took = effort.took.as_secs_f64();
        let again = if effort.again { ", tried twice" } else { "" };
        let differs =
            if result.by_jobs.is_empty() { "" } else { ", other rules with other numbers at a time" };
        eprintln!(
            "[{number}/{total}] {word:<8} {} {} {} ({took:.2} s, {} scenarios{again}{differs})",
            result.profile, result.rule, result.id, effort.scenarios
        );
    };
    let workshop = ReferenceFactory { program: std::env::current_exe().map_err(Failure::internal)? };
    let (jobs, also): (usize, &[usize]) =
        if arguments.compare_jobs { (COMPARED[0], &COMPARED[1..]) } else { (SCENARIOS, &[]) };
    let pace = Pace {
        workers: arguments.jobs.into(),
        jobs,
        also,
        breadth: match (arguments.all_scenarios, arguments.rule.is_empty()) {
            (true, _) => Breadth::All,
            // Who writes a mutant declares what else it breaks.
            (false, false) => Breadth::EachRule,
            (false, true) => Breadth::Share,
        },
    };
    let matrix =
        mutation::run(&library, &chosen, &workshop, pace, &on_result).map_err(Failure::incomplete)?;
    match arguments.format {
        MatrixFormat::Json => {
            print!("{}", pretty_json(&matrix).map_err(Failure::internal)?);
        }
        MatrixFormat::Markdown => print!("{}", matrix_markdown(&matrix)),
        MatrixFormat::Human => show(&matrix, &seconds(began)),
    }
    // Stricter than a bound on specificity: one mutant that is not specific is one too many.
    let sound = matrix.summary.survived == 0
        && matrix.summary.with_undeclared_collateral == 0
        && matrix.mutants.iter().all(|mutant| mutant.by_jobs.is_empty());
    Ok(if sound { exit::CONFORMANT } else { exit::NONCONFORMANT })
}

fn show(matrix: &Matrix, took: &str) {
    for mutant in matrix.mutants.iter().filter(|mutant| !mutant.killed) {
        println!("survived: {} ({}), its rule is {}", mutant.id, mutant.rule, mutant.outcome.name());
    }
    for mutant in matrix.mutants.iter().filter(|mutant| !mutant.undeclared_collateral.is_empty()) {
        println!("undeclared collateral of {}: {}", mutant.id, mutant.undeclared_collateral.join(", "));
    }
    for mutant in &matrix.mutants {
        for BrokenRules { jobs, rules } in &mutant.by_jobs {
            let rules = if rules.is_empty() { "nothing".to_owned() } else { rules.join(", ") };
            println!("depends on the number of scenarios at a time: {} with {jobs} fails {rules}", mutant.id);
        }
    }
    let summary = &matrix.summary;
    println!(
        "{} mutants in {took}: {} killed by their own rule, {} survived, {} with undeclared collateral; specificity {}",
        summary.mutants,
        summary.killed,
        summary.survived,
        summary.with_undeclared_collateral,
        summary.specificity()
    );
}
