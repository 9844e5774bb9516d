//! The UTP tables of a manifest: how the roles of a UTP target are reached (`docs/bindings.md`).

mod probes;

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::probes::{CommandTable, ProbeName, ProbeTable, ToolServiceTable};
use super::binding::{Commands, PlatformKind};
use super::credentials;
use super::nats_login::NatsLogin;
use super::nats_servers;
use super::revision::Revision;
use super::versions::{VERSION, Versions};
use crate::engine::manifest::launch::InWorkingDir;
use crate::engine::manifest::{Command, LaunchTable, Section, TargetTable, environment, headers};

/// `[utp]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UtpTable {
    /// `embedded`, `server`, `container`, or the URLs of the servers of a broker that runs, separated by commas; a list in
    /// the file.
    #[serde(default = "embedded", with = "nats_servers")]
    pub nats: String,
    /// How the suite starts the servers that `nats` names, one command line for each of them in their order; run in the
    /// directory of the manifest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broker_nodes: Vec<Vec<String>>,
    /// The environment variable that holds the user with whom the suite connects to the server of a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_env: Option<String>,
    /// The one that holds this user's password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_env: Option<String>,
    /// The one that holds a token, in place of user and password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
    /// The one that holds the seed of an nkey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nkey_env: Option<String>,
    /// A file with a user's JWT and seed, as `nsc` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credentials: Option<PathBuf>,
    /// `<ver>` of the subjects, one for each revision that is certified.
    #[serde(default)]
    pub protocol_version: Versions,
    /// How the target gets its commands.
    #[serde(default)]
    pub commands: Commands,
    /// Whether one start of the target serves all of them, in place of one for each.
    #[serde(default)]
    pub both_at_once: bool,
    /// How the target reaches cards and report.
    #[serde(default)]
    pub platform: PlatformKind,
    /// How the target is started.
    #[serde(flatten, with = "InWorkingDir")]
    pub launch: LaunchTable,
    /// How many processes of it are started, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU32>,
    /// Whether scenarios must run one at a time.
    #[serde(default)]
    pub serial: bool,
    /// `[utp.command]`.
    #[serde(default, skip_serializing_if = "CommandTable::is_empty")]
    pub command: CommandTable,
    /// `[utp.tool_options]`: members of `options` in every row of `resource.tools`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub tool_options: Map<String, Value>,
    /// `[utp.tool-service]`.
    #[serde(default, rename = "tool-service")]
    pub tool_service: Option<ToolServiceTable>,
    /// `[utp.openapi]`.
    #[serde(default)]
    pub openapi: Option<OpenApiTable>,
    /// `[utp.pmo]`.
    #[serde(default)]
    pub pmo: Option<PmoTable>,
    /// `[utp.runtime]`, what worker and execution have in common.
    #[serde(default)]
    pub runtime: RuntimeTable,
    /// `[utp.worker]`.
    #[serde(default)]
    pub worker: Option<WorkerTable>,
    /// `[utp.execution]`.
    #[serde(default)]
    pub execution: Option<ExecutionTable>,
    /// `[utp.registry]`.
    #[serde(default)]
    pub registry: Option<RegistryTable>,
    /// `[utp.schema]`.
    #[serde(default)]
    pub schema: Option<SchemaTable>,
}

/// `[utp.schema]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SchemaTable {
    /// File with captured messages, one JSON object a line.
    #[serde(default)]
    pub capture: Option<PathBuf>,
    /// The callback statuses that the captured system produces; all five when absent.
    #[serde(default)]
    pub statuses: Option<Vec<String>>,
}

/// `[utp.openapi]`: the executor of Jina tools (Guide §4).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenApiTable {
    /// Where its tools are registered, with `{project_id}` and `{channel_id}` unexpanded.
    #[serde(default)]
    pub target_subject: Option<String>,
    /// Values of the variables that a running target has, by their names in `docs/bindings.md`. Secrets.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
    /// The modes that it offers (`search`, `reader`); both when absent.
    #[serde(default)]
    pub modes: Option<Vec<String>>,
    /// Whether its own configuration maps the parameter `api_key` to `CALLMARK_SERVICE_KEY`.
    #[serde(default)]
    pub service_envs: bool,
    /// After how many seconds it gives up an upstream that does not answer.
    #[serde(default)]
    pub timeout_seconds: Option<f64>,
    /// Where the suite's upstream listens for a target that runs already: `host:port`.
    #[serde(default)]
    pub upstream: Option<String>,
    /// The log file of a target that runs already.
    #[serde(default)]
    pub log: Option<PathBuf>,
}

/// `[utp.pmo]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PmoTable {
    /// The built-ins that there are; all when absent.
    #[serde(default)]
    pub builtins: Option<Vec<Builtin>>,
    /// Arguments in place of those of `docs/bindings.md`.
    #[serde(default)]
    pub arguments: BTreeMap<Builtin, Value>,
}

/// The built-in tools of a PMO (Guide §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Builtin {
    /// `provision_agent`.
    ProvisionAgent,
    /// `delegate_async`.
    DelegateAsync,
    /// `launch_principal`.
    LaunchPrincipal,
    /// `ask_expert`.
    AskExpert,
    /// `fork_join`.
    ForkJoin,
}

impl Builtin {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ProvisionAgent, Self::DelegateAsync, Self::LaunchPrincipal, Self::AskExpert, Self::ForkJoin];

    /// The tool's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ProvisionAgent => "provision_agent",
            Self::DelegateAsync => "delegate_async",
            Self::LaunchPrincipal => "launch_principal",
            Self::AskExpert => "ask_expert",
            Self::ForkJoin => "fork_join",
        }
    }
}

impl PmoTable {
    /// Whether the PMO has this built-in.
    pub fn has(&self, builtin: Builtin) -> bool {
        self.builtins.as_ref().is_none_or(|own| own.contains(&builtin))
    }
}

/// `[utp.runtime]`: how an agent runtime is reached.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuntimeTable {
    /// Base URL with `platform = "http"`; a started one listens on `CALLMARK_LISTEN` when it is absent.
    #[serde(default)]
    pub url: Option<String>,
    /// Where its workers listen for wakeups; `worker_generic` when absent.
    #[serde(default)]
    pub worker_target: Option<String>,
    /// Where the suite's model listens for a target that runs already: `host:port`.
    #[serde(default)]
    pub model: Option<String>,
}

/// `[utp.worker]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkerTable {
    /// Whether it routes the PMO built-ins; it does when absent.
    #[serde(default)]
    pub builtins: Option<bool>,
}

/// `[utp.execution]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionTable {
    /// Whether it resumes turns itself; it does when absent.
    #[serde(default)]
    pub resume: Option<bool>,
    /// Whether it shows its Inbox; it does when absent.
    #[serde(default)]
    pub inbox: Option<bool>,
    /// After how many seconds it reports a timeout by itself, where it does and the row says so.
    #[serde(default)]
    pub deadline_seconds: Option<f64>,
}

/// `[utp.registry]`: the management API of `resource.tools` (Guide §3.2).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryTable {
    /// Base URL; a started one listens on `CALLMARK_LISTEN` when it is absent.
    #[serde(default)]
    pub base_url: Option<String>,
    /// How a registry is started that listens on `CALLMARK_LISTEN`; `{listen}` is filled in.
    #[serde(flatten, with = "InWorkingDir")]
    pub launch: LaunchTable,
    /// How a definition is sent.
    #[serde(default)]
    pub encoding: RegistryEncoding,
    /// How a row is read back.
    #[serde(default)]
    pub read: RegistryRead,
    /// A project that exists; each scenario has its own when absent.
    #[serde(default)]
    pub project: Option<String>,
    /// Headers of every request. Values are secrets and never stored.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// How a definition is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryEncoding {
    /// The body is the YAML.
    #[default]
    Yaml,
    /// The part `file` of a form is the YAML.
    Multipart,
}

/// How a row is read back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RegistryRead {
    /// `GET …/tools/{tool_name}`.
    #[default]
    Get,
    /// `GET …/tools`.
    List,
}

impl UtpTable {
    /// The table as it describes the target in one revision; nothing where the target is not certified for it.
    pub fn in_revision(&self, revision: Revision) -> Option<Self> {
        let version = self.protocol_version.of(revision)?.to_owned();
        let mut own = Self { protocol_version: Versions::only(&version), ..self.clone() };
        let probes = own.tool_service.iter_mut().flat_map(|table| table.probes.values_mut());
        let subjects = probes.filter_map(|probe| probe.target_subject.as_mut());
        let executor = own.openapi.iter_mut().filter_map(|table| table.target_subject.as_mut());
        for subject in subjects.chain(executor) {
            *subject = subject.replace(VERSION, &version);
        }
        Some(own)
    }

    /// Whether one start of the target serves several revisions.
    pub fn is_both_at_once(&self) -> bool {
        self.both_at_once && self.protocol_version.are_several()
    }

    /// Why the broker's nodes cannot be started.
    fn broker_nodes_fault(&self) -> Option<String> {
        let count = self.broker_nodes.len();
        if count == 0 {
            return None;
        }
        let urls = nats_servers::urls(&self.nats).len();
        if !nats_servers::are_named(&self.nats) || urls != count {
            return Some(format!(
                "`utp.broker_nodes` has {count} command lines, and `utp.nats` must name as many URLs: where each of these \
                 nodes listens, in their order"
            ));
        }
        None
    }

    /// Why there cannot be several replicas of what this table describes.
    fn replicas_fault(&self) -> Option<String> {
        self.replicas?;
        if !self.launch.is_started() {
            return Some(
                "`utp.replicas` needs `start`: of what runs already, the suite does not see which replica receives a \
                 command"
                    .to_owned(),
            );
        }
        let is_runtime = self.worker.is_some() || self.execution.is_some();
        (is_runtime && self.platform == PlatformKind::Http && self.runtime.url.is_none()).then(|| {
            "`utp.replicas` needs `utp.runtime.url` with `platform = \"http\"`: several replicas cannot listen on one \
             `CALLMARK_LISTEN`"
                .to_owned()
        })
    }

    /// `<ver>` of the subjects, in the oldest revision.
    pub fn version(&self) -> &str {
        self.protocol_version.oldest()
    }

    /// Where it stands who the suite is to the broker.
    pub(super) fn login(&self) -> NatsLogin {
        NatsLogin {
            user: self.user_env.clone(),
            password: self.password_env.clone(),
            token: self.token_env.clone(),
            nkey: self.nkey_env.clone(),
            credentials: self.credentials.clone(),
        }
    }
}

/// The profiles of what `start` starts.
const PROFILES: [&str; 6] =
    ["utp.tool-service", "utp.openapi", "utp.pmo", "utp.worker", "utp.execution", "utp.schema"];

impl Section for UtpTable {
    fn profiles(&self) -> Vec<&'static str> {
        let own = [
            ("utp.tool-service", self.tool_service.is_some()),
            ("utp.schema", self.schema.is_some()),
            ("utp.pmo", self.pmo.is_some()),
            ("utp.openapi", self.openapi.is_some()),
            ("utp.execution", self.execution.is_some()),
            ("utp.worker", self.worker.is_some()),
            ("utp.registry", self.registry.is_some()),
            ("utp.tool-service@v1r4", self.tool_service.is_some()),
            ("utp.pmo@v1r4", self.pmo.is_some()),
            ("utp.openapi@v1r4", self.openapi.is_some()),
            ("utp.schema@v1r4", self.schema.is_some()),
            ("utp.execution@v1r4", self.execution.is_some()),
            ("utp.worker@v1r4", self.worker.is_some()),
            ("utp.registry@v1r4", self.registry.is_some()),
        ];
        let is_served = |profile: &str| self.protocol_version.of(Revision::of_profile(profile)).is_some();
        own.into_iter()
            .filter_map(|(profile, there)| (there && is_served(profile)).then_some(profile))
            .collect()
    }

    /// Of a runtime, each side says by its table that it is there.
    fn missing_table(&self, profile: &str) -> Option<&'static str> {
        match profile {
            "utp.worker" | "utp.worker@v1r4" if self.worker.is_none() => Some("utp.worker"),
            "utp.execution" | "utp.execution@v1r4" if self.execution.is_none() => Some("utp.execution"),
            _ => None,
        }
    }

    fn secrets(&self, directory: &Path) -> Vec<String> {
        let executor = self.openapi.iter().flat_map(|own| own.environment.values());
        let registry =
            self.registry.iter().flat_map(|own| own.launch.secrets(&[]).chain(own.headers.values()));
        let own = self.launch.secrets(&[]).chain(executor).chain(registry).cloned();
        let is_public = |user: &str| !environment::may_be_secret("", user);
        let login = self.login().secrets(directory, is_public);
        own.chain(credentials::words(&self.nats, is_public))
            .chain(login)
            .chain(self.command.secrets())
            .collect()
    }

    fn is_serial(&self) -> bool {
        self.serial
    }

    fn commands(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<Command<'_>> {
        let mut all = Vec::new();
        let is_wanted =
            |profile: &str| Revision::ALL.into_iter().any(|revision| is_selected(&revision.profile(profile)));
        if PROFILES.iter().any(|profile| is_wanted(profile)) {
            all.push(self.launch.command());
        }
        if let Some(own) = self.registry.as_ref().filter(|_| is_wanted("utp.registry")) {
            all.push(own.launch.command());
        }
        all
    }

    fn contradictions(&self, _: &TargetTable) -> Vec<String> {
        let mut faults = Vec::new();
        faults.extend(self.protocol_version.faults());
        faults.extend(self.protocol_version.at_once_fault(self.both_at_once));
        faults.extend(self.login().contradictions(nats_servers::are_named(&self.nats)));
        faults.extend(nats_servers::faults(&self.nats));
        faults.extend(self.command.contradictions());
        faults.extend(self.broker_nodes_fault());
        faults.extend(self.replicas_fault());
        faults.extend(self.tool_service.iter().flat_map(ToolServiceTable::contradictions));
        let probes = self.tool_service.iter().flat_map(|table| &table.probes).filter_map(|(name, probe)| {
            Some((format!("utp.tool-service.probes.{}", name.name()), probe.target_subject.as_ref()?))
        });
        let executor = self
            .openapi
            .iter()
            .filter_map(|table| Some(("utp.openapi".to_owned(), table.target_subject.as_ref()?)));
        for (key, subject) in probes.chain(executor) {
            if is_registered_form(subject) {
                faults.extend(self.protocol_version.fault_of_subject(&key, subject));
            } else {
                faults.push(format!(
                    "`{key}.target_subject` is `{subject}`, not of the form \
                     `cg.<ver>.{{project_id}}.{{channel_id}}.cmd.tool.<target>…` without wildcards"
                ));
            }
        }
        if let Some(registry) = &self.registry {
            if registry.base_url.is_none() && !registry.launch.is_started() {
                faults
                    .push("`utp.registry` needs `base_url`, or `start` for the suite to start it".to_owned());
            }
            faults.extend(headers::faults("utp.registry.headers", registry.headers.keys()));
        }
        faults
    }
}

/// Whether a subject is one that a tool can be registered under (UTP §4.1, Guide §2).
fn is_registered_form(subject: &str) -> bool {
    let tokens: Vec<&str> = subject.split('.').collect();
    matches!(tokens.as_slice(), ["cg", _, "{project_id}", _, "cmd", "tool", _, ..])
        && tokens.iter().all(|token| !token.is_empty() && !matches!(*token, "*" | ">"))
}

fn embedded() -> String {
    "embedded".to_owned()
}
