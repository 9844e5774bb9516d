//! `watch` and `proxy` beside the exercises of examples and reference: whatever is wrong with a target is found in what it
//! does anyway, and nothing where nothing is wrong.
//!
//! Each target does its work between parties that know nothing of the suite; a mutant's faults are put on the wire between
//! them (`relay` on a bus, `http` before a server), as `sabotage` does. `sample` says which mutants are tried.
//! `ci/try-watch` runs the same with more of them, and for longer.

mod bus;
mod calls;
mod http;
mod relay;
mod sample;
mod store;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use callmark_reference::utp::Revision;
use callmark_schemas::{SchemaName, violations};
use callmark_suite::net::wire::Wire;
use serde_json::Value;

use self::bus::{Bus, Role};
use self::http::{Http, Served};
use self::sample::Outcome;
use crate::program::Judging;
use crate::support;

/// For an answer that a fault may have taken away.
const PATIENCE: Duration = Duration::from_secs(3);
/// Numbers of mutants and of exchanges, where more are asked for than `cargo test` has time for.
const MUTANTS: &str = "CALLMARK_WATCH_MUTANTS";
const EXCHANGES: &str = "CALLMARK_WATCH_EXCHANGES";

/// The roles whose traffic can be watched.
const PROFILES: [&str; 9] = [
    "utp.tool-service",
    "utp.tool-service@v1r4",
    "utp.pmo",
    "utp.pmo@v1r4",
    "utp.worker",
    "utp.worker@v1r4",
    "hub.server",
    "toolbus.server",
    "toolbus.server@2026-07-28",
];

/// A target at work.
trait Workload {
    /// Puts a wire between the target and all others.
    fn put_between(&mut self, wire: Arc<dyn Wire>);

    /// Starts the program that judges; exercises with this number are what it judges.
    fn watch(&self, number: usize, report: &Path) -> Watched;

    /// Has the target do its work once; `at` is where the program listens.
    fn exercise(&mut self, number: usize, at: &str);
}

/// The target of a role; `direct` puts nothing between it and the others.
fn workload(profile: &str, direct: bool) -> Box<dyn Workload> {
    let (role, revision) = profile.split_once('@').unwrap_or((profile, "v1r3"));
    let bus = |role| Box::new(Bus::start(role, revision.parse::<Revision>().expect("a revision"), direct));
    match role {
        "utp.tool-service" => bus(Role::ToolService),
        "utp.pmo" => bus(Role::Pmo),
        "utp.worker" => bus(Role::Worker),
        "hub.server" => Box::new(Http::start(Served::Hub, direct)),
        _ if profile.contains('@') => Box::new(Http::start(Served::Modern, direct)),
        _ => Box::new(Http::start(Served::Legacy, direct)),
    }
}

/// The program that judges, until its command ends.
struct Watched {
    program: Judging,
    report: PathBuf,
}

impl Watched {
    /// Starts it, and waits for the line that begins with this.
    fn start(arguments: &[&str], report: &Path, begins: &str) -> Self {
        let file = report.to_str().expect("a path");
        Self { program: Judging::start(&[arguments, &[file]].concat(), begins), report: report.to_owned() }
    }

    /// Ends its command; returns its report.
    fn end(self) -> Value {
        let (_, printed) = self.program.end();
        let report = std::fs::read(&self.report).unwrap_or_else(|error| panic!("{error}: {printed}"));
        let report = serde_json::from_slice(&report).expect("JSON");
        assert_eq!(violations(SchemaName::Recording, &report), [], "{report}");
        report
    }
}

/// What is judged while a target does its work, so many times.
fn judged(workload: &mut dyn Workload, number: usize, times: usize) -> Value {
    let place = tempfile::tempdir().expect("a directory");
    let watched = workload.watch(number, &place.path().join("report.json"));
    for _ in 0..times {
        workload.exercise(number, &watched.program.place);
    }
    watched.end()
}

/// Findings of a report, each by role, rule and text.
fn findings(report: &Value) -> Vec<String> {
    let own = report["findings"].as_array().expect("findings");
    own.iter().map(|own| format!("{} {} {}", own["profile"], own["rule"], own["evidence"])).collect()
}

fn number(variable: &str) -> Option<usize> {
    std::env::var(variable).ok().map(|own| own.parse().expect("a number"))
}

#[test]
fn the_faults_of_mutants_are_found_in_what_targets_do_anyway() {
    let wanted = number(MUTANTS).unwrap_or(10);
    let outcomes = sample::run(wanted);
    let count = |own: Outcome| outcomes.iter().filter(|trial| trial.outcome == own).count();
    println!(
        "{} found, {} missed, {} show nothing here, {} take a stimulus",
        count(Outcome::Found),
        count(Outcome::Missed),
        count(Outcome::ShowsNothing),
        count(Outcome::TakesAStimulus)
    );
    assert_eq!((count(Outcome::Found), count(Outcome::Missed)), (wanted, 0));
    assert!(outcomes.iter().any(|trial| trial.mutant.late && trial.outcome == Outcome::Found));
}

#[test]
fn nothing_is_found_in_the_work_of_targets_without_faults() {
    let wanted = number(EXCHANGES).unwrap_or(0);
    let mut seen = 0;
    let grounds = PROFILES.map(|profile| (profile, workload(profile, true)));
    let examples = [("hub.server", Box::new(Http::start(Served::PythonHub, true)) as Box<dyn Workload>)];
    for (profile, mut own) in grounds.into_iter().chain(examples) {
        let once = judged(&mut *own, 0, 1);
        assert_eq!(findings(&once), [""; 0], "{profile}");
        let exchanges = once["exchanges"].as_u64().expect("a number");
        assert!(exchanges > 0, "{profile}: {once}");
        seen += exchanges;
        if wanted == 0 {
            continue;
        }
        // An equal share of each, but turns and children take longest.
        let share = if profile.contains("pmo") || profile.contains("worker") {
            wanted / 100
        } else {
            wanted * 96 / 600
        };
        let times = share / usize::try_from(exchanges).expect("a number");
        let more = judged(&mut *own, 1, times.max(1));
        assert_eq!(findings(&more), [""; 0], "{profile}");
        println!("{profile}: {} exchanges, {}", more["exchanges"], more["sources"]);
        assert_eq!(more["sources"][0]["dropped"], Value::Null, "{profile}");
        seen += more["exchanges"].as_u64().expect("a number");
    }
    assert!(seen >= wanted as u64, "{seen} exchanges");
}

#[test]
fn nothing_is_found_in_the_tour_of_the_reference() {
    for revision in ["v1r3", "v1r4"] {
        let place = tempfile::tempdir().expect("a directory");
        let server = crate::deployed::nats::Server::start(place.path(), "");
        let report = place.path().join("report.json");
        let broker = format!("nats://127.0.0.1:{}", server.port);
        let program = support::program().display().to_string();
        let output = Command::new(&program)
            .args(["watch", "--bundled", "--broker", &broker, "--report"])
            .arg(&report)
            .args([
                "--",
                &program,
                "serve",
                "utp",
                "--tour",
                "--protocol-version",
                revision,
                "--broker",
                &broker,
            ])
            .output()
            .expect("the program");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let report: Value = serde_json::from_slice(&std::fs::read(&report).expect("a report")).expect("JSON");
        assert_eq!((findings(&report), report["exchanges"].as_u64()), (Vec::new(), Some(14)), "{report}");
    }
}
