//! One request to a language model's API: JSON out, JSON in, bounded in time and size, over `http` or `https`.
//!
//! Neighbours: `http::exchange` is what it is made of; `utp::openapi` has a client of the same kind, bound to its
//! allow-list.

use std::sync::OnceLock;
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, Response};
use serde_json::Value;
use tokio_rustls::TlsConnector;
use url::{Position, Url};

use crate::http::exchange::{self, Cause};
use crate::secret::Secret;

/// No answer of a model may be longer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

/// The way to an API. A connection serves one exchange: an answer of a model costs more.
pub(crate) struct Exchange {
    deadline: Duration,
    /// Made when there is something to encrypt: reading the roots of the system takes a while.
    tls: OnceLock<Option<TlsConnector>>,
}

/// What the API answered.
#[derive(Debug)]
pub(crate) struct ProviderResponse {
    pub(crate) status: u16,
    /// Nothing where the body is no JSON.
    pub(crate) body: Option<Value>,
}

/// Why there is no answer. Addresses and keys are not in the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExchangeFault {
    #[error("the provider did not answer within {} ms", .0.as_millis())]
    Late(Duration),
    #[error("the provider cannot be reached")]
    Unreachable,
    #[error("the answer of the provider is longer than {MAX_ANSWER} bytes")]
    TooLong,
    #[error("the key cannot stand in a header")]
    Key,
}

impl Exchange {
    /// `deadline` is for one exchange, its body included.
    pub(crate) fn new(deadline: Duration) -> Self {
        Self { deadline, tls: OnceLock::new() }
    }

    /// Posts, and reads the whole answer, whatever its status.
    pub(crate) async fn post_json(
        &self,
        url: &Url,
        key: Option<&Secret>,
        body: &Value,
    ) -> Result<ProviderResponse, ExchangeFault> {
        let request = request(url, key, body)?;
        tokio::time::timeout(self.deadline, self.answer(url, request))
            .await
            .unwrap_or(Err(ExchangeFault::Late(self.deadline)))
    }

    async fn answer(&self, url: &Url, request: Request<Body>) -> Result<ProviderResponse, ExchangeFault> {
        let response = self.respond(url, request).await.map_err(|_cause| ExchangeFault::Unreachable)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let mut chunks = response.into_body().into_data_stream();
        // Chunk by chunk, so that an endless answer never fills the memory.
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_cause| ExchangeFault::Unreachable)?;
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(ExchangeFault::TooLong);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(ProviderResponse { status, body: serde_json::from_slice(&bytes).ok() })
    }

    async fn respond(&self, url: &Url, request: Request<Body>) -> Result<Response<Body>, Cause> {
        // Of an IPv6 address, the socket wants it without its brackets.
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or_default();
        let connector = if url.scheme() == "https" {
            Some(self.tls.get_or_init(|| exchange::tls().ok()).as_ref().ok_or("no TLS")?)
        } else {
            None
        };
        exchange::send(host, port, connector, request).await
    }
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Exchange").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

/// A base URL with a path behind it, or what is wrong with it.
pub(crate) fn http_url(base: &str, path: &str) -> Result<Url, String> {
    let parsed = Url::parse(base).map_err(|error| error.to_string())?;
    if !matches!(parsed.scheme(), "http" | "https") || !parsed.has_host() {
        return Err("it is not `http://…` or `https://…`".to_owned());
    }
    if parsed.query().is_some() || parsed.fragment().is_some() {
        return Err("a base URL has neither query nor fragment".to_owned());
    }
    if !parsed.username().is_empty() || parsed.password().is_some() {
        return Err("it has credentials in it, which are not sent".to_owned());
    }
    Url::parse(&format!("{}{path}", base.trim_end_matches('/'))).map_err(|error| error.to_string())
}

fn request(url: &Url, key: Option<&Secret>, body: &Value) -> Result<Request<Body>, ExchangeFault> {
    let body = body.to_string();
    let mut request = Request::post(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(USER_AGENT, exchange::NAME)
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, body.len());
    if let Some(key) = key {
        let bearer = exchange::bearer(key).map_err(|_error| ExchangeFault::Key)?;
        request = request.header(AUTHORIZATION, bearer);
    }
    request.body(Body::from(body)).map_err(|_error| ExchangeFault::Unreachable)
}

#[cfg(test)]
mod tests {
    use super::http_url;

    #[test]
    fn a_base_url_is_absolute_and_plain() {
        fn check(base: &str, expect: Option<&str>) {
            let url = http_url(base, "/chat").ok().map(|url| url.to_string());
            assert_eq!(url.as_deref(), expect, "{base}");
        }
        check("http://127.0.0.1:8080/v1/", Some("http://127.0.0.1:8080/v1/chat"));
        check("https://models.example/v1", Some("https://models.example/v1/chat"));
        check("http://[::1]:8080", Some("http://[::1]:8080/chat"));
        check("127.0.0.1:8080", None);
        check("ftp://models.example", None);
        check("http://models.example?key=1", None);
        check("http://user:pass@models.example", None);
    }
}
