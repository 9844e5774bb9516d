//! The step definitions of a family, and how they drive its scenarios. It hides the family's World from the engine.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

use cucumber::codegen::{LazyRegex, StepConstructor as _, WorldInventory, inventory};
use cucumber::event::ScenarioFinished;
use cucumber::step::{AmbiguousMatchError, Location};
use cucumber::{Cucumber, Parser, cli, parser, runner};
use futures::future::LocalBoxFuture;
use futures::{FutureExt as _, stream};

use super::company::Company;
use super::scenario_result::ScenarioResult;
use super::steps::Steps;
use super::writer::{Facts, Gatherer};
use crate::engine::invariant::ALWAYS;
use crate::engine::session::{Session, Sessions};
use crate::engine::world::{Abort, FamilyWorld};
use crate::spec::catalog::{Case, Place};
use crate::transcript::{Transcript, lock};

/// The step definitions of a family.
pub trait Vocabulary: Sync {
    /// Runs scenarios of the family.
    fn drive<'a>(&self, batch: Batch<'a>) -> LocalBoxFuture<'a, Driven>;

    /// What finds the definition of a step. It compiles all of them, so it is made once for many steps.
    fn finder(&self) -> Finder;

    /// All definitions.
    fn definitions(&self) -> Vec<Definition>;
}

/// Finds the definition of a step: nothing where there is none, an error where there are several.
pub type Finder = Box<dyn Fn(&gherkin::Step) -> Result<Option<Location>, AmbiguousMatchError>>;

/// A step definition.
#[derive(Clone, Debug)]
pub struct Definition {
    /// Where it stands.
    pub at: Location,
    /// Its expression.
    pub expression: String,
}

/// The vocabulary of a World.
pub(crate) struct WorldOf<W>(PhantomData<fn() -> W>);

impl<W> WorldOf<W> {
    pub(crate) const NEW: Self = Self(PhantomData);
}

impl<W: FamilyWorld> Vocabulary for WorldOf<W> {
    fn drive<'a>(&self, batch: Batch<'a>) -> LocalBoxFuture<'a, Driven> {
        drive::<W>(batch).boxed_local()
    }

    fn finder(&self) -> Finder {
        let steps = W::collection();
        // A definition that the macros made has a location.
        Box::new(move |step| Ok(steps.find(step)?.and_then(|(_, _, location, _)| location)))
    }

    fn definitions(&self) -> Vec<Definition> {
        let definition = |at: Location, regex: LazyRegex| Definition { at, expression: regex().to_string() };
        let mut all = Vec::new();
        for step in inventory::iter::<<W as WorldInventory>::Given> {
            let (at, regex, _) = step.inner();
            all.push(definition(at, regex));
        }
        for step in inventory::iter::<<W as WorldInventory>::When> {
            let (at, regex, _) = step.inner();
            all.push(definition(at, regex));
        }
        for step in inventory::iter::<<W as WorldInventory>::Then> {
            let (at, regex, _) = step.inner();
            all.push(definition(at, regex));
        }
        all
    }
}

/// The transcript of a scenario, by its id.
type MakeTranscript = Box<dyn Fn(&str) -> Arc<Transcript>>;
/// Called with what a scenario left.
type OnResult = Box<dyn Fn(&ScenarioResult)>;
/// Called with a scenario's id, place and outcome when it ends.
type OnEnd = Box<dyn Fn(&str, &Place, &Facts)>;

/// Scenarios of one family that are run together, and what they are run with.
pub struct Batch<'a> {
    /// Id of their family.
    pub(super) family: &'static str,
    /// What they run against, as [`Family::target`](crate::engine::family::Family::target) names it.
    pub(super) target: &'static str,
    pub(super) cases: &'a [&'a Case],
    /// The same, as cucumber reads them.
    pub(super) features: Vec<gherkin::Feature>,
    /// Scenarios at a time.
    pub(super) jobs: usize,
    /// Whether each may end the target: then it is known that it has, before the next one begins.
    pub(super) may_end_target: bool,
    pub(super) steps: &'a Steps,
    pub(super) sessions: &'a Sessions,
    pub(super) company: &'a Arc<Company>,
    /// Whether a scenario may begin, by its id; one that may not leaves nothing. Asked once for each that sends something.
    pub(super) may_begin: Box<dyn Fn(&str) -> bool>,
    /// Makes the transcript of a scenario.
    pub(super) transcript: MakeTranscript,
    /// Called with the id of each scenario that begins.
    pub(super) on_start: Box<dyn Fn(&str)>,
    /// Called with what each scenario left.
    pub(super) on_result: OnResult,
    /// Called with each scenario that has ended.
    pub(super) on_end: OnEnd,
}

/// What became of scenarios, and what they left.
#[derive(Debug, Default)]
pub struct Driven {
    pub(super) facts: BTreeMap<Place, Facts>,
    /// By the id of the scenario.
    pub(super) results: BTreeMap<String, ScenarioResult>,
}

impl Driven {
    /// Adds what became of others.
    pub(super) fn extend(&mut self, others: Self) {
        self.facts.extend(others.facts);
        self.results.extend(others.results);
    }
}

async fn drive<W: FamilyWorld>(batch: Batch<'_>) -> Driven {
    let Batch { family, target, cases, features, jobs, may_end_target, .. } = batch;
    let Batch { steps, sessions, company, may_begin, transcript, on_start, on_result, on_end, .. } = batch;
    let ids: Arc<BTreeMap<Place, String>> =
        Arc::new(cases.iter().map(|case| (case.at.clone(), case.id.clone())).collect());
    let results: Arc<Mutex<BTreeMap<String, ScenarioResult>>> = Arc::default();
    let (starting, ending) = (Arc::clone(&ids), Arc::clone(&ids));
    let (entered, left) = (Arc::clone(company), Arc::clone(company));
    let sessions = sessions.clone();
    let ending_sessions = if may_end_target { sessions.clone() } else { Sessions::default() };
    // Where many runs follow each other, a transcript is soon forgotten.
    let packs = !steps.keeps();
    let sink = Arc::clone(&results);
    let refused: Arc<Mutex<BTreeSet<Place>>> = Arc::default();
    let (refusing, without, unshown) = (Arc::clone(&refused), Arc::clone(&refused), Arc::clone(&refused));
    let gatherer = Gatherer::new(move |place: &Place, facts: &Facts| {
        if let Some(id) = ids.get(place).filter(|_| !lock(&unshown).contains(place)) {
            on_end(id, place, facts);
        }
    });
    let runner = runner::Basic::default()
        .steps(steps.of::<W>())
        .max_concurrent_scenarios(Some(jobs.max(1)))
        .before(move |feature, rule, scenario, world: &mut W| {
            let place = Place::of(feature, scenario);
            if let Some(id) = starting.get(&place) {
                let of_rule = rule.iter().flat_map(|rule| &rule.tags);
                let mut tags = feature.tags.iter().chain(of_rule).chain(&scenario.tags);
                let is_always = tags.any(|tag| tag == ALWAYS);
                if !is_always && !may_begin(id) {
                    lock(&refusing).insert(place);
                    return async { std::panic::panic_any(Abort.to_string()) }.boxed_local();
                }
                let core = world.core_mut();
                core.family = family;
                core.sessions = sessions.clone();
                core.transcript = transcript(id);
                id.clone_into(&mut core.scenario);
                if !is_always {
                    entered.enter(id, target);
                    on_start(id);
                }
            }
            async {}.boxed_local()
        })
        .after(move |feature, _, scenario, ended, world| {
            if lock(&without).contains(&Place::of(feature, scenario)) {
                return async {}.boxed_local();
            }
            let has_trouble = world.as_ref().is_some_and(|world| world.core().trouble.is_some());
            if let (Some(id), Some(world)) = (ending.get(&Place::of(feature, scenario)), world) {
                let notes = world.core().notes.clone();
                let mut own =
                    ScenarioResult { artifacts: world.artifacts(), notes, ..ScenarioResult::default() };
                if world.core().trouble.is_some() {
                    own.flight = left.of(target);
                }
                (own.beside, own.order) = left.leave(id);
                own.exited = world.exited();
                own.look_back(world.core(), world.borrowed());
                own.invariant = world.invariant();
                on_result(&own);
                if matches!(ended, ScenarioFinished::StepPassed) {
                    own.forget_evidence();
                }
                if let (Some(transcript), true) = (&own.artifacts.transcript, packs) {
                    transcript.pack();
                }
                lock(&sink).insert(id.clone(), own);
                world.on_end();
            }
            let sessions = if has_trouble { ending_sessions.clone() } else { Sessions::default() };
            async move {
                if let Some(process) = sessions.of(family).and_then(Session::process) {
                    process.ends_shortly().await;
                }
            }
            .boxed_local()
        });
    let mut gatherer = Cucumber::<W, _, Vec<gherkin::Feature>, _, _>::custom(Given, runner, gatherer)
        .with_default_cli()
        .run(features)
        .await;
    let refused = lock(&refused);
    gatherer.facts.retain(|place, _| !refused.contains(place));
    let results = std::mem::take(&mut *lock(&results));
    if packs {
        // What the target sent when its scenario had ended.
        results.values().filter_map(|own| own.artifacts.transcript.as_ref()).for_each(|own| own.pack());
    }
    Driven { facts: gatherer.facts, results }
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
