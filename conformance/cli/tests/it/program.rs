//! The program as its users run it, and the reports that it writes.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

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

/// `watch` or `proxy` beside a command that ends when its standard input does.
pub(crate) struct Judging {
    process: Child,
    stderr: BufReader<ChildStderr>,
    /// What its first line says after the words that it begins with: where it watches or listens.
    pub(crate) place: String,
}

impl Judging {
    /// Starts it, and waits for the line that begins with this.
    pub(crate) fn start(arguments: &[&str], begins: &str) -> Self {
        let mut process = Command::new(support::program())
            .args(arguments)
            .args(["--", "cat"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program");
        let mut stderr = BufReader::new(process.stderr.take().expect("a pipe"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        let place = line.trim().strip_prefix(begins).unwrap_or_else(|| panic!("{line}")).to_owned();
        Self { process, stderr, place }
    }

    /// Ends the command; returns the exit code and what was printed.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        drop(self.process.stdin.take());
        let mut printed = String::new();
        self.stderr.read_to_string(&mut printed).expect("what it prints");
        (self.process.wait().expect("its end").code(), printed)
    }
}
