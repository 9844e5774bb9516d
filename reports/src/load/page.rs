//! `index.html` of a load: one page that needs nothing else, with pictures and without script.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::chart::{Chart, Line};
use super::{LoadCalls, LoadLatency, LoadReport, LoadVerdict, plain, time};
use crate::html::{content_policy, finding_evidence, prose};
use crate::record::Level;
use crate::recording::{RecordingFinding, RecordingOutcome};
use crate::{text, view};

const STYLE: &str = concat!(
    include_str!("../../templates/common.css"),
    include_str!("../../templates/report.css"),
    include_str!("../../templates/load.css"),
    include_str!("../../templates/sequence.css")
);

/// The report as one self-contained page.
pub fn load_html(report: &LoadReport) -> String {
    let target = format!("{} {}", report.target.name, report.target.version);
    let target = text::line(target.trim_end(), text::LINE);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_policy(STYLE, None));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (target) " under load · Callmark" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the numbers" }
                (header(report, &target))
                main #main tabindex="-1" {
                    (numbers(report))
                    (pictures(report))
                    (search(report))
                    (findings(report))
                    (rules(report))
                    (intervals(report))
                }
                footer { p { "Written by " code { "callmark load" } ". Latencies count from when a call was due." } }
            }
        }
    };
    let mut page = page.into_string();
    page.push('\n');
    page
}

fn header(report: &LoadReport, target: &str) -> Markup {
    let (class, symbol) = match report.verdict {
        LoadVerdict::Violations | LoadVerdict::Overloaded => ("failed", "✗"),
        LoadVerdict::Behind => ("could-not-run", "!"),
        LoadVerdict::Held => ("passed", "✓"),
    };
    html! {
        header.top {
            p.brand { "Callmark load report" }
            h1 {
                span.target { bdi { (target) } } " "
                span class={ "verdict " (class) } { span.symbol aria-hidden="true" { (symbol) } " " (report.verdict.name()) }
            }
            p.sentence { (text::line(&report.sentence(), text::LINE)) "." }
        }
    }
}

fn numbers(report: &LoadReport) -> Markup {
    let LoadCalls { intended, sent, succeeded, failed, unanswered, crowded_out, left_behind } = report.calls;
    let counts = [
        ("due", intended),
        ("sent", sent),
        ("answered with a success", succeeded),
        ("answered with a failure", failed),
        ("never answered", unanswered),
        ("not sent: too many were open", crowded_out),
        ("not sent: this machine was behind", left_behind),
    ];
    html! {
        section aria-labelledby="calls" {
            h2 #calls { "Calls" }
            p.lead {
                (plain(report.plan.rate)) " calls a second of " code { (report.profile) } " for "
                (time(report.plan.duration_ms * 1000)) "; answers came at " (format!("{:.1}", report.throughput())) " a second."
            }
            table.numbers { tbody {
                @for (what, count) in counts { tr { th scope="row" { (what) } td { (count) } } }
            } }
            @if !report.errors.is_empty() {
                h3 { "Failures" }
                ul { @for error in &report.errors { li { strong { (error.count) } " " (prose(&error.what)) } } }
            }
        }
        section aria-labelledby="latency" {
            h2 #latency { "Latency" }
            p.lead { "From when a call was due to its answer. What is late because the one before it was late counts." }
            table.numbers {
                thead { tr { td {} @for name in ["p50", "p90", "p99", "p99.9", "max"] { th scope="col" { (name) } } } }
                tbody { (percentiles("latency", &report.latency)) (percentiles("sent late by", &report.lateness)) }
            }
        }
    }
}

fn percentiles(name: &str, latency: &LoadLatency) -> Markup {
    let LoadLatency { p50_us, p90_us, p99_us, p99_9_us, max_us } = *latency;
    html! { tr { th scope="row" { (name) } @for us in [p50_us, p90_us, p99_us, p99_9_us, max_us] { td { (time(us)) } } } }
}

fn pictures(report: &LoadReport) -> Markup {
    let all = |of: fn(&super::LoadInterval) -> u64| report.intervals.iter().map(of).collect::<Vec<u64>>();
    let per_second = |values: Vec<u64>| -> Vec<u64> {
        values.into_iter().map(|count| count * 1000 / report.interval_ms.max(1)).collect()
    };
    let line = |name, class, values| Line { name, class, values };
    let count = |number: u64| number.to_string();
    let charts = [
        Chart {
            id: "latencies",
            title: "Latency over time",
            description: format!(
                "The p99 was {} over all; the longest latency was {}.",
                time(report.latency.p99_us),
                time(report.latency.max_us)
            ),
            lines: vec![
                line("max", "third", all(|own| own.max_us)),
                line("p99", "second", all(|own| own.p99_us)),
                line("p50", "first", all(|own| own.p50_us)),
            ],
            duration_ms: report.plan.duration_ms,
            unit: time,
        },
        Chart {
            id: "throughput",
            title: "Calls sent and answers, a second",
            description: format!(
                "{} of {} calls were sent; {:.1} answers came a second.",
                report.calls.sent,
                report.calls.intended,
                report.throughput()
            ),
            lines: vec![
                line("sent", "second", per_second(all(|own| own.sent))),
                line("answers", "first", per_second(all(|own| own.answers))),
            ],
            duration_ms: report.plan.duration_ms,
            unit: count,
        },
        Chart {
            id: "errors",
            title: "Failures and calls without an answer",
            description: format!(
                "{} calls failed, {} were never answered.",
                report.calls.failed, report.calls.unanswered
            ),
            lines: vec![
                line("failed", "third", all(|own| own.failed)),
                line("never answered", "second", all(|own| own.unanswered)),
            ],
            duration_ms: report.plan.duration_ms,
            unit: count,
        },
    ];
    html! {
        section aria-labelledby="over-time" {
            h2 #over-time { "Over time" }
            div.charts { @for chart in &charts { (chart.show()) } }
        }
    }
}

fn search(report: &LoadReport) -> Markup {
    let Some(search) = &report.search else { return html! {} };
    html! {
        section aria-labelledby="search" {
            h2 #search { "Rates that were tried" }
            p.lead {
                @match search.best {
                    Some(best) => { "The highest with a p99 of at most " (time(search.p99_us)) ": " strong { (plain(best)) " calls a second" } "." },
                    None => { "None was held with a p99 of at most " (time(search.p99_us)) "." }
                }
            }
            table.numbers {
                thead { tr { th scope="col" { "calls a second" } th scope="col" { "p99" } th scope="col" { "held" } } }
                tbody {
                    @for trial in &search.trials {
                        tr {
                            td { (plain(trial.rate)) } td { (time(trial.p99_us)) }
                            td { @match &trial.why_not { Some(why) => { "no: " (prose(why)) }, None => "yes" } }
                        }
                    }
                }
            }
        }
    }
}

fn findings(report: &LoadReport) -> Markup {
    let findings = &report.judged.findings;
    html! {
        section.findings aria-labelledby="findings" {
            h2 #findings { "Rules broken under load " span.n { (findings.len()) } }
            @if findings.is_empty() { p.lead { "None, in " (report.judged.exchanges) " exchanges." } }
            @if report.judged.unjudged > 0 { p { (report.judged.unjudged) " exchanges were not judged: the judge was behind." } }
            @for (finding, n) in findings.iter().zip(1..) { (finding_of(finding, n)) }
        }
    }
}

fn finding_of(finding: &RecordingFinding, n: usize) -> Markup {
    let (class, symbol, label) =
        if finding.level == Level::Must { ("failed", "✗", "broken") } else { ("warned", "!", "warning") };
    html! {
        article.finding {
            h3 {
                span class={ "badge " (class) } { span.symbol aria-hidden="true" { (symbol) } " " (label) } " "
                (text::line(&finding.rule, 80)) " " span.message { (prose(&finding.evidence.message)) }
            }
            p.asked {
                span.level { (view::level(finding.level)) } " " (prose(&finding.statement)) " "
                span.source { (text::line(&finding.source, text::LINE)) " · " (text::line(&finding.profile, 80)) }
            }
            p { "In " (finding.breaches) " of the exchanges, first in " (text::line(&finding.at, text::LINE)) "." }
            div.evidence { (finding_evidence(&format!("sequence-{n}"), &finding.evidence)) }
        }
    }
}

fn rules(report: &LoadReport) -> Markup {
    let of =
        |outcome: RecordingOutcome| report.judged.rules.iter().filter(move |rule| rule.outcome == outcome);
    let seen = report.judged.rules.len() - of(RecordingOutcome::NotObserved).count();
    html! {
        details {
            summary { (seen) " of " (report.judged.rules.len()) " rules that hold in every exchange were seen" }
            table.numbers {
                thead { tr { th scope="col" { "rule" } th scope="col" { "exchanges" } th scope="col" { "outcome" } } }
                tbody {
                    @for rule in &report.judged.rules {
                        tr { td { (text::line(&rule.id, 80)) } td { (rule.exchanges) } td { (outcome(rule.outcome)) } }
                    }
                }
            }
        }
    }
}

fn outcome(outcome: RecordingOutcome) -> &'static str {
    match outcome {
        RecordingOutcome::Violated => "broken",
        RecordingOutcome::Warned => "warning",
        RecordingOutcome::NoViolation => "no violation",
        RecordingOutcome::NotObserved => "not observed",
    }
}

fn intervals(report: &LoadReport) -> Markup {
    let head = ["from", "sent", "answers", "failed", "never answered", "p50", "p99", "max"];
    html! {
        details {
            summary { "The pictures in numbers" }
            div.wide { table.numbers {
                thead { tr { @for name in head { th scope="col" { (name) } } } }
                tbody {
                    @for own in &report.intervals {
                        tr {
                            th scope="row" { (time(own.begins_ms * 1000)) }
                            td { (own.sent) } td { (own.answers) } td { (own.failed) } td { (own.unanswered) }
                            td { (time(own.p50_us)) } td { (time(own.p99_us)) } td { (time(own.max_us)) }
                        }
                    }
                }
            } }
        }
    }
}
