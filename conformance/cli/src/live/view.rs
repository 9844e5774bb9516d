//! The live view: once a second what passes, and each rule when it is broken first.

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use callmark_reports::record::Level;
use callmark_reports::recording::RecordingFinding;
use callmark_suite::engine::recording::progress::Numbers;
use indicatif::{ProgressBar as Bar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;

use super::Shown;
use crate::args::Format;
use crate::console;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// Rules that are named on the line.
const NAMED: usize = 4;

/// Shows what passes until it is dropped.
pub(super) async fn show(shown: Shown, format: Format) {
    let line = match format {
        Format::Human => Some(Line::new()),
        Format::Json => None,
    };
    let mut known = BTreeSet::new();
    let mut before = (Instant::now(), 0);
    let mut ticks = tokio::time::interval(LOOK);
    loop {
        ticks.tick().await;
        let numbers = shown.progress.numbers();
        let report = shown.progress.report(&shown.library, shown.source.clone(), shown.strict);
        for finding in &report.findings {
            if known.insert((finding.profile.clone(), finding.rule.clone())) {
                match &line {
                    Some(line) => line.say(&said(finding)),
                    None => println!("{}", found(finding)),
                }
            }
        }
        let rate = rate(&mut before, numbers.exchanges);
        match &line {
            Some(line) => line.set(&summary(&numbers, rate, &report.findings)),
            None => println!("{}", progress(&numbers, rate, report.findings.len())),
        }
    }
}

/// A line at the bottom of a terminal; elsewhere only what is new is written.
struct Line(Bar);

impl Line {
    fn new() -> Self {
        let bar = Bar::new_spinner();
        let is_terminal = std::io::stderr().is_terminal();
        bar.set_draw_target(if is_terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        });
        bar.set_style(
            ProgressStyle::with_template("{wide_msg}").unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Self(bar)
    }

    fn set(&self, text: &str) {
        self.0.set_message(callmark_reports::inert(text, false).into_owned());
    }

    fn say(&self, text: &str) {
        if self.0.is_hidden() {
            eprintln!("{text}");
        } else {
            self.0.println(callmark_reports::inert(&console::redacted(text), false));
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Exchanges a second since the last look.
#[expect(clippy::cast_precision_loss, reason = "a rate is shown with one decimal")]
fn rate((at, exchanges): &mut (Instant, u64), now: u64) -> f64 {
    let took = at.elapsed().as_secs_f64();
    let rate = if took > 0.0 { now.saturating_sub(*exchanges) as f64 / took } else { 0.0 };
    (*at, *exchanges) = (Instant::now(), now);
    rate
}

fn summary(numbers: &Numbers, rate: f64, findings: &[RecordingFinding]) -> String {
    let Numbers { exchanges, open, dropped, .. } = numbers;
    let unjudged = if *dropped > 0 { format!(", {dropped} messages unjudged") } else { String::new() };
    let text = format!("{exchanges} exchanges, {rate:.1} a second, {open} open{unjudged}");
    let ids: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).take(NAMED).collect();
    if ids.is_empty() {
        return text + ", no rule broken";
    }
    let more = findings.len() - ids.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{text}, broken: {}{more}", ids.join(", "))
}

fn said(finding: &RecordingFinding) -> String {
    let how = if finding.level == Level::Must { "broken" } else { "warning" };
    let what = &finding.evidence.message;
    format!("{how} {} ({}): {what} ({})", finding.rule, finding.profile, finding.at)
}

fn found(finding: &RecordingFinding) -> serde_json::Value {
    json!({
        "type": "finding", "rule": finding.rule, "profile": finding.profile, "level": finding.level.name(),
        "at": finding.at, "message": finding.evidence.message, "frame": finding.evidence.frames.last(),
    })
}

fn progress(numbers: &Numbers, rate: f64, broken: usize) -> serde_json::Value {
    let Numbers { messages, exchanges, unattributed, too_long, dropped, open } = numbers;
    json!({
        "type": "progress", "messages": messages, "exchanges": exchanges, "exchanges_per_second": rate, "open": open,
        "unattributed": unattributed, "too_long": too_long, "dropped": dropped, "rules_broken": broken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_passes_and_what_is_lost() {
        let numbers = Numbers { exchanges: 12, open: 3, ..Numbers::default() };
        assert_eq!(summary(&numbers, 4.25, &[]), "12 exchanges, 4.2 a second, 3 open, no rule broken");
        let behind = Numbers { dropped: 7, ..numbers };
        assert!(summary(&behind, 0.0, &[]).contains("7 messages unjudged"));
    }

    #[test]
    fn a_rate_is_that_of_the_time_since_the_last_look() {
        let two_seconds_ago = Instant::now().checked_sub(Duration::from_secs(2)).expect("a clock that runs");
        let mut before = (two_seconds_ago, 10);
        let seen = rate(&mut before, 30);
        // However late this looks.
        assert!(seen > 0.0 && seen <= 10.0, "{seen}");
        let none = rate(&mut before, 30);
        assert!(none.abs() < f64::EPSILON && before.1 == 30, "{none}");
    }
}
