//! Tool bus v1: an MCP server whose tools share one way of being called, answered, stored and refused.
//!
//! Read `arguments` for what every call may carry, `bus` for the order in which a call is served, and
//! `envelope` for what comes back; the rest are the steps that `bus` names: `redact`, `shape`, `bound`, `state`,
//! `artifacts`. `server` is the MCP side on top of rmcp, `wire` and `http` are its two transports, `tools` the tools.
//! The rules are the requirements of Tool bus v1 (`tool_bus_v1.md`); comments name its sections.
//!
//! Deliberately absent: authentication (the contract has none), streaming (the contract defines none),
//! resources and prompts of MCP, `structuredContent` (the contract asks for one text block), the
//! revision 2026-07-28 of MCP (it knows no sessions, and `session` is a scope here).

mod arguments;
mod artifacts;
mod bound;
mod bus;
mod config;
mod envelope;
mod failure;
mod files;
mod http;
mod ids;
#[cfg(test)]
mod laws;
mod redact;
mod server;
mod shape;
mod state;
mod tools;
mod wire;

use std::sync::Arc;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use self::bus::Bus;
use self::server::Server;
use self::wire::LineTransport;

pub use self::config::Config;
pub use self::http::HttpServer;

/// Why a server could not be started or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolBusError {
    /// The address is taken, not ours, or not permitted.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// What was asked for.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The client and the server did not agree on how to begin.
    #[error("the handshake with the client failed")]
    Handshake {
        /// What rmcp says.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The task that served the connection ended in a way that was not foreseen.
    #[error("serving ended early")]
    Ended {
        /// What the runtime says.
        source: tokio::task::JoinError,
    },
}

/// Serves one client on standard input and output until the input ends.
///
/// Only messages are written to standard output; log lines go to [`Config::log`].
///
/// # Errors
///
/// [`ToolBusError::Handshake`] when the client gives up on the handshake in an unforeseen way.
pub async fn serve_stdio(config: Config) -> Result<(), ToolBusError> {
    // Through the event loop where both are pipes: a read that waits in a thread would outlive the runtime.
    let (input, output) = rmcp::transport::stdio_pipes();
    serve(config, input, output).await
}

/// Serves one client on a pair of streams, one JSON-RPC message a line, until the input ends.
///
/// # Errors
///
/// As [`serve_stdio`]. An input that ends before the handshake is no error.
pub async fn serve<R, W>(config: Config, read: R, write: W) -> Result<(), ToolBusError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let log = Arc::clone(&config.log);
    let server = Server::new(Arc::new(Bus::new(&config)));
    match server.serve(LineTransport::new(read, write, log)).await {
        Ok(running) => {
            running.waiting().await.map_err(|source| ToolBusError::Ended { source })?;
            Ok(())
        }
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(ToolBusError::Handshake { source: Box::new(error) }),
    }
}
