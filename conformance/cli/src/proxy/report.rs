//! What came of the traffic that was passed on: where it is written, and how the proxy ends.

use std::fs;
use std::path::Path;

use callmark_reports::recording::{RecordingReport, RecordingVerdict, recording_human, recording_json};

use crate::exit::{self, Failure};

/// Writes a report as JSON, where that is asked for.
pub(crate) fn write_report(path: Option<&Path>, report: &RecordingReport) -> Result<(), Failure> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, recording_json(report)).map_err(|error| exit::cannot_write(path, &error))
}

/// Shows a report to people.
pub(crate) fn print_report(report: &RecordingReport) {
    eprintln!("{}", recording_human(report).trim_end());
}

/// The exit code of traffic beside a command that ended with `code`.
pub(crate) fn exit_code(code: u8, report: &RecordingReport) -> u8 {
    match report.verdict {
        _ if code != exit::CONFORMANT => code,
        RecordingVerdict::Violations => exit::NONCONFORMANT,
        RecordingVerdict::NoViolation if report.exchanges == 0 => exit::NOTHING,
        RecordingVerdict::NoViolation => exit::CONFORMANT,
    }
}
