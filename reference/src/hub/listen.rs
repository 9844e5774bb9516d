//! An HTTP/1 listener whose clients cannot take their time: the head of each request has a deadline.
//!
//! axum's own server has none, so hyper is driven here. Bodies are bounded where they are read (`http`).
//! A client that does not read its answer keeps its connection; the number of connections is what bounds that.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::error::HubError;

/// The head of a request may not be longer.
const HEAD_BYTES: usize = 64 * 1024;
/// How long open requests may take to end after the listener was told to.
const END_DEADLINE: Duration = Duration::from_secs(5);
/// How long to wait before the next attempt when the system has no connection to give.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What a listener allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// For the head of a request, and for a connection without one.
    pub(super) head: Duration,
    /// How many connections there may be at once.
    pub(super) connections: usize,
}

/// A listener at work. Dropping it closes it and every connection.
#[derive(Debug)]
pub(super) struct Listening {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    acceptor: JoinHandle<()>,
}

impl Listening {
    pub(super) async fn start(listen: SocketAddr, router: Router, bounds: Bounds) -> Result<Self, HubError> {
        let failed = |source| HubError::Listen { address: listen, source };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let acceptor = tokio::spawn(accept(listener, router, bounds, stopped));
        Ok(Self { address, stop, acceptor })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn shutdown(mut self) {
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
            () = told(&mut stopped) => break,
            Some(_ended) = connections.join_next(), if !connections.is_empty() => {}
            (accepted, permit) = next => {
                let Ok((stream, _peer)) = accepted else {
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                };
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

async fn serve(
    stream: TcpStream,
    builder: http1::Builder,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    // Answers are small; held back, each would wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let mut connection =
        pin!(builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    // An error is the client's: it went away, took too long, or did not speak HTTP.
    tokio::select! {
        _ = connection.as_mut() => return,
        () = told(&mut stopped) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Returns when the listener is told to end, or dropped.
async fn told(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stop| *stop).await;
}
