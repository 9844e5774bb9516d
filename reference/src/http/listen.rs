//! An HTTP/1 listener with deadlines against slow clients: heads have a deadline, and so has a client that does not
//! read what it is sent.
//!
//! axum's own server has neither, so hyper is driven here. The event streams of a breadcrumb store are why the latter
//! is needed: a stream whose reader hangs would keep its place for ever.
//! Bodies are bounded where they are read.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::Sleep;

/// The head of a request may not be longer.
const HEAD_BYTES: usize = 64 * 1024;
/// What most allow for the head of a request.
pub(crate) const HEAD_DEADLINE: Duration = Duration::from_secs(30);
/// How long open requests may take to end after the listener was asked to stop.
const END_DEADLINE: Duration = Duration::from_secs(5);
/// How long to wait before the next attempt when the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a listener allows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// For the head of a request, and for a connection without one.
    pub(crate) head: Duration,
    /// How many connections there may be at once; more wait to be accepted.
    pub(crate) connections: usize,
    /// How long a client may take to read something of what it is sent.
    pub(crate) stall: Duration,
}

/// A running listener. Dropping it closes it and every connection.
#[derive(Debug)]
pub(crate) struct Listening {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    acceptor: JoinHandle<()>,
}

impl Listening {
    /// Listens at an address; port 0 takes a free one.
    pub(crate) async fn bind(listen: SocketAddr, router: Router, bounds: Bounds) -> io::Result<Self> {
        Self::start(TcpListener::bind(listen).await?, router, bounds)
    }

    pub(crate) fn start(listener: TcpListener, router: Router, bounds: Bounds) -> io::Result<Self> {
        let address = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let acceptor = tokio::spawn(accept(listener, router, bounds, stopped));
        Ok(Self { address, stop, acceptor })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) async fn shutdown(mut self) {
        self.stop.send_replace(true);
        // What has not ended by then ends when `self` is dropped.
        let _ = tokio::time::timeout(END_DEADLINE, &mut self.acceptor).await;
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

async fn accept(listener: TcpListener, router: Router, bounds: Bounds, mut stopped: watch::Receiver<bool>) {
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(bounds.head).max_buf_size(HEAD_BYTES);
    let permits = Arc::new(Semaphore::new(bounds.connections));
    let ends = stopped.clone();
    // Dropped with this task, which ends them all.
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (listener.accept().await, permit)
        };
        tokio::select! {
            () = stop_requested(&mut stopped) => break,
            Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
            (accepted, permit) = next => {
                let Ok((stream, _peer)) = accepted else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
                // Answers and events are small; held back, each would wait for the client's acknowledgement.
                let _ = stream.set_nodelay(true);
                let stream = Watched { stream, limit: bounds.stall, stalled: None };
                let serving = serve(stream, builder.clone(), router.clone(), ends.clone());
                connections.spawn(async move {
                    serving.await;
                    drop(permit);
                });
            }
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve(stream: Watched, builder: http1::Builder, router: Router, mut stopped: watch::Receiver<bool>) {
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    // An error is the client's: it went away, took too long, or did not speak HTTP.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stop_requested(&mut stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Returns when the listener is asked to stop, or dropped.
async fn stop_requested(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}

/// A connection that fails when nothing could be written for a while.
struct Watched {
    stream: TcpStream,
    limit: Duration,
    /// Runs while something waits to be written.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    /// The outcome of a write, unless it has waited too long.
    fn judge<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled = None;
            return written;
        }
        let limit = self.limit;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(limit)));
        stalled.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.judge(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.judge(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.judge(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
