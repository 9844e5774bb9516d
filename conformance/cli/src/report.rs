//! `report`: render a run record again.

use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use callmark_reports::matrix::{MATRIX_SCHEMA, Matrix};
use callmark_reports::record::{RUN_SCHEMA, RunRecord};
use callmark_reports::{FeatureText, Format};
use callmark_suite::engine::files;
use callmark_suite::spec::library;
use serde::de::DeserializeOwned;

use crate::args::ReportArguments;
use crate::console;
use crate::exit::{self, Failure};

/// Largest run record or matrix that is read.
const MAX_BYTES: u64 = 512 * 1024 * 1024;

/// Runs it.
pub(crate) fn run(arguments: &ReportArguments) -> Result<u8, Failure> {
    let record = read(&arguments.record)?;
    let features = features(&record);
    let (written, place) = match &arguments.out {
        None => (to_stdout(arguments.format, &record, &features), "stdout".to_owned()),
        Some(path) => {
            (write_file(path, arguments.format, &record, &features), format!("`{}`", path.display()))
        }
    };
    match written {
        Err(error) if arguments.out.is_none() => console::cannot_write(&error),
        written => written.map_err(|error| Failure::usage(format!("{place} cannot be written: {error}")))?,
    }
    Ok(exit::CONFORMANT)
}

/// Reads a run record, whose verdict is that of its rules.
pub(crate) fn read(path: &Path) -> Result<RunRecord, Failure> {
    let record = read_as_it_is(path)?;
    record.consistent().map_err(|reason| {
        unusable(path, "run record", &reason).hint("it was changed after the run: certify again")
    })?;
    Ok(record)
}

/// Reads a run record, whatever was made of it.
pub(crate) fn read_as_it_is(path: &Path) -> Result<RunRecord, Failure> {
    let hint = "`callmark certify` writes `run.json` into its `--out` directory";
    read_json(path, RUN_SCHEMA, |record: &RunRecord| &record.schema)
        .map_err(|reason| unusable(path, "run record", &reason).hint(hint))
}

/// Reads a sabotage matrix.
pub(crate) fn read_matrix(path: &Path) -> Result<Matrix, Failure> {
    read_json(path, MATRIX_SCHEMA, |matrix: &Matrix| &matrix.schema).map_err(|reason| {
        unusable(path, "sabotage matrix", &reason).hint("`callmark sabotage --format json` prints one")
    })
}

fn unusable(path: &Path, what: &str, reason: &str) -> Failure {
    Failure::usage(format!("`{}` is no {what}: {reason}", path.display()))
}

fn read_json<T: DeserializeOwned>(
    path: &Path,
    expected: &str,
    schema: fn(&T) -> &String,
) -> Result<T, String> {
    let text = files::read_text(path, MAX_BYTES).map_err(|error| error.to_string())?;
    let read: T = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if schema(&read) != expected {
        return Err(format!("its schema is `{}`, not `{expected}`", schema(&read)));
    }
    Ok(read)
}

/// The features that the record was made with: those of this binary, or none when it was made with others.
pub(crate) fn features(record: &RunRecord) -> Vec<FeatureText<'static>> {
    if record.suite.features_sha256 != library::features_sha256() {
        return Vec::new();
    }
    let files = library::feature_files().into_iter();
    files.map(|(path, text)| FeatureText { path, text }).collect()
}

/// Writes one report.
pub(crate) fn write_file(
    path: &Path,
    format: Format,
    record: &RunRecord,
    features: &[FeatureText<'_>],
) -> io::Result<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    format.write(record, features, &mut file)?;
    file.flush()
}

fn to_stdout(format: Format, record: &RunRecord, features: &[FeatureText<'_>]) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    format.write(record, features, &mut out)?;
    out.flush()
}
