//! Flags of the commands that judge what others exchanged.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::Format;

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

Every byte passes unchanged, and passing on never waits for judging. When the server has ended, the report
goes to standard error, and with `--report` as JSON into a file.

Exit codes: that of the server; where that is 0, 1 if a rule was broken; 2 usage error, 3 no server, 70 bug";

#[derive(Debug, Args)]
pub(crate) struct ProxyArguments {
    /// Pass on standard input and output
    #[arg(long, required = true)]
    pub(crate) stdio: bool,
    #[command(flatten)]
    pub(crate) by: JudgeBy,
    /// Write the report as JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// The server's program and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}
