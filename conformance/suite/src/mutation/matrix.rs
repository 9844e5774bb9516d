//! The matrix: every mutant against the features of its profile, as far as it reaches.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callmark_reports::matrix::{Matrix, MutantResult};
use thiserror::Error;

use crate::engine::run::{ALONE, Library, Selection};
use crate::mutation::attempt::{How, Order, attempts};
use crate::mutation::concerned::{Breadth, Concerned, concerned};
use crate::mutation::listen::{Traffics, listen};
use crate::mutation::mutant::Mutant;
use crate::mutation::target::{Patience, TargetFactory, TargetInstance};
use crate::transcript::lock;

/// How many mutants are tried at a time, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Mutants at a time, each on a thread of its own.
    pub workers: usize,
    /// Scenarios of one mutant at a time.
    pub jobs: usize,
    /// Other numbers, with each of which it is tried as well, and has to break the same rules.
    pub also: &'static [usize],
    /// In which scenarios.
    pub breadth: Breadth,
}

/// What a mutant cost.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// From the opening of its session to the close.
    pub took: Duration,
    /// Scenarios that it was tried on.
    pub scenarios: usize,
    /// Whether it was tried once more, with full patience.
    pub again: bool,
}

/// The matrix cannot be made.
#[derive(Debug, Error)]
#[error("the sabotage matrix cannot be made: {0}")]
pub struct MatrixError(String);

/// Runs every mutant, and calls `on_result` with each result and its effort.
///
/// A mutant that is not killed by its own rule alone, or not alike with each number of scenarios at a time, is tried once
/// more when all others are done, with full patience, and that counts: a machine that is busy, or stands still for a while,
/// must not look like a target that is silent.
///
/// # Errors
/// No target can be set up, or one does not hold its rules without a fault.
pub fn run(
    library: &Arc<Library>,
    mutants: &[Mutant],
    workshop: &dyn TargetFactory,
    pace: Pace,
    on_result: &(dyn Fn(&MutantResult, &Effort) + Sync),
) -> Result<Matrix, MatrixError> {
    let queue = Mutex::new(queue(mutants));
    let again: Mutex<VecDeque<Tried>> = Mutex::default();
    let results: Mutex<BTreeMap<usize, MutantResult>> = Mutex::default();
    let failure: Mutex<Option<MatrixError>> = Mutex::default();
    let traffic = Traffics::default();
    let work = || -> Result<(), MatrixError> {
        let fault = |error: &dyn std::fmt::Display| MatrixError(error.to_string());
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| fault(&error))?;
        runtime.block_on(async {
            let mut target = workshop.open().await.map_err(|error| fault(&error))?;
            let settle = |index: usize, result: MutantResult, effort: &Effort| {
                on_result(&result, effort);
                lock(&results).insert(index, result);
            };
            loop {
                // Two statements, so that neither queue is held while a mutant is tried.
                let next = lock(&queue).pop_front();
                let Some((index, mutant)) = next else { break };
                let (tried, result) =
                    try_mutant(library, (index, mutant), &mut *target, pace, &traffic).await?;
                if result.is_specific() && result.by_jobs.is_empty() {
                    settle(index, result, &tried.effort);
                } else {
                    lock(&again).push_back(tried);
                }
            }
            loop {
                let next = lock(&again).pop_front();
                let Some(tried) = next else { return Ok(()) };
                let (result, effort) = try_again(library, &tried, &mut *target, pace).await;
                settle(tried.index, result, &effort);
            }
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..pace.workers.clamp(1, mutants.len().max(1)) {
            scope.spawn(|| {
                if let Err(error) = work() {
                    // The others end with what they are at.
                    lock(&queue).clear();
                    lock(&again).clear();
                    lock(&failure).get_or_insert(error);
                }
            });
        }
    });
    if let Some(error) = lock(&failure).take() {
        return Err(error);
    }
    let results = std::mem::take(&mut *lock(&results));
    Ok(Matrix::of(results.into_values().collect()))
}

/// The mutants of all profiles mixed evenly: some make the target work, others have it waited for, and workers that
/// wait leave the processor to those that work.
fn queue(mutants: &[Mutant]) -> VecDeque<(usize, &Mutant)> {
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    let places: Vec<usize> = mutants
        .iter()
        .map(|mutant| {
            let size = sizes.entry(&mutant.profile).or_default();
            *size += 1;
            *size - 1
        })
        .collect();
    let mut queue: Vec<(usize, &Mutant)> = mutants.iter().enumerate().collect();
    // Every profile's first, then further down each of them, as far as its length asks for.
    queue.sort_by_key(|(index, mutant)| {
        let size = sizes.get(mutant.profile.as_str()).copied().unwrap_or(1);
        (places[*index] * mutants.len() / size, *index)
    });
    queue.into()
}

/// A mutant that was tried.
struct Tried<'a> {
    index: usize,
    mutant: &'a Mutant,
    /// Where it is tried again: all that is about its own rule, and what it was tried on before.
    selection: Selection,
    leads: Vec<String>,
    effort: Effort,
}

async fn try_mutant<'a>(
    library: &Arc<Library>,
    (index, mutant): (usize, &'a Mutant),
    target: &mut dyn TargetInstance,
    Pace { jobs, also, breadth, .. }: Pace,
    traffic: &Traffics,
) -> Result<(Tried<'a>, MutantResult), MatrixError> {
    let traffic = traffic.of(&mutant.profile);
    let traffic = traffic.get_or_try_init(|| listen(library, &mutant.profile, target, jobs)).await;
    let traffic = traffic.map_err(MatrixError)?;
    let began = Instant::now();
    let tags = mutant.spares.as_ref().and_then(|name| format!("not @cap:{name}").parse().ok());
    let profiles = vec![mutant.profile.clone()];
    let Concerned { scenarios, own, leads } = concerned(library, mutant, traffic.as_ref(), breadth);
    let mut selection = Selection { profiles, tags, scenarios, ..Selection::default() };
    let scenarios = library.select(&selection).len();
    let order = Order { jobs, lead: leads.first().cloned(), alone: 0 };
    let how = How { selection: selection.clone(), patience: Patience::Short, order, also };
    let result = attempts(library, mutant, target, &how).await;
    if let Some(scenarios) = &mut selection.scenarios {
        scenarios.extend(own);
    }
    let effort = Effort { took: began.elapsed(), scenarios, again: false };
    Ok((Tried { index, mutant, selection, leads, effort }, result))
}

async fn try_again(
    library: &Arc<Library>,
    tried: &Tried<'_>,
    target: &mut dyn TargetInstance,
    Pace { jobs, also, .. }: Pace,
) -> (MutantResult, Effort) {
    let began = Instant::now();
    // Beside so many others as some numbers mean, an answer may be late: as in any run, what was silent is repeated.
    let alone = if also.is_empty() { 0 } else { ALONE };
    let how = |lead: Option<String>| {
        let order = Order { jobs, lead, alone };
        How { selection: tried.selection.clone(), patience: Patience::Full, order, also }
    };
    let mut result = attempts(library, tried.mutant, target, &how(tried.leads.first().cloned())).await;
    for lead in tried.leads.iter().skip(1) {
        if !result.killed {
            result = attempts(library, tried.mutant, target, &how(Some(lead.clone()))).await;
        }
    }
    (result, Effort { took: tried.effort.took + began.elapsed(), again: true, ..tried.effort })
}
