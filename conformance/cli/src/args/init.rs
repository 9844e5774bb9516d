//! Flags of what writes a first manifest and its schema.

use std::ffi::OsStr;
use std::path::PathBuf;

use callmark_suite::spec::revision::split;
use clap::builder::{EnumValueParser, PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command, ValueEnum};

/// Below the flags of `init`.
pub(super) const INIT_HELP: &str = "\
Examples:
  callmark init                              a manifest to fill in, for a UTP Tool Service
  callmark init --for hub.server             the same for a Hub; a profile names its kind as well
  callmark init --lang typescript --for hub  a whole Hub in TypeScript, to be changed into yours
  callmark init --schema                     with the schema by which editors complete the manifest

Nothing is written over. Exit codes: 0 written, 2 usage error, or a file is there already";

/// What a manifest is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// A UTP Tool Service
    #[value(aliases = ["utp.tool-service", "utp.schema"])]
    Utp,
    /// A UTP agent runtime: worker and execution service
    #[value(aliases = ["utp.execution", "utp.worker"])]
    Runtime,
    /// A UTP PMO with its built-ins
    #[value(alias = "utp.pmo")]
    Pmo,
    /// A UTP executor of OpenAPI (Jina) tools
    #[value(alias = "utp.openapi")]
    Openapi,
    /// The management API of UTP's tools
    #[value(alias = "utp.registry")]
    Registry,
    /// An MCP server of the tool bus
    #[value(aliases = ["toolbus.server", "toolbus.artifacts"])]
    Toolbus,
    /// A Hub of the Tool Execution Contract
    #[value(alias = "hub.server")]
    Hub,
    /// An agent, the Hub's client
    #[value(alias = "hub.agent")]
    Agent,
    /// A tool runner of the Universal Tool Invocation standard
    #[value(aliases = ["breadcrumb.runner", "breadcrumb.tools", "breadcrumb.workflow"])]
    Breadcrumb,
    /// An agent that writes invocations of that standard
    #[value(alias = "breadcrumb.agent")]
    BreadcrumbAgent,
}

/// What `--for` names: a kind, or a profile, which may be one of another revision than the first.
#[derive(Clone, Debug)]
pub(crate) struct Purpose {
    /// As it was given.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: Kind,
    /// The revision of its protocol, where it was given with one.
    pub(crate) revision: Option<String>,
}

/// Reads `utp`, `utp.pmo` and `utp.pmo@v1r4`; suggests and lists the kinds.
#[derive(Clone)]
struct PurposeParser;

impl TypedValueParser for PurposeParser {
    type Value = Purpose;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Purpose, clap::Error> {
        let name = value.to_string_lossy().into_owned();
        let (base, revision) = split(&name);
        let kind = EnumValueParser::<Kind>::new().parse_ref(command, arg, OsStr::new(base))?;
        let revision = revision.map(str::to_owned);
        Ok(Purpose { name, kind, revision })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Kind::value_variants().iter().filter_map(ValueEnum::to_possible_value)))
    }
}

/// In what a first target is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// Python 3.11 or later
    Python,
    /// TypeScript, run by Node.js 22.18 or later
    Typescript,
    /// Go
    Go,
    /// Rust; there is none to start from yet
    Rust,
}

#[derive(Debug, Args)]
pub(crate) struct InitArguments {
    /// File to write; an existing one is left alone
    #[arg(default_value = "callmark.toml")]
    pub(crate) file: PathBuf,
    /// What the target is; the name of one of its profiles will do, as in utp.pmo@v1r4
    #[arg(long = "for", value_name = "KIND", value_parser = PurposeParser, default_value = "utp")]
    pub(crate) purpose: Purpose,
    /// Write beside it a target in this language that works and conforms, to be changed into yours
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    pub(crate) lang: Option<Language>,
    /// Write the schema of manifests beside it, and name it in the first line: editors complete and check by it
    #[arg(long)]
    pub(crate) schema: bool,
}

/// A file that Callmark reads or writes, and whose shape is a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaDocument {
    /// `callmark.toml`, read as JSON
    Manifest,
    /// `run.json`, the record of a run
    Run,
    /// What `callmark doctor --format json` prints
    Doctor,
    /// What `callmark sabotage --format json` prints
    Sabotage,
    /// What `callmark diff --format json` prints
    Diff,
    /// A file for `--baseline`, read as JSON
    Baseline,
    /// What `callmark judge --format json` prints, and `watch` and `proxy` write with `--report`
    Recording,
    /// `load.json`, the report of a load
    Load,
}

#[derive(Debug, Args)]
pub(crate) struct SchemaArguments {
    /// Which file
    #[arg(value_enum, value_name = "DOCUMENT")]
    pub(crate) document: SchemaDocument,
}
