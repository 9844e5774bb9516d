//! `messages.ndjson`: the run as Cucumber Messages, one envelope a line, for the tools of Cucumber.
//!
//! The record says what became of each scenario and the step that decided it; the features, which the caller
//! hands in, say what the scenario is (`document`). A scenario of features that nobody hands in is sketched
//! from what the record knows: its file, line and name.
//! Cucumber has no word for some outcomes (`status`): a warning passes with a log, a known failure is skipped,
//! a check that saw nothing is pending, and one that could not run is unknown.
//! Deliberately absent: times, machine and step definitions, which the record does not hold. Durations are zero.

mod document;
mod status;

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use self::document::{Document, shown};
use self::status::Entries;
use crate::record::{RunRecord, Verdict};
use crate::{text, view};

/// The version of the messages that these envelopes keep to.
const PROTOCOL: &str = "34.2.1";
/// The one run of the file.
const RUN: &str = "run";

/// A feature file as the suite ran it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureText<'a> {
    /// As the record names it, for example `features/utp/tool-service/callback.feature`.
    pub path: String,
    /// All of it.
    pub text: &'a str,
}

/// The scenarios of one file, by line.
type Scenarios<'a> = BTreeMap<(u32, &'a str), Entries<'a>>;

/// Writes the record as Cucumber Messages.
///
/// # Errors
/// What `out` answers.
pub fn messages(record: &RunRecord, features: &[FeatureText<'_>], out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines { out };
    lines.say(&meta(record))?;
    let mut cases = Vec::new();
    for (file, scenarios) in by_file(record) {
        let source = features.iter().find(|feature| feature.path == file);
        let names = || scenarios.iter().map(|((line, _), entries)| (*line, entries[0].1.name.as_str()));
        let quoted = source.and_then(|source| Some((source, Document::read(file, source.text, names())?)));
        let document = if let Some((source, document)) = quoted {
            lines.say(&json!({"source": {
                "uri": shown(file), "data": source.text, "mediaType": "text/x.cucumber.gherkin+plain",
            }}))?;
            document
        } else {
            Document::sketch(file, names())
        };
        lines.say(&document.envelope)?;
        for ((line, id), entries) in scenarios {
            let Some(pickle) = document.pickles.get(&line) else { continue };
            lines.say(&pickle.envelope(file, &shown(id)))?;
            let steps = pickle.steps.iter().map(|step| step.line).collect();
            cases.push(Case { id: shown(id), steps, entries });
        }
    }
    lines.say(&json!({"testRunStarted": {"id": RUN, "timestamp": moment()}}))?;
    for case in &cases {
        lines.say(&case.plan())?;
    }
    for case in &cases {
        case.run(&mut lines)?;
    }
    let success = record.verdict == Verdict::Conformant;
    lines.say(&json!({"testRunFinished": {
        "testRunStartedId": RUN, "success": success, "timestamp": moment(), "message": view::sentence(record),
    }}))
}

fn by_file(record: &RunRecord) -> BTreeMap<&str, Scenarios<'_>> {
    let mut files = BTreeMap::<&str, Scenarios<'_>>::new();
    for rule in &record.rules {
        for scenario in &rule.scenarios {
            let file = files.entry(&scenario.file).or_default();
            file.entry((scenario.line, &scenario.id)).or_default().push((rule, scenario));
        }
    }
    files
}

fn meta(record: &RunRecord) -> Value {
    let unknown = json!({"name": "not recorded"});
    json!({"meta": {
        "protocolVersion": PROTOCOL,
        "implementation": {"name": "callmark", "version": shown(&record.suite.version)},
        // What ran the scenarios' other side: the target.
        "runtime": {"name": shown(&record.target.name), "version": shown(&record.target.version)},
        "os": unknown,
        "cpu": unknown,
    }})
}

/// One scenario as it was tried.
struct Case<'a> {
    id: String,
    /// The line of each step.
    steps: Vec<u32>,
    entries: Entries<'a>,
}

impl Case<'_> {
    fn plan(&self) -> Value {
        let steps = (1..=self.steps.len())
            .map(|n| json!({"id": self.step(n), "pickleStepId": document::pickle_step(&self.id, n)}));
        let steps: Vec<_> = steps.collect();
        json!({"testCase": {
            "id": self.case(), "pickleId": self.id, "testRunStartedId": RUN, "testSteps": steps,
        }})
    }

    fn run(&self, lines: &mut Lines<'_>) -> io::Result<()> {
        let started = format!("{}#started", self.id);
        lines.say(&json!({"testCaseStarted": {
            "id": started, "testCaseId": self.case(), "attempt": 0, "timestamp": moment(),
        }}))?;
        for (n, step) in status::of(&self.entries, &self.steps).into_iter().enumerate() {
            let id = self.step(n + 1);
            lines.say(&json!({"testStepStarted": {
                "testCaseStartedId": started, "testStepId": id, "timestamp": moment(),
            }}))?;
            if let Some(log) = step.log {
                lines.say(&json!({"attachment": {
                    "testCaseStartedId": started, "testStepId": id, "body": log,
                    "contentEncoding": "IDENTITY", "mediaType": "text/x.cucumber.log+plain",
                }}))?;
            }
            let mut result = json!({"status": step.status, "duration": moment()});
            if let (Some(message), Some(members)) = (step.message, result.as_object_mut()) {
                members.insert("message".to_owned(), message.into());
            }
            lines.say(&json!({"testStepFinished": {
                "testCaseStartedId": started, "testStepId": id, "testStepResult": result, "timestamp": moment(),
            }}))?;
        }
        lines.say(&json!({"testCaseFinished": {
            "testCaseStartedId": started, "timestamp": moment(), "willBeRetried": false,
        }}))
    }

    fn case(&self) -> String {
        format!("{}#case", self.id)
    }

    fn step(&self, n: usize) -> String {
        format!("{}#step-{n}", self.id)
    }
}

/// No time at all, as a time and as a duration: neither is in the record.
fn moment() -> Value {
    json!({"seconds": 0, "nanos": 0})
}

/// One JSON value a line.
struct Lines<'a> {
    out: &'a mut dyn Write,
}

impl Lines<'_> {
    fn say(&mut self, envelope: &Value) -> io::Result<()> {
        let mut line = envelope.to_string();
        // All that acts is outside of ASCII, but for what JSON escapes itself and the delete character.
        if !line.is_ascii() || line.contains('\u{7f}') {
            line = text::escape_acting(&line);
        }
        line.push('\n');
        self.out.write_all(line.as_bytes())
    }
}
