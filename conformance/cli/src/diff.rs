//! `diff`: what changed between two runs.

use callmark_reports::{ChangeKind, Diff, diff_human, diff_json, diff_markdown};

use crate::args::{DiffArguments, DiffFormat, FailOn};
use crate::exit::{self, Failure};
use crate::report;

/// Runs it.
pub(crate) fn run(arguments: &DiffArguments) -> Result<u8, Failure> {
    let diff = Diff::of(&report::read(&arguments.old)?, &report::read(&arguments.new)?);
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
