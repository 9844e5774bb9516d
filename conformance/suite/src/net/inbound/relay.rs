//! One encrypted connection of a target: TLS ends here, and what is in it goes to a party of the suite as it came.

use std::error::Error;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::rustls::server::Acceptor;
use tokio_rustls::rustls::{AlertDescription, Error as TlsError, ServerConfig};
use tokio_rustls::server::TlsStream;

use super::authority::Authority;
use super::sightings::{Sighting, Sightings};
use crate::engine::environment;

/// For a handshake.
const HANDSHAKE: Duration = Duration::from_secs(30);
/// Bytes that are read at first, to see that a request comes.
const FIRST: usize = 16 * 1024;

/// Which certificate a connection is to see.
pub(super) enum Expected<'a> {
    /// That of the host which `CONNECT` named; by TLS no other may be asked for.
    Host(&'a str),
    /// That of the suite's own servers, whatever they are called.
    Own(&'a [&'a str]),
}

impl Expected<'_> {
    /// As remarks name it.
    fn shown(&self) -> &str {
        match self {
            Self::Host(host) => host,
            Self::Own(names) => names.first().copied().unwrap_or_default(),
        }
    }

    fn server(&self, authority: &Authority) -> Result<Arc<ServerConfig>, String> {
        match self {
            Self::Host(host) => authority.server(&[host]),
            Self::Own(names) => authority.server(names),
        }
    }
}

/// Ends TLS, and passes on what comes to the party at this address, and back what that answers.
pub(super) async fn encrypted<S>(
    stream: S,
    expected: &Expected<'_>,
    party: SocketAddr,
    (authority, sightings): (&Authority, &Sightings),
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let shaken = tokio::time::timeout(HANDSHAKE, shake(stream, expected, authority, sightings)).await;
    let Ok(Some(mut stream)) = shaken else { return };
    let mut first = vec![0; FIRST];
    match stream.read(&mut first).await {
        Ok(0) => sightings.note(Sighting::Silent, expected.shown()),
        Err(error) => sightings.note(distrust(&error), expected.shown()),
        Ok(read) => {
            sightings.note(Sighting::Heard, expected.shown());
            first.truncate(read);
            plain(stream, &first, party).await;
        }
    }
}

/// Passes on these bytes and what comes after them to the party at this address, and back what that answers.
pub(super) async fn plain<S>(mut stream: S, first: &[u8], party: SocketAddr)
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let connected = TcpStream::connect(party).await.inspect_err(|error| environment::note(error));
    // A party that is gone answers nothing, as it would without a relay.
    let Ok(mut party) = connected else { return };
    let _ = party.set_nodelay(true);
    if party.write_all(first).await.is_ok() {
        // Which of both sides goes away shows in what the other one sees.
        let _ = tokio::io::copy_bidirectional(&mut stream, &mut party).await;
    }
}

/// The handshake. What keeps it from coming about is noted where it is about trust.
async fn shake<S>(
    stream: S,
    expected: &Expected<'_>,
    authority: &Authority,
    sightings: &Sightings,
) -> Option<TlsStream<S>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    // A connection that is cut before it asks for anything says nothing.
    let start = LazyConfigAcceptor::new(Acceptor::default(), stream).await.ok()?;
    let hello = start.client_hello();
    let other = hello.server_name().filter(|name| match expected {
        Expected::Host(host) => !name.trim_end_matches('.').eq_ignore_ascii_case(host),
        Expected::Own(_) => false,
    });
    if let Some(other) = other {
        sightings.note(Sighting::OtherName, &format!("{} and {other}", expected.shown()));
        let _ = start.into_stream(authority.nobody()).await;
        return None;
    }
    let Ok(config) = expected.server(authority) else {
        let _ = start.into_stream(authority.nobody()).await;
        return None;
    };
    match start.into_stream(config).await {
        Ok(stream) => Some(stream),
        Err(error) => {
            sightings.note(distrust(&error), expected.shown());
            None
        }
    }
}

/// What the end of a connection says that has seen the certificate.
fn distrust(error: &io::Error) -> Sighting {
    let inner =
        error.get_ref().and_then(|inner| (inner as &(dyn Error + 'static)).downcast_ref::<TlsError>());
    match inner {
        Some(TlsError::AlertReceived(
            AlertDescription::UnknownCA
            | AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateRevoked
            | AlertDescription::AccessDenied
            | AlertDescription::DecryptError,
        )) => Sighting::Distrusted,
        _ => Sighting::Silent,
    }
}
