//! Flags of what lists, freezes and compares editions.

use clap::{Args, Subcommand};

use super::choices::Format;

/// Below the flags of `editions`.
pub(super) const EDITIONS_HELP: &str = "\
Examples:
  callmark editions                          the editions, the oldest first
  callmark diff --editions 2026.1 2026.2     what the later one checks beyond the first
  callmark certify --edition 2026.1          count what the edition has, report what is newer";

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct EditionsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<EditionsCommand>,
    /// What is printed on stdout
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EditionsCommand {
    /// Write what the features check now into the file of an edition that is not released
    Freeze(FreezeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct FreezeArguments {
    /// Year and number, e.g. 2026.1; its file is editions/2026.1.toml below the features (`--features`, or else ./features)
    pub(crate) edition: String,
    /// It is released with this: from now on only an erratum changes it
    #[arg(long)]
    pub(crate) released: bool,
}
