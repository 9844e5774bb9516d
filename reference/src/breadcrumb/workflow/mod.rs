//! The tool `workflow`: several tools for one request, each step when those that it depends on are done.
//!
//! 1. `plan` reads the steps and finds what cannot work before anything runs;
//! 2. `progress` says which step is next and with which input; it knows no time and no tools;
//! 3. `reference` puts outputs of earlier steps in the place of `${step.path}`;
//! 4. here the steps run, those that do not depend on each other at the same time.
//!
//! Steps have no request ids: nothing about them is stored, only the answer of the whole is.
//!
//! A step that fails leaves the workflow a success with `errors`, since the other steps may have had effects that whoever
//! asked must receive, and the Standard gives the output an `errors` of its own ("Output field access"). What cannot be
//! planned is the standard error: nothing has run then.
//!
//! Deliberately absent: workflows in workflows, conditions, loops, retries.

mod plan;
mod progress;
mod reference;

#[cfg(test)]
mod laws;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use serde_json::{Map, Value, json};

pub(in crate::breadcrumb) use self::plan::NAME;
pub use self::plan::{Plan, PlanError};
pub use self::progress::Progress;
use super::execution::{DEADLINE, execute};
use super::tool::{Catalog, Tool, ToolCall, ToolConfig, ToolDefinition, ToolFailure};

/// How many steps run at the same time.
const PARALLEL: usize = 16;
/// How long a whole workflow may take.
const LONGEST: Duration = Duration::from_secs(900);

/// A tool and the input that it takes.
type Admitted = (Arc<dyn Tool>, Map<String, Value>);

/// A running step: its place, and its outcome.
type RunningStep = BoxFuture<'static, (usize, Result<Value, ToolFailure>)>;

/// The tool `workflow` over the tools of a catalogue.
#[derive(Debug)]
pub struct Workflow {
    definition: ToolDefinition,
    catalog: Catalog,
}

impl Workflow {
    /// A workflow whose steps may ask for these tools.
    pub fn new(catalog: Catalog) -> Self {
        let input_schema = json!({
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "minLength": 1},
                            "tool": {"type": "string", "description": "the name of a tool of the catalogue"},
                            "input": {
                                "type": "object", "default": {},
                                "description": "its input; `${id.field}` stands for a field of that step's output",
                            },
                            "dependencies": {
                                "type": "array", "items": {"type": "string"}, "default": [],
                                "description": "ids of the steps that have to be done before",
                            },
                        },
                        "required": ["id", "tool"],
                    },
                },
            },
            "required": ["steps"],
        });
        let output_schema = json!({
            "type": "object",
            "properties": {
                "results": {"type": "object", "additionalProperties": {"type": "object"}},
                "executionOrder": {"type": "array", "items": {"type": "string"}},
                "errors": {"type": "object", "additionalProperties": {"type": "string"}},
            },
            "required": ["results", "executionOrder"],
        });
        let definition = ToolDefinition {
            name: NAME.to_owned(),
            description: "Runs several tools, each with the outputs of those that it depends on.".to_owned(),
            category: "workflow".to_owned(),
            input_schema,
            output_schema,
        };
        Self { definition, catalog }
    }

    async fn steps(&self, call: ToolCall) -> Result<Value, ToolFailure> {
        let known = |tool: &str| self.catalog.find(tool).is_some();
        let plan = Plan::read(&call.input, known).map_err(|error| ToolFailure::new(error.to_string()))?;
        let mut progress = Progress::new(&plan);
        let mut running = FuturesUnordered::new();
        loop {
            while running.len() < PARALLEL
                && let Some(step) = progress.start()
            {
                running.push(self.step(&plan, step, &progress, call.config.as_ref()));
            }
            let Some((step, outcome)) = running.next().await else { break };
            progress.end(step, outcome);
        }
        Ok(progress.output())
    }

    /// The running step; what cannot be run fails at once.
    fn step(
        &self,
        plan: &Plan,
        step: usize,
        progress: &Progress<'_>,
        config: Option<&ToolConfig>,
    ) -> RunningStep {
        let name = plan.tool(step);
        // A configuration is one tool's; its key is not for the others.
        let config = config.filter(|config| config.tool.as_deref().is_none_or(|tool| tool == name)).cloned();
        match self.admitted(name, step, progress) {
            Ok((tool, input)) => Box::pin(async move {
                (step, execute(tool, ToolCall::new(input).with_config(config), DEADLINE).await)
            }),
            Err(failure) => Box::pin(std::future::ready((step, Err(failure)))),
        }
    }

    fn admitted(&self, name: &str, step: usize, progress: &Progress<'_>) -> Result<Admitted, ToolFailure> {
        let input = progress.input(step, false)?;
        match self.catalog.admit(name, &input) {
            Ok(tool) => Ok((tool, input)),
            // A number that is all there is of a string may have been meant as a text.
            Err(failure) => {
                let input = progress.input(step, true)?;
                self.catalog.admit(name, &input).map(|tool| (tool, input)).map_err(|_| failure)
            }
        }
    }
}

impl Tool for Workflow {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn run(&self, call: ToolCall) -> BoxFuture<'_, Result<Value, ToolFailure>> {
        Box::pin(self.steps(call))
    }

    fn deadline(&self) -> Option<Duration> {
        Some(LONGEST)
    }
}
