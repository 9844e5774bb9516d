//! The page of traffic that is judged while it passes: numbers, rules that were broken, and the exchange that broke each.
//!
//! Whoever serves it makes the whole page once and its parts again whenever the page asks for them. The parts are made
//! here, escaped, and not in the browser; the page's script only puts them in their places, and the content security
//! policy lets nothing else run.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde::Serialize;

use crate::html::{content_policy_of_live, finding_text, prose};
use crate::load::{Chart, Line};
use crate::record::Level;
use crate::recording::RecordingFinding;
use crate::{sequence, text, view};

const SCRIPT: &str = include_str!("../templates/live.js");
const OWN_STYLE: &str = include_str!("../templates/live.css");

/// What is known at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveView {
    /// Whose traffic it is.
    pub source: String,
    /// Messages that were seen; over HTTP, exchanges.
    pub messages: u64,
    /// Exchanges that were judged.
    pub exchanges: u64,
    /// Exchanges that have begun and are not complete.
    pub open: u64,
    /// Messages of no exchange that can be judged.
    pub unattributed: u64,
    /// Messages that passed unjudged.
    pub dropped: u64,
    /// Exchanges in each of the last seconds, the oldest first.
    pub seconds: Vec<u64>,
    /// Rules that were broken.
    pub findings: Vec<RecordingFinding>,
}

/// The parts of the page that change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveParts {
    /// Markup of the numbers.
    pub numbers: String,
    /// Markup of the findings.
    pub findings: String,
    /// Differs whenever the findings do.
    pub version: String,
}

/// The whole page.
pub fn live_page(view: &LiveView) -> String {
    let style = style();
    let parts = live_parts(view);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(content_policy_of_live(&style, SCRIPT));
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { "Traffic of " (text::line(&view.source, 120)) " · Callmark" }
                style { (PreEscaped(&style)) }
                noscript { meta http-equiv="refresh" content="5"; }
            }
            body {
                a.skip href="#findings" { "Skip to the findings" }
                header.top {
                    p.brand { "Callmark, live" }
                    h1 { bdi { (text::line(&view.source, 120)) } }
                    p #state.lead role="status" { "Judged while it passes." }
                }
                main {
                    section aria-labelledby="traffic" {
                        h2 #traffic { "Traffic" }
                        div #numbers { (PreEscaped(&parts.numbers)) }
                    }
                    section.findings aria-labelledby="broken" {
                        h2 #broken { "Rules broken" }
                        div #findings tabindex="-1" aria-live="polite" data-version=(parts.version) { (PreEscaped(&parts.findings)) }
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

/// The parts that change.
pub fn live_parts(view: &LiveView) -> LiveParts {
    let ids: Vec<String> = view.findings.iter().map(|own| format!("{} {}", own.profile, own.rule)).collect();
    LiveParts {
        numbers: numbers(view).into_string(),
        findings: findings(&view.findings).into_string(),
        version: ids.join(", "),
    }
}

fn style() -> String {
    [
        include_str!("../templates/common.css"),
        include_str!("../templates/report.css"),
        include_str!("../templates/load.css"),
        sequence::STYLE,
        OWN_STYLE,
    ]
    .concat()
}

fn numbers(view: &LiveView) -> Markup {
    let last = view.seconds.last().copied().unwrap_or_default();
    let facts = [
        ("calls a second", last),
        ("open", view.open),
        ("judged", view.exchanges),
        ("messages", view.messages),
        ("of no exchange", view.unattributed),
        ("unjudged", view.dropped),
    ];
    let chart = Chart {
        id: "rate",
        title: "Calls a second",
        description: format!("{last} in the last second."),
        lines: vec![Line { name: "calls judged", class: "first", values: view.seconds.clone() }],
        duration_ms: view.seconds.len() as u64 * 1000,
        unit: |number| number.to_string(),
    };
    html! {
        dl.facts { @for (what, count) in facts { div { dt { (what) } dd { (count) } } } }
        (chart.show())
        @if !view.findings.is_empty() {
            table.numbers {
                thead { tr { th scope="col" { "rule" } th scope="col" { "role" } th scope="col" { "exchanges that broke it" } } }
                tbody {
                    @for finding in &view.findings {
                        tr {
                            th scope="row" { (text::line(&finding.rule, 80)) }
                            td { (text::line(&finding.profile, 80)) } td { (finding.breaches) }
                        }
                    }
                }
            }
        }
    }
}

fn findings(all: &[RecordingFinding]) -> Markup {
    html! {
        @if all.is_empty() { p.lead { "None so far." } }
        @for (finding, n) in all.iter().zip(1..) { (finding_of(finding, n)) }
    }
}

fn finding_of(finding: &RecordingFinding, n: usize) -> Markup {
    let (class, symbol, label) =
        if finding.level == Level::Must { ("failed", "✗", "broken") } else { ("warned", "!", "warning") };
    let evidence = &finding.evidence;
    html! {
        article.finding {
            h3 {
                span class={ "badge " (class) } { span.symbol aria-hidden="true" { (symbol) } " " (label) } " "
                (text::line(&finding.rule, 80)) " " span.message { (prose(&evidence.message)) }
            }
            p.asked {
                span.level { (view::level(finding.level)) } " " (prose(&finding.statement)) " "
                span.source { (text::line(&finding.source, text::LINE)) " · " (text::line(&finding.profile, 80)) }
            }
            p { "First in " (text::line(&finding.at, text::LINE)) "." }
            (sequence::diagram(&format!("sequence-{n}"), &evidence.frames))
            @if let Some(last) = evidence.frames.last() {
                details {
                    summary { "The last message" }
                    p { (view::route(last)) " " code { (text::line(&last.channel, text::LINE)) } }
                    pre { code { (text::body_block(&last.body, text::BODY)) } }
                }
            }
            div.evidence { (finding_text(evidence)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::sample_finding;

    #[test]
    fn what_a_frame_says_is_no_markup_of_the_page() {
        let hostile = "</script><img src=x onerror=alert(1)>";
        let view = LiveView {
            source: hostile.to_owned(),
            findings: vec![sample_finding(hostile)],
            ..LiveView::default()
        };
        let page = live_page(&view);
        assert!(!page.contains("<img"), "{page}");
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        let parts = live_parts(&view);
        assert!(!parts.findings.contains("<img") && !parts.numbers.contains("<img"));
    }

    #[test]
    fn findings_stay_as_they_are_while_only_numbers_change() {
        let mut view = LiveView { findings: vec![sample_finding("a")], ..LiveView::default() };
        let before = live_parts(&view);
        view.findings[0].breaches += 1;
        view.exchanges += 1;
        let after = live_parts(&view);
        assert_eq!((&before.version, &before.findings), (&after.version, &after.findings));
        assert_ne!(before.numbers, after.numbers);
    }

    #[test]
    fn nothing_runs_but_the_script_of_the_page() {
        let page = live_page(&LiveView::default());
        assert!(page.contains("default-src 'none'") && page.contains("connect-src 'self'"), "{page}");
        assert!(!page.contains("unsafe-inline"), "{page}");
    }
}
