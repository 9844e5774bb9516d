//! Drives cucumber over the selected cases.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use callmark_reports::record::{Level, Outcome, Partial};
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::JoinSet;

use super::always::Watched;
use super::breaker::Breaker;
use super::company::Company;
use super::counting::Counting;
use super::order::{LAST, jobs, long_first, turns};
use super::queue::{Lane, Queue, Work};
use super::replay_bundle::ReplayBundle;
use super::scenario_result::{RerunReason, ScenarioResult};
use super::stop::Stop;
use super::threads::{on_a_thread, on_all_processors};
use super::vocabulary::{Batch, Driven};
use super::writer::{Facts, StepPlace};
use super::{Library, RunOutput, RunPlan, Selection, alone, always, ends, hung, rerun, verdict};
use crate::engine::family::{Families, Family};
use crate::engine::session::{Declared, Session};
use crate::engine::target::SharedProcess;
use crate::engine::timing::heartbeat;
use crate::spec::catalog::{Case, Place};
use crate::transcript;
use crate::transcript::lock;

/// Threads that drive families. One cannot keep two processors busy, since cucumber polls all steps of a family in
/// one task; and the first family waits more than it does. What mostly waits has a thread for each of two revisions.
const LANES: [Lane; 5] = [Lane::Main, Lane::Main, Lane::Main, Lane::Beside, Lane::Beside];

/// Runs the selected cases against the sessions.
///
/// On a runtime with several threads the families are driven on threads of their own, which end with the run.
pub fn run<'a>(library: &'a Arc<Library>, plan: &'a Arc<RunPlan>) -> LocalBoxFuture<'a, RunOutput> {
    Box::pin(run_all(library, plan))
}

async fn run_all(library: &Arc<Library>, plan: &Arc<RunPlan>) -> RunOutput {
    let selected = library.select(&plan.selection);
    let counting = Arc::new(Counting::of(library, &plan.selection));
    let runnable = runnable(library, plan);
    let stop = Arc::new(Stop::new(plan.fail_fast));
    plan.progress.begin(runnable.len());
    let mut watching = JoinSet::new();
    watching.spawn(heartbeat::watch());
    let company = Arc::new(Company::default());
    let own: HashSet<&str> = runnable.iter().map(|case| case.id.as_str()).collect();
    let all = library.catalogue.cases().iter().enumerate();
    let places = all.filter(|(_, case)| own.contains(case.id.as_str())).map(|(place, _)| place).collect();
    let at_a_time = library.families.iter().map(|family| jobs(family, plan)).max().unwrap_or(1);
    let breaker = Arc::new(Breaker::new(at_a_time, plan.alone > 0));
    let shared = Shared {
        company,
        counting: Arc::clone(&counting),
        stop: Arc::clone(&stop),
        breaker: Arc::clone(&breaker),
        runnable: Arc::new(places),
    };
    let again = Rerun { library, plan, shared: shared.clone(), repeats: RefCell::default() };
    let mut driven = Driven::default();
    let (mut remarks, mut hung) = (Vec::new(), BTreeSet::new());
    let runnable = loop {
        driven.extend(drive_families(library, plan, &shared).await);
        let mut ran = runnable.clone();
        ran.retain(|case| !stop.leaves_out(&case.id) && !breaker.postpones(&case.id));
        let ends = ends::find(&ran, &driven, library.families, &again);
        let settled = alone::settle(plan.alone, &ran, &mut driven, &again).await;
        remarks.extend(settled.remarks);
        let families = settled.hung.iter().filter_map(|profile| library.families.of(profile));
        hung.extend(families.map(|family| family.target_in(&plan.sessions)));
        remarks.extend(ends::remarks(&ends, &driven));
        ends::blame(&ends, plan.alone, &mut driven, library.families, &again).await;
        ends::blame_the_lone(&ran, &mut driven, library.families);
        alone::blame_the_machine(&mut driven, &ran);
        let is_broken = ran.iter().any(|case| {
            let shown = |facts| verdict::shown(shown_level(library, &counting, case), facts, plan.strict);
            driven.facts.get(&case.at).map(shown) == Some(Outcome::Failed)
        });
        let goes_on = stop.goes_on(is_broken);
        if !breaker.goes_on(&hung) && !goes_on {
            ran.extend(give_up(plan, &runnable, &breaker, &mut driven));
            break ran;
        }
    };
    for remark in &remarks {
        plan.progress.remark(remark);
    }
    let Driven { mut facts, mut results } = driven;
    let secrets = plan.all_secrets().await;
    let judging = async {
        // While there may be time left until the second look.
        let watched = always::judge(&counting, &runnable, &mut facts, &mut results);
        show_always(library, plan, (&counting, &judged(plan, &runnable, &watched, &stop)), &facts);
        recheck(plan, &runnable, &mut facts, &mut results).await;
        let judged = judged(plan, &selected, &watched, &stop);
        let partial = if stop.has_stopped() { Some(Partial::Stopped) } else { plan.selection.partial };
        let record =
            verdict::fold(library, (plan, &secrets), (&counting, &judged), &facts, &results, partial);
        (record, watched)
    };
    let (record, watched) = plan.memory.steps(judging).await;
    plan.progress.end();
    let took = |case: &&Case| Some((case.id.clone(), facts.get(&case.at)?.took));
    let timings = selected.iter().filter_map(took).collect();
    let account = ReplayBundle::of(plan, &secrets, &results);
    RunOutput { record, timings, remarks, watched, results, secrets, account, families: library.families }
}

/// Concludes nothing of what was postponed until its target answers again, which it did not.
fn give_up<'a>(
    plan: &RunPlan,
    runnable: &[&'a Case],
    breaker: &Breaker,
    driven: &mut Driven,
) -> Vec<&'a Case> {
    let mut postponed = runnable.to_vec();
    postponed.retain(|case| breaker.postpones(&case.id));
    for case in &postponed {
        driven.facts.insert(case.at.clone(), Facts::ended(Some(hung::trouble())));
        driven.results.insert(case.id.clone(), ScenarioResult::default());
        plan.progress.scenario(&case.id, Outcome::CouldNotRun);
    }
    postponed
}

/// The selected cases that have a session and ask for nothing that is not declared.
fn runnable<'a>(library: &'a Library, plan: &RunPlan) -> Vec<&'a Case> {
    let declared = Declared::by(&plan.sessions);
    let has_session = |case: &&Case| !plan.blocked.contains_key(&case.profile);
    let selected = library.select(&plan.selection).into_iter().filter(has_session);
    selected.filter(|case| declared.undeclared(case).is_empty()).collect()
}

/// The selected cases that the record holds. In a part of a run those are missing that judge every exchange and had none
/// there: that other parts have none either, only a whole record can say. So is what a stopped run did not begin.
fn judged<'a>(
    plan: &RunPlan,
    selected: &[&'a Case],
    watched: &BTreeMap<String, Watched>,
    stop: &Stop,
) -> Vec<&'a Case> {
    let is_unseen = |case: &Case| watched.get(&case.id).is_some_and(Watched::saw_nothing);
    let Selection { shard, partial, .. } = &plan.selection;
    let is_part = shard.is_some() || partial.is_some() || stop.has_stopped();
    let is_out = |case: &Case| stop.leaves_out(&case.id) || (is_part && is_unseen(case));
    selected.iter().copied().filter(|case| !is_out(case)).collect()
}

async fn drive_families(library: &Arc<Library>, plan: &Arc<RunPlan>, shared: &Shared) -> Driven {
    let queue = Arc::new(Mutex::new(Queue::of(
        library.families.iter().map(|family| (family, family.target_in(&plan.sessions))),
    )));
    let runtime = Handle::current();
    if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
        return plan.memory.steps(drive_lane(library, plan, shared, &queue, Lane::Main)).await;
    }
    let lanes = LANES.map(|lane| {
        let (library, plan, queue) = (Arc::clone(library), Arc::clone(plan), Arc::clone(&queue));
        let (runtime, shared) = (runtime.clone(), shared.clone());
        on_a_thread(runtime, move || async move {
            plan.memory.steps(drive_lane(&library, &plan, &shared, &queue, lane)).await
        })
    });
    let mut driven = Driven::default();
    for own in futures::future::join_all(lanes).await {
        driven.extend(own.unwrap_or_default());
    }
    driven
}

/// Runs scenarios again, one at a time.
struct Rerun<'a> {
    library: &'a Arc<Library>,
    plan: &'a Arc<RunPlan>,
    shared: Shared,
    /// How often scenarios were run again, by their ids: each time they have other ids.
    repeats: RefCell<BTreeMap<String, u32>>,
}

impl rerun::Drive for Rerun<'_> {
    fn families(&self) -> Families {
        self.library.families
    }

    fn target_of(&self, family: &'static dyn Family) -> &'static str {
        family.target_in(&self.plan.sessions)
    }

    fn counts(&self, profile: &str) -> bool {
        self.library.families.idle(&self.plan.sessions, profile).is_none()
    }

    fn is_required(&self, case: &Case) -> bool {
        shown_level(self.library, &self.shared.counting, case) == Level::Must
    }

    fn announce(&self, scenarios: usize) {
        self.plan.progress.repeat(scenarios);
    }

    fn drive<'a>(&'a self, family: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
        let runtime = Handle::current();
        let ids: BTreeSet<String> = cases.iter().map(|case| case.id.clone()).collect();
        let (library, plan) = (Arc::clone(self.library), Arc::clone(self.plan));
        let shared = self.shared.clone();
        let attempt = self.next_attempt(&ids);
        async move {
            let driving = async move || {
                plan.memory.steps(drive_again(family, &library, &plan, &shared, &ids, attempt)).await
            };
            if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
                return driving().await;
            }
            on_a_thread(runtime, driving).await.unwrap_or_default()
        }
        .boxed_local()
    }
}

impl Rerun<'_> {
    /// How often scenarios that are run again were run before; all of them go by the one that was run most often.
    fn next_attempt(&self, ids: &BTreeSet<String>) -> u32 {
        let mut repeats = self.repeats.borrow_mut();
        let attempt = 1 + ids.iter().filter_map(|id| repeats.get(id).copied()).max().unwrap_or_default();
        repeats.extend(ids.iter().map(|id| (id.clone(), attempt)));
        attempt
    }

    /// The sessions of a target.
    fn sessions_of(&self, target: &str) -> impl Iterator<Item = &dyn Session> {
        let sessions = &self.plan.sessions;
        let families =
            self.library.families.iter().filter(move |family| family.target_in(sessions) == target);
        families.filter_map(|family| self.plan.sessions.of(family.id()))
    }

    /// The processes of a target, where the suite started it.
    fn process(&self, target: &str) -> Option<&SharedProcess> {
        self.sessions_of(target).find_map(Session::process)
    }
}

impl ends::Revive for Rerun<'_> {
    fn target_of(&self, family: &'static dyn Family) -> &'static str {
        family.target_in(&self.plan.sessions)
    }

    fn last_lines(&self, target: &str) -> Vec<String> {
        self.process(target).map(|process| process.last_lines(ends::LINES)).unwrap_or_default()
    }

    fn ended<'a>(&'a self, target: &'a str) -> LocalBoxFuture<'a, Option<String>> {
        async move { self.process(target)?.ends_shortly().await }.boxed_local()
    }

    fn restart<'a>(&'a self, target: &'a str) -> LocalBoxFuture<'a, Result<(), String>> {
        async move {
            let process = self.process(target).ok_or_else(|| "the suite did not start it".to_owned())?;
            process.restart()?;
            for session in self.sessions_of(target) {
                session.answers_again().await?;
            }
            Ok(())
        }
        .boxed_local()
    }

    fn drive<'a>(&'a self, family: &'static dyn Family, cases: &'a [&'a Case]) -> LocalBoxFuture<'a, Driven> {
        rerun::Drive::drive(self, family, cases)
    }
}

async fn drive_again(
    family: &'static dyn Family,
    library: &Library,
    plan: &Arc<RunPlan>,
    shared: &Shared,
    ids: &BTreeSet<String>,
    attempt: u32,
) -> Driven {
    let cases: Vec<&Case> = library.catalogue.cases().iter().filter(|case| ids.contains(&case.id)).collect();
    drive(family, library, plan, shared, &cases, How { jobs: 1, attempt }).await
}

/// What all batches of a run share.
#[derive(Clone)]
struct Shared {
    company: Arc<Company>,
    counting: Arc<Counting>,
    stop: Arc<Stop>,
    breaker: Arc<Breaker>,
    /// The places of the cases that run, among all of the catalogue.
    runnable: Arc<Vec<usize>>,
}

/// Drives families until none waits.
async fn drive_lane(
    library: &Library,
    plan: &Arc<RunPlan>,
    shared: &Shared,
    queue: &Mutex<Queue>,
    lane: Lane,
) -> Driven {
    let mut driven = Driven::default();
    loop {
        let Some(work) = lock(queue).next(lane) else { return driven };
        match &work {
            Work::First(family) => {
                driven.extend(drive_turns(*family, library, plan, shared, Turns::First).await);
            }
            Work::Last(families) => {
                for family in families {
                    driven.extend(drive_turns(*family, library, plan, shared, Turns::Last).await);
                }
            }
        }
        lock(queue).done(&work);
    }
}

/// Which scenarios of a family are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    /// Those that its target survives.
    First,
    /// Those that may end it.
    Last,
}

/// Runs the cases of one family whose turn it is.
async fn drive_turns(
    family: &'static dyn Family,
    library: &Library,
    plan: &Arc<RunPlan>,
    shared: &Shared,
    which: Turns,
) -> Driven {
    let all = library.catalogue.cases();
    let mut cases: Vec<&Case> = shared.runnable.iter().map(|place| &all[*place]).collect();
    cases.retain(|case| family.has(&case.profile) && !shared.stop.has_begun(&case.id));
    let [first, holding, last] = turns(&cases, jobs(family, plan), plan.jobs, plan.sessions.of(family.id()));
    let is_lead = |case: &&Case| plan.lead.as_ref() == Some(&case.id);
    let (lead, others): (Vec<&Case>, Vec<&Case>) = first.0.iter().copied().partition(is_lead);
    let chosen = if which == Turns::Last { vec![last] } else { vec![(lead, 1), (others, first.1), holding] };
    // What does not count comes after all that does, so that it cannot disturb that.
    let (counted, newer): (Vec<_>, Vec<_>) = chosen
        .into_iter()
        .map(|(cases, jobs)| {
            let (counted, newer) = shared.counting.split(&cases);
            ((counted, jobs), (newer, jobs))
        })
        .unzip();
    let mut driven = Driven::default();
    for (cases, jobs) in counted.into_iter().chain(newer) {
        if !cases.is_empty() {
            driven.extend(drive(family, library, plan, shared, &cases, How { jobs, attempt: 0 }).await);
        }
    }
    driven
}

/// How scenarios are run.
#[derive(Clone, Copy)]
struct How {
    /// At a time.
    jobs: usize,
    /// How often they were run before.
    attempt: u32,
}

/// Runs scenarios of one family.
async fn drive(
    family: &'static dyn Family,
    library: &Library,
    plan: &Arc<RunPlan>,
    shared: &Shared,
    cases: &[&Case],
    How { jobs, attempt }: How,
) -> Driven {
    let Shared { company, counting, stop, breaker, .. } = shared;
    // What judges the others is shown when it has.
    let shown = cases.iter().filter(|case| !always::is_always(case));
    let levels: BTreeMap<Place, Level> =
        shown.map(|case| (case.at.clone(), shown_level(library, counting, case))).collect();
    let (memory, starting, ending) =
        (Arc::clone(&plan.memory), Arc::clone(&plan.progress), Arc::clone(&plan.progress));
    let strict = plan.strict;
    let (beginning, ended) = (Arc::clone(stop), Arc::clone(stop));
    let (postponing, counting) = (Arc::clone(breaker), Arc::clone(breaker));
    let target = family.target_in(&plan.sessions);
    let batch = Batch {
        family: family.id(),
        target,
        cases,
        features: long_first(library, cases),
        jobs,
        may_end_target: cases.iter().all(|case| case.tags.contains(LAST)),
        steps: &library.steps,
        sessions: &plan.sessions,
        company,
        // What is run again has begun before.
        may_begin: Box::new(move |id| attempt > 0 || (postponing.begin(target, id) && beginning.begin(id))),
        transcript: Box::new(move |id| memory.transcript(id, attempt)),
        on_start: Box::new(move |id| starting.started(id)),
        on_result: Box::new(move |result| {
            if attempt == 0 && result.speaks_of_target() {
                counting.ended(target, result.again == Some(RerunReason::Silence));
            }
        }),
        on_end: Box::new(move |id, place, facts| {
            // What is run again was shown before.
            if let (0, Some(level)) = (attempt, levels.get(place)) {
                let outcome = verdict::shown(*level, facts, strict);
                ended.ended(outcome);
                ending.scenario(id, outcome);
            }
        }),
    };
    family.vocabulary().drive(batch).await
}

/// The level of a scenario for whoever watches the run: what does not count cannot fail.
fn shown_level(library: &Library, counting: &Counting, case: &Case) -> Level {
    if counting.counts(case) { verdict::level(library, case) } else { Level::May }
}

/// Shows what came of the scenarios that judge the others.
fn show_always(
    library: &Library,
    plan: &RunPlan,
    (counting, cases): (&Counting, &[&Case]),
    facts: &BTreeMap<Place, Facts>,
) {
    for case in cases.iter().filter(|case| always::is_always(case)) {
        if let Some(facts) = facts.get(&case.at) {
            let outcome = verdict::shown(shown_level(library, counting, case), facts, plan.strict);
            plan.progress.scenario(&case.id, outcome);
        }
    }
}

/// Judges once more, at the end, what must not have happened.
async fn recheck(
    plan: &RunPlan,
    cases: &[&Case],
    facts: &mut BTreeMap<Place, Facts>,
    results: &mut BTreeMap<String, ScenarioResult>,
) {
    let Some(at) = plan.sessions.recheck_at() else { return };
    transcript::sleep_unless_replaying(at.saturating_duration_since(Instant::now())).await;
    // Of a scenario that ran several times, the record may be about any of them.
    let attempt = |result: &ScenarioResult| Some(result.artifacts.transcript.as_ref()?.attempt());
    let counts = results.iter().filter_map(|(id, result)| Some((id.clone(), attempt(result)?))).collect();
    let found = Mutex::new(BTreeMap::new());
    on_all_processors(plan.sessions.all(), |session| {
        let own = session.recheck(&counts);
        lock(&found).extend(own);
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    for case in cases {
        let (Some(found), Some(facts), Some(result)) =
            (found.remove(&case.id), facts.get_mut(&case.at), results.get_mut(&case.id))
        else {
            continue;
        };
        if facts.trouble.is_none() {
            facts.trouble = Some(found.trouble);
            facts.step = case.scenario().steps.last().map(StepPlace::of);
            result.judged = Some(found.frames);
        }
    }
}
