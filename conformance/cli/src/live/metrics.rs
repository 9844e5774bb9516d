//! Numbers for Prometheus, in its text format.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use callmark_suite::engine::recording::latencies::{BOUNDS, LatencyCounts};
use callmark_suite::engine::recording::progress::Numbers;
use callmark_suite::net::http_server::{HttpReply, HttpServer};

use super::Shown;

/// The type of the text format.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Answers `GET /metrics`.
pub(super) async fn serve(address: SocketAddr, shown: Shown) -> Result<HttpServer, String> {
    let handler = Arc::new(move |request: callmark_suite::net::http_server::ReceivedRequest| {
        if request.method == "GET" && request.bare_path() == "/metrics" {
            HttpReply::text(200, TEXT, &text(&shown))
        } else {
            HttpReply::text(404, "text/plain", "there is only GET /metrics\n")
        }
    });
    HttpServer::start(Some(&address.to_string()), handler).await
}

fn text(shown: &Shown) -> String {
    let mut text = numbers(&shown.progress.numbers());
    latencies(&mut text, &shown.progress.latencies.counts());
    let report = shown.progress.report(&shown.library, shown.source.clone(), shown.strict);
    head(&mut text, "findings_total", "counter", "Exchanges that broke a rule.");
    for finding in &report.findings {
        // Ids of rules and roles need no escapes, and `write!` into a text does not fail.
        let _ = writeln!(
            text,
            "callmark_findings_total{{profile=\"{}\",rule=\"{}\",level=\"{}\"}} {}",
            finding.profile,
            finding.rule,
            finding.level.name(),
            finding.breaches
        );
    }
    text
}

fn numbers(numbers: &Numbers) -> String {
    let Numbers { messages, exchanges, unattributed, too_long, dropped, open } = *numbers;
    let all = [
        ("messages_total", "counter", "Messages that were seen; over HTTP, exchanges.", messages),
        ("exchanges_total", "counter", "Exchanges that were judged.", exchanges),
        ("unattributed_total", "counter", "Messages of no exchange that can be judged.", unattributed),
        ("too_long_total", "counter", "Messages that are too long to be judged.", too_long),
        ("dropped_total", "counter", "Messages that passed unjudged, because the judge was behind.", dropped),
        ("open_exchanges", "gauge", "Exchanges that have begun and are not complete.", open),
    ];
    let mut text = String::new();
    for (name, kind, help, number) in all {
        head(&mut text, name, kind, help);
        let _ = writeln!(text, "callmark_{name} {number}");
    }
    text
}

/// A histogram, whose buckets each hold those before them.
fn latencies(text: &mut String, counts: &LatencyCounts) {
    let name = "exchange_duration_seconds";
    let help = "How long exchanges took: from the command or request to the report or the end of the answer.";
    head(text, name, "histogram", help);
    for (bound, within) in BOUNDS.iter().zip(counts.within) {
        let _ = writeln!(text, "callmark_{name}_bucket{{le=\"{}\"}} {within}", seconds(*bound));
    }
    let LatencyCounts { count, sum_us, .. } = counts;
    let _ = writeln!(text, "callmark_{name}_bucket{{le=\"+Inf\"}} {count}");
    let _ = writeln!(text, "callmark_{name}_sum {}\ncallmark_{name}_count {count}", seconds(*sum_us));
}

#[expect(clippy::cast_precision_loss, reason = "seconds are numbers with a fraction in this format")]
fn seconds(us: u64) -> f64 {
    us as f64 / 1e6
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP callmark_{name} {help}\n# TYPE callmark_{name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_ends_with_all_exchanges() {
        let mut text = String::new();
        let mut counts = LatencyCounts { count: 7, sum_us: 1_500_000, ..LatencyCounts::default() };
        counts.within[1..].fill(6);
        latencies(&mut text, &counts);
        assert!(text.contains("# TYPE callmark_exchange_duration_seconds histogram\n"), "{text}");
        assert!(
            text.contains("_bucket{le=\"0.001\"} 0\n") && text.contains("_bucket{le=\"0.0025\"} 6\n"),
            "{text}"
        );
        assert!(text.contains("_bucket{le=\"+Inf\"} 7\n") && text.contains("_sum 1.5\n"), "{text}");
        assert!(text.ends_with("_count 7\n"), "{text}");
    }

    #[test]
    fn each_number_has_its_help_and_its_type() {
        let text = numbers(&Numbers { messages: 9, exchanges: 4, open: 2, ..Numbers::default() });
        assert!(
            text.contains("# TYPE callmark_exchanges_total counter\ncallmark_exchanges_total 4\n"),
            "{text}"
        );
        assert!(text.contains("# TYPE callmark_open_exchanges gauge\ncallmark_open_exchanges 2\n"), "{text}");
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!((samples, text.matches("# HELP ").count()), (6, 6));
    }
}
