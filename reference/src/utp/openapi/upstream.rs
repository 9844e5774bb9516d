//! One exchange with the upstream: bounded in time and size, to the address that was checked and nowhere else.
//!
//! No redirect (`http::exchange`) could lead a request out of the allow-list, and a proxy only passes on TLS.
//! A connection serves one exchange: a tool call is rare beside what it costs upstream.
//! What the HTTP client says of a failure is not passed on: it names the address, and a key may stand in it.

use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use futures::StreamExt;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response};
use serde_json::json;
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use crate::http::exchange::{self, Cause};
use crate::http::tunnel::Tunnel;
use crate::utp::error::ReferenceError;
use crate::utp::message::ErrorCode;
use crate::utp::tool_service::ToolFailure;

use super::request::Ask;

/// No answer of the upstream may be longer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

const HTTPS: u16 = 443;

/// Where requests go. A system without roots for TLS leaves every exchange `upstream_unavailable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Upstream {
    /// To the host itself, over TLS.
    Real,
    /// To the host itself, over TLS that passes through the proxy at this URL, `http://host:port`.
    RealBehind(String),
    /// As plain HTTP to this base URL, whatever host a request is for, with that host's name in `Host`.
    ///
    /// The allow-list is checked before, on the address that the tool's row gives.
    Through(String),
}

/// The way to the upstream.
pub(super) struct Exchange {
    way: Way,
    deadline: Duration,
}

enum Way {
    Tls(TlsConnector, Option<Tunnel>),
    Plain { host: String, port: u16, prefix: String },
}

/// What the upstream answered.
pub(super) struct UpstreamResponse {
    pub(super) status: u16,
    pub(super) is_json: bool,
    pub(super) body: Bytes,
    pub(super) latency: Duration,
}

impl Exchange {
    /// `deadline` is for one exchange, its body included.
    pub(super) fn new(upstream: &Upstream, deadline: Duration) -> Result<Self, ReferenceError> {
        let way = match upstream {
            Upstream::Real => Way::Tls(tls()?, None),
            Upstream::RealBehind(proxy) => {
                let tunnel = Tunnel::through(proxy);
                Way::Tls(
                    tls()?,
                    Some(tunnel.ok_or_else(|| unusable("its proxy is not `http://…`".to_owned()))?),
                )
            }
            Upstream::Through(base) => plain(base)?,
        };
        Ok(Self { way, deadline })
    }

    /// Asks, and reads the whole answer, whatever its status.
    pub(super) async fn send(&self, ask: &Ask) -> Result<UpstreamResponse, ToolFailure> {
        let started = Instant::now();
        match tokio::time::timeout(self.deadline, self.answer(ask, started)).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                let limit = u64::try_from(self.deadline.as_millis()).unwrap_or(u64::MAX);
                let message = format!("the upstream did not answer within {limit} ms");
                Err(ToolFailure::new(ErrorCode::ToolTimeout, message)
                    .with_detail(json!({"limit_milliseconds": limit, "retryable": true})))
            }
        }
    }

    async fn answer(&self, ask: &Ask, started: Instant) -> Result<UpstreamResponse, ToolFailure> {
        let host = ask.address.host_str().unwrap_or_default();
        let prefix = match &self.way {
            Way::Tls(..) => "",
            Way::Plain { prefix, .. } => prefix,
        };
        let request = request(ask, host, prefix)?;
        let response = self.respond(host, request).await.map_err(|_cause| unreachable(host))?;
        let status = response.status().as_u16();
        let is_json = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.to_ascii_lowercase().contains("json"));
        let mut body = Vec::new();
        let mut chunks = response.into_body().into_data_stream();
        // Chunk by chunk, so that an endless answer never fills the memory.
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_cause| unreachable(host))?;
            if body.len() + chunk.len() > MAX_ANSWER {
                let message = format!("the upstream's answer is longer than {MAX_ANSWER} bytes");
                return Err(ToolFailure::new(ErrorCode::InternalError, message)
                    .with_detail(json!({"http_status": status, "limit_bytes": MAX_ANSWER})));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(UpstreamResponse { status, is_json, body: body.into(), latency: started.elapsed() })
    }

    async fn respond(&self, host: &str, request: Request<Body>) -> Result<Response<Body>, Cause> {
        match &self.way {
            Way::Tls(connector, None) => exchange::send(host, HTTPS, Some(connector), request).await,
            Way::Tls(connector, Some(tunnel)) => {
                let stream = tunnel.open(host, HTTPS).await?;
                exchange::send_encrypted(stream, host, connector, request).await
            }
            Way::Plain { host, port, .. } => exchange::send(host, *port, None, request).await,
        }
    }
}

fn request(ask: &Ask, host: &str, prefix: &str) -> Result<Request<Body>, ToolFailure> {
    let target = format!("{prefix}{}", &ask.address[Position::BeforePath..Position::AfterQuery]);
    let mut request = Request::builder()
        .method(ask.method.clone())
        .uri(target)
        .header(HOST, host)
        .header(USER_AGENT, exchange::NAME)
        .header(ACCEPT, "application/json");
    if let Some(key) = &ask.key {
        let bearer = exchange::bearer(key)
            .map_err(|_error| ToolFailure::new(ErrorCode::AuthFailed, "the key cannot stand in a header"))?;
        request = request.header(AUTHORIZATION, bearer);
    }
    let body = match &ask.body {
        None => Body::empty(),
        Some(body) => {
            let body = body.to_string();
            request = request.header(CONTENT_TYPE, "application/json").header(CONTENT_LENGTH, body.len());
            Body::from(body)
        }
    };
    request.body(body).map_err(|_error| {
        ToolFailure::new(ErrorCode::BadRequest, "the arguments make no address of the upstream")
    })
}

fn unreachable(host: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::UpstreamUnavailable, format!("`{host}` cannot be reached"))
        .with_detail(json!({"host": host, "retryable": true}))
}

fn tls() -> Result<TlsConnector, ReferenceError> {
    exchange::tls().map_err(|error| unusable(error.to_string()))
}

/// The way through the base URL that stands in for every host.
fn plain(base: &str) -> Result<Way, ReferenceError> {
    let way = Url::parse(base).ok().filter(|url| url.scheme() == "http").and_then(|url| {
        let prefix = url.path().trim_end_matches('/').to_owned();
        // Of an IPv6 address, the socket wants it without its brackets.
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some(Way::Plain { host, port: url.port_or_known_default()?, prefix })
    });
    way.ok_or_else(|| unusable("its base URL is not `http://…`".to_owned()))
}

fn unusable(reason: String) -> ReferenceError {
    ReferenceError::Unexpected { what: "upstream", reason }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Exchange, Upstream};

    #[test]
    fn an_upstream_is_real_or_plain_http() {
        fn check(upstream: &Upstream, expect: bool) {
            assert_eq!(Exchange::new(upstream, Duration::from_secs(1)).is_ok(), expect, "{upstream:?}");
        }
        check(&Upstream::Real, true);
        check(&Upstream::RealBehind("http://127.0.0.1:3128".to_owned()), true);
        check(&Upstream::RealBehind("https://127.0.0.1:3128".to_owned()), false);
        check(&Upstream::Through("http://127.0.0.1:8080/base/".to_owned()), true);
        check(&Upstream::Through("http://[::1]:8080".to_owned()), true);
        check(&Upstream::Through("https://127.0.0.1".to_owned()), false);
        check(&Upstream::Through("127.0.0.1:8080".to_owned()), false);
    }
}
