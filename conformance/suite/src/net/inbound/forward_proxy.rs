//! The forward proxy of a started target: `CONNECT`, and plain requests with a whole address (RFC 9110, section 9.3.6;
//! RFC 9112, section 3.2.2).
//!
//! What is for a host that the suite plays goes to its party, what is for this machine goes there, and everything else is
//! refused and noted. Deliberately absent: a way to any other machine.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::Uri;
use axum::http::uri::Authority as UriAuthority;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::authority::Authority;
use super::played::Played;
use super::relay::{self, Expected};
use super::sightings::{Sighting, Sightings};
use crate::net::http_connections::Accepting;
use axum::serve::Listener as _;

/// Bytes of the head of a request.
const MAX_HEAD: usize = 16 * 1024;
/// Headers of a request.
const MAX_HEADERS: usize = 100;
/// For the head of a request.
const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// Connections at a time; more wait to be accepted.
const MAX_CONNECTIONS: usize = 512;
/// For a client to read why it is refused, and to stop sending.
const LINGER: Duration = Duration::from_secs(2);
/// What may come meanwhile.
const DISCARDED: usize = 1024 * 1024;
/// The first byte of TLS: a record of the handshake.
const HANDSHAKE: u8 = 22;
/// Headers that are for the proxy itself.
const FOR_THE_PROXY: [&str; 6] =
    ["connection", "keep-alive", "proxy-connection", "proxy-authorization", "host", "upgrade"];

/// What every connection needs.
pub(super) struct Routes {
    pub(super) authority: Arc<Authority>,
    pub(super) sightings: Arc<Sightings>,
    pub(super) played: Vec<Played>,
}

/// Passes on until it is dropped, and every connection with it.
pub(super) async fn serve(listener: TcpListener, routes: Arc<Routes>) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut listener = Accepting(listener);
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        while connections.try_join_next().is_some() {}
        let (stream, _) = listener.accept().await;
        let routes = Arc::clone(&routes);
        connections.spawn(async move {
            let _ = stream.set_nodelay(true);
            // A client that goes away is no business of the proxy's.
            let _ = routes.connection(stream).await;
            drop(permit);
        });
    }
}

/// Where something goes.
#[derive(Debug, PartialEq, Eq)]
enum Destination {
    /// To the party that plays the host.
    Party(SocketAddr),
    /// To this machine, by a client that asks a proxy for that too.
    Here(SocketAddr),
    /// Nowhere.
    Refused,
}

/// What a client asks of the proxy.
#[derive(Debug, PartialEq, Eq)]
enum Asked {
    /// A tunnel to a host and port.
    Tunnel(String, u16),
    /// A request for a host and port, as the host itself is to see it.
    Request(String, u16, Vec<u8>),
}

/// Why a request cannot be understood.
#[derive(Debug, PartialEq, Eq)]
enum Fault {
    /// Its head has no end within the bound.
    TooLong,
    /// It is none of a client of a proxy.
    Wrong(&'static str),
    /// There was none.
    Gone,
}

impl Routes {
    async fn connection(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let read = tokio::time::timeout(HEAD_DEADLINE, head(&mut stream)).await.unwrap_or(Err(Fault::Gone));
        let (head, rest) = match read {
            Ok(read) => read,
            Err(fault) => return refuse(stream, fault).await,
        };
        match asked(&head) {
            Err(fault) => refuse(stream, fault).await,
            Ok(Asked::Tunnel(host, port)) => match self.destination(&host, port) {
                Destination::Refused => self.deny(stream, &host).await,
                Destination::Here(address) => {
                    stream.write_all(ESTABLISHED).await?;
                    relay::plain(stream, &rest, address).await;
                    Ok(())
                }
                Destination::Party(address) => {
                    stream.write_all(ESTABLISHED).await?;
                    self.tunnel(stream, rest, &host, address).await
                }
            },
            Ok(Asked::Request(host, port, mut request)) => match self.destination(&host, port) {
                Destination::Refused => self.deny(stream, &host).await,
                Destination::Here(address) | Destination::Party(address) => {
                    request.extend_from_slice(&rest);
                    relay::plain(stream, &request, address).await;
                    Ok(())
                }
            },
        }
    }

    /// What comes through a tunnel: TLS, or plain HTTP where the address has no TLS.
    async fn tunnel(
        &self,
        stream: TcpStream,
        mut rest: Vec<u8>,
        host: &str,
        party: SocketAddr,
    ) -> std::io::Result<()> {
        let (mut reader, writer) = stream.into_split();
        if rest.is_empty() {
            // For as long as the client likes: some open a tunnel before they need it.
            let mut first = [0; 1];
            let read = reader.read(&mut first).await?;
            rest.extend_from_slice(&first[..read]);
        }
        let Some(first) = rest.first().copied() else { return Ok(()) };
        match first {
            HANDSHAKE => {
                let reader = std::io::Cursor::new(rest).chain(reader);
                let stream = tokio::io::join(reader, writer);
                let known = (&*self.authority, &*self.sightings);
                relay::encrypted(stream, &Expected::Host(host), party, known).await;
            }
            b'A'..=b'Z' => relay::plain(tokio::io::join(reader, writer), &rest, party).await,
            _ => self.sightings.note(Sighting::NoTls, host),
        }
        Ok(())
    }

    fn destination(&self, host: &str, port: u16) -> Destination {
        if let Some(played) = self.played.iter().find(|played| (played.hosts)(host)) {
            return Destination::Party(played.address);
        }
        let address =
            if host == "localhost" { Ok(Ipv4Addr::LOCALHOST.into()) } else { host.parse::<IpAddr>() };
        match address {
            Ok(address) if address.is_loopback() => Destination::Here(SocketAddr::new(address, port)),
            _ => Destination::Refused,
        }
    }

    async fn deny(&self, stream: TcpStream, host: &str) -> std::io::Result<()> {
        self.sightings.note(Sighting::Refused, host);
        say(
            stream,
            "403 Forbidden",
            "callmark: the suite does not play this host, and passes on to no other\n",
        )
        .await
    }
}

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

async fn refuse(stream: TcpStream, fault: Fault) -> std::io::Result<()> {
    match fault {
        Fault::Gone => Ok(()),
        Fault::TooLong => {
            let text = format!("callmark: the head of the request is longer than {MAX_HEAD} bytes\n");
            say(stream, "431 Request Header Fields Too Large", &text).await
        }
        Fault::Wrong(why) => say(stream, "400 Bad Request", &format!("callmark: {why}\n")).await,
    }
}

/// An answer of the proxy's own; then the connection ends.
async fn say(mut stream: TcpStream, status: &str, text: &str) -> std::io::Result<()> {
    let length = text.len();
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
         connection: close\r\n\r\n{text}"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await?;
    // Closed while something is on its way, the client would not get to read that.
    let reading = async {
        let mut left = DISCARDED;
        let mut bytes = [0; 4096];
        while let Ok(read @ 1..) = stream.read(&mut bytes).await {
            let Some(rest) = left.checked_sub(read) else { break };
            left = rest;
        }
    };
    let _ = tokio::time::timeout(LINGER, reading).await;
    Ok(())
}

/// The head of a request, and what came with it.
async fn head(stream: &mut TcpStream) -> Result<(Vec<u8>, Vec<u8>), Fault> {
    let mut bytes = Vec::new();
    loop {
        let from = bytes.len().saturating_sub(3);
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok().filter(|read| *read > 0).ok_or(Fault::Gone)?;
        bytes.extend_from_slice(&more[..read]);
        if let Some(end) = bytes[from..].windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(from + end + 4);
            return if bytes.len() > MAX_HEAD { Err(Fault::TooLong) } else { Ok((bytes, rest)) };
        }
        if bytes.len() > MAX_HEAD {
            return Err(Fault::TooLong);
        }
    }
}

/// What is asked.
fn asked(head: &[u8]) -> Result<Asked, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let parsed = request.parse(head);
    let (Ok(httparse::Status::Complete(_)), Some(method), Some(target)) =
        (parsed, request.method, request.path)
    else {
        return Err(Fault::Wrong("this is no request of HTTP/1"));
    };
    if method == "CONNECT" {
        let authority = target.parse::<UriAuthority>().ok();
        let place = authority.and_then(|own| Some((normal(own.host()), own.port_u16()?)));
        let (host, port) = place.ok_or(Fault::Wrong("`CONNECT` names no host and port"))?;
        return Ok(Asked::Tunnel(host, port));
    }
    if target.starts_with('/') || target == "*" {
        return Err(Fault::Wrong(
            "this is a proxy: it takes `CONNECT host:port`, or a whole `http://` address",
        ));
    }
    let uri = target.parse::<Uri>().map_err(|_| Fault::Wrong("the address of the request is none"))?;
    let (Some("http"), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(Fault::Wrong(
            "only `http://` is asked of a proxy like this: `https://` begins with `CONNECT`",
        ));
    };
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let place = authority.as_str().rsplit('@').next().unwrap_or_default();
    let mut own = format!("{method} {path} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n").into_bytes();
    for header in request.headers.iter() {
        if !FOR_THE_PROXY.iter().any(|name| header.name.eq_ignore_ascii_case(name)) {
            own.extend_from_slice(header.name.as_bytes());
            own.extend_from_slice(b": ");
            own.extend_from_slice(header.value);
            own.extend_from_slice(b"\r\n");
        }
    }
    own.extend_from_slice(b"\r\n");
    Ok(Asked::Request(normal(authority.host()), authority.port_u16().unwrap_or(80), own))
}

/// A host in small letters, without brackets and a final dot.
fn normal(host: &str) -> String {
    host.trim_matches(['[', ']']).trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_understood_or_refused() {
        let tunnel = |host: &str, port| Ok(Asked::Tunnel(host.to_owned(), port));
        let check = |head: &str, expect: Result<Asked, Fault>| {
            let got = asked(format!("{head}\r\n\r\n").as_bytes());
            match (&got, &expect) {
                (Err(Fault::Wrong(_)), Err(Fault::Wrong(_))) => {}
                _ => assert_eq!(got, expect, "{head}"),
            }
        };
        let wrong = || Err(Fault::Wrong(""));
        check("CONNECT r.jina.ai:443 HTTP/1.1\r\nHost: other", tunnel("r.jina.ai", 443));
        check("CONNECT R.Jina.AI.:443 HTTP/1.1", tunnel("r.jina.ai", 443));
        check("CONNECT [::1]:8443 HTTP/1.1", tunnel("::1", 8443));
        check("CONNECT r.jina.ai HTTP/1.1", wrong());
        check("CONNECT r.jina.ai:x HTTP/1.1", wrong());
        check("CONNECT / HTTP/1.1", wrong());
        check("GET /a HTTP/1.1\r\nHost: r.jina.ai", wrong());
        check("GET https://r.jina.ai/a HTTP/1.1", wrong());
        check("no request", wrong());
        check("\u{16}\u{3}\u{1}", wrong());
        let own = "POST /a?b=c HTTP/1.1\r\nhost: a.example:81\r\nconnection: close\r\nX-A: b\r\nContent-Length: 2\r\n\r\n";
        check(
            "POST http://me:it@a.example:81/a?b=c HTTP/1.1\r\nHost: other\r\nX-A: b\r\nContent-Length: 2\r\n\
             Proxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive",
            Ok(Asked::Request("a.example".to_owned(), 81, own.as_bytes().to_vec())),
        );
    }
}
