//! The live view in a browser: a page, and its parts again whenever it asks for them.
//!
//! Frames are other people's messages, so a page of somebody else's must not read them by a name that leads here: only
//! requests that name this machine by an address, or as `localhost`, are answered.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use callmark_reports::live::{LiveView, live_page, live_parts};
use callmark_suite::net::http_server::{HttpReply, HttpServer, ReceivedRequest};
use tokio::task::JoinSet;

use super::Shown;
use crate::console;

/// Seconds that are shown.
const SECONDS: usize = 60;

/// Serves it as long as this lives.
pub(super) struct Page {
    server: HttpServer,
    _counting: JoinSet<()>,
}

/// Exchanges in each of the last seconds.
type Seconds = Arc<Mutex<VecDeque<u64>>>;

impl Page {
    /// Listens there.
    ///
    /// # Errors
    /// Why it cannot.
    pub(super) async fn start(address: SocketAddr, shown: Shown) -> Result<Self, String> {
        let seconds = Seconds::default();
        let mut counting = JoinSet::new();
        counting.spawn(count(shown.clone(), Arc::clone(&seconds)));
        let handler = Arc::new(move |request: ReceivedRequest| answer(&request, &shown, &seconds));
        let server = HttpServer::start(Some(&address.to_string()), handler).await?;
        Ok(Self { server, _counting: counting })
    }

    /// Where it is.
    pub(super) fn url(&self) -> String {
        self.server.url()
    }
}

async fn count(shown: Shown, seconds: Seconds) {
    let mut before = shown.progress.numbers().exchanges;
    let mut ticks = tokio::time::interval(Duration::from_secs(1));
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let now = shown.progress.numbers().exchanges;
        let mut seconds = seconds.lock().unwrap_or_else(PoisonError::into_inner);
        if seconds.len() == SECONDS {
            seconds.pop_front();
        }
        seconds.push_back(now.saturating_sub(before));
        before = now;
    }
}

fn answer(request: &ReceivedRequest, shown: &Shown, seconds: &Seconds) -> HttpReply {
    if !names_an_address(request) {
        return HttpReply::text(403, "text/plain", "ask for this page by the address of the machine\n");
    }
    match (request.method.as_str(), request.bare_path()) {
        ("GET", "/") => HttpReply::text(200, "text/html; charset=utf-8", &live_page(&view(shown, seconds))),
        ("GET", "/parts") => match serde_json::to_value(live_parts(&view(shown, seconds))) {
            Ok(parts) => HttpReply::json(200, &parts),
            Err(error) => HttpReply::text(500, "text/plain", &error.to_string()),
        },
        _ => HttpReply::text(404, "text/plain", "there is only GET /\n"),
    }
}

/// Whether a request names its host by an address or as `localhost`: another name may be one of somebody else's that was
/// made to lead here.
fn names_an_address(request: &ReceivedRequest) -> bool {
    let Some(host) = request.headers.get("host") else { return false };
    let is_address =
        |text: &str| text.trim_matches(['[', ']']).parse::<IpAddr>().is_ok() || text == "localhost";
    is_address(host) || host.rsplit_once(':').is_some_and(|(name, _)| is_address(name))
}

fn view(shown: &Shown, seconds: &Seconds) -> LiveView {
    let numbers = shown.progress.numbers();
    let report = shown.progress.report(&shown.library, shown.source.clone(), shown.strict);
    let findings = console::without_secrets(&report.findings).unwrap_or_default();
    LiveView {
        source: shown.source.name.clone(),
        messages: numbers.messages,
        exchanges: numbers.exchanges,
        open: numbers.open,
        unattributed: numbers.unattributed,
        dropped: numbers.dropped,
        seconds: seconds.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect(),
        findings,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_may_be_somebody_elses_is_not_answered() {
        let check = |host: Option<&str>, expect: bool| {
            let headers = host.map(|host| ("host".to_owned(), host.to_owned())).into_iter().collect();
            let request = ReceivedRequest {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                headers,
                body: serde_json::Value::Null,
            };
            assert_eq!(names_an_address(&request), expect, "{host:?}");
        };
        check(Some("127.0.0.1:9465"), true);
        check(Some("localhost:9465"), true);
        check(Some("localhost"), true);
        check(Some("[::1]:9465"), true);
        check(Some("10.0.0.7"), true);
        check(Some("evil.example:9465"), false);
        check(Some("127.0.0.1.evil.example"), false);
        check(None, false);
    }
}
