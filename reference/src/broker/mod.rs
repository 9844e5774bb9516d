//! The embedded broker: the NATS client protocol on a loopback port, inside the process.
//!
//! It exists so that a machine with nothing but cargo can certify: the suite, the targets and the
//! reference all meet on a NATS bus, and this is one.
//! Clients see publish and subscribe, wildcards, queue groups, headers, request and reply with
//! "no responders", `UNSUB` with a maximum, and the same limits and error texts as `nats-server`;
//! the contract tests of the command line crate run against both.
//!
//! Deliberately absent: JetStream, TLS, authentication (credentials are accepted and ignored),
//! accounts, clustering, leaf nodes, WebSocket, monitoring, and limits on how many clients and
//! subscriptions there are.
//! It claims nothing beyond one machine; production scale is a real `nats-server`.
//!
//! Reading order: `parser` turns bytes into operations, `subscriptions` answers who gets a
//! message, `outbound` encodes and bounds what waits for a client; none of them does I/O.
//! `connection` is the shell that binds the three to a socket, with a `client` for the
//! publishers' side and a `writer` for the socket's.

mod client;
mod connection;
mod outbound;
mod parser;
mod subject;
mod subscriptions;
mod writer;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use self::connection::{Settings, Shared};

/// How long a silent client is left alone before it is asked for a sign of life.
const PING_INTERVAL: Duration = Duration::from_secs(120);

/// How long the listener rests after a failed accept, which is the system being out of something
/// (file descriptors, mostly): trying again at once would only burn the processor.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where the broker listens and what it bounds.
#[derive(Debug, Clone)]
pub struct BrokerConfig {
    /// The address to listen on; port 0 takes a free one. Default `127.0.0.1:0`.
    pub listen: SocketAddr,
    /// The largest message, headers and payload together, in bytes. Default 1 MiB.
    pub max_payload: usize,
    /// How many bytes may wait for one client before it is cut off as a slow consumer.
    /// Default 64 MiB.
    pub max_pending: usize,
    /// How long a client may refuse to read a single byte of what waits for it before it is cut
    /// off. Default 10 seconds.
    pub write_deadline: Duration,
}

impl Default for BrokerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            max_payload: 1024 * 1024,
            max_pending: 64 * 1024 * 1024,
            write_deadline: Duration::from_secs(10),
        }
    }
}

/// Why the broker could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BrokerError {
    /// The address is taken, not ours, or not permitted.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A running broker. Dropping it closes the listener and every connection.
#[derive(Debug)]
pub struct Broker {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Taken by `shutdown`; dropping it stops the acceptor.
    stop: Option<oneshot::Sender<()>>,
    /// Owns the listener and, through a `JoinSet`, every connection.
    acceptor: JoinHandle<()>,
}

impl Broker {
    /// Binds the listener and starts to accept clients.
    ///
    /// # Errors
    ///
    /// [`BrokerError::Listen`] when the address cannot be bound.
    pub async fn start(config: BrokerConfig) -> Result<Self, BrokerError> {
        Self::start_with(config, PING_INTERVAL).await
    }

    async fn start_with(config: BrokerConfig, ping_interval: Duration) -> Result<Self, BrokerError> {
        let failed = |source| BrokerError::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let settings = Settings {
            address,
            max_payload: config.max_payload,
            max_pending: config.max_pending,
            write_deadline: config.write_deadline,
            ping_interval,
        };
        let (stop, stopped) = oneshot::channel();
        let shared = Arc::new(Shared::new(settings));
        let acceptor = tokio::spawn(accept(listener, Arc::clone(&shared), stopped));
        Ok(Self { address, shared, stop: Some(stop), acceptor })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What a client connects to: `nats://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// The subjects that each client is subscribed to just now, in the order in which the clients came.
    pub fn subscriptions(&self) -> Vec<Vec<String>> {
        self.shared.subjects().into_iter().map(|(_, subjects)| subjects).collect()
    }

    /// Closes the listener and every connection, and returns when they are closed.
    pub async fn shutdown(mut self) {
        drop(self.stop.take());
        // The acceptor neither panics nor is aborted before this; either would end it as well.
        let _ = (&mut self.acceptor).await;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

/// Accepts until asked to stop. Its connections end with it, however it ends.
async fn accept(listener: TcpListener, shared: Arc<Shared>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            _ = &mut stopped => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    connections.spawn(connection::serve(stream, peer, Arc::clone(&shared)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    connections.shutdown().await;
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;
    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn a_silent_client_is_pinged_and_then_dropped_as_stale() {
        let broker = Broker::start_with(BrokerConfig::default(), Duration::from_millis(5))
            .await
            .expect("a free loopback port");
        let mut client = TcpStream::connect(broker.address()).await.expect("the broker listens");
        let mut seen = String::new();
        timeout(Duration::from_secs(10), client.read_to_string(&mut seen))
            .await
            .expect("the broker closes in time")
            .expect("text until the end");
        let after_info = seen.split_once("\r\n").expect("INFO comes first").1;
        assert_eq!(after_info, "PING\r\nPING\r\n-ERR 'Stale Connection'\r\n");
    }

    #[tokio::test]
    async fn a_taken_port_is_an_error_that_names_it() {
        let first = Broker::start(BrokerConfig::default()).await.expect("a free loopback port");
        let taken = BrokerConfig { listen: first.address(), ..BrokerConfig::default() };
        let refused = Broker::start(taken).await.expect_err("the port is taken");
        assert!(refused.to_string().contains(&first.address().to_string()));
    }
}
