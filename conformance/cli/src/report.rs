//! `report`: render a run record again.

use std::io::Read as _;
use std::path::Path;

use callmark_reports::record::{RUN_SCHEMA, RunRecord};

use crate::args::ReportArguments;
use crate::exit::{self, Failure};

/// Largest run record that is read.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Runs it.
pub(crate) fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    let record = read(&arguments.record)?;
    let rendered = arguments.format.render(&record);
    match &arguments.out {
        None => print!("{rendered}"),
        Some(path) => std::fs::write(path, rendered)
            .map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", path.display())))?,
    }
    Ok(exit::CONFORMANT)
}

/// Reads a run record.
pub(crate) fn read(path: &Path) -> Result<RunRecord, Failure> {
    let unusable = |reason: String| {
        Failure::usage(format!("`{}` is no run record: {reason}", path.display()))
            .hint("`callmark certify` writes `run.json` into its `--out` directory")
    };
    let file = std::fs::File::open(path).map_err(|error| unusable(error.to_string()))?;
    let mut text = String::new();
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|error| unusable(error.to_string()))?;
    let record: RunRecord = serde_json::from_str(&text).map_err(|error| unusable(error.to_string()))?;
    if record.schema != RUN_SCHEMA {
        return Err(unusable(format!("its schema is `{}`, not `{RUN_SCHEMA}`", record.schema)));
    }
    Ok(record)
}
