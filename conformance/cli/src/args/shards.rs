//! Flags of what puts the shards of a run together.

use std::path::PathBuf;

use callmark_reports::record::Shard;
use clap::Args;

use super::choices::{DEFAULT_OUT, Format};

/// Below the flags of `merge`.
pub(super) const MERGE_HELP: &str = "\
Example, for two machines and a third that waits for them:
  callmark certify --shard 1/2 --out shard-1
  callmark certify --shard 2/2 --out shard-2
  callmark merge shard-1 shard-2 --out report

Exit codes: those of `certify`; 2 also where the directories are not all shards of one run";

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// Directories that `callmark certify --shard` wrote, one for each shard, in any order
    #[arg(value_name = "DIR", required = true)]
    pub(crate) shards: Vec<PathBuf>,
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
    #[arg(long, value_name = "KEY", conflicts_with = "baseline")]
    pub(crate) sign: Option<PathBuf>,
    /// No closing text
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Reads `2/5`.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    let numbers = text.split_once('/').and_then(|(index, of)| Some((index.parse().ok()?, of.parse().ok()?)));
    let Some((index, of)) = numbers else {
        return Err("is no shard; write for example `2/5` for the second of five".to_owned());
    };
    match (index, of) {
        (_, 0) => Err("divides the scenarios into no shard; there is at least one".to_owned()),
        (0, _) => Err("is no shard: the first one is number 1".to_owned()),
        (index, of) if index > of => {
            Err(format!("is no shard: there are only {of}, and the last one is `{of}/{of}`"))
        }
        (index, of) => Ok(Shard { index, of }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_those_that_there_are() {
        let check = |text: &str, expect: Option<(u16, u16)>| {
            assert_eq!(shard(text).ok(), expect.map(|(index, of)| Shard { index, of }), "{text}");
        };
        check("1/1", Some((1, 1)));
        check("2/5", Some((2, 5)));
        check("5/5", Some((5, 5)));
        for text in ["6/5", "0/5", "1/0", "0/0", "2", "2/", "/5", "-1/5", "2/5/7", "a/b", "1/70000"] {
            check(text, None);
        }
    }
}
