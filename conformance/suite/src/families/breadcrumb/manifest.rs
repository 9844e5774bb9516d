//! `[breadcrumb]`: a tool runner, its tools and its workflow tool (`docs/breadcrumbs.md`).
//!
//! The agent beside it has a table of its own, `crumb_agent`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::agent::manifest::{CRUMB_AGENT_PLACEHOLDERS, CrumbAgentTable};
use crate::engine::manifest::{Command, LaunchTable, Section, TargetTable, durations};
use crate::spec::registry::nearest;

/// The tools of the standard (Universal Tool Invocation L76-107).
pub const STANDARD_TOOLS: [&str; 12] = [
    "openrouter",
    "venice",
    "ollama_local",
    "calculator",
    "random",
    "echo",
    "timer",
    "breadcrumb-create",
    "breadcrumb-update",
    "breadcrumb-search",
    "workflow",
    "astral",
];
/// Those that are language models.
pub const LANGUAGE_MODELS: [&str; 3] = ["openrouter", "venice", "ollama_local"];
/// What `astral` does.
pub const ASTRAL_ACTIONS: [&str; 5] = ["navigate", "extract", "click", "screenshot", "evaluate"];
/// Placeholders that `env` of a runner may hold.
pub const RUNNER_PLACEHOLDERS: [&str; 5] =
    ["store_url", "listen", "openrouter_url", "venice_url", "ollama_url"];

/// `[breadcrumb]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BreadcrumbTable {
    /// How the runner is started; [`RUNNER_PLACEHOLDERS`] are filled in.
    #[serde(flatten)]
    pub launch: LaunchTable,
    /// Texts in the errors of tools that are this machine's fault. No key of a manifest: only of the bundled reference is
    /// it known what they mean.
    #[serde(skip)]
    pub faults_of_the_machine: Vec<String>,
    /// Whether it speaks JSON lines on its standard input and output.
    #[serde(default)]
    pub lines: bool,
    /// Where the suite's store listens, for a runner that runs already.
    #[serde(default)]
    pub listen: Option<String>,
    /// Where the suite's language models listen, for a runner that runs already.
    #[serde(default)]
    pub upstream_listen: Option<String>,
    /// The store of a system that brings its own.
    #[serde(default)]
    pub store: Option<String>,
    /// The environment variable with the bearer token of that store.
    #[serde(default)]
    pub token_env: Option<String>,
    /// A JSON file with breadcrumbs that the suite's store holds from the start.
    #[serde(default)]
    pub fixtures: Option<PathBuf>,
    /// The standard's tools that there are.
    #[serde(default = "usual_tools")]
    pub catalog: BTreeSet<String>,
    /// Inputs of tools that are not called as usual; placeholders in braces.
    #[serde(default)]
    pub inputs: Inputs,
    /// Tools beyond the standard's.
    #[serde(default)]
    pub extra: BTreeMap<String, ExtraTool>,
    /// For an answer; 10 seconds when absent.
    #[serde(default)]
    pub deadline_seconds: Option<f64>,
    /// For an answer of a language model or a browser; 60 seconds when absent.
    #[serde(default)]
    pub slow_deadline_seconds: Option<f64>,
    /// One scenario at a time.
    #[serde(default)]
    pub serial: bool,
    /// Selects `breadcrumb.runner`.
    #[serde(default)]
    pub runner: Option<RunnerTable>,
    /// Selects `breadcrumb.tools`.
    #[serde(default)]
    pub tools: Option<ToolsTable>,
    /// Selects `breadcrumb.workflow`.
    #[serde(default)]
    pub workflow: Option<WorkflowTable>,
    /// Selects `breadcrumb.agent`.
    #[serde(default)]
    pub agent: Option<CrumbAgentTable>,
}

/// Inputs of tools that are not called as usual.
///
/// `astral` has one for each action, the other tools one each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Inputs(BTreeMap<String, Value>);

impl Inputs {
    /// The template of a tool, or of an action of `astral`: what the manifest says, else the usual one.
    pub fn template(&self, tool: &str, action: Option<&str>) -> Value {
        let own = match action {
            Some(action) => self.0.get(tool).and_then(|actions| actions.get(action)),
            None => self.0.get(tool),
        };
        own.cloned().unwrap_or_else(|| usual_input(tool, action))
    }
}

/// The input of a tool that is called as usual (`docs/breadcrumbs.md`, "Tools").
fn usual_input(tool: &str, action: Option<&str>) -> Value {
    match (tool, action) {
        ("openrouter" | "venice" | "ollama_local", _) => {
            json!({"messages": "{messages}", "model": "{model}"})
        }
        ("calculator", _) => json!({"expression": "{expression}"}),
        ("echo", _) => json!({"message": "{message}"}),
        ("timer", _) => json!({"seconds": "{seconds}"}),
        ("breadcrumb-create", _) => json!({
            "schema_name": "{schema_name}", "title": "{title}", "tags": "{tags}", "context": "{context}",
        }),
        ("breadcrumb-update", _) => {
            json!({"breadcrumb_id": "{id}", "updates": {"title": "{title}"}, "version": "{version}"})
        }
        ("breadcrumb-search", _) => json!({"tag": "{tag}", "limit": "{limit}"}),
        ("workflow", _) => json!({"steps": "{steps}"}),
        ("astral", Some("navigate")) => json!({"action": "navigate", "url": "{url}"}),
        ("astral", Some("extract")) => json!({"action": "extract", "url": "{url}", "selector": "{selector}"}),
        ("astral", Some("click")) => json!({"action": "click", "url": "{url}", "selector": "{selector}"}),
        ("astral", Some("screenshot")) => json!({"action": "screenshot", "url": "{url}"}),
        ("astral", Some("evaluate")) => json!({"action": "evaluate", "url": "{url}", "script": "{script}"}),
        _ => json!({}),
    }
}

/// `[breadcrumb.extra.<name>]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExtraTool {
    /// A valid input.
    pub input: Value,
    /// The JSON Schema of its output.
    #[serde(default)]
    pub output_schema: Option<Value>,
}

/// `[breadcrumb.runner]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunnerTable {
    /// What it takes requests from.
    #[serde(default)]
    pub dispatch: Dispatch,
    /// Tags of a `tool.request.v1`.
    #[serde(default = "request_tags")]
    pub request_tags: Vec<String>,
    /// Whether it obeys `return_to_llm`; with dispatch `agent` when absent.
    #[serde(default)]
    pub routing: Option<bool>,
    /// What the user sees.
    #[serde(default = "user_view")]
    pub user_view: Vec<View>,
    /// What besides a `tool.response.v1` sets an agent going.
    #[serde(default = "agent_view")]
    pub agent_view: Vec<View>,
}

impl RunnerTable {
    /// Whether it obeys `return_to_llm`.
    pub fn routes(&self) -> bool {
        self.routing.unwrap_or(self.dispatch == Dispatch::Agent)
    }
}

/// What a runner takes requests from (resolution A6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dispatch {
    /// `agent.response.v1` with its `tool_requests`.
    #[default]
    Agent,
    /// One `tool.request.v1` for each call.
    Request,
}

/// Breadcrumbs that somebody sees.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// Of this schema.
    #[serde(default)]
    pub schema_name: Option<String>,
    /// With this tag.
    #[serde(default)]
    pub tag: Option<String>,
}

impl View {
    fn of(schema_name: &str) -> Self {
        Self { schema_name: Some(schema_name.to_owned()), tag: None }
    }
}

/// `[breadcrumb.tools]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolsTable {
    /// The form of a configuration.
    #[serde(default)]
    pub config: ConfigTable,
    /// Whether the suite sees the files that a browser leaves.
    #[serde(default = "yes")]
    pub shared_files: bool,
}

impl Default for ToolsTable {
    fn default() -> Self {
        Self { config: ConfigTable::default(), shared_files: true }
    }
}

/// `[breadcrumb.tools.config]`: how a `tool.config.v1` looks, and where it shows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigTable {
    /// Its `context`; `{tool}`, `{secret_id}`, `{api_key}`, `{model}` and `{custom}` are filled in.
    #[serde(default)]
    pub context: Option<Value>,
    /// Where in the request to a provider the custom setting is.
    #[serde(default)]
    pub custom_pointer: Option<String>,
}

impl ConfigTable {
    /// The template of the `context`.
    pub fn template(&self) -> Value {
        self.context.clone().unwrap_or_else(|| {
            json!({"toolName": "{tool}", "config": {
                "apiKeySecretId": "{secret_id}", "defaultModel": "{model}", "temperature": 0.2, "maxTokens": "{custom}",
            }})
        })
    }

    /// Where in a tool's request to its provider the custom setting is.
    pub fn pointer(&self, tool: &str) -> &str {
        let usual = if tool == "ollama_local" { "/options/num_predict" } else { "/max_tokens" };
        self.custom_pointer.as_deref().unwrap_or(usual)
    }
}

/// `[breadcrumb.workflow]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkflowTable {}

const fn yes() -> bool {
    true
}

fn usual_tools() -> BTreeSet<String> {
    let rare = |tool: &&str| LANGUAGE_MODELS.contains(tool) || *tool == "astral";
    STANDARD_TOOLS.iter().filter(|tool| !rare(tool)).map(|tool| (*tool).to_owned()).collect()
}

fn request_tags() -> Vec<String> {
    ["tool:request", "workspace:tools"].map(str::to_owned).to_vec()
}

fn user_view() -> Vec<View> {
    vec![View::of("agent.response.v1")]
}

fn agent_view() -> Vec<View> {
    vec![View::of("agent.context.v1"), View::of("user.message.v1")]
}

impl BreadcrumbTable {
    /// Whether a runner is described.
    pub fn has_runner(&self) -> bool {
        self.runner.is_some() || self.tools.is_some() || self.workflow.is_some()
    }

    /// For an answer.
    pub fn deadline(&self) -> Duration {
        durations::or(self.deadline_seconds, Duration::from_secs(10))
    }

    /// For an answer of a language model or a browser.
    pub fn slow_deadline(&self) -> Duration {
        durations::or(self.slow_deadline_seconds, Duration::from_secs(60))
    }

    fn contradictions_of_the_runner(&self, faults: &mut Vec<String>) {
        let ways = [self.launch.is_started(), self.listen.is_some(), self.store.is_some()];
        if !ways.contains(&true) {
            faults.push(
                "`[breadcrumb]` needs `start`, `listen` (where a runner that runs already finds the suite's store) or \
                 `store` (of a system that brings its own)"
                    .to_owned(),
            );
        }
        if self.store.is_some() && (self.listen.is_some() || self.fixtures.is_some() || self.lines) {
            faults.push("`breadcrumb.store` leaves no room for `listen`, `fixtures` or `lines`".to_owned());
        }
        if self.store.is_some() && self.launch.is_started() {
            faults.push(
                "`breadcrumb.store` is that of a system that runs already, so `start` would never be run: leave one out"
                    .to_owned(),
            );
        }
        let is_started = self.launch.is_started() && self.store.is_none();
        let model = LANGUAGE_MODELS.into_iter().find(|model| self.catalog.contains(*model));
        if let (Some(model), false, None) = (model, is_started, &self.upstream_listen) {
            faults.push(format!(
                "`breadcrumb.catalog` names `{model}`, and nothing says where a runner that runs already finds the suite's \
                 language models (`upstream_listen`)"
            ));
        }
        if self.lines && !self.launch.is_started() {
            faults.push("`breadcrumb.lines` needs `start`".to_owned());
        }
        if self.catalog.is_empty() && self.extra.is_empty() {
            faults.push("`breadcrumb.catalog` is empty, so there is nothing to certify".to_owned());
        }
        if self.workflow.is_some() && !self.catalog.contains("workflow") {
            faults.push(
                "`[breadcrumb.workflow]` is there, and `breadcrumb.catalog` lacks `workflow`".to_owned(),
            );
        }
    }
}

impl Section for BreadcrumbTable {
    fn profiles(&self) -> Vec<&'static str> {
        let all = [
            ("breadcrumb.runner", self.runner.is_some()),
            ("breadcrumb.tools", self.tools.is_some()),
            ("breadcrumb.workflow", self.workflow.is_some()),
            ("breadcrumb.agent", self.agent.is_some()),
        ];
        all.into_iter().filter(|(_, there)| *there).map(|(profile, _)| profile).collect()
    }

    fn secrets(&self, _: &Path) -> Vec<String> {
        let token = self.token_env.as_ref().and_then(|variable| std::env::var(variable).ok());
        let own = self.launch.secrets(&RUNNER_PLACEHOLDERS).cloned();
        let agent =
            self.agent.iter().flat_map(|agent| agent.launch.secrets(&CRUMB_AGENT_PLACEHOLDERS)).cloned();
        own.chain(token).chain(agent).collect()
    }

    fn is_serial(&self) -> bool {
        self.serial || self.agent.as_ref().is_some_and(|agent| agent.serial)
    }

    fn commands(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<Command<'_>> {
        let mut all = Vec::new();
        if ["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"].into_iter().any(is_selected) {
            all.push(self.launch.command());
        }
        if let Some(own) = self.agent.as_ref().filter(|_| is_selected("breadcrumb.agent")) {
            let drive = own.drive.as_ref().and_then(|drive| drive.command.as_ref());
            all.extend([own.launch.command(), own.launch.command_of(drive)]);
        }
        all
    }

    fn contradictions(&self, _: &TargetTable) -> Vec<String> {
        let mut faults = Vec::new();
        if self.has_runner() {
            self.contradictions_of_the_runner(&mut faults);
        }
        for tool in self.catalog.iter().filter(|tool| !STANDARD_TOOLS.contains(&tool.as_str())) {
            let near = nearest(tool, STANDARD_TOOLS.into_iter());
            let hint = near.map_or_else(
                || "; further tools stand in `breadcrumb.extra`".to_owned(),
                |near| format!("; did you mean `{near}`?"),
            );
            faults
                .push(format!("`breadcrumb.catalog` names `{tool}`, which is no tool of the standard{hint}"));
        }
        for tool in self.extra.keys().filter(|tool| STANDARD_TOOLS.contains(&tool.as_str())) {
            faults.push(format!("`breadcrumb.extra.{tool}` is a tool of the standard: name it in `catalog`"));
        }
        for tool in self.inputs.0.keys().filter(|tool| !STANDARD_TOOLS.contains(&tool.as_str())) {
            faults
                .push(format!("`breadcrumb.inputs.{tool}` is about a tool that the standard does not have"));
        }
        for fixed in ["calculator", "workflow"].iter().filter(|tool| self.inputs.0.contains_key(**tool)) {
            faults.push(format!("`breadcrumb.inputs.{fixed}`: the standard says how this tool is called"));
        }
        if let Some(agent) = &self.agent {
            agent.contradictions(&mut faults);
        }
        faults
    }
}
