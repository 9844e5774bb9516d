//! `proxy`: stands between a target and whoever calls it, passes everything on unchanged, and has judged what passes.
//!
//! `stdio` is for an MCP server on standard input and output, `http` for one server over HTTP.

mod http;
mod stdio;

use std::fs;
use std::path::Path;

use callmark_reports::recording::{RecordingReport, RecordingVerdict, recording_human, recording_json};

use crate::args::ProxyArguments;
use crate::exit::{self, Failure};

/// Runs it.
pub(crate) fn run(arguments: &ProxyArguments) -> Result<u8, Failure> {
    match (arguments.listen, &arguments.to) {
        (Some(listen), Some(to)) => http::run(arguments, listen, to),
        _ => stdio::run(arguments),
    }
}

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
