//! Flags of the commands that judge what others exchanged.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use url::Url;

use super::choices::Format;
use crate::broker::BrokerChoice;

/// Below the flags of `judge`.
pub(super) const JUDGE_HELP: &str = "\
What a recording is follows from how it begins:
  transcript.jsonl     messages of a run: `callmark certify --out DIR` writes it
  HTTP archive (HAR)   what a browser, a proxy or Postman saved: requests to a Hub, MCP over HTTP
  nats sub '>'         its text, or with `--dump -` its objects: commands, cards, reports
  MCP messages         the lines between a client and a server, both directions in one file

Each rule that holds in every exchange is judged in each one. Others need a stimulus: `callmark certify`.
With `--target` the rules about what the manifest declares are judged as well.

Exit codes: 0 no violation seen, 1 violations, 2 usage error or unreadable recording, 4 nothing to judge, 70 bug";

/// By what the traffic of a target is judged.
#[derive(Debug, Args)]
pub(crate) struct JudgeBy {
    /// Manifest of the target. Default: a target that declares nothing
    #[arg(long, value_name = "FILE")]
    pub(crate) target: Option<PathBuf>,
    /// The target is the bundled reference
    #[arg(long, conflicts_with = "target")]
    pub(crate) bundled: bool,
    /// Take warnings (SHOULD rules) for violations
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct JudgeArguments {
    /// Recordings; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) by: JudgeBy,
    /// How the report is printed
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

/// Below the flags of `proxy`.
pub(super) const PROXY_HELP: &str = "\
In the configuration of an MCP client, put this in place of the server's command:
  \"command\": \"callmark\", \"args\": [\"proxy\", \"--stdio\", \"--\", \"my-server\", \"--its-flag\"]

Over HTTP, have clients ask the proxy in place of the target:
  callmark proxy --listen 127.0.0.1:8400 --to http://127.0.0.1:8000
  callmark proxy --listen 127.0.0.1:0 --to http://127.0.0.1:8000 -- my-tests   (at $CALLMARK_PROXY_URL)

Every byte passes unchanged, and passing on never waits for judging. When the server or the command has ended,
or at Ctrl-C, the report goes to standard error, and with `--report` as JSON into a file.

Exit codes: that of the server or the command; where that is 0, 1 if a rule was broken; 2 usage error, 3 it cannot
be started, 4 (over HTTP) nothing to judge passed, 70 bug";

/// What is spoken over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HttpProtocol {
    /// Requests to a Hub of the Tool Execution Contract
    Hub,
    /// Calls of an MCP server
    Toolbus,
}

impl HttpProtocol {
    /// Its table in a manifest.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Hub => "hub",
            Self::Toolbus => "toolbus",
        }
    }
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("between").required(true).args(["stdio", "listen"]))]
pub(crate) struct ProxyArguments {
    /// Pass on standard input and output of a server
    #[arg(long)]
    pub(crate) stdio: bool,
    /// Pass on requests over HTTP that arrive here
    #[arg(long, value_name = "ADDR", requires = "to")]
    pub(crate) listen: Option<SocketAddr>,
    /// Where they go: http:// or https://
    #[arg(long, value_name = "URL", requires = "listen")]
    pub(crate) to: Option<Url>,
    /// Judge only messages of this protocol. Default: whatever is recognised
    #[arg(long, value_name = "P", value_enum, requires = "listen")]
    pub(crate) protocol: Option<HttpProtocol>,
    #[command(flatten)]
    pub(crate) by: JudgeBy,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// With --listen: how what passes is shown; `json` writes a line to standard output each second and for each finding
    #[arg(long, value_enum, default_value_t, conflicts_with = "stdio")]
    pub(crate) format: Format,
    /// With --listen: answer Prometheus here, at /metrics
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio")]
    pub(crate) metrics: Option<SocketAddr>,
    /// With --listen: show what passes on a page here, for a browser, e.g. 127.0.0.1:9465
    #[arg(long, value_name = "ADDR", conflicts_with = "stdio")]
    pub(crate) page: Option<SocketAddr>,
    /// With --stdio the server's program and its arguments; with --listen what to run beside the proxy, which ends with it
    #[arg(last = true, required_unless_present = "listen", value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Below the flags of `watch`.
pub(super) const WATCH_HELP: &str = "\
Commands, cards and reports on the bus are judged by each rule that holds in every exchange:
  callmark watch --target callmark.toml -- npm test            your own tests, and what they cause
  callmark watch --target callmark.toml --metrics 127.0.0.1:9464   until Ctrl-C, for Prometheus
  callmark watch --target callmark.toml --page 127.0.0.1:9465      until Ctrl-C, for a browser
Where the manifest has no `[utp]`, the event stream of the breadcrumb store that `[breadcrumb]` names is followed.

Nothing is published or stored. The user that `[utp]` names has to be allowed to subscribe to everything (`>`): only so is it
known what came first. Over HTTP and stdio, `callmark proxy` does the same.

Exit codes: that of the command; where that is 0, 1 if a rule was broken; 2 usage error, 3 the bus or the command
cannot be reached or started, 4 nothing to judge passed, 70 bug";

#[derive(Debug, Args)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    pub(crate) by: JudgeBy,
    /// Judge the traffic of this project alone; may be repeated. Default: of all. What others send is counted
    #[arg(long, value_name = "ID")]
    pub(crate) project: Vec<String>,
    /// The servers of the bus: nats:// and tls:// URLs, separated by commas. Default: the manifest's
    #[arg(long, value_name = "BROKER")]
    pub(crate) broker: Option<BrokerChoice>,
    /// How what passes is shown; `json` writes a line to standard output each second and for each finding
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
    /// Answer Prometheus here, at /metrics
    #[arg(long, value_name = "ADDR")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Show what passes on a page here, for a browser, e.g. 127.0.0.1:9465
    #[arg(long, value_name = "ADDR")]
    pub(crate) page: Option<SocketAddr>,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// What to run meanwhile; the watch ends with it
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
