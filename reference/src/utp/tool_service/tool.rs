//! What a tool is to its service: a definition, and a function from arguments to an outcome.
//!
//! A tool knows nothing of subjects, cards or callbacks; the service does all of that in `call`.
//! What must know of them, the PMO and the OpenAPI executor, is an [`Executor`] instead; a tool is one by way of [`Hosted`].
//! `probes` and `tides` hold the tools of this reference.

use std::sync::Arc;

use futures::future::BoxFuture;
use serde_json::{Map, Value};

use crate::utp::message::{AfterExecution, ToolRow};
use crate::utp::revision::Revision;
use crate::utp::subject::{CommandSubject, target_template};
use crate::utp::trace::TraceHeaders;

use super::command::{Command, Form};
use super::failure::ToolFailure;

/// The arguments of the `tool.call` card.
pub type Arguments = Map<String, Value>;

/// How a tool is registered and announced.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The name that the model calls.
    pub tool_name: &'static str,
    /// The end of its subject, such as `cmd.tool.tides.table`.
    pub target: &'static str,
    /// The author of its result cards and the source of its reports.
    pub author: &'static str,
    /// Shown to the model.
    pub description: &'static str,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// What commands carry unless the caller decides otherwise.
    pub after_execution: AfterExecution,
}

impl ToolDefinition {
    /// The template of the tool's subject.
    pub fn target_subject(&self, revision: Revision) -> String {
        target_template(revision, self.target)
    }

    /// The `resource.tools` row of the tool in one project.
    pub fn row(&self, project_id: &str, revision: Revision) -> ToolRow {
        ToolRow {
            project_id: project_id.to_owned(),
            tool_name: self.tool_name.to_owned(),
            description: Some(self.description.to_owned()),
            parameters: self.parameters.clone(),
            target_subject: self.target_subject(revision),
            after_execution: self.after_execution,
            options: Value::Object(Map::new()),
        }
    }
}

/// One call, as a tool sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The project in which the call takes place.
    pub project_id: String,
    /// The arguments of the `tool.call` card, and nothing else.
    pub arguments: Arguments,
}

/// What a tool gives back when it has something to give.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ToolOutput {
    /// Everything that was asked for.
    Complete(Value),
    /// A part of it, and what is missing.
    Partial {
        /// What there is.
        result: Value,
        /// What there is not.
        missing: ToolFailure,
    },
    /// A result that overrides the effective `after_execution` (UTP §3.1, Guide §1); only the two values can be asked for.
    Controlled {
        /// The members beside the control object.
        result: Map<String, Value>,
        /// The override.
        after_execution: AfterExecution,
        /// What else the control object says; nothing in it overrides anything.
        further: Map<String, Value>,
    },
    /// `{"count": n}`, where `n` is the named counter after adding one.
    ///
    /// The service adds the one in the same transaction that records the outcome, so that no crash can count twice.
    Counted {
        /// The counter's name.
        counter: String,
    },
}

/// A tool that a [`super::ToolService`] hosts.
pub trait Tool: Send + Sync {
    /// How the tool is registered.
    fn definition(&self) -> ToolDefinition;

    /// Does the work; the future is dropped at the time limit and at shutdown.
    fn run(&self, call: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// What a service runs for the commands of a subscription: a hosted tool, the PMO, the OpenAPI executor.
pub(crate) trait Executor: Send + Sync {
    /// The author of its result cards and the source of its reports.
    fn author(&self) -> &'static str;

    /// What its commands must have.
    fn form(&self) -> Form;

    /// The name under which a command that names no tool is answered.
    fn tool_name(&self, subject: &CommandSubject) -> String;

    /// Does the work; the future is dropped at the time limit and at shutdown.
    fn run(&self, call: Call) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// One call, as an executor sees it: a valid command, and the arguments and lineage of its card.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) revision: Revision,
    pub(crate) subject: CommandSubject,
    pub(crate) command: Command,
    /// The command's, or what the executor answers under.
    pub(crate) tool_name: String,
    pub(crate) arguments: Arguments,
    /// The metadata of the `tool.call` card.
    pub(crate) metadata: Map<String, Value>,
    /// The span of the answer, a child of the command's.
    pub(crate) headers: TraceHeaders,
}

/// A tool with its definition, asked for once.
pub(crate) struct Hosted {
    pub(crate) definition: ToolDefinition,
    tool: Arc<dyn Tool>,
}

impl Hosted {
    pub(crate) fn new(tool: Arc<dyn Tool>) -> Self {
        Self { definition: tool.definition(), tool }
    }
}

impl Executor for Hosted {
    fn author(&self) -> &'static str {
        self.definition.author
    }

    fn form(&self) -> Form {
        Form::TOOL
    }

    fn tool_name(&self, _: &CommandSubject) -> String {
        self.definition.tool_name.to_owned()
    }

    fn run(&self, call: Call) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let project_id = call.subject.project_id.to_string();
        self.tool.run(ToolCall { project_id, arguments: call.arguments })
    }
}
