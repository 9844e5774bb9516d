//! Connections of the suite's own HTTP servers: bounded, and closed where the script says so.
//!
//! Neighbours: `http_server` answers from a script, the upstream behind an executor answers by its host. Frameworks
//! have no way to close a connection instead of answering, which is why both stand on hyper.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::{Request, Response};
use bytes::Bytes;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::engine::environment;

/// Connections at a time; more wait to be accepted.
const MAX_CONNECTIONS: usize = 512;
/// Before a connection is accepted again on a machine that lacks what it takes.
const AGAIN: Duration = Duration::from_millis(20);
/// For the body of a request to arrive.
const BODY_DEADLINE: Duration = Duration::from_secs(30);

/// Why a connection ends without an answer.
#[derive(Debug, Error)]
#[error("closed on demand")]
pub(crate) struct Closed;

/// Answers until it is dropped, and every connection with it.
pub(crate) async fn serve<Answer, Answering>(listener: TcpListener, answer: Answer)
where
    Answer: Fn(Request<Incoming>) -> Answering + Clone + Send + 'static,
    Answering: Future<Output = Result<Response<Body>, Closed>> + Send + 'static,
{
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    while let Ok(permit) = Arc::clone(&room).acquire_owned().await {
        while connections.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                not_accepted(&error).await;
                continue;
            }
        };
        let answer = answer.clone();
        connections.spawn(async move {
            let _ = http1::Builder::new()
                .timer(TokioTimer::new())
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
            drop(permit);
        });
    }
}

/// Listens on an address of the manifest, else on a free port of this machine.
///
/// # Errors
/// When the address cannot be listened on; what this machine lacks is noted.
pub(crate) async fn listen(address: Option<&str>) -> std::io::Result<TcpListener> {
    let bound = TcpListener::bind(address.unwrap_or("127.0.0.1:0")).await;
    bound.inspect_err(|error| {
        // An address that is not this machine's is a fault of the manifest.
        if error.kind() != std::io::ErrorKind::AddrNotAvailable {
            environment::note(error);
        }
    })
}

/// Connections for servers that a framework drives, which keeps quiet about those that it could not accept.
pub(crate) struct Accepting(pub(crate) TcpListener);

impl axum::serve::Listener for Accepting {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            match self.0.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => not_accepted(&error).await,
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

/// A connection that cannot be accepted is its peer's loss, unless nothing can be accepted just now.
async fn not_accepted(error: &std::io::Error) {
    environment::note(error);
    if environment::lack(error).is_some() {
        tokio::time::sleep(AGAIN).await;
    }
}

/// The body of a request; nothing where it is larger than `limit`, late or broken off.
pub(crate) async fn body(body: Incoming, limit: usize) -> Option<Bytes> {
    tokio::time::timeout(BODY_DEADLINE, to_bytes(Body::new(body), limit)).await.ok()?.ok()
}
