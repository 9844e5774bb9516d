//! The matrix: every mutant against the features of its profile, as far as it reaches.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use callmark_reports::record::{Outcome, TargetInfo};
use futures::future::{BoxFuture, LocalBoxFuture};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::OnceCell;

use super::crooked::Crooked;
use super::mutant::{EVERYTHING, Mutant};
use super::reach::{Recording, Traffic};
use crate::judge::Cause;
use crate::run::{Library, Quiet, RunPlan, Selection};
use crate::transcript::lock;
use crate::wire::Wire;
use crate::world::Stage;

/// Makes benches, one for each worker.
pub trait Workshop: Send + Sync {
    /// Sets up a bench: a broker, and a correct target.
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn Bench>, String>>;
}

/// A place where a correct target can be put behind a wire.
pub trait Bench {
    /// Sets the stage of a profile behind `wire`.
    fn stage<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
    ) -> LocalBoxFuture<'a, Result<Stage, String>>;
}

/// The whole matrix (`callmark sabotage --format json`).
#[derive(Clone, Debug, Serialize)]
pub struct Matrix {
    /// Always `callmark.sabotage/1`.
    pub schema: &'static str,
    /// One entry a mutant, in the order of the files.
    pub mutants: Vec<MutantResult>,
    /// Counts.
    pub summary: MatrixSummary,
}

/// What became of one mutant.
#[derive(Clone, Debug, Serialize)]
pub struct MutantResult {
    /// The mutant.
    pub id: String,
    /// The rule that must notice.
    pub rule: String,
    /// The profile.
    pub profile: String,
    /// Whether it noticed.
    pub killed: bool,
    /// Outcome of the rule.
    pub outcome: Outcome,
    /// Other rules that failed or warned.
    pub collateral: Vec<String>,
    /// Those of them that the mutant does not declare.
    pub undeclared_collateral: Vec<String>,
}

/// Counts over a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MatrixSummary {
    /// All.
    pub mutants: usize,
    /// Noticed by their own rule.
    pub killed: usize,
    /// Not noticed.
    pub survived: usize,
    /// With collateral that they do not declare.
    pub with_undeclared_collateral: usize,
}

/// The matrix cannot be made.
#[derive(Debug, Error)]
#[error("the sabotage matrix cannot be made: {0}")]
pub struct MatrixError(String);

/// Runs every mutant, with so many workers side by side. `told` hears of each result.
pub fn run(
    library: &Arc<Library>,
    mutants: &[Mutant],
    workshop: &dyn Workshop,
    workers: usize,
    jobs: usize,
    told: &(dyn Fn(&MutantResult) + Sync),
) -> Result<Matrix, MatrixError> {
    let queue: Mutex<VecDeque<(usize, &Mutant)>> = Mutex::new(mutants.iter().enumerate().collect());
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
            let mut bench = workshop.open().await.map_err(|error| fault(&error))?;
            loop {
                let Some((index, mutant)) = lock(&queue).pop_front() else { return Ok(()) };
                let result = try_mutant(library, mutant, &mut *bench, jobs, &traffic).await;
                told(&result);
                lock(&results).insert(index, result);
            }
        })
    };
    std::thread::scope(|scope| {
        for _ in 0..workers.clamp(1, mutants.len().max(1)) {
            scope.spawn(|| {
                if let Err(error) = work() {
                    lock(&failure).get_or_insert(error);
                }
            });
        }
    });
    if let Some(error) = lock(&failure).take() {
        return Err(error);
    }
    let results = std::mem::take(&mut *lock(&results));
    Ok(matrix(results.into_values().collect()))
}

fn matrix(mutants: Vec<MutantResult>) -> Matrix {
    let killed = mutants.iter().filter(|mutant| mutant.killed).count();
    let summary = MatrixSummary {
        mutants: mutants.len(),
        killed,
        survived: mutants.len() - killed,
        with_undeclared_collateral: mutants
            .iter()
            .filter(|mutant| !mutant.undeclared_collateral.is_empty())
            .count(),
    };
    Matrix { schema: "callmark.sabotage/1", mutants, summary }
}

/// What passes without a fault, by profile.
#[derive(Default)]
struct Traffics(Mutex<HashMap<String, Arc<OnceCell<Option<Traffic>>>>>);

impl Traffics {
    fn of(&self, profile: &str) -> Arc<OnceCell<Option<Traffic>>> {
        Arc::clone(lock(&self.0).entry(profile.to_owned()).or_default())
    }
}

/// Listens to a profile that runs without a fault; nothing where it cannot run.
async fn listen(
    library: &Arc<Library>,
    profile: &str,
    bench: &mut dyn Bench,
    jobs: usize,
) -> Option<Traffic> {
    let recording = Arc::new(Recording::default());
    let stage = bench.stage(profile, Arc::clone(&recording) as Arc<dyn Wire>).await.ok()?;
    let selection = Selection { profiles: vec![profile.to_owned()], ..Selection::default() };
    let plan = plan("none", selection, stage, BTreeMap::new(), jobs);
    let output = crate::run::run(library, &plan).await;
    plan.stage.close().await;
    Some(Traffic::of(&recording, &output))
}

/// The scenarios that may end otherwise than they do without the mutant; none where that is all of them.
fn concerned(library: &Library, mutant: &Mutant, traffic: Option<&Traffic>) -> Option<BTreeSet<String>> {
    let mut concerned = traffic?.reached(&mutant.fault)?;
    let own = library.catalogue.cases().iter().filter(|case| case.profile == mutant.profile);
    concerned.extend(own.filter(|case| case.rules.contains(&mutant.rule)).map(|case| case.id.clone()));
    Some(concerned)
}

fn plan(
    name: &str,
    selection: Selection,
    stage: Stage,
    blocked: BTreeMap<String, (Cause, String)>,
    jobs: usize,
) -> Arc<RunPlan> {
    Arc::new(RunPlan {
        selection,
        stage,
        blocked,
        target: TargetInfo { name: name.to_owned(), version: String::new() },
        strict: false,
        jobs,
        seed: 1,
        rerun: "callmark sabotage".to_owned(),
        secrets: Vec::new(),
        progress: Arc::new(Quiet),
        memory: Arc::default(),
    })
}

async fn try_mutant(
    library: &Arc<Library>,
    mutant: &Mutant,
    bench: &mut dyn Bench,
    jobs: usize,
    traffic: &Traffics,
) -> MutantResult {
    let traffic = traffic.of(&mutant.profile);
    let traffic = traffic.get_or_init(|| listen(library, &mutant.profile, bench, jobs)).await;
    let scenarios = concerned(library, mutant, traffic.as_ref());
    let wire = Arc::new(Crooked::new(mutant.fault.clone()));
    let mut blocked = BTreeMap::new();
    let stage = match bench.stage(&mutant.profile, wire).await {
        Ok(stage) => stage,
        Err(error) => {
            blocked.insert(mutant.profile.clone(), (Cause::Reachability, error));
            Stage::default()
        }
    };
    let tags = mutant.spares.as_ref().and_then(|name| format!("not @cap:{name}").parse().ok());
    let profiles = vec![mutant.profile.clone()];
    let selection = Selection { profiles, tags, scenarios, ..Selection::default() };
    let plan = plan(&mutant.id, selection, stage, blocked, jobs);
    let record = crate::run::run(library, &plan).await.record;
    plan.stage.close().await;
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
        killed: broken(outcome),
        outcome,
        undeclared_collateral: collateral.iter().filter(|rule| !declared(rule)).cloned().collect(),
        collateral: collateral.into_iter().collect(),
    }
}
