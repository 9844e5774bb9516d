//! What can be called at a UTP target, and the roles that answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::manifest::{Builtin, ProbeName, ProbeTable};
use crate::engine::manifest::target::HeaderText;

/// The role of a target that answers commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// `cmd.tool.*` (UTP §1).
    ToolService,
    /// `cmd.sys.pmo.internal.*` (UTP §1).
    Pmo,
    /// A Tool Service that asks Jina (Guide §4).
    OpenApi,
}

impl Role {
    /// The role whose profile this is.
    pub fn of(profile: &str) -> Option<Self> {
        match profile {
            "utp.tool-service" => Some(Self::ToolService),
            "utp.pmo" => Some(Self::Pmo),
            "utp.openapi" => Some(Self::OpenApi),
            _ => None,
        }
    }

    /// What there is to say of a target that never did the sentinel's work.
    pub fn never_worked(self) -> &'static str {
        match self {
            Self::ToolService => {
                "the target never did the work of its echo probe, so nothing counts as a pass"
            }
            Self::Pmo => "the PMO never did what a built-in is for, so nothing counts as a pass",
            Self::OpenApi => {
                "the executor never brought what the upstream said, so nothing counts as a pass: every request goes to \
                 `CALLMARK_UPSTREAM_URL` as plain HTTP with the real host in `Host`, without TLS and `CONNECT`"
            }
        }
    }

    /// Its profile.
    pub fn profile(self) -> &'static str {
        match self {
            Self::ToolService => "utp.tool-service",
            Self::Pmo => "utp.pmo",
            Self::OpenApi => "utp.openapi",
        }
    }

    /// The tool whose work shows in what the role sends, so that it can be seen to be alive.
    pub fn sentinel(self, tools: &BTreeMap<Tool, ToolTable>) -> Option<Tool> {
        let candidates: &[Tool] = match self {
            Self::ToolService => &[Tool::Echo],
            Self::Pmo => &[
                Tool::DelegateAsync,
                Tool::LaunchPrincipal,
                Tool::ProvisionAgent,
                Tool::AskExpert,
                Tool::ForkJoin,
            ],
            Self::OpenApi => &[Tool::Search, Tool::Reader],
        };
        candidates.iter().copied().find(|tool| tools.contains_key(tool))
    }
}

/// A tool that the suite calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// Returns its arguments.
    Echo,
    /// Counts its runs.
    Count,
    /// Throws.
    Fail,
    /// Returns a control object.
    Ctl,
    /// Enters an agent into the roster.
    ProvisionAgent,
    /// Gives another agent something to do.
    DelegateAsync,
    /// Starts an agent of a profile.
    LaunchPrincipal,
    /// Asks an agent and waits for what it says.
    AskExpert,
    /// Gives several agents something to do and waits for all.
    ForkJoin,
    /// Searches the web.
    Search,
    /// Reads a page.
    Reader,
}

impl From<ProbeName> for Tool {
    fn from(probe: ProbeName) -> Self {
        match probe {
            // Where there is no echo, `work` serves all rules that are judged with one.
            ProbeName::Echo | ProbeName::Work => Self::Echo,
            ProbeName::Count => Self::Count,
            ProbeName::Fail => Self::Fail,
            ProbeName::Ctl => Self::Ctl,
        }
    }
}

impl From<Builtin> for Tool {
    fn from(builtin: Builtin) -> Self {
        match builtin {
            Builtin::ProvisionAgent => Self::ProvisionAgent,
            Builtin::DelegateAsync => Self::DelegateAsync,
            Builtin::LaunchPrincipal => Self::LaunchPrincipal,
            Builtin::AskExpert => Self::AskExpert,
            Builtin::ForkJoin => Self::ForkJoin,
        }
    }
}

impl Tool {
    /// Whether it is a built-in tool of a PMO.
    pub fn is_builtin(self) -> bool {
        self == Self::ProvisionAgent || self.starts_turns()
    }

    /// Whether it starts turns of other agents.
    pub fn starts_turns(self) -> bool {
        matches!(self, Self::DelegateAsync | Self::LaunchPrincipal | Self::AskExpert | Self::ForkJoin)
    }

    /// Whether it asks an upstream.
    pub fn asks_upstream(self) -> bool {
        matches!(self, Self::Search | Self::Reader)
    }

    /// What a manifest declares with it, as `@cap:` tags name it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Echo => "probe.echo",
            Self::Count => "probe.count",
            Self::Fail => "probe.fail",
            Self::Ctl => "probe.ctl",
            Self::ProvisionAgent => "builtin.provision_agent",
            Self::DelegateAsync => "builtin.delegate_async",
            Self::LaunchPrincipal => "builtin.launch_principal",
            Self::AskExpert => "builtin.ask_expert",
            Self::ForkJoin => "builtin.fork_join",
            Self::Search => "jina.search",
            Self::Reader => "jina.reader",
        }
    }
}

/// What is said of something that can be called, in the manifest or by the suite.
#[derive(Clone, Debug, Default)]
pub struct ToolTable {
    /// The tool's name.
    pub tool_name: String,
    /// Its subject with `{project_id}` and `{channel_id}` unexpanded; the usual one when absent.
    pub target_subject: Option<String>,
    /// What its registration says; `suspend` when absent.
    pub after_execution: Option<String>,
    /// JSON Pointer into `content.result` of the tool.result card.
    pub result_pointer: Option<String>,
    /// Arguments in place of the tool's own.
    pub arguments: Option<Value>,
    /// `options` of its row.
    pub options: Value,
    /// JSON Pointers into `content.result` to what may differ between two results of the same call.
    pub volatile: Vec<String>,
    /// Headers of its commands beside those of the protocol.
    pub headers: BTreeMap<String, HeaderText>,
    /// Set where its result shows its work, and repeats no word of its arguments.
    pub work: Option<Work>,
}

/// A tool whose result depends on its arguments.
#[derive(Clone, Debug)]
pub struct Work {
    /// Other arguments than those of the table.
    pub other_arguments: Value,
    /// What it gives for the arguments of the table, and for the others, once that was found out.
    pub results: Option<[Value; 2]>,
}

impl ToolTable {
    /// The table for the nth call: of a tool whose work shows in its result, every second call has the other arguments.
    #[must_use]
    pub fn turned(&self, number: u32) -> Self {
        let mut table = self.clone();
        if let Some(work) = table.work.as_mut().filter(|_| number.is_multiple_of(2)) {
            let first = table.arguments.replace(work.other_arguments.clone());
            work.other_arguments = first.unwrap_or_default();
            if let Some([first, other]) = work.results.as_mut() {
                std::mem::swap(first, other);
            }
        }
        table
    }
}

impl From<&ProbeTable> for ToolTable {
    fn from(probe: &ProbeTable) -> Self {
        Self {
            tool_name: probe.tool_name.clone(),
            target_subject: probe.target_subject.clone(),
            after_execution: probe.after_execution.clone(),
            result_pointer: probe.result_pointer.clone(),
            arguments: probe.arguments.clone(),
            options: json!({}),
            volatile: probe.volatile.clone(),
            headers: BTreeMap::new(),
            work: probe
                .other_arguments
                .clone()
                .map(|other_arguments| Work { other_arguments, results: None }),
        }
    }
}
