//! The report for a terminal.

use std::fmt::Write as _;

use super::{LoadLatency, LoadReport, plain, rate, time};
use crate::recording::finding_human;
use crate::text;

/// More findings than this are counted.
const FINDINGS: usize = 20;

/// The report for a terminal, without colour.
pub fn load_human(report: &LoadReport) -> String {
    let mut out = format!("{}\n", report.sentence());
    let calls = &report.calls;
    let mut fact = |name: &str, value: String| {
        // A text takes whatever is written to it.
        let _ = writeln!(out, "  {name:<12}{}", text::line(&value, text::LINE));
    };
    let target = format!("{} {}", report.target.name, report.target.version);
    fact("target", format!("{} ({})", target.trim_end(), report.profile));
    fact("sent", format!("{} of {} calls", calls.sent, calls.intended));
    fact("answered", format!("{:.1} a second", report.throughput()));
    if calls.failed > 0 {
        fact("failed", calls.failed.to_string());
    }
    if calls.unanswered > 0 {
        fact("unanswered", format!("{} within {}", calls.unanswered, time(report.plan.deadline_ms * 1000)));
    }
    if calls.crowded_out > 0 {
        fact("not sent", format!("{}: {} were open", calls.crowded_out, report.plan.most_open));
    }
    if calls.left_behind > 0 {
        fact("not sent", format!("{}: this machine was behind", calls.left_behind));
    }
    fact("latency", percentiles(&report.latency));
    fact("sent late", percentiles(&report.lateness));
    for error in &report.errors {
        fact("error", format!("{} × {}", error.count, error.what));
    }
    let judged = &report.judged;
    let unjudged =
        if judged.unjudged > 0 { format!(", {} not judged", judged.unjudged) } else { String::new() };
    fact(
        "judged",
        format!("{} exchanges{unjudged}, {} rules broken", judged.exchanges, judged.findings.len()),
    );
    search(&mut out, report);
    for finding in judged.findings.iter().take(FINDINGS) {
        out.push('\n');
        finding_human(&mut out, finding);
    }
    if judged.findings.len() > FINDINGS {
        let _ = writeln!(out, "\n… and {}", text::count(judged.findings.len() - FINDINGS, "more finding"));
    }
    out
}

fn search(out: &mut String, report: &LoadReport) {
    let Some(search) = &report.search else { return };
    for trial in &search.trials {
        let why =
            trial.why_not.as_deref().map_or_else(|| "held".to_owned(), |why| format!("not held: {why}"));
        let why = text::line(&why, text::LINE);
        let _ =
            writeln!(out, "  tried       {} a second: p99 {}, {why}", plain(trial.rate), time(trial.p99_us));
    }
    let bound = time(search.p99_us);
    let _ = match search.best {
        Some(best) => writeln!(out, "the highest rate with a p99 of at most {bound}: {}", rate(best)),
        None => writeln!(out, "no rate was held with a p99 of at most {bound}"),
    };
}

fn percentiles(latency: &LoadLatency) -> String {
    let LoadLatency { p50_us, p90_us, p99_us, p99_9_us, max_us } = *latency;
    let all = [("p50", p50_us), ("p90", p90_us), ("p99", p99_us), ("p99.9", p99_9_us), ("max", max_us)];
    all.map(|(name, us)| format!("{name} {}", time(us))).join(", ")
}
