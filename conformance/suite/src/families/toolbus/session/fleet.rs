//! Replicas beside those of the scenarios, with a context root of their own, each behind a way that can be cut.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::ToolbusSession;
use crate::engine::chaos::Relay;
use crate::engine::target;
use crate::engine::target::{Handing, SharedProcess};
use crate::families::toolbus::manifest::Transport;
use crate::families::toolbus::server::{Opening, Server};

/// Between two tries to speak with a replica that is starting.
const LOOK: Duration = Duration::from_millis(100);
/// For the first try; each further one gets twice as much. A message that a replica takes while it starts may be lost.
const FIRST_TRY: Duration = Duration::from_secs(8);

/// Replicas that listen. They end with it.
pub(in crate::families::toolbus) struct StartedFleet {
    /// In the order of their numbers.
    pub(in crate::families::toolbus) processes: SharedProcess,
    /// The way to each.
    pub(in crate::families::toolbus) relays: Vec<Relay>,
    root: PathBuf,
    _private: Option<Arc<TempDir>>,
}

impl ToolbusSession {
    /// Starts as many replicas as the manifest says, and returns once each of them can be spoken with.
    ///
    /// # Errors
    /// Why one of them cannot.
    pub(in crate::families::toolbus) async fn start_fleet(&self) -> Result<StartedFleet, String> {
        target::opened(|handing| self.start_fleet_on(handing), Clone::clone).await
    }

    async fn start_fleet_on(&self, handing: Handing) -> Result<StartedFleet, String> {
        let table = &self.table;
        let private = self.private_directory(Transport::Http, None)?;
        let root = self.new_root()?;
        let shown = root.display().to_string();
        let directory = private.as_deref().map(Self::private_path);
        let around = [(table.env_root_names[0].as_str(), shown.as_str())];
        let around: Vec<(&str, &str)> =
            around.into_iter().chain(table.private_dir.as_deref().zip(directory.as_deref())).collect();
        let launch = self.launch(table.launch.start.as_deref());
        let (processes, mut relays) = (SharedProcess::default(), Vec::new());
        for number in 1..=table.replicas.map_or(1, std::num::NonZeroU32::get) {
            let (process, listen) = Self::listening(&launch, &around, Some(number), handing)?;
            processes.add(process);
            let relay = Relay::to(listen).await;
            relays.push(relay.map_err(|error| format!("there is no way to replica {number}: {error}"))?);
        }
        let fleet = StartedFleet { processes, relays, root, _private: private };
        for replica in 0..fleet.relays.len() {
            self.await_replica(&fleet, replica).await?;
        }
        Ok(fleet)
    }

    /// Waits until a replica can be spoken with.
    async fn await_replica(&self, fleet: &StartedFleet, replica: usize) -> Result<(), String> {
        let (began, within) = (Instant::now(), self.start_timeout());
        let mut patience = self.timeouts.scaled(FIRST_TRY);
        loop {
            let left = within.saturating_sub(began.elapsed());
            match self.connect_with(fleet, replica, patience.min(left)).await {
                Ok(server) => {
                    server.close().await;
                    return Ok(());
                }
                Err(why) => {
                    if let Some(ended) = fleet.processes.ended() {
                        return Err(ended);
                    }
                    if began.elapsed() > within {
                        return Err(format!("replica {}: {why}", replica + 1));
                    }
                }
            }
            patience = patience.saturating_mul(2);
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Opens a connection with one replica, in a session of its own where there are sessions.
    ///
    /// # Errors
    /// Why it cannot be spoken with.
    pub(in crate::families::toolbus) async fn connect_with(
        &self,
        fleet: &StartedFleet,
        replica: usize,
        deadline: Duration,
    ) -> Result<Arc<Server>, String> {
        let relay = fleet.relays.get(replica).ok_or("there is no such replica")?;
        let (url, shown) = self.addresses(&relay.address().to_string());
        let connects = vec![self.connect_over_http(url, shown, None)];
        let plan = self.server_plan(Opening::Greeted, deadline);
        let opening = Server::open(connects, Some(fleet.root.clone()), plan);
        match tokio::time::timeout(deadline, opening).await {
            Ok(opened) => opened.map(Arc::new),
            Err(_) => Err("there was no answer in time".to_owned()),
        }
    }
}
