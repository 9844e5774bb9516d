//! Flags of `certify` for a day with it: what failed, again and again.

use clap::Args;

/// Above these flags in the help.
const HEADING: &str = "While you work";

/// Which part of a run is wanted, and how often.
#[derive(Clone, Debug, Default, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(crate) struct DailyArguments {
    /// Run only what the last run in --out did not pass; only a whole run gives a verdict and a certificate
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["watch", "sign", "shard", "write_baseline"])]
    pub(crate) failed: bool,
    /// Begin nothing more once a MUST rule is broken
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["sign", "shard", "write_baseline"])]
    pub(crate) fail_fast: bool,
    /// List the scenarios that would run, with their rules, and start nothing
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["watch", "sign", "write_baseline", "fail_fast"])]
    pub(crate) list: bool,
    /// Certify, and on each change of the target's files run what failed, then all, until Ctrl-C
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["sign", "shard", "write_baseline", "bundled"])]
    pub(crate) watch: bool,
}
