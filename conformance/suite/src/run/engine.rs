//! Drives cucumber over the selected cases.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Level;
use cucumber::event::ScenarioFinished;
use cucumber::{Cucumber, Parser, cli, parser, runner};
use futures::future::LocalBoxFuture;
use futures::{FutureExt as _, StreamExt as _, stream};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::alone;
use super::company::Company;
use super::memory::Account;
use super::remains::Remains;
use super::writer::{self, Facts, Gatherer, StepPlace};
use super::{Library, RunOutput, RunPlan, verdict};
use crate::catalogue::{Case, Place};
use crate::pace::heartbeat;
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
    let mut watching = JoinSet::new();
    watching.spawn(heartbeat::watch());
    let company = Arc::new(Company::default());
    let mut driven = drive_families(library, plan, &company).await;
    let again = Again { library, plan, company };
    let counts = |profile: &str| plan.stage.idle(profile).is_none();
    let mut remarks = alone::settle(plan.alone, &counts, &runnable, &mut driven, &again).await;
    remarks.extend(alone::ends(&runnable, &driven));
    alone::blame_the_machine(&mut driven, &runnable);
    for remark in &remarks {
        plan.progress.remark(&remark.text);
    }
    let (mut facts, mut remains) = driven;
    let judging = async {
        look_again(plan, &runnable, &mut facts, &mut remains).await;
        verdict::fold(library, plan, &selected, &capabilities, &facts, &remains)
    };
    let record = plan.memory.steps(judging).await;
    plan.progress.end();
    let took = |case: &&Case| Some((case.id.clone(), facts.get(&case.at)?.took));
    let timings = selected.iter().filter_map(took).collect();
    let account = Account::of(plan, &remains);
    RunOutput { record, timings, remarks, remains, secrets: plan.secrets.clone(), account }
}

/// The selected cases that have a stage and ask for nothing that is not declared.
fn runnable<'a>(library: &'a Library, plan: &RunPlan) -> Vec<&'a Case> {
    let capabilities = plan.stage.capabilities();
    let has_stage = |case: &&Case| !plan.blocked.contains_key(&case.profile);
    let selected = library.select(&plan.selection).into_iter().filter(has_stage);
    selected.filter(|case| case.capabilities.is_subset(&capabilities)).collect()
}

async fn drive_families(library: &Arc<Library>, plan: &Arc<RunPlan>, company: &Arc<Company>) -> Driven {
    let waiting = Arc::new(Mutex::new(VecDeque::from(ORDER)));
    let runtime = Handle::current();
    if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return plan.memory.steps(lane(library, plan, company, &waiting)).await;
    }
    let lanes = (0..LANES).map(|_| {
        let (library, plan, waiting) = (Arc::clone(library), Arc::clone(plan), Arc::clone(&waiting));
        let (runtime, company) = (runtime.clone(), Arc::clone(company));
        on_a_thread(move || runtime.block_on(plan.memory.steps(lane(&library, &plan, &company, &waiting))))
    });
    let mut driven = Driven::default();
    for own in futures::future::join_all(lanes).await {
        let (facts, remains) = own.unwrap_or_default();
        driven.0.extend(facts);
        driven.1.extend(remains);
    }
    driven
}

/// Does work on a thread with a stack that is large enough for it. Without a thread nothing comes of it, and the verdict
/// says so.
fn on_a_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (done, doing) = oneshot::channel();
    let work = move || {
        // Nobody waits any more where the run was broken off.
        let _ = done.send(work());
    };
    let _ = std::thread::Builder::new().name("lane".to_owned()).stack_size(STACK).spawn(work);
    doing
}

/// Runs scenarios again, one at a time.
struct Again<'a> {
    library: &'a Arc<Library>,
    plan: &'a Arc<RunPlan>,
    company: Arc<Company>,
}

impl alone::Drive for Again<'_> {
    fn drive<'a>(&'a self, family: Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
        let runtime = Handle::current();
        let ids: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
        let (library, plan) = (Arc::clone(self.library), Arc::clone(self.plan));
        let company = Arc::clone(&self.company);
        async move {
            if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
                return plan.memory.steps(drive_again(family, &library, &plan, &company, &ids)).await;
            }
            let work = move || {
                runtime.block_on(plan.memory.steps(drive_again(family, &library, &plan, &company, &ids)))
            };
            on_a_thread(work).await.unwrap_or_default()
        }
        .boxed_local()
    }
}

async fn drive_again(
    family: Family,
    library: &Library,
    plan: &RunPlan,
    company: &Arc<Company>,
    ids: &BTreeSet<String>,
) -> Driven {
    let cases: Vec<&Case> = library.catalogue.cases().iter().filter(|case| ids.contains(&case.id)).collect();
    let how = How { jobs: 1, attempt: 1, company };
    match family {
        Family::Utp => drive::<utp::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Runtime => drive::<runtime::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Management => drive::<management::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Toolbus => drive::<toolbus::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Hub => drive::<hub::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Agent => drive::<hub::agent::world::World>(library, plan, &cases, how).boxed_local(),
        Family::Runner => drive::<breadcrumb::world::World>(library, plan, &cases, how).boxed_local(),
        Family::CrumbAgent => {
            drive::<breadcrumb::agent::world::World>(library, plan, &cases, how).boxed_local()
        }
    }
    .await
}

/// Drives families until none waits.
async fn lane(
    library: &Library,
    plan: &RunPlan,
    company: &Arc<Company>,
    waiting: &Mutex<VecDeque<Family>>,
) -> Driven {
    let next = stream::unfold((), |()| async { Some((lock(waiting).pop_front()?, ())) });
    let driving = next.map(|family| drive_family(family, library, plan, company)).buffer_unordered(FAMILIES);
    driving
        .fold(Driven::default(), |mut driven, own| async {
            driven.0.extend(own.0);
            driven.1.extend(own.1);
            driven
        })
        .await
}

async fn drive_family(family: Family, library: &Library, plan: &RunPlan, company: &Arc<Company>) -> Driven {
    let mut cases = runnable(library, plan);
    cases.retain(|case| Family::of(&case.profile) == family);
    let cases = &cases;
    match family {
        Family::Utp => drive_all::<utp::world::World>(library, plan, (family, company), cases).boxed_local(),
        Family::Runtime => {
            drive_all::<runtime::world::World>(library, plan, (family, company), cases).boxed_local()
        }
        Family::Management => {
            drive_all::<management::world::World>(library, plan, (family, company), cases).boxed_local()
        }
        Family::Toolbus => {
            drive_all::<toolbus::world::World>(library, plan, (family, company), cases).boxed_local()
        }
        Family::Hub => drive_all::<hub::world::World>(library, plan, (family, company), cases).boxed_local(),
        Family::Agent => {
            drive_all::<hub::agent::world::World>(library, plan, (family, company), cases).boxed_local()
        }
        Family::Runner => {
            drive_all::<breadcrumb::world::World>(library, plan, (family, company), cases).boxed_local()
        }
        Family::CrumbAgent => {
            drive_all::<breadcrumb::agent::world::World>(library, plan, (family, company), cases)
                .boxed_local()
        }
    }
    .await
}

/// Scenarios of a family at a time. Who asked for one gets one.
fn jobs(family: Family, plan: &RunPlan) -> usize {
    let roles = plan.stage.utp.values().filter(|_| family == Family::Utp);
    let worth = roles.map(|session| session.pace.jobs).max().unwrap_or(1);
    if plan.jobs > 1 { plan.jobs.max(worth) } else { 1 }
}

/// As [`jobs`], of scenarios that may end the target: one, unless nothing that this target does counts anyway.
fn jobs_at_last(family: Family, plan: &RunPlan, cases: &[&Case]) -> usize {
    let counts = match family {
        Family::Utp => plan.stage.utp.values().any(|session| session.liveness == Liveness::Answers),
        _ => cases.iter().any(|case| plan.stage.idle(&case.profile).is_none()),
    };
    if counts { 1 } else { plan.jobs }
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

/// What became of scenarios, and what they left.
pub(super) type Driven = (BTreeMap<Place, Facts>, BTreeMap<String, Remains>);

/// Runs the cases of one family.
async fn drive_all<W: FamilyWorld>(
    library: &Library,
    plan: &RunPlan,
    (family, company): (Family, &Arc<Company>),
    cases: &[&Case],
) -> Driven {
    let mut driven = Driven::default();
    // What may end a target comes last and one by one, so that it is known what ended it.
    let (last, first): (Vec<&Case>, Vec<&Case>) = cases.iter().partition(|case| case.tags.contains(LAST));
    let (holding, first): (Vec<&Case>, Vec<&Case>) =
        first.into_iter().partition(|case| case.tags.contains(HOLDS));
    let (jobs, at_last) = (jobs(family, plan), jobs_at_last(family, plan, &last));
    for (cases, jobs) in [(first, jobs), (holding, jobs), (last, at_last)] {
        if !cases.is_empty() {
            let (facts, remains) = drive::<W>(library, plan, &cases, How { jobs, attempt: 0, company }).await;
            driven.0.extend(facts);
            driven.1.extend(remains);
        }
    }
    driven
}

/// How scenarios are run.
#[derive(Clone, Copy)]
struct How<'a> {
    /// At a time.
    jobs: usize,
    /// How often they were run before.
    attempt: u32,
    company: &'a Arc<Company>,
}

async fn drive<W: FamilyWorld>(library: &Library, plan: &RunPlan, cases: &[&Case], how: How<'_>) -> Driven {
    let How { jobs, attempt, company } = how;
    let ids: Arc<BTreeMap<Place, String>> =
        Arc::new(cases.iter().map(|case| (case.at.clone(), case.id.clone())).collect());
    let remains: Arc<Mutex<BTreeMap<String, Remains>>> = Arc::default();
    let progress = Arc::clone(&plan.progress);
    let told = Arc::clone(&ids);
    let levels: BTreeMap<Place, Level> =
        cases.iter().map(|case| (case.at.clone(), verdict::level(library, case))).collect();
    let strict = plan.strict;
    let gatherer = Gatherer::new(move |place: &Place, facts: &Facts| {
        // What is run again was shown before.
        let is_new = attempt == 0;
        if let (true, Some(id), Some(level)) = (is_new, told.get(place), levels.get(place)) {
            progress.scenario(id, verdict::shown(*level, facts, strict));
        }
    });
    let stage = plan.stage.clone();
    let packs = !library.is_for_many_runs();
    let memory = Arc::clone(&plan.memory);
    let before_ids = Arc::clone(&ids);
    let families: Arc<BTreeMap<String, Family>> =
        Arc::new(cases.iter().map(|case| (case.id.clone(), Family::of(&case.profile))).collect());
    let entering = Arc::clone(&families);
    let (entered, company) = (Arc::clone(company), Arc::clone(company));
    let beginning = Arc::clone(&plan.progress);
    let sink = Arc::clone(&remains);
    let runner = runner::Basic::default()
        .steps(library.steps.of::<W>())
        .max_concurrent_scenarios(Some(jobs.max(1)))
        .before(move |feature, _, scenario, world: &mut W| {
            if let Some(id) = before_ids.get(&writer::place(feature, scenario)) {
                let core = world.core_mut();
                core.stage = stage.clone();
                core.transcript = memory.transcript(id, attempt);
                id.clone_into(&mut core.scenario);
                if let Some(family) = entering.get(id) {
                    entered.enter(id, *family);
                }
                beginning.started(id);
            }
            async {}.boxed_local()
        })
        .after(move |feature, _, scenario, ended, world| {
            if let (Some(id), Some(world)) = (ids.get(&writer::place(feature, scenario)), world) {
                let notes = world.core().notes.clone();
                let mut left = Remains { world: world.remains(), notes, ..Remains::default() };
                if world.core().trouble.is_some() {
                    left.flight = families.get(id).map(|own| company.of(*own)).unwrap_or_default();
                }
                (left.beside, left.order) = company.leave(id);
                alone::look_back(&mut left, world.core(), world.borrowed());
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
