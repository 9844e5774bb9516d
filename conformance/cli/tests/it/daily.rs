//! A day with `certify`, on a Hub that `init` wrote: what failed again, up to the first failure, what would run, and on
//! each change.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support;

/// The code that a Hub gives for a tool that it does not know, and a wrong one.
pub(crate) const RIGHT: &str = "\"TOOL_NOT_FOUND\"";
pub(crate) const WRONG: &str = "\"NO_SUCH_TOOL\"";
/// The rule about it.
const RULE: &str = "HUB-52";

pub(crate) fn callmark(arguments: &[&str], home: &Path) -> Output {
    Command::new(support::program())
        .args(arguments)
        .current_dir(home)
        .env("NO_COLOR", "1")
        .env_remove("HUB_SECRET")
        .output()
        .expect("the program")
}

/// A run comes to this exit code.
fn check(arguments: &[&str], home: &Path, code: i32) -> Output {
    let output = callmark(arguments, home);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    output
}

/// A directory with a Hub in Python, as `init` writes it.
fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    check(&["init", "--lang", "python", "--for", "hub"], home.path(), 0);
    home
}

/// Writes one text in place of another one.
pub(crate) fn replace(file: &Path, before: &str, after: &str) {
    let text = std::fs::read_to_string(file).expect("the file");
    assert!(text.contains(before), "`{before}` is not in {}", file.display());
    std::fs::write(file, text.replace(before, after)).expect("written");
}

fn record(home: &Path) -> Value {
    let text = std::fs::read_to_string(home.join("reports/out/run.json")).expect("a record");
    let record: Value = serde_json::from_str(&text).expect("JSON");
    let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Run, &record);
    assert!(faults.is_empty(), "{faults:?}");
    record
}

fn scenarios(record: &Value) -> Vec<(String, String)> {
    let rules = record["rules"].as_array().expect("rules");
    let all = rules.iter().flat_map(|rule| rule["scenarios"].as_array().expect("scenarios"));
    let text = |scenario: &Value, member: &str| scenario[member].as_str().expect("a text").to_owned();
    all.map(|scenario| (text(scenario, "id"), text(scenario, "outcome"))).collect()
}

#[test]
fn what_failed_is_run_again_until_nothing_does() {
    let home = home();
    let hub = home.path().join("hub.py");
    let output = check(&["certify", "--failed"], home.path(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no record of a run"));

    replace(&hub, RIGHT, WRONG);
    check(&["certify", "--rule", RULE, "--rule", "HUB-30"], home.path(), 1);
    let whole = record(home.path());
    assert_eq!(whole.get("partial"), None);
    let failed: Vec<_> = scenarios(&whole).into_iter().filter(|(_, outcome)| outcome == "failed").collect();
    assert!(!failed.is_empty() && failed.len() < scenarios(&whole).len());

    let output = check(&["certify", "--failed"], home.path(), 1);
    assert!(String::from_utf8_lossy(&output.stdout).contains("nonconformant (earlier failures only)"));
    let part = record(home.path());
    assert_eq!(part["partial"], "failures");
    for scenario in &failed {
        assert!(scenarios(&part).contains(scenario), "{scenario:?} is not run again");
    }
    assert!(scenarios(&part).iter().all(|(id, _)| !id.contains("/HUB-30/")), "what passed is not");

    replace(&hub, WRONG, RIGHT);
    let output = check(&["certify", "--failed"], home.path(), 0);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("only a whole run gives the") && !said.contains("conformant:"), "{said}");
    assert_eq!(record(home.path())["verdict"], "incomplete");
    let output = check(&["certify", "--failed"], home.path(), 4);
    assert!(String::from_utf8_lossy(&output.stderr).contains("nothing failed in the last run"));

    // A part is never signed, nor taken for the record of another target.
    check(&["certify", "--failed", "--sign", "key.pem"], home.path(), 2);
    replace(&home.path().join("callmark.toml"), "name = \"python-hub\"", "name = \"another\"");
    let output = check(&["certify", "--failed"], home.path(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("is of the target `python-hub`"));
}

#[test]
fn a_run_ends_at_the_first_failure_where_that_is_asked_for() {
    let home = home();
    let some =
        ["certify", "--rule", RULE, "--rule", "HUB-30", "--rule", "HUB-14", "--jobs", "1", "--fail-fast"];
    check(&some, home.path(), 0);
    let sound = record(home.path());
    assert_eq!((sound.get("partial"), sound["verdict"].as_str()), (None, Some("conformant")));

    replace(&home.path().join("hub.py"), RIGHT, WRONG);
    let output = check(&some, home.path(), 1);
    assert!(String::from_utf8_lossy(&output.stdout).contains("nonconformant (stopped at the first failure)"));
    let stopped = record(home.path());
    assert_eq!(stopped["partial"], "stopped");
    let ran = scenarios(&stopped);
    assert!(ran.len() < scenarios(&sound).len(), "{ran:?}");
    // What has not begun is not in the record, and what did has come to its end.
    assert!(ran.iter().all(|(_, outcome)| outcome != "could-not-run"), "{ran:?}");
    let experiments = ran.iter().filter(|(id, outcome)| outcome == "failed" && !id.contains("/every-"));
    assert_eq!(experiments.count(), 1, "{ran:?}");
}

#[test]
fn what_would_run_is_listed_and_nothing_is_started_or_written() {
    let home = home();
    replace(
        &home.path().join("callmark.toml"),
        "start = [\"python3\", \"hub.py\"]",
        "start = [\"touch\", \"started\"]",
    );
    let output = check(&["certify", "--list", "--rule", RULE], home.path(), 0);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let output = check(&["certify", "--list", "--rule", RULE, "--format", "json"], home.path(), 0);
    let rows: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = rows.as_array().expect("a list");
    assert_eq!(rows.len(), text.lines().count());
    for (row, line) in rows.iter().zip(text.lines()) {
        let [id, name] = [&row["id"], &row["name"]].map(|member| member.as_str().expect("a text"));
        assert!(
            line.starts_with(&format!("{id}  ")) && line.ends_with(name) && line.contains(RULE),
            "{line}"
        );
    }
    assert!(!home.path().join("started").exists() && !home.path().join("reports").exists());
    check(&["certify", "--list", "--tags", "@nowhere"], home.path(), 4);
}

/// A watch that runs.
pub(crate) struct Watching {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Watching {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self::print_to(command, Stdio::null())
    }

    /// One whose standard output goes there.
    fn print_to(command: &mut Command, output: Stdio) -> Self {
        let mut child = command.stderr(Stdio::piped()).stdout(output).spawn().expect("the program");
        let said = BufReader::new(child.stderr.take().expect("standard error"));
        Self { child, said }
    }

    /// Reads until a line that begins so; all lines until then.
    pub(crate) fn until(&mut self, begin: &str) -> String {
        let mut all = String::new();
        loop {
            let mut line = String::new();
            let read = self.said.read_line(&mut line).expect("a line");
            assert_ne!(read, 0, "it ended without `{begin}`: {all}");
            all += &line;
            if line.starts_with(begin) {
                return all;
            }
        }
    }

    /// Ends it as Ctrl-C does; its exit code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).expect("an id");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("it runs");
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // One that has ended needs none.
        let _ = self.child.kill();
    }
}

#[test]
fn a_change_has_what_failed_run_again_and_then_everything() {
    let home = home();
    let mut command = Command::new(support::program());
    command.args(["certify", "--watch", "--rule", RULE]).current_dir(home.path()).env_remove("HUB_SECRET");
    let mut watching = Watching::start(&mut command);
    watching.until("watching the files");
    assert_eq!(record(home.path())["verdict"], "conformant");

    replace(&home.path().join("hub.py"), RIGHT, WRONG);
    let said = watching.until("watching the files");
    assert!(said.contains("changed: `./hub.py`"), "{said}");
    let whole = record(home.path());
    assert_eq!((whole["verdict"].as_str(), whole.get("partial")), (Some("nonconformant"), None));

    // What still fails is all that is run.
    std::fs::write(home.path().join("notes.txt"), "to do").expect("written");
    watching.until("watching the files");
    assert_eq!(record(home.path())["partial"], "failures");

    replace(&home.path().join("hub.py"), WRONG, RIGHT);
    let said = watching.until("watching the files");
    assert_eq!(said.matches("running ").count(), 2, "what failed, then all: {said}");
    let whole = record(home.path());
    assert_eq!((whole["verdict"].as_str(), whole.get("partial")), (Some("conformant"), None));
    assert_eq!(watching.interrupt(), Some(0), "the exit code of the last run");
}

#[test]
fn a_file_that_the_watch_itself_prints_to_is_no_change() {
    let home = home();
    let output = std::fs::File::create(home.path().join("output.txt")).expect("a file");
    let mut command = Command::new(support::program());
    command.args(["certify", "--watch", "--rule", RULE]).current_dir(home.path()).env_remove("HUB_SECRET");
    let mut watching = Watching::print_to(&mut command, output.into());
    watching.until("watching the files");
    assert_ne!(
        std::fs::read(home.path().join("output.txt")).expect("a file"),
        b"",
        "the run printed something"
    );
    // Of several changes the first by name is reported, so this one comes after the file above.
    std::fs::write(home.path().join("to-do.txt"), "nothing").expect("written");
    let said = watching.until("watching the files");
    assert!(said.contains("changed: `./to-do.txt`"), "{said}");
    watching.interrupt();
}

#[test]
fn a_watch_needs_the_files_of_a_target() {
    let home = tempfile::tempdir().expect("a directory");
    let output = check(&["certify", "--watch"], home.path(), 2);
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no manifest here"));
    check(&["certify", "--watch", "--bundled"], home.path(), 2);
}
