//! `[toolbus]`: an MCP server, how it is reached, and which of its tools serve as probes.

mod probes;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use self::probes::{CallTable, SetUpTable, StateTable, ToolbusProbes};
use super::revision::{self, Era};
use crate::engine::manifest::{Command, LaunchTable, Section, TargetTable, headers};

/// The scope that ends with the session.
pub(super) const SESSION_SCOPE: &str = "session";
/// The same scope in another session than the first.
pub(super) const OTHER_SESSION: &str = "session (another)";

/// `[toolbus]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolbusTable {
    /// Which transport is used, where the table describes both.
    #[serde(default)]
    pub transport: Option<Transport>,
    /// stdio: command line of the server. The suite starts it as often as it needs one.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Streamable HTTP: the endpoint. `{listen}` stands for the address that a started server was given.
    #[serde(default)]
    pub url: Option<String>,
    /// Streamable HTTP: how a server that listens on `CALLMARK_LISTEN` is started. Directory and environment are those of
    /// `command` as well.
    #[serde(flatten)]
    pub launch: LaunchTable,
    /// Streamable HTTP: how many processes `start` starts, to which requests go turn by turn; one that has no number when
    /// absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU32>,
    /// Further HTTP headers. Values are secrets and never stored.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// The environment variable that holds a private directory, a new one for each server that is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_dir: Option<String>,
    /// Whether scenarios must run one at a time.
    #[serde(default)]
    pub serial: bool,
    /// The context root of a server that runs already, as this machine sees it.
    #[serde(default)]
    pub root: Option<PathBuf>,
    /// The two names under which a context root is configured.
    #[serde(default = "env_root_names")]
    pub env_root_names: [String; 2],
    /// Further endpoints of a server that runs already, with another context root.
    #[serde(default)]
    pub endpoints: Endpoints,
    /// JSON Pointer to the results in the envelope; found by an echo when absent.
    #[serde(default)]
    pub result_pointer: Option<String>,
    /// JSON Pointer to the correlation ids in the envelope.
    #[serde(default = "trace_pointer")]
    pub trace_pointer: String,
    /// What stands before a path into the echoed value, for example `value.`.
    #[serde(default)]
    pub path_base: String,
    /// How `output.path` is written.
    #[serde(default)]
    pub path_syntax: PathSyntax,
    /// Revisions of MCP that it is certified for: one before `2026-07-28` stands for all of these, whose one the server
    /// agrees to. Those that the server answers in when absent.
    #[serde(default)]
    pub revisions: Option<Vec<String>>,
    /// The eras that the server answers in, once it was asked.
    #[serde(skip)]
    pub found_eras: Option<Vec<Era>>,
    /// Why it answers in none of them, once it was asked.
    #[serde(skip)]
    pub unanswered: Option<String>,
    /// Values of `store_scope`.
    #[serde(default = "scopes")]
    pub scopes: Vec<String>,
    /// How a call names its session where MCP has none.
    #[serde(default)]
    pub session_handle: Option<SessionHandle>,
    /// Largest envelope or artifact in bytes, where the server declares one.
    #[serde(default)]
    pub bounded_limit: Option<usize>,
    /// Other names that the envelope may give a tool.
    #[serde(default)]
    pub tool_aliases: BTreeMap<String, Vec<String>>,
    /// Tools of the server that serve as probes.
    #[serde(default)]
    pub probes: ToolbusProbes,
    /// `[toolbus.artifacts]`.
    #[serde(default)]
    pub artifacts: Option<ArtifactsTable>,
}

/// `toolbus.session_handle`: what a caller names its session by, in revisions of MCP that have none.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionHandle {
    /// The tool that opens one; it is called without arguments.
    pub tool: String,
    /// JSON Pointer to the handle in the results of that call.
    #[serde(default)]
    pub pointer: String,
    /// The argument in which calls name it.
    pub argument: String,
}

/// How MCP messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// One JSON-RPC message a line.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// How paths into a result are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathSyntax {
    /// `rows[1].id`.
    #[default]
    Dots,
    /// `/rows/1/id`.
    Pointer,
    /// `$.rows[1].id`.
    Jsonpath,
}

/// `[toolbus.endpoints]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoints {
    /// A server whose root is configured under the second name.
    #[serde(default)]
    pub second_root: Option<Endpoint>,
    /// A server without a context root.
    #[serde(default)]
    pub without_root: Option<Endpoint>,
}

/// A server that runs already.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// Its endpoint.
    pub url: String,
    /// Its context root, as this machine sees it.
    #[serde(default)]
    pub root: Option<PathBuf>,
}

/// `[toolbus.artifacts]`: selects the profile `toolbus.artifacts`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ArtifactsTable {}

impl ToolbusTable {
    /// Whether the server is certified in an era of MCP.
    pub fn has(&self, era: Era) -> bool {
        match (&self.revisions, &self.found_eras) {
            (Some(revisions), _) => revisions.iter().any(|revision| revision::era_of(revision) == era),
            (None, Some(found)) => found.contains(&era),
            (None, None) => era == Era::Legacy,
        }
    }

    /// JSON Pointer to what the reader of the state gives back, within its results.
    pub fn value_pointer(&self) -> &str {
        self.probes.state.as_ref().map_or("", |state| &state.value_pointer)
    }

    /// Whether the manifest leaves it open that the server has revisions with a session.
    pub fn may_have_sessions(&self) -> bool {
        let is_legacy = |revision: &String| revision::era_of(revision) == Era::Legacy;
        self.revisions.as_ref().is_none_or(|revisions| revisions.iter().any(is_legacy))
    }

    /// What of it holds in an era. Where MCP has no session, the scope of that name is within reach by a handle alone, of
    /// which there may be two (MCP 2026-07-28, Basic); and without a reader of the state nothing says that any is.
    #[must_use]
    pub fn in_era(mut self, era: Era) -> Self {
        if era == Era::Modern {
            let is_read = self.probes.state.is_some();
            let has_handle = self.session_handle.is_some();
            self.scopes.retain(|scope| is_read && (has_handle || scope != SESSION_SCOPE));
            if self.scopes == [SESSION_SCOPE] {
                self.scopes.push(OTHER_SESSION.to_owned());
            }
        }
        self
    }

    /// The transport of a run.
    pub fn transport(&self) -> Transport {
        let described = if self.command.is_some() { Transport::Stdio } else { Transport::Http };
        self.transport.unwrap_or(described)
    }

    /// Whether the suite starts the server, and so chooses its environment.
    pub fn is_started(&self) -> bool {
        self.is_started_over(self.transport())
    }

    /// Whether the suite starts the server that it reaches over a transport.
    pub fn is_started_over(&self, transport: Transport) -> bool {
        match transport {
            Transport::Stdio => true,
            Transport::Http => self.launch.is_started(),
        }
    }

    /// How many replicas of the server there are.
    pub fn replicas_count(&self) -> usize {
        self.replicas.map_or(1, |count| count.get() as usize)
    }

    /// Whether it says how the server is reached over a transport.
    pub fn has_transport(&self, transport: Transport) -> bool {
        match transport {
            Transport::Stdio => self.command.is_some(),
            Transport::Http => self.url.is_some() || self.launch.is_started(),
        }
    }
}

impl ToolbusTable {
    /// Replicas that the suite cannot start, or that the run would not reach.
    fn replicas_fault(&self) -> Option<String> {
        self.replicas?;
        if self.transport() == Transport::Stdio {
            return Some(
                "`toolbus.replicas` is for streamable HTTP: over stdio a session has a process for itself; leave it out, or \
                 give `start` and `transport = \"http\"`"
                    .to_owned(),
            );
        }
        (!self.launch.is_started()).then(|| {
            "`toolbus.replicas` needs `start`: each replica is a process that the suite starts, reached at an address of its \
             own"
            .to_owned()
        })
    }

    /// A private directory that no server would get, or that another value takes the place of.
    fn private_dir_fault(&self) -> Option<String> {
        let name = self.private_dir.as_ref()?;
        if !self.is_started() {
            return Some(
                "`toolbus.private_dir` is for a server that the suite starts: leave it out, or give `command` or `start`"
                    .to_owned(),
            );
        }
        let is_taken = self.launch.env.contains_key(name) || self.env_root_names.contains(name);
        is_taken.then(|| {
            format!("`toolbus.private_dir` names `{name}`, which `env` or `env_root_names` fills in: leave one out")
        })
    }
}

impl Section for ToolbusTable {
    fn profiles(&self) -> Vec<&'static str> {
        let eras = [
            (Era::Legacy, ["toolbus.server", "toolbus.artifacts"]),
            (Era::Modern, ["toolbus.server@2026-07-28", "toolbus.artifacts@2026-07-28"]),
        ];
        let of = |(era, [server, artifacts]): (Era, [&'static str; 2])| {
            let both = [Some(server), self.artifacts.as_ref().map(|_| artifacts)];
            both.into_iter().flatten().filter(move |_| self.has(era))
        };
        eras.into_iter().flat_map(of).collect()
    }

    fn secrets(&self, _: &Path) -> Vec<String> {
        self.launch.secrets(&[]).chain(self.headers.values()).cloned().collect()
    }

    fn is_serial(&self) -> bool {
        self.serial
    }

    fn commands(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<Command<'_>> {
        if !self.profiles().into_iter().any(is_selected) {
            return Vec::new();
        }
        let words = match self.transport() {
            Transport::Stdio => self.command.as_ref(),
            Transport::Http => self.launch.start.as_ref(),
        };
        vec![self.launch.command_of(words)]
    }

    fn contradictions(&self, _: &TargetTable) -> Vec<String> {
        let mut faults = Vec::new();
        match self.transport() {
            Transport::Stdio if self.command.is_none() => {
                faults.push("`toolbus.command` is missing, and the transport is `stdio`".to_owned());
            }
            Transport::Http if self.url.is_none() && !self.launch.is_started() => faults.push(
                "`toolbus` says neither `command` (stdio) nor `url` or `start` (streamable HTTP)".to_owned(),
            ),
            Transport::Http => {
                let urls = [&self.endpoints.second_root, &self.endpoints.without_root];
                let urls = urls.into_iter().flatten().map(|endpoint| endpoint.url.as_str());
                for url in self.url.as_deref().into_iter().chain(urls) {
                    if !url.starts_with("http://") && !url.starts_with("https://") {
                        faults.push(format!("`{url}` is no `http://` or `https://` endpoint"));
                    }
                }
                if self.launch.is_started() && self.url.as_ref().is_some_and(|url| !url.contains("{listen}"))
                {
                    faults.push(
                        "`toolbus.url` of a server that the suite starts holds `{listen}`, for example \
                         `http://{listen}/mcp`"
                            .to_owned(),
                    );
                }
            }
            Transport::Stdio => {}
        }
        faults.extend(headers::faults("toolbus.headers", self.headers.keys()));
        let pointers = [
            ("result_pointer", self.result_pointer.as_deref()),
            ("trace_pointer", Some(&self.trace_pointer)),
        ];
        for (key, pointer) in pointers {
            if pointer.is_some_and(|pointer| !pointer.is_empty() && !pointer.starts_with('/')) {
                faults.push(format!("`toolbus.{key}` is a JSON Pointer, for example `/result`"));
            }
        }
        if let Some(handle) = &self.session_handle {
            if handle.tool.is_empty() || handle.argument.is_empty() {
                faults.push("`toolbus.session_handle` names a `tool` and an `argument`".to_owned());
            }
            if !handle.pointer.is_empty() && !handle.pointer.starts_with('/') {
                faults.push(
                    "`toolbus.session_handle.pointer` is a JSON Pointer, for example `/session`".to_owned(),
                );
            }
        }
        for revision in self.revisions.iter().flatten().filter(|revision| !revision::is_known(revision)) {
            faults.push(format!(
                "`toolbus.revisions` names `{revision}`, which this suite does not speak; it speaks {}",
                revision::known().join(", ")
            ));
        }
        if self.env_root_names[0] == self.env_root_names[1] {
            faults.push("`toolbus.env_root_names` are two different names".to_owned());
        }
        faults.extend(self.replicas_fault());
        faults.extend(self.private_dir_fault());
        faults.extend(self.probes.contradictions());
        faults
    }
}

fn env_root_names() -> [String; 2] {
    ["SF_CONTEXT_REPO_ROOT".to_owned(), "SENTRYFROGG_CONTEXT_REPO_ROOT".to_owned()]
}

fn trace_pointer() -> String {
    "/trace".to_owned()
}

fn scopes() -> Vec<String> {
    vec![SESSION_SCOPE.to_owned(), "persistent".to_owned()]
}
