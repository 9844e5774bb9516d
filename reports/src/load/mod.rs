//! What came of a load: the report of `callmark load`, for machines (`load.json`), a terminal and a browser.
//!
//! `page` is the page, `chart` its pictures, `show` the text. Times are in microseconds unless a name says otherwise, and
//! count from when a call was due, not from when it was sent.

mod chart;
mod page;
mod show;

use serde::{Deserialize, Serialize};

use crate::pretty_json;
use crate::record::TargetInfo;
use crate::recording::{RecordingFinding, RecordingRule};

pub(crate) use self::chart::{Chart, Line};
pub use self::page::load_html;
pub use self::show::load_human;

/// Name of the shape.
pub const LOAD_SCHEMA: &str = "callmark.load/1";

/// What came of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadReport {
    /// [`LOAD_SCHEMA`].
    pub schema: String,
    /// Whether the target held the rate and broke no rule.
    pub verdict: LoadVerdict,
    /// The target.
    pub target: TargetInfo,
    /// The role that was called.
    pub profile: String,
    /// What was asked for.
    pub plan: LoadPlanned,
    /// Calls, by what became of them.
    pub calls: LoadCalls,
    /// From when a call was due to its answer; of a call without one, to its deadline.
    pub latency: LoadLatency,
    /// From when a call was due to when it was sent: how far this machine was behind.
    pub lateness: LoadLatency,
    /// What answers said in place of a success, the most frequent first.
    pub errors: Vec<LoadError>,
    /// Length of an interval, in milliseconds.
    pub interval_ms: u64,
    /// The time in which calls were due, in equal parts.
    pub intervals: Vec<LoadInterval>,
    /// Rates that were tried, where the highest one was searched for; the rest of the report is about the best of
    /// these, or about the last where none was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<LoadSearch>,
    /// What the judge saw.
    pub judged: LoadJudged,
}

/// Whether the target held the rate and broke no rule. Of several, the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadVerdict {
    /// A rule was broken.
    Violations,
    /// This machine did not send the calls that were due.
    Behind,
    /// Calls were not answered, or not with a success, or could not be sent because too many were open.
    Overloaded,
    /// All calls were sent and answered, and no rule was broken.
    Held,
}

impl LoadVerdict {
    /// As `load.json` has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Violations => "violations",
            Self::Behind => "behind",
            Self::Overloaded => "overloaded",
            Self::Held => "held",
        }
    }
}

/// What was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadPlanned {
    /// Calls a second.
    pub rate: f64,
    /// For how long calls are due, in milliseconds.
    pub duration_ms: u64,
    /// Within which time an answer counts, in milliseconds.
    pub deadline_ms: u64,
    /// Calls that may be open at a time.
    pub most_open: u64,
}

/// Calls, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadCalls {
    /// That were due.
    pub intended: u64,
    /// Of these, those that were sent.
    pub sent: u64,
    /// Of these, those that were answered with a success.
    pub succeeded: u64,
    /// That were answered with something else.
    pub failed: u64,
    /// That were never answered.
    pub unanswered: u64,
    /// That were not sent, because too many were open.
    pub crowded_out: u64,
    /// That were not sent, because this machine was behind.
    pub left_behind: u64,
}

/// Percentiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadLatency {
    /// Half of the calls took no longer.
    pub p50_us: u64,
    /// 90 of 100.
    pub p90_us: u64,
    /// 99 of 100.
    pub p99_us: u64,
    /// 999 of 1000.
    pub p99_9_us: u64,
    /// None took longer.
    pub max_us: u64,
}

/// Failures of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadError {
    /// What the answer says.
    pub what: String,
    /// How many say so.
    pub count: u64,
}

/// One part of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadInterval {
    /// From the beginning of the load, in milliseconds.
    pub begins_ms: u64,
    /// Of the calls that were due in it, those that were sent.
    pub sent: u64,
    /// Answers that came in it.
    pub answers: u64,
    /// Of the calls that were due in it, those that were answered with no success.
    pub failed: u64,
    /// Of the calls that were due in it, those that were never answered.
    pub unanswered: u64,
    /// Latencies of the calls that were due in it: half of them.
    pub p50_us: u64,
    /// 99 of 100.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
}

/// A search for the highest rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadSearch {
    /// The bound of the 99th percentile.
    pub p99_us: u64,
    /// The highest rate that was held; nothing where none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<f64>,
    /// In the order in which they were tried.
    pub trials: Vec<LoadTrial>,
}

/// A rate that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadTrial {
    /// Calls a second.
    pub rate: f64,
    /// The 99th percentile of the latencies.
    pub p99_us: u64,
    /// Why it counts as not held; nothing where it was held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// What the judge saw of a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadJudged {
    /// Exchanges that showed what at least one rule is about.
    pub exchanges: u64,
    /// Exchanges that were not judged, because the judge was behind.
    pub unjudged: u64,
    /// Rules that were broken.
    pub findings: Vec<RecordingFinding>,
    /// All rules that can be judged in any exchange.
    pub rules: Vec<RecordingRule>,
}

impl LoadReport {
    /// Answers with a success a second, over the time in which calls were due.
    #[expect(clippy::cast_precision_loss, reason = "a rate is shown with one decimal")]
    pub fn throughput(&self) -> f64 {
        let answers: u64 = self.intervals.iter().map(|own| own.answers).sum();
        let seconds = self.plan.duration_ms as f64 / 1000.0;
        if seconds > 0.0 { answers as f64 / seconds } else { 0.0 }
    }

    /// The verdict, one sentence.
    pub fn sentence(&self) -> String {
        let LoadCalls { intended, failed, unanswered, crowded_out, left_behind, .. } = self.calls;
        let rate = rate(self.plan.rate);
        match self.verdict {
            LoadVerdict::Violations => {
                let broken = self.judged.findings.len();
                let rules = if broken == 1 { "rule" } else { "rules" };
                format!("{broken} {rules} broken under {rate}")
            }
            LoadVerdict::Behind => format!(
                "no verdict: this machine was behind and did not send {left_behind} of {intended} calls of {rate}"
            ),
            LoadVerdict::Overloaded => {
                let all = [
                    (failed, "failed"),
                    (unanswered, "never answered"),
                    (crowded_out, "not sent, as too many were open"),
                ];
                let parts = all.iter().filter(|(count, _)| *count > 0);
                let parts: Vec<String> = parts.map(|(count, what)| format!("{count} {what}")).collect();
                format!("{rate} not held: of {intended} calls {}", parts.join(", "))
            }
            LoadVerdict::Held => format!("{rate} held: {intended} calls answered, no rule broken"),
        }
    }
}

/// The report as pretty JSON with a newline at its end.
pub fn load_json(report: &LoadReport) -> String {
    pretty_json(report).expect("a report is plain data with string keys")
}

/// A rate, for people.
fn rate(calls: f64) -> String {
    format!("{} calls a second", plain(calls))
}

/// A number without a fraction where it has none.
fn plain(number: f64) -> String {
    if number.fract().abs() < f64::EPSILON { format!("{number:.0}") } else { format!("{number:.1}") }
}

/// A time in the unit that people would choose.
#[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
fn time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..10_000 => format!("{:.2} ms", us as f64 / 1e3),
        10_000..1_000_000 => format!("{:.0} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
pub(crate) use self::tests::finding as sample_finding;
