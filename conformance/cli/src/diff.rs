//! `diff`: what changed between two runs; `editions` has what changed between two editions.

use std::path::Path;

use callmark_reports::record::RunRecord;
use callmark_reports::{ChangeKind, Diff, diff_human, diff_json, diff_markdown};

use crate::args::{DiffArguments, DiffFormat, FailOn};
use crate::editions;
use crate::exit::{self, Failure};
use crate::report;

/// The record of a whole run. What a shard did not run would look as if it were gone.
fn whole(path: &Path) -> Result<RunRecord, Failure> {
    let record = report::read(path)?;
    match record.shard {
        None => Ok(record),
        Some(shard) => Err(Failure::usage(format!("`{}` is the record of shard {shard}", path.display()))
            .hint("compare the records of whole runs; `callmark merge` makes one of all shards")),
    }
}

/// Runs it.
pub(crate) fn run(arguments: &DiffArguments) -> Result<u8, Failure> {
    let (old, new) = match (&arguments.editions[..], &arguments.old, &arguments.new) {
        ([from, to], ..) => return editions::compare(from, to, arguments.format),
        (_, Some(old), Some(new)) => (old, new),
        _ => return Err(Failure::usage("two records or two editions are compared")),
    };
    let diff = Diff::of(&whole(old)?, &whole(new)?);
    print!(
        "{}",
        match arguments.format {
            DiffFormat::Human => diff_human(&diff),
            DiffFormat::Json => diff_json(&diff),
            DiffFormat::Markdown => diff_markdown(&diff),
        }
    );
    let fails = match arguments.fail_on {
        FailOn::Regression => diff.count(ChangeKind::Regression) > 0,
        FailOn::Any => !diff.changes.is_empty(),
    };
    Ok(if fails { exit::NONCONFORMANT } else { exit::CONFORMANT })
}
