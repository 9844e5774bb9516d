//! One request to a language model's API: JSON out, JSON in, bounded in time and size, over `http` or `https`.
//!
//! Redirects are not followed and no proxy is asked, since either would show the key to somebody else.
//! Neighbour: `utp::openapi` has a client of the same kind, bound to its allow-list. reqwest is not used because TLS
//! in it would be TLS in every client of the workspace.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use hyper::client::conn::http1;
use hyper::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use url::{Position, Url};

use crate::breadcrumb::tool::Secret;

/// No answer of a model may be longer.
const MAX_ANSWER: usize = 4 * 1024 * 1024;

type Cause = Box<dyn std::error::Error + Send + Sync>;

/// The way to an API. A connection serves one exchange: an answer of a model costs more.
pub(crate) struct Exchange {
    deadline: Duration,
    /// Made when there is something to encrypt: reading the roots of the system takes a while.
    tls: OnceLock<Option<TlsConnector>>,
}

/// What the API answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Nothing where the body is no JSON.
    pub(crate) body: Option<Value>,
}

/// Why there is no answer. Addresses and keys are not in the text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
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
    ) -> Result<Answer, Fault> {
        let request = request(url, key, body)?;
        tokio::time::timeout(self.deadline, self.answer(url, request))
            .await
            .unwrap_or(Err(Fault::Late(self.deadline)))
    }

    async fn answer(&self, url: &Url, request: Request<Body>) -> Result<Answer, Fault> {
        let response = self.respond(url, request).await.map_err(|_cause| Fault::Unreachable)?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let mut chunks = response.into_body().into_data_stream();
        // Chunk by chunk, so that an endless answer never fills the memory.
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_cause| Fault::Unreachable)?;
            if bytes.len() + chunk.len() > MAX_ANSWER {
                return Err(Fault::TooLong);
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Answer { status, body: serde_json::from_slice(&bytes).ok() })
    }

    async fn respond(&self, url: &Url, request: Request<Body>) -> Result<Response<Body>, Cause> {
        // Of an IPv6 address, the socket wants it without its brackets.
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or_default();
        let stream = TcpStream::connect((host, port)).await?;
        if url.scheme() == "https" {
            let connector = self.tls.get_or_init(tls).as_ref().ok_or("no TLS")?;
            let name = ServerName::try_from(host.to_owned())?;
            spoken(connector.connect(name, stream).await?, request).await
        } else {
            spoken(stream, request).await
        }
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

/// Speaks HTTP over a connection of its own, which ends with the answer.
async fn spoken<S>(stream: S, request: Request<Body>) -> Result<Response<Body>, Cause>
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends when the answer is read or dropped; how it ends shows in the answer.
    tokio::spawn(connection);
    Ok(sender.send_request(request).await?.map(Body::new))
}

fn request(url: &Url, key: Option<&Secret>, body: &Value) -> Result<Request<Body>, Fault> {
    let body = body.to_string();
    let mut request = Request::post(&url[Position::BeforePath..Position::AfterQuery])
        .header(HOST, &url[Position::BeforeHost..Position::AfterPort])
        .header(USER_AGENT, concat!("callmark-reference/", env!("CARGO_PKG_VERSION")))
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .header(CONTENT_LENGTH, body.len());
    if let Some(key) = key {
        let mut bearer =
            HeaderValue::from_str(&format!("Bearer {}", key.expose())).map_err(|_error| Fault::Key)?;
        bearer.set_sensitive(true);
        request = request.header(AUTHORIZATION, bearer);
    }
    request.body(Body::from(body)).map_err(|_error| Fault::Unreachable)
}

/// TLS with the roots of the system; where there are none, no encrypted exchange succeeds.
fn tls() -> Option<TlsConnector> {
    let mut roots = RootCertStore::empty();
    // What of the system's store cannot be read is left out, as browsers do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .ok()?;
    Some(Arc::new(config.with_root_certificates(roots).with_no_client_auth()).into())
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
