//! What came of traffic that nobody staged: the report of `judge`, for a terminal and for machines.
//!
//! Neighbours: `human` shows runs. A recording makes nobody conformant: it holds no violation, or some, in what was seen.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::record::{Evidence, Level};
use crate::{pretty_json, text, view};

/// Name of the shape.
pub const RECORDING_SCHEMA: &str = "callmark.recording/1";
/// More findings than this are counted.
const FINDINGS: usize = 40;
/// More messages of one finding than this are counted.
const FRAMES: usize = 6;
/// More rules than this are counted where only their ids are listed.
const IDS: usize = 12;

/// What was judged, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingReport {
    /// [`RECORDING_SCHEMA`].
    pub schema: String,
    /// Whether a violation was seen.
    pub verdict: RecordingVerdict,
    /// Exchanges that showed what at least one rule is about.
    pub exchanges: u64,
    /// The recordings, in order.
    pub sources: Vec<RecordingSource>,
    /// Rules that were broken, in registry order by role.
    pub findings: Vec<RecordingFinding>,
    /// All rules of the roles that were seen which can be judged in any exchange.
    pub rules: Vec<RecordingRule>,
}

/// Whether a violation was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordingVerdict {
    /// None was.
    NoViolation,
    /// At least one rule was broken.
    Violations,
}

/// One recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingSource {
    /// As it was given.
    pub file: String,
    /// Its form, in words.
    pub format: String,
    /// Messages in it; of an HTTP archive, entries.
    pub messages: u64,
    /// Of these, messages of no exchange that can be judged.
    pub unattributed: u64,
    /// Messages that are too long to be judged.
    pub too_long: u64,
    /// Messages that passed unjudged, because the judge was behind; only where traffic was judged while it passed.
    #[serde(default, skip_serializing_if = "is_none")]
    pub dropped: u64,
    /// The line or entry at which it breaks off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<u64>,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingFinding {
    /// Id of the rule.
    pub rule: String,
    /// The role.
    pub profile: String,
    /// How much the documents ask for in this very point.
    pub level: Level,
    /// The rule in our own words.
    pub statement: String,
    /// Document and section.
    pub source: String,
    /// Exchanges, or scenarios of a run, that broke it.
    pub breaches: u64,
    /// Where the first one of these begins: `file:line`, or the number of the entry.
    pub at: String,
    /// What it shows.
    pub evidence: Evidence,
}

/// What became of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordingRule {
    /// Its id.
    pub id: String,
    /// The role.
    pub profile: String,
    /// What was seen of it.
    pub outcome: RecordingOutcome,
    /// Exchanges that showed what it is about.
    pub exchanges: u64,
}

/// What was seen of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordingOutcome {
    /// It was broken.
    Violated,
    /// It was broken where the documents only recommend it.
    Warned,
    /// Exchanges showed what it is about, and none broke it.
    NoViolation,
    /// No exchange showed what it is about.
    NotObserved,
}

impl RecordingReport {
    /// The verdict, one sentence.
    pub fn sentence(&self) -> String {
        let exchanges = text::count(usize::try_from(self.exchanges).unwrap_or(usize::MAX), "exchange");
        match self.verdict {
            RecordingVerdict::NoViolation => format!("no violation seen in {exchanges}"),
            RecordingVerdict::Violations => {
                let broken = self.rules.iter().filter(|rule| rule.outcome == RecordingOutcome::Violated);
                format!("violations: {} broken in {exchanges}", text::count(broken.count(), "rule"))
            }
        }
    }

    fn of(&self, outcome: RecordingOutcome) -> impl Iterator<Item = &RecordingRule> {
        self.rules.iter().filter(move |rule| rule.outcome == outcome)
    }
}

/// The report as pretty JSON with a newline at its end.
pub fn recording_json(report: &RecordingReport) -> String {
    pretty_json(report).expect("a report is plain data with string keys")
}

/// The report for a terminal, without colour.
pub fn recording_human(report: &RecordingReport) -> String {
    let mut out = format!("{}\n", report.sentence());
    for source in &report.sources {
        let _ = writeln!(out, "  {}: {}", text::line(&source.file, text::LINE), facts(source));
    }
    for finding in report.findings.iter().take(FINDINGS) {
        out.push('\n');
        finding_human(&mut out, finding);
    }
    if report.findings.len() > FINDINGS {
        let _ = writeln!(out, "\n… and {}", text::count(report.findings.len() - FINDINGS, "more finding"));
    }
    out.push('\n');
    let unseen: Vec<&RecordingRule> = report.of(RecordingOutcome::NotObserved).collect();
    let seen = report.rules.len() - unseen.len();
    let _ = writeln!(out, "{} seen, {} not observed", text::count(seen, "rule"), unseen.len());
    if !unseen.is_empty() {
        let mut ids: Vec<String> = unseen.iter().take(IDS).map(|rule| text::line(&rule.id, 80)).collect();
        if unseen.len() > IDS {
            ids.push(format!("… and {} more", unseen.len() - IDS));
        }
        let _ = writeln!(out, "  not observed: {}", ids.join(", "));
    }
    if !report.findings.is_empty() {
        let _ = writeln!(out, "{}", report.sentence());
    }
    out
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over references")]
fn is_none(number: &u64) -> bool {
    *number == 0
}

fn facts(source: &RecordingSource) -> String {
    let messages = text::count(usize::try_from(source.messages).unwrap_or(usize::MAX), "message");
    let mut facts = vec![source.format.clone(), messages];
    if source.unattributed > 0 {
        facts.push(format!("{} of no exchange that can be judged", source.unattributed));
    }
    if source.too_long > 0 {
        facts.push(format!("{} too long to be judged", source.too_long));
    }
    if source.dropped > 0 {
        facts.push(format!("{} passed unjudged because the judge was behind", source.dropped));
    }
    if let Some(line) = source.cut_short {
        facts.push(format!("breaks off in line {line}"));
    }
    text::line(&facts.join(", "), text::LINE)
}

/// A finding for a terminal.
pub(crate) fn finding_human(out: &mut String, finding: &RecordingFinding) {
    let evidence = &finding.evidence;
    let kind = if finding.level == Level::Must { "error" } else { "warning" };
    let line = |words: &str| text::line(words, text::LINE);
    let _ = writeln!(out, "{kind}[{}]: {}", text::line(&finding.rule, 80), line(&evidence.message));
    let mut note = |key: &str, value: &str| {
        let key = format!("{key}:");
        let _ = writeln!(out, "   = {key:<9} {value}");
    };
    let often =
        if finding.breaches > 1 { format!(" (and {} more)", finding.breaches - 1) } else { String::new() };
    note("seen at", &format!("{}{often}", line(&finding.at)));
    let asked = format!(
        "{} {} ({}, {})",
        view::level(finding.level),
        finding.statement,
        finding.source,
        finding.profile
    );
    note("rule", &line(&asked));
    if let Some(pointer) = &evidence.pointer {
        note("pointer", &line(pointer));
    }
    if let Some(expected) = &evidence.expected {
        let words = text::words(expected).map(line);
        note("expected", &words.unwrap_or_else(|| text::value_line(expected, text::LINE)));
    }
    let actual = evidence.actual.as_ref().map(|actual| text::value_line(actual, text::LINE));
    note("actual", actual.as_deref().unwrap_or("absent"));
    note("hint", &line(&evidence.hint));
    for frame in evidence.frames.iter().take(FRAMES) {
        let channel = text::line(&frame.channel, 200);
        note("message", &format!("{} {}: {channel}", frame.n, view::route(frame)));
    }
    if evidence.frames.len() > FRAMES {
        note("message", &format!("… and {}", text::count(evidence.frames.len() - FRAMES, "more message")));
    }
    note("explain", &line(&evidence.rerun));
}
