//! The steps of a workflow, read and checked as a whole: nothing runs when something cannot work.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::reference::{self, step_of};
use crate::breadcrumb::tool::shorten;

/// The tool's name, by which no step may ask for it.
pub(in crate::breadcrumb) const NAME: &str = "workflow";
/// How many steps a workflow may have.
const MOST_STEPS: usize = 256;

/// Steps that can be run in some order.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    pub(super) steps: Vec<Step>,
    /// The place of each id.
    pub(super) places: BTreeMap<String, usize>,
}

/// One step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Step {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    /// The places of the steps that have to be done before: those it names, and those whose output it uses.
    pub(super) dependencies: BTreeSet<usize>,
}

/// Why a workflow is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// There is nothing to be run.
    #[error("the workflow has no steps")]
    Empty,
    /// There is too much to be run.
    #[error("the workflow has more than {MOST_STEPS} steps")]
    TooMany,
    /// A step is not what it should be.
    #[error("step {number} has no usable `{member}`")]
    Member {
        /// Which step it is, from 1.
        number: usize,
        /// What is missing or of another type.
        member: &'static str,
    },
    /// Two steps cannot be distinguished.
    #[error("there are two steps `{id}`")]
    Duplicate {
        /// Their id.
        id: String,
    },
    /// A step asks for a tool that there is not.
    #[error("step `{id}` asks for the tool `{tool}`, which there is not")]
    UnknownTool {
        /// The step.
        id: String,
        /// What it asks for.
        tool: String,
    },
    /// A step asks for another workflow.
    #[error("step `{id}` is a workflow itself, which is not done")]
    Nested {
        /// The step.
        id: String,
    },
    /// A step depends on one that there is not.
    #[error("step `{id}` depends on `{dependency}`, which is no step")]
    UnknownDependency {
        /// The step.
        id: String,
        /// What it names.
        dependency: String,
    },
    /// Steps wait for each other.
    #[error("these steps depend on each other: {}", .ids.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", "))]
    Cycle {
        /// The steps, each depending on the next and the last on the first.
        ids: Vec<String>,
    },
}

impl Plan {
    /// Reads `steps`; `known` says which tools there are.
    ///
    /// # Errors
    ///
    /// When the steps could not all be run.
    pub fn read(input: &Map<String, Value>, known: impl Fn(&str) -> bool) -> Result<Self, PlanError> {
        let listed = input.get("steps").and_then(Value::as_array).filter(|steps| !steps.is_empty());
        let listed = listed.ok_or(PlanError::Empty)?;
        if listed.len() > MOST_STEPS {
            return Err(PlanError::TooMany);
        }
        let mut plan = Self { steps: Vec::new(), places: BTreeMap::new() };
        let mut named = Vec::new();
        for (place, listed) in listed.iter().enumerate() {
            let (step, dependencies) = read_step(listed, place + 1)?;
            if step.tool == NAME {
                return Err(PlanError::Nested { id: shorten(&step.id) });
            }
            if !known(&step.tool) {
                return Err(PlanError::UnknownTool { id: shorten(&step.id), tool: shorten(&step.tool) });
            }
            if plan.places.insert(step.id.clone(), place).is_some() {
                return Err(PlanError::Duplicate { id: shorten(&step.id) });
            }
            plan.steps.push(step);
            named.push(dependencies);
        }
        for (place, names) in named.into_iter().enumerate() {
            let mut dependencies = BTreeSet::new();
            for name in names {
                let dependency = plan.places.get(&name).ok_or_else(|| PlanError::UnknownDependency {
                    id: shorten(&plan.steps[place].id),
                    dependency: shorten(&name),
                })?;
                dependencies.insert(*dependency);
            }
            // A reference to something that is no step is for the step itself to fail at.
            reference::each(&plan.steps[place].input, &mut |reference| {
                dependencies.extend(step_of(reference, &plan.places).map(|(used, _path)| used));
            });
            plan.steps[place].dependencies = dependencies;
        }
        match plan.cycle() {
            Some(ids) => Err(PlanError::Cycle { ids }),
            None => Ok(plan),
        }
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none, which is never so.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn tool(&self, step: usize) -> &str {
        &self.steps[step].tool
    }

    /// Steps that wait for each other, if there are such.
    fn cycle(&self) -> Option<Vec<String>> {
        let mut open: BTreeSet<usize> = (0..self.steps.len()).collect();
        loop {
            let free: Vec<usize> = open
                .iter()
                .copied()
                .filter(|step| self.steps[*step].dependencies.is_disjoint(&open))
                .collect();
            if free.is_empty() {
                break;
            }
            for step in free {
                open.remove(&step);
            }
        }
        // Each of these depends on another of these, so that walking on comes back to where one was.
        let mut walked: Vec<usize> = Vec::new();
        let mut at = *open.first()?;
        loop {
            if let Some(start) = walked.iter().position(|step| *step == at) {
                return Some(walked[start..].iter().map(|step| shorten(&self.steps[*step].id)).collect());
            }
            walked.push(at);
            at = *self.steps[at].dependencies.intersection(&open).next()?;
        }
    }
}

/// A step, and the names of those that it depends on.
fn read_step(listed: &Value, number: usize) -> Result<(Step, Vec<String>), PlanError> {
    let text = |member: &'static str| {
        let text = listed.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        text.map(str::to_owned).ok_or(PlanError::Member { number, member })
    };
    let input = match listed.get("input") {
        None => Map::new(),
        Some(Value::Object(input)) => input.clone(),
        Some(_) => return Err(PlanError::Member { number, member: "input" }),
    };
    let dependencies = match listed.get("dependencies") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(Value::Array(names)) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    let dependencies = dependencies.ok_or(PlanError::Member { number, member: "dependencies" })?;
    let step = Step { id: text("id")?, tool: text("tool")?, input, dependencies: BTreeSet::new() };
    Ok((step, dependencies))
}
