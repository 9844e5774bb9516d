//! Numbers for Prometheus, in its text format.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

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

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP callmark_{name} {help}\n# TYPE callmark_{name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

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
