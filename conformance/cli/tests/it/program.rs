//! The program as its users run it, and the reports that it writes.

use std::path::Path;
use std::process::{Command, Output};

use crate::support;

/// The reports of a run, the record first: two runs of one target write the same bytes.
pub(crate) const REPORTS: [&str; 8] = [
    "run.json",
    "index.html",
    "junit.xml",
    "results.sarif",
    "summary.md",
    "messages.ndjson",
    "badge.svg",
    "badge.json",
];

/// A command line, to be run in a directory.
pub(crate) fn command(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new(support::program());
    command.args(arguments).current_dir(directory);
    command
}

/// Runs a command line.
pub(crate) fn output(arguments: &[&str], directory: &Path) -> Output {
    command(arguments, directory).output().expect("the binary runs")
}

/// Its exit code, and all that it printed.
pub(crate) fn printed(output: &Output) -> (Option<i32>, String) {
    let [out, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    (output.status.code(), format!("{out}{errors}"))
}

/// Runs a command line: its exit code, and all that it printed.
pub(crate) fn run(arguments: &[&str], directory: &Path) -> (Option<i32>, String) {
    printed(&output(arguments, directory))
}

/// Runs a command line that ends with this code: all that it printed.
pub(crate) fn done(expect: i32, arguments: &[&str], directory: &Path) -> String {
    let (code, text) = run(arguments, directory);
    assert_eq!(code, Some(expect), "{arguments:?}: {text}");
    text
}

/// A message in one line, however it was broken to fit a terminal.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ")
}
