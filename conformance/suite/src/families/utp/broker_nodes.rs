//! The nodes of a broker that the suite starts as the manifest says (`[utp] broker_nodes`), before it starts the target.
//!
//! Neighbours: the command line waits until they take connections, and ends them; `chaos` ends one of them in mid-run.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::manifest::UtpTable;
use crate::engine::manifest::Manifest;
use crate::engine::target::{Launch, Log, Pipes, SharedProcess};

/// What each of them prints; a manifest names no more.
pub(super) const LOGS: [&str; 9] = [
    "broker-1.log",
    "broker-2.log",
    "broker-3.log",
    "broker-4.log",
    "broker-5.log",
    "broker-6.log",
    "broker-7.log",
    "broker-8.log",
    "broker-9.log",
];

/// Starts the nodes that a manifest names, in their order and in its directory; what they print goes to files in the
/// directory `logs`. None of them need take a connection yet.
///
/// # Errors
/// A text that says which of them cannot be started and why.
pub fn start(manifest: &Manifest, utp: &UtpTable, logs: &Path) -> Result<Arc<SharedProcess>, String> {
    let nodes = SharedProcess::default();
    for ((number, command), file) in (1..).zip(&utp.broker_nodes).zip(LOGS) {
        let log = Log::from(logs.join(file));
        log.hide(manifest.secrets());
        log.clear();
        let launch = Launch {
            command: command.clone(),
            directory: manifest.directory.clone(),
            environment: BTreeMap::new(),
            removed: Vec::new(),
            log,
        };
        nodes.add(launch.spawn(&[], Pipes::None).map_err(|why| format!("node {number}: {why}"))?);
    }
    Ok(Arc::new(nodes))
}
