//! How far a workflow is: which step is next, with which input, and what comes out at the end.
//!
//! No time and no tools: the caller runs the steps and reports their ends.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::plan::Plan;
use super::reference::{Resolver, step_of};
use crate::breadcrumb::tool::ToolFailure;

/// No workflow keeps more outputs than this.
const OUTPUT_BYTES: usize = 8 * 1024 * 1024;

/// What became of a step.
#[derive(Debug, Clone, PartialEq)]
enum StepState {
    Waiting,
    Running,
    Done(Value),
    Failed(String),
}

/// A running workflow.
#[derive(Debug)]
pub struct Progress<'p> {
    plan: &'p Plan,
    states: Vec<StepState>,
    /// Steps that were started, in that order.
    order: Vec<usize>,
    left: usize,
}

impl<'p> Progress<'p> {
    /// Before anything has run.
    pub fn new(plan: &'p Plan) -> Self {
        let states = vec![StepState::Waiting; plan.steps.len()];
        Self { plan, states, order: Vec::new(), left: OUTPUT_BYTES }
    }

    /// Starts the first step whose dependencies are done, and gives its place; nothing when none can be started now.
    pub fn start(&mut self) -> Option<usize> {
        let step = (0..self.states.len()).find(|step| {
            self.states[*step] == StepState::Waiting
                && self.plan.steps[*step]
                    .dependencies
                    .iter()
                    .all(|dependency| matches!(self.states[*dependency], StepState::Done(_)))
        })?;
        self.states[step] = StepState::Running;
        self.order.push(step);
        Some(step)
    }

    /// The input of a step that was started; `as_text` has lone references become texts.
    ///
    /// # Errors
    ///
    /// When a reference stands for nothing.
    pub fn input(&self, step: usize, as_text: bool) -> Result<Map<String, Value>, ToolFailure> {
        let states = &self.states;
        let places = &self.plan.places;
        Resolver::new(
            move |reference: &str| {
                let (used, path) = step_of(reference, places)?;
                match &states[used] {
                    StepState::Done(output) => Some((output, path)),
                    _ => None,
                }
            },
            as_text,
        )
        .members(&self.plan.steps[step].input)
    }

    /// Takes note of how a step ended. Those that depend on one that failed are not run.
    pub fn end(&mut self, step: usize, outcome: Result<Value, ToolFailure>) {
        let kept = outcome.and_then(|output| {
            self.left = self.left.checked_sub(output.to_string().len()).ok_or_else(|| {
                ToolFailure::new(format!("the outputs of all steps are longer than {OUTPUT_BYTES} bytes"))
            })?;
            Ok(output)
        });
        match kept {
            Ok(output) => self.states[step] = StepState::Done(output),
            Err(failure) => {
                self.states[step] = StepState::Failed(failure.to_string());
                self.skip(step);
            }
        }
    }

    fn skip(&mut self, failed: usize) {
        let text = format!("not run, since `{}` failed", self.plan.steps[failed].id);
        let mut lost = BTreeSet::from([failed]);
        loop {
            let next = (0..self.states.len()).find(|step| {
                self.states[*step] == StepState::Waiting
                    && !self.plan.steps[*step].dependencies.is_disjoint(&lost)
            });
            let Some(next) = next else { break };
            self.states[next] = StepState::Failed(text.clone());
            lost.insert(next);
        }
    }

    /// `results`, `executionOrder`, and `errors` where there are any.
    pub fn output(&self) -> Value {
        let id = |step: usize| self.plan.steps[step].id.clone();
        let mut results = Map::new();
        let mut errors = Map::new();
        for (step, state) in self.states.iter().enumerate() {
            match state {
                StepState::Done(output) => drop(results.insert(id(step), output.clone())),
                StepState::Failed(text) => drop(errors.insert(id(step), json!(text))),
                StepState::Waiting | StepState::Running => {}
            }
        }
        let order: Vec<_> = self.order.iter().map(|step| id(*step)).collect();
        let mut output = json!({"results": results, "executionOrder": order});
        if !errors.is_empty() {
            output["errors"] = Value::Object(errors);
        }
        output
    }
}
