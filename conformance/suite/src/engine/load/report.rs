//! The report of a load, from what was measured and what was judged.

use std::time::Duration;

use callmark_reports::load::{
    LOAD_SCHEMA, LoadCalls, LoadJudged, LoadPlanned, LoadReport, LoadSearch, LoadVerdict,
};
use callmark_reports::record::TargetInfo;
use callmark_reports::recording::{RecordingReport, RecordingVerdict};

use super::drive::{LoadPlan, Loaded};
use super::measured::Counts;

/// Calls in a hundred that may be left behind: the rate counts as held within that.
const TOLERANCE: u64 = 1;

/// What came of a load.
pub struct Outcome<'a> {
    /// What was asked for.
    pub plan: LoadPlan,
    /// What was measured.
    pub loaded: &'a Loaded,
    /// What the judge saw.
    pub judged: RecordingReport,
}

impl Outcome<'_> {
    /// The verdict.
    pub fn verdict(&self) -> LoadVerdict {
        let counts = self.loaded.with(|measured| measured.counts);
        verdict(self.judged.verdict, &counts)
    }

    /// Why the target does not hold the rate with a p99 of at most this; nothing where it does.
    pub fn why_not(&self, p99: Duration) -> Option<String> {
        let counts = self.loaded.with(|measured| measured.counts);
        match self.verdict() {
            LoadVerdict::Violations => {
                let ids: Vec<&str> =
                    self.judged.findings.iter().map(|own| own.rule.as_str()).take(4).collect();
                Some(format!("rules broken: {}", ids.join(", ")))
            }
            LoadVerdict::Behind => Some(format!("this machine did not send {} calls", counts.left_behind)),
            LoadVerdict::Overloaded => Some(format!(
                "{} calls failed, {} were never answered, {} were not sent",
                counts.failed, counts.unanswered, counts.crowded_out
            )),
            LoadVerdict::Held => {
                let seen = self.loaded.with(super::Measured::p99);
                (seen > p99).then(|| "the p99 is above the bound".to_owned())
            }
        }
    }

    /// The report.
    pub fn report(self, target: TargetInfo, profile: &str, search: Option<LoadSearch>) -> LoadReport {
        let verdict = self.verdict();
        let LoadPlan { pace, deadline, most_open, .. } = self.plan;
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        let unjudged = self.judged.sources.iter().map(|source| source.dropped).sum();
        let RecordingReport { exchanges, findings, rules, .. } = self.judged;
        self.loaded.with(|measured| {
            let calls: LoadCalls = measured.calls();
            LoadReport {
                schema: LOAD_SCHEMA.to_owned(),
                verdict,
                target,
                profile: profile.to_owned(),
                plan: LoadPlanned {
                    rate: pace.rate(),
                    duration_ms: milliseconds(pace.duration()),
                    deadline_ms: milliseconds(deadline),
                    most_open: most_open as u64,
                },
                calls,
                latency: measured.latency(),
                lateness: measured.lateness(),
                errors: measured.errors(),
                interval_ms: measured.interval_ms(),
                intervals: measured.intervals(),
                search,
                judged: LoadJudged { exchanges, unjudged, findings, rules },
            }
        })
    }
}

fn verdict(judged: RecordingVerdict, counts: &Counts) -> LoadVerdict {
    let Counts { intended, failed, unanswered, crowded_out, left_behind, .. } = *counts;
    if judged == RecordingVerdict::Violations {
        return LoadVerdict::Violations;
    }
    if left_behind * 100 > intended * TOLERANCE {
        return LoadVerdict::Behind;
    }
    if failed + unanswered + crowded_out > 0 { LoadVerdict::Overloaded } else { LoadVerdict::Held }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_names_the_worst_that_happened() {
        let check = |judged, change: fn(&mut Counts), expect| {
            let mut counts = Counts { intended: 1_000, sent: 1_000, succeeded: 1_000, ..Counts::default() };
            change(&mut counts);
            assert_eq!(verdict(judged, &counts), expect, "{counts:?}");
        };
        let fine = RecordingVerdict::NoViolation;
        check(fine, |_| {}, LoadVerdict::Held);
        // Within one in a hundred the rate is held.
        check(fine, |own| own.left_behind = 10, LoadVerdict::Held);
        check(fine, |own| own.left_behind = 11, LoadVerdict::Behind);
        check(fine, |own| own.unanswered = 1, LoadVerdict::Overloaded);
        check(fine, |own| own.crowded_out = 1, LoadVerdict::Overloaded);
        check(fine, |own| own.failed = 1, LoadVerdict::Overloaded);
        check(RecordingVerdict::Violations, |own| own.left_behind = 500, LoadVerdict::Violations);
    }
}
