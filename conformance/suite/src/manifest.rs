//! The manifest `callmark.toml`: one file that describes a target (DESIGN: target manifest).
//!
//! Unknown keys are errors with a suggestion, and all faults of a file are told at once.
//! The shape itself is `schemas/callmark/manifest.schema.json`; here it becomes typed.

mod agent;
mod breadcrumb;
mod commands;
mod crumb_agent;
mod environment;
mod hub;
mod keys;
mod places;
mod toolbus;
mod utp;

use std::path::{Path, PathBuf};

use callmark_schemas::SchemaName;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::utp::credentials;
use crate::{files, secrets};

pub use agent::{AgentTable, DriveTable, ENV_PLACEHOLDERS, ModelKind, PageTable, ToolCallTable};
pub use breadcrumb::{
    ASTRAL_ACTIONS, BreadcrumbTable, ConfigTable, Dispatch, ExtraTool, Inputs, LANGUAGE_MODELS,
    RUNNER_PLACEHOLDERS, RunnerTable, STANDARD_TOOLS, ToolsTable, View, WorkflowTable,
};
pub use commands::CommandLine;
pub use crumb_agent::{CRUMB_AGENT_PLACEHOLDERS, Capture, CrumbAgentTable, CrumbDriveTable, CrumbModel};
pub use hub::{Customer, FixturesTable, HubTable, IntegrationsTable, ProviderTable, RateLimitTable};
pub use toolbus::{
    ArtifactsTable, BreakGlassTable, CallTable, Endpoint, Endpoints, InvalidTable, PartialTable, PathSyntax,
    StateTable, ToolbusProbes, ToolbusTable, Transport,
};
pub use utp::{
    Builtin, ExecutionTable, OpenApiTable, PlatformKind, PmoTable, ProbeName, ProbeTable, RegistryEncoding,
    RegistryRead, RegistryTable, RuntimeTable, SchemaTable, ToolServiceTable, UtpTable, WorkerTable,
};

/// Largest manifest that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// A target, as its author describes it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Who it is.
    pub target: TargetTable,
    /// How it is reached over UTP.
    #[serde(default)]
    pub utp: Option<UtpTable>,
    /// How it is reached over MCP.
    #[serde(default)]
    pub toolbus: Option<ToolbusTable>,
    /// How a Hub or an agent is reached over HTTP.
    #[serde(default)]
    pub hub: Option<HubTable>,
    /// How a tool runner or its agent is reached over a breadcrumb store.
    #[serde(default)]
    pub breadcrumb: Option<BreadcrumbTable>,
    /// The directory that relative paths and `start` refer to.
    #[serde(skip)]
    pub directory: PathBuf,
}

/// `[target]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetTable {
    /// Name in reports.
    pub name: String,
    /// Version in reports.
    #[serde(default)]
    pub version: String,
}

impl Manifest {
    /// Reads and checks a manifest file.
    ///
    /// # Errors
    /// All faults at once, each with the key that it is about.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let shown = path.display().to_string();
        let fault = |message: String| ManifestError { path: shown.clone(), faults: vec![message] };
        let text = files::read_text(path, MAX_BYTES).map_err(|error| fault(error.to_string()))?;
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        Self::parse(&shown, &text, directory.unwrap_or(Path::new(".")))
    }

    /// Checks the text of a manifest.
    pub fn parse(path: &str, text: &str, directory: &Path) -> Result<Self, ManifestError> {
        let error = |faults: Vec<String>| ManifestError { path: path.to_owned(), faults };
        let table: toml::Table = toml::from_str(text).map_err(|fault| error(vec![syntax(text, &fault)]))?;
        let value = serde_json::to_value(&table).map_err(|fault| error(vec![fault.to_string()]))?;
        let mut faults = keys::unknown(&value);
        if faults.is_empty() {
            faults = callmark_schemas::violations(SchemaName::Manifest, &value)
                .into_iter()
                // `contradictions` knows better what was meant by a text that names no broker.
                .filter(|violation| violation.pointer != "/utp/nats" || !value["utp"]["nats"].is_string())
                .map(|violation| format!("`{}`: {}", dotted(&violation.pointer), violation.message))
                .collect();
        }
        if !faults.is_empty() {
            return Err(error(faults));
        }
        let mut manifest: Self =
            serde_json::from_value(value).map_err(|fault| error(vec![fault.to_string()]))?;
        directory.clone_into(&mut manifest.directory);
        let faults = manifest.contradictions();
        if faults.is_empty() { Ok(manifest) } else { Err(error(faults)) }
    }

    /// Checks again what can be changed after reading.
    pub fn check(&self, path: &str) -> Result<(), ManifestError> {
        let faults = self.contradictions();
        if faults.is_empty() { Ok(()) } else { Err(ManifestError { path: path.to_owned(), faults }) }
    }

    /// The profiles whose tables are there.
    pub fn profiles(&self) -> Vec<&'static str> {
        let mut profiles = self.utp.as_ref().map(UtpTable::profiles).unwrap_or_default();
        if let Some(hub) = &self.hub {
            if hub.has_server() {
                profiles.push("hub.server");
            }
            if hub.agent.is_some() {
                profiles.push("hub.agent");
            }
        }
        if let Some(toolbus) = &self.toolbus {
            profiles.push("toolbus.server");
            if toolbus.artifacts.is_some() {
                profiles.push("toolbus.artifacts");
            }
        }
        profiles.extend(self.breadcrumb.iter().flat_map(BreadcrumbTable::profiles));
        profiles
    }

    /// The table that a profile cannot do without, where it is not there. Within its family's table a profile may be
    /// asked for without one of its own; of a runtime, each side says by its table that it is there.
    pub fn missing_table<'a>(&self, profile: &'a str) -> Option<&'a str> {
        let family = profile.split('.').next().unwrap_or_default();
        let (table, is_there) = match (family, &self.utp) {
            ("utp", Some(utp)) => match profile {
                "utp.worker" => (profile, utp.worker.is_some()),
                "utp.execution" => (profile, utp.execution.is_some()),
                _ => (family, true),
            },
            ("utp", None) => (family, false),
            ("toolbus", _) => (family, self.toolbus.is_some()),
            ("hub", _) => (family, self.hub.is_some()),
            _ => (family, self.breadcrumb.is_some()),
        };
        (!is_there).then_some(table)
    }

    /// Values of the manifest that must not be stored: what may be a secret of the target's environment, its HTTP headers,
    /// and credentials of the broker.
    pub fn secrets(&self) -> Vec<String> {
        let utp = self.utp.iter();
        let is_public = |user: &str| !environment::may_be_secret("", user);
        let words = utp.clone().flat_map(|utp| credentials::words(&utp.nats, is_public));
        let toolbus =
            self.toolbus.iter().flat_map(|own| environment::secrets(&own.env).chain(own.headers.values()));
        let hub = self.hub.iter().flat_map(|hub| environment::secrets(&hub.env));
        let service = self.hub.iter().filter_map(HubTable::secret);
        let agent = self.hub.iter().filter_map(|hub| hub.agent.as_ref()).flat_map(AgentTable::secrets);
        let crumbs = self.breadcrumb.iter().flat_map(BreadcrumbTable::secrets);
        let executor =
            utp.clone().filter_map(|utp| utp.openapi.as_ref()).flat_map(|own| own.environment.values());
        let registry = utp
            .clone()
            .filter_map(|utp| utp.registry.as_ref())
            .flat_map(|own| environment::secrets(&own.env).chain(own.headers.values()));
        utp.flat_map(|utp| environment::secrets(&utp.env))
            .chain(executor)
            .chain(registry)
            .chain(toolbus)
            .chain(hub)
            .cloned()
            .chain(words)
            .chain(service)
            .chain(crumbs)
            .chain(agent)
            .filter(|value| value.len() >= secrets::SHORTEST)
            .collect()
    }

    /// What the schema cannot say.
    fn contradictions(&self) -> Vec<String> {
        let mut faults = self.toolbus.iter().flat_map(ToolbusTable::contradictions).collect::<Vec<_>>();
        faults.extend(self.hub.iter().flat_map(HubTable::contradictions));
        faults.extend(self.utp.iter().flat_map(UtpTable::contradictions));
        faults.extend(self.breadcrumb.iter().flat_map(BreadcrumbTable::contradictions));
        faults
    }
}

/// A manifest that cannot be used.
#[derive(Debug, Error)]
#[error("`{path}` cannot be used: {}", faults.join("; "))]
pub struct ManifestError {
    /// The file.
    pub path: String,
    /// One fault each, with its key.
    pub faults: Vec<String>,
}

/// A syntax error with its line.
fn syntax(text: &str, error: &toml::de::Error) -> String {
    let line = error.span().map_or(1, |span| text[..span.start.min(text.len())].lines().count().max(1));
    format!("line {line}: {}", error.message().lines().next().unwrap_or_default())
}

/// `/utp/nats` as `utp.nats`.
fn dotted(pointer: &str) -> String {
    pointer.trim_start_matches('/').replace('/', ".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(text: &str) -> Vec<String> {
        Manifest::parse("callmark.toml", text, Path::new("."))
            .err()
            .map(|error| error.faults)
            .unwrap_or_default()
    }

    #[test]
    fn a_typo_is_told_with_what_was_meant() {
        let text = "[target]\nname = \"a\"\n[utp]\nplatfrom = \"nats\"\nnast = \"embedded\"\n";
        assert_eq!(
            faults(text),
            [
                "unknown key `utp.nast`; did you mean `nats`?",
                "unknown key `utp.platfrom`; did you mean `platform`?",
            ]
        );
    }

    #[test]
    fn a_wildcard_subject_is_refused() {
        let text = "[target]\nname = \"a\"\n[utp.tool-service.probes.echo]\ntool_name = \"e\"\ntarget_subject = \"cg.v1r3.*.x\"\n";
        assert!(faults(text)[0].contains("wildcard"), "{:?}", faults(text));
    }

    #[test]
    fn a_broker_that_is_none_is_told_with_what_was_meant() {
        let check = |nats: &str, expect: &[&str]| {
            let text = format!("[target]\nname = \"a\"\n[utp]\nnats = \"{nats}\"\n");
            assert_eq!(faults(&text), expect, "{nats}");
        };
        let tls = "`utp.nats` is `tls://h:4222`; the suite speaks plain NATS: did you mean `nats://h:4222`?";
        check("tls://h:4222", &[tls]);
        check("embeded", &["`utp.nats` is `embeded`; did you mean `embedded`?"]);
        let known = "known are `embedded`, `server`, `container` and `nats://host:port`";
        check("nats://", &[&format!("`utp.nats` is `nats://`; {known}")]);
        check("nats://h:4222", &[]);
    }

    #[test]
    fn a_system_with_a_store_of_its_own_is_not_started() {
        let text = "[target]\nname = \"a\"\n[breadcrumb]\nstart = [\"x\"]\nstore = \"http://h\"\n\
                    catalog = [\"calculator\"]\n[breadcrumb.runner]\n";
        assert_eq!(faults(text).len(), 1, "{:?}", faults(text));
        assert!(faults(text)[0].contains("`start` would never be run"), "{:?}", faults(text));
    }

    #[test]
    fn tables_select_profiles() {
        let text = "[target]\nname = \"a\"\n[utp.tool-service]\n[utp.schema]\ncapture = \"bus.jsonl\"\n";
        let manifest = Manifest::parse("callmark.toml", text, Path::new(".")).expect("a sound manifest");
        assert_eq!(manifest.profiles(), ["utp.tool-service", "utp.schema"]);
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        assert!(
            faults("[target]\nname = \n")[0].starts_with("line 2"),
            "{:?}",
            faults("[target]\nname = \n")
        );
    }
}
