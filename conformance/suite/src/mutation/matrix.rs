//! The matrix: every mutant against the features of its profile, as far as it reaches.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use callmark_reports::matrix::{Matrix, MutantResult};
use callmark_reports::record::{Outcome, TargetInfo};
use futures::future::{BoxFuture, LocalBoxFuture};
use thiserror::Error;

use crate::engine::judge::Cause;
use crate::engine::run::{Library, RunPlan, Selection};
use crate::engine::session::Sessions;
use crate::mutation::concerned::{Breadth, Concerned, concerned};
use crate::mutation::listen::{Traffics, listen};
use crate::mutation::mutant::{EVERYTHING, Mutant};
use crate::mutation::mutating_wire::MutatingWire;
use crate::net::wire::Wire;
use crate::transcript::lock;

/// Makes benches, one for each worker.
pub trait TargetFactory: Send + Sync {
    /// Sets up a broker, and a correct target.
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn TargetInstance>, String>>;
}

/// A place where a correct target can be put behind a wire.
pub trait TargetInstance {
    /// Opens the session of a profile behind `wire`.
    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
        patience: Patience,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>>;
}

/// How long a target is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as the reference needs: most mutants that are killed by silence are silent for good.
    Short,
    /// As long as in a run of its own.
    Full,
}

/// How many mutants are tried at a time, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Mutants at a time, each on a thread of its own.
    pub workers: usize,
    /// Scenarios of one mutant at a time.
    pub jobs: usize,
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
pub struct MatrixError(pub(super) String);

/// Runs every mutant, and calls `on_result` with each result and its effort.
///
/// A mutant that is not killed by its own rule alone is tried once more when all others are done, with full patience, and
/// that counts: a machine that is busy, or stands still for a while, must not look like a target that is silent.
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
                if result.is_specific() {
                    settle(index, result, &tried.effort);
                } else {
                    lock(&again).push_back(tried);
                }
            }
            loop {
                let next = lock(&again).pop_front();
                let Some(tried) = next else { return Ok(()) };
                let (result, effort) = try_again(library, &tried, &mut *target, pace.jobs).await;
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

/// In which order the scenarios of a run are driven.
pub(super) struct Order {
    /// So many at a time.
    pub(super) jobs: usize,
    /// This one first.
    pub(super) lead: Option<String>,
    /// So many again at most, because they were silent.
    pub(super) alone: usize,
}

/// A run of a mutant, or of none.
pub(super) fn plan(
    name: &str,
    selection: Selection,
    sessions: Sessions,
    blocked: BTreeMap<String, (Cause, String)>,
    Order { jobs, lead, alone }: Order,
) -> Arc<RunPlan> {
    let target = TargetInfo { name: name.to_owned(), version: String::new() };
    Arc::new(RunPlan {
        blocked,
        jobs,
        lead,
        alone,
        rerun: "callmark sabotage".to_owned(),
        ..RunPlan::new(selection, sessions, target)
    })
}

/// How a mutant is tried.
struct How {
    selection: Selection,
    patience: Patience,
    lead: Option<String>,
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
    Pace { jobs, breadth, .. }: Pace,
    traffic: &Traffics,
) -> Result<(Tried<'a>, MutantResult), MatrixError> {
    let traffic = traffic.of(&mutant.profile);
    let traffic = traffic.get_or_try_init(|| listen(library, &mutant.profile, target, jobs)).await?;
    let began = Instant::now();
    let tags = mutant.spares.as_ref().and_then(|name| format!("not @cap:{name}").parse().ok());
    let profiles = vec![mutant.profile.clone()];
    let Concerned { scenarios, own, leads } = concerned(library, mutant, traffic.as_ref(), breadth);
    let mut selection = Selection { profiles, tags, scenarios, ..Selection::default() };
    let scenarios = library.select(&selection).len();
    let how = How { selection: selection.clone(), patience: Patience::Short, lead: leads.first().cloned() };
    let result = attempt(library, mutant, target, jobs, how).await;
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
    jobs: usize,
) -> (MutantResult, Effort) {
    let began = Instant::now();
    let how =
        |lead: Option<String>| How { selection: tried.selection.clone(), patience: Patience::Full, lead };
    let mut result = attempt(library, tried.mutant, target, jobs, how(tried.leads.first().cloned())).await;
    for lead in tried.leads.iter().skip(1) {
        if !result.killed {
            result = attempt(library, tried.mutant, target, jobs, how(Some(lead.clone()))).await;
        }
    }
    (result, Effort { took: tried.effort.took + began.elapsed(), again: true, ..tried.effort })
}

async fn attempt(
    library: &Arc<Library>,
    mutant: &Mutant,
    target: &mut dyn TargetInstance,
    jobs: usize,
    How { selection, patience, lead }: How,
) -> MutantResult {
    let wire = Arc::new(MutatingWire::of(mutant, library.families.codec(&mutant.profile)));
    let mut blocked = BTreeMap::new();
    let sessions = match target.sessions(&mutant.profile, wire, patience).await {
        Ok(sessions) => sessions,
        Err(error) => {
            blocked.insert(mutant.profile.clone(), (Cause::Reachability, error));
            Sessions::default()
        }
    };
    // A mutant that is silent is tried again with full patience.
    let plan = plan(&mutant.id, selection, sessions, blocked, Order { jobs, lead, alone: 0 });
    let record = crate::engine::run::run(library, &plan).await.record;
    plan.sessions.close().await;
    let broken = |outcome: Outcome| matches!(outcome, Outcome::Failed | Outcome::Warned);
    let outcome = record
        .rules
        .iter()
        .find(|rule| rule.id == mutant.rule)
        .map_or(Outcome::NotObserved, |rule| rule.outcome);
    let collateral: BTreeSet<String> = record
        .rules
        .iter()
        .filter(|rule| rule.id != mutant.rule && broken(rule.outcome))
        .map(|rule| rule.id.clone())
        .collect();
    let declared = |rule: &String| mutant.collateral.contains(rule) || mutant.collateral.contains(EVERYTHING);
    MutantResult {
        id: mutant.id.clone(),
        rule: mutant.rule.clone(),
        profile: mutant.profile.clone(),
        does: mutant.does.clone(),
        killed: broken(outcome),
        outcome,
        declared_collateral: mutant.collateral.iter().cloned().collect(),
        undeclared_collateral: collateral.iter().filter(|rule| !declared(rule)).cloned().collect(),
        collateral: collateral.into_iter().collect(),
    }
}
