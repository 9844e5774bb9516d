//! The one table of flags.

mod choices;
mod daily;
mod editions;
mod init;
mod load;
mod manners;
mod recordings;
mod rules;
mod shards;

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use callmark_reference::utp::Revision;
use callmark_reports::record::Shard;
use clap::{Args, Parser, Subcommand, ValueEnum};

use self::choices::DEFAULT_OUT;
pub(crate) use self::choices::{DoctorFormat, Format, MatrixFormat, StoreChoice, TransportChoice};
pub(crate) use self::daily::DailyArguments;
use self::editions::EDITIONS_HELP;
pub(crate) use self::editions::{EditionsArguments, EditionsCommand, FreezeArguments};
use self::init::INIT_HELP;
pub(crate) use self::init::{InitArguments, Kind, Language, Purpose, SchemaArguments, SchemaDocument};
use self::load::LOAD_HELP;
pub(crate) use self::load::LoadArguments;
pub(crate) use self::manners::PlanArguments;
pub(crate) use self::recordings::{HttpProtocol, JudgeArguments, JudgeBy, ProxyArguments, WatchArguments};
use self::recordings::{JUDGE_HELP, PROXY_HELP, WATCH_HELP};
pub(crate) use self::rules::{ExplainArguments, RulesArguments, RulesFormat};
pub(crate) use self::shards::MergeArguments;
use self::shards::{MERGE_HELP, shard};
use crate::broker::BrokerChoice;

/// Certify an implementation of the protocols by which AI agents call tools.
///
/// Without a command: `certify`, of the `callmark.toml` here, or else of the bundled reference.
#[derive(Debug, Parser)]
#[command(name = "callmark", version, max_term_width = 100, after_help = AFTER_HELP)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// Read rules, features, mutants and editions from this directory, not from the program
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) features: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Start here:
  callmark certify --bundled                 see the suite pass its own reference
  callmark init && callmark doctor --target callmark.toml
  callmark certify --target callmark.toml    certify your implementation
  callmark certify --watch                   again and again, while you work on it
  callmark explain UTP-4.1-35                what a rule asks for, and what breaks it
  callmark docs --out spec                   the specification as a site, with real exchanges

Exit codes: 0 conformant, 1 nonconformant, 2 usage or manifest error, 3 incomplete,
4 nothing selected or applicable, 5 stale baseline (and else conformant), 70 bug
`diff`: 0 no regression, 1 regression (with `--fail-on any`: any change), 2 usage error";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the features against a target and write the reports
    Certify(CertifyArguments),
    /// Run the reference implementation
    Serve(ServeArguments),
    /// List the rules
    Rules(RulesArguments),
    /// Explain one rule: statement, source, scenarios, mutants; or one scenario: its steps and rules
    Explain(ExplainArguments),
    /// Check a manifest and its target step by step
    Doctor(DoctorArguments),
    /// Write a commented manifest to start from, and with `--lang` a working target beside it
    #[command(after_help = INIT_HELP)]
    Init(InitArguments),
    /// Print the JSON Schema of a file that Callmark reads or writes
    Schema(SchemaArguments),
    /// Prove the suite: run every mutant against the features
    Sabotage(SabotageArguments),
    /// Render a run record again
    Report(ReportArguments),
    /// Make a key to sign certificates with
    Keygen(KeygenArguments),
    /// Check a certificate: signature, files, and the messages judged again without the target
    Verify(VerifyArguments),
    /// Judge recordings of traffic that the suite did not cause
    #[command(after_help = JUDGE_HELP)]
    Judge(JudgeArguments),
    /// Stand before a target over HTTP, or between an MCP client and its server, and judge what passes
    #[command(after_help = PROXY_HELP)]
    Proxy(ProxyArguments),
    /// Listen on the bus that others use, beside your own tests or in production, and judge what passes
    #[command(after_help = WATCH_HELP)]
    Watch(WatchArguments),
    /// Make valid calls at a fixed rate, whatever the target does; measure latencies and judge every exchange
    #[command(after_help = LOAD_HELP)]
    Load(LoadArguments),
    /// Make one record of the shards of a run, with all reports: the one that a single run writes
    #[command(after_help = MERGE_HELP)]
    Merge(MergeArguments),
    /// Compare two run records: regressions, fixes, new, gone, changed evidence; or two editions
    Diff(DiffArguments),
    /// List the editions: which checks count for whoever pins one
    #[command(after_help = EDITIONS_HELP)]
    Editions(EditionsArguments),
    /// Write the specification as a static site: documents, roles, rules, scenarios, messages
    Docs(DocsArguments),
    /// Print the completions of a shell, e.g. `source <(callmark completions bash)`
    Completions(CompletionsArguments),
    /// Print the manual page, e.g. `callmark man | man -l -`
    Man(ManArguments),
}

impl Default for Command {
    fn default() -> Self {
        Self::Certify(CertifyArguments::default())
    }
}

#[derive(Clone, Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct CertifyArguments {
    /// Certify the bundled reference, which is the default only where there is no callmark.toml
    #[arg(long, conflicts_with = "target")]
    pub(crate) bundled: bool,
    /// Manifest of the target. Default: callmark.toml, where there is one
    #[arg(long, value_name = "FILE")]
    pub(crate) target: Option<PathBuf>,
    /// Certify this profile; may be repeated. Default: those of the manifest
    #[arg(long, value_name = "P")]
    pub(crate) profile: Vec<String>,
    /// Certify only this revision of the protocol, e.g. v1r4 or 2026-07-28; may be repeated. Default: those of the manifest
    #[arg(long, value_name = "R")]
    pub(crate) revision: Vec<String>,
    /// Count only the checks of this edition, e.g. 2026.1, and report what is newer; `newest` counts all. Default: the manifest's
    #[arg(long, value_name = "E")]
    pub(crate) edition: Option<String>,
    /// Run only the scenarios of this rule; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Vec<String>,
    /// Run only scenarios with these tags, e.g. '@UTP-4.2-05 or @cap:probe.count'
    #[arg(long, value_name = "EXPR")]
    pub(crate) tags: Option<String>,
    #[command(flatten)]
    pub(crate) daily: DailyArguments,
    /// Take warnings (SHOULD rules) for failures
    #[arg(long)]
    pub(crate) strict: bool,
    /// Broker: embedded, server, container, or nats:// and tls:// URLs (ws://, wss://), separated by commas. Default: the manifest's
    #[arg(long, value_name = "BROKER")]
    pub(crate) broker: Option<BrokerChoice>,
    /// toolbus: the MCP transport. Default: the manifest's; the reference is certified over stdio
    #[arg(long, value_name = "T", value_enum)]
    pub(crate) transport: Option<TransportChoice>,
    /// Where the reports go: a new or empty directory, or one that holds the reports of an earlier run
    #[arg(long, value_name = "DIR", default_value = DEFAULT_OUT)]
    pub(crate) out: PathBuf,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Known failures (TOML): they do not make the run nonconformant; stale entries end it with code 5
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Write the baseline file so that it covers the failures of this run; entries that still fail stay as they are
    #[arg(long, requires = "baseline")]
    pub(crate) write_baseline: bool,
    /// Write a certificate into --out, signed with this private key of `callmark keygen`; only for whole profiles that
    /// conform
    #[arg(long, value_name = "KEY", conflicts_with_all = ["rule", "tags", "baseline"])]
    pub(crate) sign: Option<PathBuf>,
    /// Run one part of the scenarios, e.g. 2/5 for the second of five; `callmark merge` makes the verdict of all parts
    #[arg(long, value_name = "K/N", value_parser = shard, conflicts_with_all = ["sign", "baseline"])]
    pub(crate) shard: Option<Shard>,
    /// Balance the shards by how long scenarios took: the `timings.json` of an earlier run, the same file for each shard
    #[arg(long, value_name = "FILE", requires = "shard")]
    pub(crate) timings: Option<PathBuf>,
    /// Scenarios at a time
    #[arg(long, value_name = "N", default_value_t = DEFAULT_JOBS, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) jobs: u16,
    /// Afterwards kill, pause, cut off and slow down replicas of the target while they work, and restart nodes of their broker,
    /// in an order that --seed says; what is lost or done twice is an own section of the report. utp, hub, toolbus over HTTP
    #[arg(long, conflicts_with_all = ["bundled", "sign", "shard", "watch", "failed", "list", "dry_run"])]
    pub(crate) chaos: bool,
    /// Seed of all ids, and of --chaos
    #[arg(long, value_name = "N", default_value_t = DEFAULT_SEED)]
    pub(crate) seed: u64,
    /// Stretch every deadline and quiet window
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    pub(crate) timeout_scale: f64,
    /// No progress, no closing text
    #[arg(long)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
}

const DEFAULT_JOBS: u16 = 32;
const DEFAULT_SEED: u64 = 1;

impl Default for CertifyArguments {
    fn default() -> Self {
        Self {
            bundled: false,
            target: None,
            profile: Vec::new(),
            revision: Vec::new(),
            edition: None,
            rule: Vec::new(),
            tags: None,
            daily: DailyArguments::default(),
            strict: false,
            broker: None,
            transport: None,
            out: PathBuf::from(DEFAULT_OUT),
            format: Format::Human,
            baseline: None,
            write_baseline: false,
            sign: None,
            shard: None,
            timings: None,
            jobs: DEFAULT_JOBS,
            chaos: false,
            seed: DEFAULT_SEED,
            timeout_scale: 1.0,
            quiet: false,
            plan: PlanArguments::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Family {
    /// A UTP Tool Service with its L0
    Utp,
    /// An MCP server of the tool bus
    Toolbus,
    /// The Hub of the Tool Execution Contract, or with `--agent` its agent
    Hub,
    /// A breadcrumb store with a tool runner and an agent; with `--runner` or `--agent` only that
    Breadcrumb,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct ServeArguments {
    /// What to serve
    #[arg(value_enum)]
    pub(crate) family: Family,
    /// utp: the broker: embedded, server, container, or a nats:// URL
    #[arg(long, value_name = "BROKER", default_value = "embedded")]
    pub(crate) broker: BrokerChoice,
    /// utp: the revisions to serve, as in `v1r3,v1r4`; the first is that of the demo project. Default: what
    /// CALLMARK_PROTOCOL_VERSION says, else both
    #[arg(long, value_name = "V", value_delimiter = ',')]
    pub(crate) protocol_version: Vec<Revision>,
    /// Where HTTP listens
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0", env = "CALLMARK_LISTEN")]
    pub(crate) listen: SocketAddr,
    /// toolbus: speak MCP on standard input and output, not over HTTP; breadcrumb --runner: speak JSON lines
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Keep state here, over restarts. Default: in memory
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// utp: make one call of each kind, print what travels, and end
    #[arg(long)]
    pub(crate) tour: bool,
    /// utp, breadcrumb: have an agent take a turn with this instruction, print what travels, and end
    #[arg(long, value_name = "TEXT", conflicts_with = "tour")]
    pub(crate) turn: Option<String>,
    /// utp, breadcrumb: print every message while serving
    #[arg(long)]
    pub(crate) watch: bool,
    /// hub, breadcrumb: serve the agent alone, which finds its Hub or its store in the environment
    #[arg(long, conflicts_with = "mock")]
    pub(crate) agent: bool,
    /// breadcrumb: serve the tool runner alone, whose store is at CALLMARK_STORE_URL
    #[arg(long, conflicts_with = "agent")]
    pub(crate) runner: bool,
    /// utp: serve the OpenAPI executor alone, on the broker at CALLMARK_NATS_URL; it asks the real hosts, through the
    /// proxy of HTTPS_PROXY where there is one, or the one at CALLMARK_UPSTREAM_URL
    #[arg(long, conflicts_with_all = ["tour", "turn", "watch", "agent", "runner", "mock"])]
    pub(crate) openapi: bool,
    /// utp: serve the Tool Service alone, on the broker at CALLMARK_NATS_URL, or the servers of a cluster with commas between;
    /// whoever serves the platform is asked there as well
    #[arg(long, conflicts_with_all = ["tour", "turn", "watch", "agent", "runner", "mock", "openapi"])]
    pub(crate) service: bool,
    /// utp --service, utp --openapi: answer GET /livez and GET /readyz here, for orchestrators: whether the process answers,
    /// and whether it takes calls (200) or has lost its broker or its lease (503). Default: nowhere
    #[arg(long, value_name = "ADDR")]
    pub(crate) health: Option<SocketAddr>,
    /// utp --service, utp --openapi: `nats` keeps the ledger in JetStream, on three servers where the cluster has them, and
    /// takes commands from the stream that keeps them: several instances share the work then, and one may be killed at any
    /// time. CALLMARK_REPLICA names the instance, so that its next start takes over at once what the killed one left.
    /// toolbus: `files` keeps the sessions that callers open where all instances find them.
    /// utp, hub, breadcrumb: `postgres://USER@HOST/DATABASE` keeps everything there, for several instances: the ledger of
    /// what is served alone; cards, tools, rosters and Inboxes as well of the whole; a Hub's customers, tokens and limits;
    /// breadcrumbs with their events. The tables are in the schema `callmark`, or in that of `?schema=`; the password may
    /// be in PGPASSWORD
    #[arg(long, value_name = "STORE", conflicts_with = "data")]
    pub(crate) store: Option<StoreChoice>,
    /// hub: serve a mock Hub that answers as this file says, and reports what is wrong with requests
    #[arg(long, value_name = "FILE")]
    pub(crate) mock: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Manifest of the target
    #[arg(long, value_name = "FILE", default_value = "callmark.toml")]
    pub(crate) target: PathBuf,
    /// Broker in place of the manifest's
    #[arg(long, value_name = "BROKER")]
    pub(crate) broker: Option<BrokerChoice>,
    /// What is printed on stdout: the checks as text, or as JSON (`callmark schema doctor`)
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DoctorFormat,
    /// Stretch every deadline
    #[arg(long, value_name = "X", default_value_t = 1.0, value_parser = scale)]
    pub(crate) timeout_scale: f64,
}

#[derive(Debug, Args)]
pub(crate) struct SabotageArguments {
    /// Only mutants of this profile; may be repeated
    #[arg(long, value_name = "P")]
    pub(crate) profile: Vec<String>,
    /// Only mutants of this rule; may be repeated
    #[arg(long, value_name = "ID")]
    pub(crate) rule: Vec<String>,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: MatrixFormat,
    /// Try each mutant in every scenario that it reaches
    ///
    /// Without it a mutant is tried in those of its own rule, and in one scenario of each other rule; of some other rules,
    /// not of each, where no rule is named.
    #[arg(long)]
    pub(crate) all_scenarios: bool,
    /// Mutants at a time
    #[arg(long, value_name = "N", default_value_t = 24, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// Try each mutant with 1, 4, 32 and 64 scenarios at a time
    ///
    /// A verdict must not depend on `certify --jobs`: a mutant that fails other rules with another number of scenarios at a
    /// time is reported, and ends the command with 1. Takes four times as long.
    #[arg(long)]
    pub(crate) compare_jobs: bool,
    /// Only so many of the mutants, from all over their list
    #[arg(long, value_name = "N")]
    pub(crate) sample: Option<NonZeroUsize>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// Run record (run.json)
    pub(crate) record: PathBuf,
    /// json, html, junit, sarif, markdown, messages, badge (SVG) or badge-json (shields.io)
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: callmark_reports::Format,
    /// File to write. Default: stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DiffArguments {
    /// Run record (run.json) of the run before
    #[arg(required_unless_present = "editions")]
    pub(crate) old: Option<PathBuf>,
    /// Run record of the run after
    #[arg(required_unless_present = "editions")]
    pub(crate) new: Option<PathBuf>,
    /// Compare two editions instead: what the second checks beyond the first, and why
    #[arg(long, num_args = 2, value_names = ["A", "B"], conflicts_with_all = ["old", "new", "fail_on"])]
    pub(crate) editions: Vec<String>,
    /// What ends the command with code 1
    #[arg(long, value_name = "WHAT", value_enum, default_value_t)]
    pub(crate) fail_on: FailOn,
    /// How the difference is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: DiffFormat,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// A rule that is worse off than before
    #[default]
    Regression,
    /// Any change
    Any,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// Text for people
    #[default]
    Human,
    /// One JSON object
    Json,
    /// Tables for a pull request
    Markdown,
}

/// Write the specification as a static site: documents, roles, rules, scenarios, messages.
///
/// Each rule has a page with its statement, its source, its scenarios and the mutants that it notices. The page
/// `first.html` explains one whole exchange of each protocol; for its messages the reference is run on an embedded
/// broker. The site needs no server: open `index.html` in DIR. The same binary and record always give the same bytes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  callmark docs --out spec
  callmark certify --target callmark.toml && callmark docs --out spec --run reports/out/run.json")]
pub(crate) struct DocsArguments {
    /// Where the site goes: a new or empty directory, or one that holds an older site, which is replaced
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
    /// Show the outcomes of this run record beside the rules and scenarios
    #[arg(long, value_name = "RUN.json")]
    pub(crate) run: Option<PathBuf>,
    /// Show this matrix (`callmark sabotage --format json`) on a page of its own
    #[arg(long, value_name = "MATRIX.json")]
    pub(crate) matrix: Option<PathBuf>,
    /// No progress, no closing text
    #[arg(long)]
    pub(crate) quiet: bool,
}

fn scale(text: &str) -> Result<f64, String> {
    let scale: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    if (0.01..=1000.0).contains(&scale) { Ok(scale) } else { Err("is not between 0.01 and 1000".to_owned()) }
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Write a page for each command into this directory instead
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct KeygenArguments {
    /// Where the private key goes; the public one gets the same name with `.pub`
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// `certificate.json`, with the files of its run beside it
    #[arg(value_name = "CERTIFICATE")]
    pub(crate) certificate: PathBuf,
    /// The public key of whoever should have signed it
    #[arg(long, value_name = "FILE")]
    pub(crate) key: Option<PathBuf>,
}
