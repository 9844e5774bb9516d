//! Connections to the server behind the proxy, encrypted where its address asks for that.

use std::io;
use std::io::IoSlice;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::http::Uri;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;
use tokio_util::either::Either;
use tower_service::Service;

use crate::net::outbound::Outbound;

/// For a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(10);

/// Makes connections.
#[derive(Clone)]
pub(super) struct Connector {
    tcp: HttpConnector,
    outbound: Arc<Outbound>,
}

/// A connection.
pub(super) struct Stream(TokioIo<Either<TcpStream, TlsStream<TcpStream>>>);

impl Connector {
    pub(super) fn new(outbound: &Arc<Outbound>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_DEADLINE));
        Self { tcp, outbound: Arc::clone(outbound) }
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Stream>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.tcp.poll_ready(context).map_err(io::Error::other)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let is_encrypted = uri.scheme_str() == Some("https");
        let host = uri.host().unwrap_or_default().to_owned();
        let connecting = self.tcp.call(uri);
        let outbound = Arc::clone(&self.outbound);
        async move {
            let tcp = connecting.await.map_err(io::Error::other)?.into_inner();
            if !is_encrypted {
                return Ok(Stream(TokioIo::new(Either::Left(tcp))));
            }
            let tls = outbound.tls().map_err(io::Error::other)?;
            let stream = tokio::time::timeout(CONNECT_DEADLINE, tls.connect(&host, true, tcp)).await;
            let stream = stream.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
            // The library's words are for its own users.
            let stream = stream.map_err(|error| tls.fault(&error).map_or(error, io::Error::other))?;
            Ok(Stream(TokioIo::new(Either::Right(stream))))
        }
        .boxed()
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl Write for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }
}
