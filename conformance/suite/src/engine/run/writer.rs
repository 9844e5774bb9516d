//! The cucumber writer: gathers what became of each scenario.
//!
//! It keeps facts only. What they mean for a rule is `verdict`'s business.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cucumber::event::{self, Cucumber, Feature, Hook, RetryableScenario, Rule, Scenario, Step};
use cucumber::{Event, Writer, cli, parser, writer};

use crate::engine::judge::{Cause, CheckFailure};
use crate::engine::world::FamilyWorld;
use crate::spec::catalog::Place;

/// What became of one scenario.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    /// Why it ended early; nothing when it ran through.
    pub trouble: Option<CheckFailure>,
    /// The step at which it ended.
    pub step: Option<StepPlace>,
    /// Whether its end was seen.
    pub finished: bool,
    /// From its start to its end.
    pub took: Duration,
    began: Instant,
}

/// A step as written, and where.
#[derive(Clone, Debug)]
pub(super) struct StepPlace {
    /// For example `Then the call is answered`.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl StepPlace {
    pub(super) fn of(step: &gherkin::Step) -> Self {
        Self {
            text: format!("{} {}", step.keyword.trim(), step.value),
            line: step.position.line,
            column: step.position.col,
        }
    }
}

/// Gathers facts by place; calls `done` with every finished scenario.
pub(super) struct Gatherer<Done> {
    /// By the place of the scenario or row.
    pub facts: BTreeMap<Place, Facts>,
    done: Done,
}

impl<Done: Fn(&Place, &Facts)> Gatherer<Done> {
    pub(super) fn new(done: Done) -> Self {
        Self { facts: BTreeMap::new(), done }
    }

    fn scenario<W: FamilyWorld>(
        &mut self,
        feature: &gherkin::Feature,
        scenario: &gherkin::Scenario,
        event: Scenario<W>,
    ) {
        let place = Place::of(feature, scenario);
        let facts = self.facts.entry(place.clone()).or_insert_with(|| Facts {
            trouble: None,
            step: None,
            finished: false,
            took: Duration::ZERO,
            began: Instant::now(),
        });
        match event {
            Scenario::Started => facts.began = Instant::now(),
            Scenario::Background(step, event) | Scenario::Step(step, event) => facts.step(&step, event),
            Scenario::Hook(_, Hook::Failed(_, info)) => {
                facts.trouble = Some(suite_fault(format!("a hook failed: {}", panic_text(&info))));
            }
            Scenario::Finished => {
                facts.finished = true;
                facts.took = facts.began.elapsed();
                (self.done)(&place, facts);
            }
            Scenario::Hook(..) | Scenario::Log(_) => {}
        }
    }
}

impl Facts {
    /// Of a scenario that has ended.
    pub(super) fn ended(trouble: Option<CheckFailure>) -> Self {
        Self { trouble, step: None, finished: true, took: Duration::ZERO, began: Instant::now() }
    }

    fn step<W: FamilyWorld>(&mut self, step: &gherkin::Step, event: Step<W>) {
        let trouble = match event {
            Step::Started | Step::Passed(..) => return,
            Step::Skipped => suite_fault("no step definition matches".to_owned()),
            Step::Failed(_, _, world, error) => {
                let trouble = world.and_then(|world| world.core().trouble.clone());
                trouble.unwrap_or_else(|| suite_fault(fault_text(&error)))
            }
        };
        if self.trouble.is_none() {
            self.trouble = Some(trouble);
            self.step = Some(StepPlace::of(step));
        }
    }
}

fn suite_fault(message: String) -> CheckFailure {
    CheckFailure::CouldNotRun { cause: Cause::Suite, message }
}

fn fault_text(error: &event::StepError) -> String {
    match error {
        event::StepError::Panic(info) => format!("a step panicked: {}", panic_text(info)),
        other => other.to_string(),
    }
}

fn panic_text(info: &event::Info) -> String {
    let text = (**info)
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| (**info).downcast_ref::<&str>().copied());
    text.unwrap_or("without a message").to_owned()
}

impl<W: FamilyWorld, Done: Fn(&Place, &Facts)> Writer<W> for Gatherer<Done> {
    type Cli = cli::Empty;

    async fn handle_event(&mut self, event: parser::Result<Event<Cucumber<W>>>, _: &Self::Cli) {
        let Ok(Event { value, .. }) = event else { return };
        let Cucumber::Feature(feature, event) = value else { return };
        match event {
            Feature::Scenario(scenario, RetryableScenario { event, .. })
            | Feature::Rule(_, Rule::Scenario(scenario, RetryableScenario { event, .. })) => {
                self.scenario(&feature, &scenario, event);
            }
            _ => {}
        }
    }
}

// Events are keyed by place, so their order across scenarios does not matter.
impl<Done> writer::Normalized for Gatherer<Done> {}
