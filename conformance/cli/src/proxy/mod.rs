//! `proxy`: stands between a target and whoever calls it, passes everything on unchanged, and has judged what passes.
//!
//! `stdio` is for an MCP server on standard input and output, `http` for one server over HTTP.

mod http;
mod report;
mod stdio;

pub(crate) use self::report::{exit_code, print_report, write_report};
use crate::args::ProxyArguments;
use crate::exit::Failure;

/// Runs it.
pub(crate) fn run(arguments: &ProxyArguments) -> Result<u8, Failure> {
    match (arguments.listen, &arguments.to) {
        (Some(listen), Some(to)) => http::run(arguments, listen, to),
        _ => stdio::run(arguments),
    }
}
