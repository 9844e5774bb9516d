//! A tunnel through a proxy (RFC 9110, section 9.3.6). What passes through it is TLS of its caller, so the proxy learns
//! the host and nothing else.
//!
//! Deliberately absent: proxies that ask for a password, and those that are spoken with over TLS.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

use super::exchange::Cause;

/// Bytes of a proxy's answer.
const MAX_HEAD: usize = 8 * 1024;

/// A proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tunnel {
    host: String,
    port: u16,
}

impl Tunnel {
    /// Through the proxy at this URL; nothing where that is not `http://host:port`.
    pub(crate) fn through(proxy: &str) -> Option<Self> {
        let url = Url::parse(proxy).ok().filter(|url| url.scheme() == "http")?;
        // Of an IPv6 address, the socket wants it without its brackets.
        let host = url.host_str()?.trim_matches(['[', ']']).to_owned();
        Some(Self { host, port: url.port_or_known_default()? })
    }

    /// Opens it to a port of a host.
    pub(crate) async fn open(&self, host: &str, port: u16) -> Result<TcpStream, Cause> {
        let mut stream = TcpStream::connect((self.host.as_str(), self.port)).await?;
        let asked = format!("CONNECT {host}:{port} HTTP/1.1\r\nhost: {host}:{port}\r\n\r\n");
        stream.write_all(asked.as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte: what comes after the head is TLS, and not ours to take.
        while !head.ends_with(b"\r\n\r\n") {
            if head.len() == MAX_HEAD {
                return Err("the proxy's answer is too long".into());
            }
            head.push(stream.read_u8().await?);
        }
        let status = head.split(|byte| *byte == b' ').nth(1).unwrap_or_default();
        if status.starts_with(b"2") { Ok(stream) } else { Err("the proxy refuses the tunnel".into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_plain_http() {
        fn check(proxy: &str, expect: Option<(&str, u16)>) {
            let tunnel = Tunnel::through(proxy);
            assert_eq!(tunnel.as_ref().map(|own| (own.host.as_str(), own.port)), expect, "{proxy}");
        }
        check("http://127.0.0.1:3128", Some(("127.0.0.1", 3128)));
        check("http://[::1]:3128/", Some(("::1", 3128)));
        check("http://proxy.example", Some(("proxy.example", 80)));
        check("https://proxy.example:3128", None);
        check("socks5://127.0.0.1:1080", None);
        check("127.0.0.1:3128", None);
        check("", None);
    }
}
