//! Nodes of a broker that the manifest says how to start: when they are there.
//!
//! A cluster takes connections before its nodes have elected who leads what JetStream keeps; until then whatever keeps
//! something there is refused. So that is waited for as well, where a node has JetStream.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::{Client, Request};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::target::SharedProcess;
use callmark_suite::families::utp::broker_nodes;
use callmark_suite::families::utp::manifest::UtpTable;
use callmark_suite::families::utp::nats_access::NatsAccess;
use callmark_suite::families::utp::nats_servers;
use callmark_suite::families::utp::nats_servers::redacted;
use serde_json::Value;

use super::error::BrokerStartError;
use super::probe::{CONNECT_DEADLINE, probe};

/// From their start until all of them take connections.
const START_DEADLINE: Duration = Duration::from_secs(30);
/// For the nodes to elect who leads what JetStream keeps.
const ELECTION_DEADLINE: Duration = Duration::from_secs(60);
/// For an answer of JetStream.
const ANSWER_DEADLINE: Duration = Duration::from_secs(2);
/// Between two looks.
const LOOK: Duration = Duration::from_millis(100);
/// What JetStream is asked whether it works: what it knows of the account.
const QUESTION: &str = "$JS.API.INFO";
/// Its error code while nobody leads.
const NOT_AVAILABLE: u64 = 10_008;

/// Starts the nodes of a manifest, and returns once each takes connections and they have elected who leads.
///
/// # Errors
/// Which of them did not start, or what they did not do in time.
pub(super) async fn start(
    manifest: &Manifest,
    utp: &UtpTable,
    access: &NatsAccess,
    logs: &Path,
) -> Result<Arc<SharedProcess>, BrokerStartError> {
    let nodes = broker_nodes::start(manifest, utp, logs).map_err(|why| BrokerStartError::Node { why })?;
    let urls = nats_servers::urls(&utp.nats);
    let began = Instant::now();
    for url in &urls {
        while let Err(error) = probe(url, access).await {
            if let Some(why) = nodes.ended() {
                return Err(BrokerStartError::Node { why });
            }
            if began.elapsed() > START_DEADLINE {
                return Err(error);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
    // What takes connections may be another server, where a node found its port taken.
    if let Some(why) = nodes.ended() {
        return Err(BrokerStartError::Node { why });
    }
    if let Some(url) = urls.first() {
        elected(url, access).await?;
    }
    Ok(nodes)
}

/// Returns once JetStream has a leader, or where there is no JetStream.
async fn elected(url: &str, access: &NatsAccess) -> Result<(), BrokerStartError> {
    let unreachable = |why| BrokerStartError::Unreachable { url: redacted(url), why };
    let options = access.options(url).map_err(unreachable)?;
    let connect = options.connection_timeout(CONNECT_DEADLINE).connect(url);
    let client = connect.await.map_err(|error| unreachable(access.why(&error)))?;
    let began = Instant::now();
    while has_no_leader(&client).await {
        if began.elapsed() > ELECTION_DEADLINE {
            return Err(BrokerStartError::Deadline {
                what: format!("JetStream of the broker at `{}`", redacted(url)),
                limit: ELECTION_DEADLINE,
            });
        }
        tokio::time::sleep(LOOK).await;
    }
    Ok(())
}

async fn has_no_leader(client: &Client) -> bool {
    let question = Request::new().timeout(Some(ANSWER_DEADLINE));
    match client.send_request(QUESTION, question).await {
        Ok(answer) => {
            let answer: Value = serde_json::from_slice(&answer.payload).unwrap_or_default();
            answer.pointer("/error/err_code").and_then(Value::as_u64) == Some(NOT_AVAILABLE)
        }
        Err(error) => error.kind() != RequestErrorKind::NoResponders,
    }
}
