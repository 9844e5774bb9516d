//! The parts of one request to a third party's API: TLS, a connection of its own, the key in a header.
//!
//! Redirects are not followed, since they could send the key elsewhere. A proxy is asked only for a tunnel through which
//! TLS passes (`tunnel`), and only where its caller names one.
//! reqwest is not used because TLS in it would be TLS in every client of the workspace.

use std::sync::Arc;

use axum::body::Body;
use hyper::client::conn::http1;
use hyper::header::{HeaderValue, InvalidHeaderValue};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error, RootCertStore};

use crate::secret::Secret;

/// What went wrong below HTTP.
pub(crate) type Cause = Box<dyn std::error::Error + Send + Sync>;

/// How the reference names itself to those whom it asks.
pub(crate) const NAME: &str = concat!("callmark-reference/", env!("CARGO_PKG_VERSION"));

/// TLS with the roots of the system; where there are none, no encrypted exchange succeeds.
pub(crate) fn tls() -> Result<TlsConnector, Error> {
    let mut roots = RootCertStore::empty();
    // What of the system's store cannot be read is left out, as browsers do.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()).into())
}

/// Sends a request to a port of a host, encrypted where there is a connector.
pub(crate) async fn send(
    host: &str,
    port: u16,
    connector: Option<&TlsConnector>,
    request: Request<Body>,
) -> Result<Response<Body>, Cause> {
    let stream = TcpStream::connect((host, port)).await?;
    match connector {
        Some(connector) => send_encrypted(stream, host, connector, request).await,
        None => spoken(stream, request).await,
    }
}

/// Sends a request to a host at the other end of a connection, encrypted.
pub(crate) async fn send_encrypted(
    stream: TcpStream,
    host: &str,
    connector: &TlsConnector,
    request: Request<Body>,
) -> Result<Response<Body>, Cause> {
    let name = ServerName::try_from(host.to_owned())?;
    spoken(connector.connect(name, stream).await?, request).await
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

/// The value of `Authorization` for a key, which no log shows.
pub(crate) fn bearer(key: &Secret) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose()))?;
    bearer.set_sensitive(true);
    Ok(bearer)
}
