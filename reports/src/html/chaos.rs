//! The sections on replicas that were disturbed while they worked.

use maud::{Markup, html};

use super::findings::frames;
use super::parts::prose;
use crate::chaos::ChaosReport;

/// What is said of each role at the top of the page.
pub(super) fn sentences(reports: &[ChaosReport]) -> impl Iterator<Item = String> {
    reports.iter().map(|report| format!("{}: {}", report.title(), report.sentence()))
}

/// Anchor and title of each section of the page.
pub(super) fn contents(reports: &[ChaosReport]) -> impl Iterator<Item = (String, String)> {
    reports.iter().enumerate().map(|(index, report)| (anchor(index), report.title()))
}

fn anchor(index: usize) -> String {
    format!("chaos-{}", index + 1)
}

/// The sections of the page.
pub(super) fn section(reports: &[ChaosReport]) -> Markup {
    html! {
        @for (index, report) in reports.iter().enumerate() {
            section #(anchor(index)) {
                h2 { (prose(&report.title())) }
                p { (prose(&report.sentence())) "." }
                @for finding in &report.findings {
                    article.finding {
                        h3 { span.message { (prose(&finding.message)) } }
                        p.hint { span.label { "Hint" } " " (prose(&finding.hint)) }
                        @if !finding.frames.is_empty() { (frames(&finding.frames)) }
                    }
                }
                details {
                    summary { "What was done" }
                    ol { @for own in &report.disturbances { li { (own) } } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chaos::{ChaosFinding, ChaosKind, Disturbance, Fault, Party};

    #[test]
    fn a_section_shows_what_was_found_and_what_was_done() {
        let lost = ChaosFinding {
            kind: ChaosKind::Lost,
            message: "<b>a call</b> was never answered".to_owned(),
            hint: "keep it".to_owned(),
            frames: Vec::new(),
        };
        let report = ChaosReport {
            profile: "utp.tool-service".to_owned(),
            seed: 7,
            replicas: 3,
            broker_nodes: 0,
            disturbances: vec![Disturbance { party: Party::Replica(2), fault: Fault::Kill, lasts_ms: 250 }],
            calls: 12,
            findings: vec![lost],
            hindered: None,
        };
        let page = section(&[report]).into_string();
        assert!(page.contains("&lt;b&gt;a call") && !page.contains("<b>a call"), "{page}");
        assert!(page.contains("replica 2 killed, and started again after 250 ms"), "{page}");
    }
}
