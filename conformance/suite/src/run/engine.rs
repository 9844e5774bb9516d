//! Drives cucumber over the selected cases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Outcome;
use cucumber::event::ScenarioFinished;
use cucumber::{Cucumber, Parser, cli, parser, runner};
use futures::future::LocalBoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::memory::Account;
use super::remains::Remains;
use super::writer::{self, Facts, Gatherer, StepPlace};
use super::{Library, RunOutput, RunPlan, verdict};
use crate::catalogue::{Case, Place};
use crate::judge::Trouble;
use crate::transcript::{self, lock};
use crate::utp::judge::late::{self, Late};
use crate::utp::session::Liveness;
use crate::world::{Family, FamilyWorld};
use crate::{breadcrumb, hub, management, runtime, toolbus, utp};

/// Tag of scenarios that may end a target.
const LAST: &str = "last";
/// Tag of scenarios that hold up a target which takes one call at a time.
const HOLDS: &str = "holds";
/// Threads that drive families. One cannot keep two processors busy, since cucumber polls all steps of a family in
/// one task; and the first family does little but wait.
const LANES: usize = 3;
/// Families that a lane drives at a time. The compiled steps of all families together would take much memory.
const FAMILIES: usize = 1;
/// Stack of a lane: as large as that of a main thread.
const STACK: usize = 8 * 1024 * 1024;
/// First those that wait much.
const ORDER: [Family; 8] = [
    Family::Runner,
    Family::Utp,
    Family::Toolbus,
    Family::CrumbAgent,
    Family::Runtime,
    Family::Agent,
    Family::Hub,
    Family::Management,
];

/// Runs the selected cases against the stage.
///
/// On a runtime with several threads the families are driven on threads of their own, which end with the run.
pub fn run<'a>(library: &'a Arc<Library>, plan: &'a Arc<RunPlan>) -> LocalBoxFuture<'a, RunOutput> {
    Box::pin(run_all(library, plan))
}

async fn run_all(library: &Arc<Library>, plan: &Arc<RunPlan>) -> RunOutput {
    let selected = library.select(&plan.selection);
    let capabilities = plan.stage.capabilities();
    let runnable = runnable(library, plan);
    plan.progress.begin(runnable.len());
    let (mut facts, mut remains) = drive_families(library, plan).await;
    let judging = async {
        look_again(plan, &runnable, &mut facts, &mut remains).await;
        verdict::fold(library, plan, &selected, &capabilities, &facts, &remains)
    };
    let record = plan.memory.steps(judging).await;
    plan.progress.end();
    let took = |case: &&Case| Some((case.id.clone(), facts.get(&case.at)?.took));
    let timings = selected.iter().filter_map(took).collect();
    let account = Account::of(plan, &remains);
    RunOutput { record, timings, remains, secrets: plan.secrets.clone(), account }
}

/// The selected cases that have a stage and ask for nothing that is not declared.
fn runnable<'a>(library: &'a Library, plan: &RunPlan) -> Vec<&'a Case> {
    let capabilities = plan.stage.capabilities();
    let has_stage = |case: &&Case| !plan.blocked.contains_key(&case.profile);
    let selected = library.select(&plan.selection).into_iter().filter(has_stage);
    selected.filter(|case| case.capabilities.is_subset(&capabilities)).collect()
}

async fn drive_families(library: &Arc<Library>, plan: &Arc<RunPlan>) -> Driven {
    let waiting = Arc::new(Mutex::new(VecDeque::from(ORDER)));
    let runtime = Handle::current();
    if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return plan.memory.steps(lane(library, plan, &waiting)).await;
    }
    let lanes = (0..LANES).map(|_| {
        let (library, plan, waiting) = (Arc::clone(library), Arc::clone(plan), Arc::clone(&waiting));
        let (runtime, (done, driven)) = (runtime.clone(), oneshot::channel());
        let work = move || {
            // Nobody waits any more where the run was broken off.
            let _ = done.send(runtime.block_on(plan.memory.steps(lane(&library, &plan, &waiting))));
        };
        // Without a thread its cases could not run, and the verdict says so.
        let _ = std::thread::Builder::new().name("lane".to_owned()).stack_size(STACK).spawn(work);
        driven
    });
    let mut driven = Driven::default();
    for own in futures::future::join_all(lanes).await {
        let (facts, remains) = own.unwrap_or_default();
        driven.0.extend(facts);
        driven.1.extend(remains);
    }
    driven
}

/// Drives families until none waits.
async fn lane(library: &Library, plan: &RunPlan, waiting: &Mutex<VecDeque<Family>>) -> Driven {
    let next = stream::unfold((), |()| async { Some((lock(waiting).pop_front()?, ())) });
    let driving = next.map(|family| drive_family(family, library, plan)).buffer_unordered(FAMILIES);
    driving
        .fold(Driven::default(), |mut driven, own| async {
            driven.0.extend(own.0);
            driven.1.extend(own.1);
            driven
        })
        .await
}

async fn drive_family(family: Family, library: &Library, plan: &RunPlan) -> Driven {
    let mut cases = runnable(library, plan);
    cases.retain(|case| Family::of(&case.profile) == family);
    let cases = &cases;
    match family {
        Family::Utp => drive_all::<utp::world::World>(library, plan, cases).boxed_local(),
        Family::Runtime => drive_all::<runtime::world::World>(library, plan, cases).boxed_local(),
        Family::Management => drive_all::<management::world::World>(library, plan, cases).boxed_local(),
        Family::Toolbus => drive_all::<toolbus::world::World>(library, plan, cases).boxed_local(),
        Family::Hub => drive_all::<hub::world::World>(library, plan, cases).boxed_local(),
        Family::Agent => drive_all::<hub::agent::world::World>(library, plan, cases).boxed_local(),
        Family::Runner => drive_all::<breadcrumb::world::World>(library, plan, cases).boxed_local(),
        Family::CrumbAgent => {
            drive_all::<breadcrumb::agent::world::World>(library, plan, cases).boxed_local()
        }
    }
    .await
}

/// Scenarios at a time. Who asked for one gets one.
fn jobs(plan: &RunPlan) -> usize {
    let worth = plan.stage.utp.values().map(|session| session.pace.jobs).max().unwrap_or(1);
    if plan.jobs > 1 { plan.jobs.max(worth) } else { 1 }
}

fn answers(plan: &RunPlan) -> bool {
    plan.stage.utp.values().any(|session| session.liveness == Liveness::Answers)
}

/// Judges once more, at the end, what must not have happened.
async fn look_again(
    plan: &RunPlan,
    cases: &[&Case],
    facts: &mut BTreeMap<Place, Facts>,
    remains: &mut BTreeMap<String, Remains>,
) {
    let Some(wait) = plan.stage.utp.values().map(|session| session.pace.late).max() else { return };
    let Some(last) = remains.values().flat_map(|remains| &remains.world.late).map(Late::since).max() else {
        return;
    };
    transcript::rest((last + wait).saturating_duration_since(std::time::Instant::now())).await;
    // In the order of the cases: the first fault of a scenario is the one that is told.
    let mut lates = Vec::new();
    let mut whose = Vec::new();
    for case in cases {
        let own = remains.get_mut(&case.id).map(|remains| std::mem::take(&mut remains.world.late));
        for late in own.unwrap_or_default() {
            lates.push(late);
            whose.push(*case);
        }
    }
    for (case, fault) in whose.into_iter().zip(late::judge_again(&lates)) {
        let (Some(facts), Some(remains)) = (facts.get_mut(&case.at), remains.get_mut(&case.id)) else {
            continue;
        };
        if let (Some((trouble, frames)), None) = (fault, &facts.trouble) {
            facts.trouble = Some(trouble);
            facts.step = case.scenario().steps.last().map(StepPlace::of);
            remains.judged = Some(frames);
        }
    }
}

type Driven = (BTreeMap<Place, Facts>, BTreeMap<String, Remains>);

/// Runs the cases of one family.
async fn drive_all<W: FamilyWorld>(library: &Library, plan: &RunPlan, cases: &[&Case]) -> Driven {
    let mut driven = Driven::default();
    // What may end a target comes last and one by one, so that it is known what ended it.
    let (last, first): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.tags.contains(LAST));
    let (holding, first): (Vec<&Case>, Vec<&Case>) =
        first.into_iter().partition(|case| case.tags.contains(HOLDS));
    let one_by_one = if answers(plan) { 1 } else { plan.jobs };
    for (cases, jobs) in [(first, jobs(plan)), (holding, jobs(plan)), (last, one_by_one)] {
        if !cases.is_empty() {
            let (facts, remains) = drive::<W>(library, plan, &cases, jobs).await;
            driven.0.extend(facts);
            driven.1.extend(remains);
        }
    }
    driven
}

async fn drive<W: FamilyWorld>(library: &Library, plan: &RunPlan, cases: &[&Case], jobs: usize) -> Driven {
    let ids: Arc<BTreeMap<Place, String>> =
        Arc::new(cases.iter().map(|case| (case.at.clone(), case.id.clone())).collect());
    let remains: Arc<Mutex<BTreeMap<String, Remains>>> = Arc::default();
    let progress = Arc::clone(&plan.progress);
    let told = Arc::clone(&ids);
    let gatherer = Gatherer::new(move |place: &Place, facts: &Facts| {
        if let Some(id) = told.get(place) {
            progress.scenario(id, rough_outcome(facts));
        }
    });
    let stage = plan.stage.clone();
    let packs = !library.is_for_many_runs();
    let memory = Arc::clone(&plan.memory);
    let before_ids = Arc::clone(&ids);
    let sink = Arc::clone(&remains);
    let runner = runner::Basic::default()
        .steps(library.steps.of::<W>())
        .max_concurrent_scenarios(Some(jobs.max(1)))
        .before(move |feature, _, scenario, world: &mut W| {
            if let Some(id) = before_ids.get(&writer::place(feature, scenario)) {
                let core = world.core_mut();
                core.stage = stage.clone();
                core.transcript = memory.transcript(id);
                id.clone_into(&mut core.scenario);
            }
            async {}.boxed_local()
        })
        .after(move |feature, _, scenario, ended, world| {
            if let (Some(id), Some(world)) = (ids.get(&writer::place(feature, scenario)), world) {
                let notes = world.core().notes.clone();
                let mut left = Remains { world: world.remains(), notes, judged: None };
                if matches!(ended, ScenarioFinished::StepPassed) {
                    left.forget_evidence();
                }
                if let (Some(transcript), true) = (&left.world.transcript, packs) {
                    transcript.pack();
                }
                lock(&sink).insert(id.clone(), left);
                world.leave();
            }
            async {}.boxed_local()
        });
    let gatherer = Cucumber::<W, _, Vec<gherkin::Feature>, _, _>::custom(Given, runner, gatherer)
        .with_default_cli()
        .run(library.catalogue.select(cases))
        .await;
    let remains = std::mem::take(&mut *lock(&remains));
    (gatherer.facts, remains)
}

/// What the progress shows: the level of the rules is not looked at yet.
fn rough_outcome(facts: &Facts) -> Outcome {
    match &facts.trouble {
        None => Outcome::Passed,
        Some(Trouble::Broken(_)) => Outcome::Failed,
        Some(Trouble::NotObserved(_)) => Outcome::NotObserved,
        Some(Trouble::NotApplicable(_)) => Outcome::NotApplicable,
        Some(Trouble::CouldNotRun { .. }) => Outcome::CouldNotRun,
    }
}

/// Hands features that are parsed already to cucumber.
struct Given;

impl Parser<Vec<gherkin::Feature>> for Given {
    type Cli = cli::Empty;
    type Output = stream::Iter<std::vec::IntoIter<parser::Result<gherkin::Feature>>>;

    fn parse(self, input: Vec<gherkin::Feature>, _: Self::Cli) -> Self::Output {
        stream::iter(input.into_iter().map(Ok).collect::<Vec<_>>())
    }
}

/// Capabilities that a case asks for and the target does not declare.
pub(super) fn undeclared(case: &Case, declared: &BTreeSet<String>) -> Vec<String> {
    case.capabilities.difference(declared).cloned().collect()
}
