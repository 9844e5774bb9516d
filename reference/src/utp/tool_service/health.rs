//! What an orchestrator asks an instance: `GET /livez`, whether the process answers, and `GET /readyz`, whether it takes calls.
//!
//! An instance that has lost its broker is alive and not ready: it connects again by itself, so to start it again helps nobody.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use async_nats::connection::State;
use axum::Router;
use axum::http::StatusCode;
use axum::routing::get;

use super::ledger::LedgerStore;
use crate::http::listen::{Bounds, Listening};
use crate::utp::error::ReferenceError;

/// Whoever asks has little to say, and reads little.
const PATIENCE: Duration = Duration::from_secs(5);
const CONNECTIONS: usize = 16;

/// Answers until it is dropped.
pub(super) async fn listen(
    address: SocketAddr,
    client: Client,
    store: Arc<dyn LedgerStore>,
) -> Result<Listening, ReferenceError> {
    let ready = move || {
        let answer = readiness(&client.connection_state(), store.is_leased());
        async move { answer }
    };
    let router = Router::new().route("/livez", get(async || "ok")).route("/readyz", get(ready));
    let bounds = Bounds { head: PATIENCE, connections: CONNECTIONS, stall: PATIENCE };
    Listening::bind(address, router, bounds)
        .await
        .map_err(|source| ReferenceError::Listen { address: address.to_string(), source })
}

fn readiness(broker: &State, is_leased: bool) -> (StatusCode, &'static str) {
    match (broker, is_leased) {
        (State::Connected, true) => (StatusCode::OK, "ok"),
        (State::Connected, false) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "the lease of this instance is over, and the ledger does not renew it",
        ),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "the broker is not connected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_is_ready_with_a_broker_and_a_lease() {
        let status = |broker: State, is_leased: bool| readiness(&broker, is_leased).0.as_u16();
        assert_eq!(status(State::Connected, true), 200);
        assert_eq!(status(State::Connected, false), 503);
        assert_eq!(status(State::Disconnected, true), 503);
        assert_eq!(status(State::Pending, true), 503);
    }
}
