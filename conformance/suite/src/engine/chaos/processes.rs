//! How processes of a fleet are disturbed: by signals, and on their way to others.

use std::time::Duration;

use callmark_reports::chaos::{Fault, Party};
use nix::sys::signal::Signal;

use super::fleet::Replica;
use super::relay::Link;
use crate::engine::target::SharedProcess;

/// How late bytes of a replica are that is slowed down.
const LATE: Duration = Duration::from_millis(50);

/// What of a fleet can be disturbed.
pub(crate) struct Processes<'f> {
    /// The replicas, in the order of their numbers.
    pub(crate) replicas: &'f SharedProcess,
    /// The nodes of their broker, where the suite started them.
    pub(crate) broker_nodes: Option<&'f SharedProcess>,
    /// Changes the way between a replica and everybody else.
    pub(crate) set_link: &'f dyn Fn(Replica, Link),
}

impl Processes<'_> {
    /// Does this to a replica or a node.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn disturb(&self, party: Party, fault: Fault) -> Result<(), String> {
        let done = match (party, fault) {
            (Party::BrokerNode(number), _) => {
                self.node().and_then(|nodes| nodes.signal_one(at(number), Signal::SIGKILL))
            }
            (Party::Replica(number), Fault::Kill) => self.replicas.signal_one(at(number), Signal::SIGKILL),
            (Party::Replica(number), Fault::Pause) => self.replicas.signal_one(at(number), Signal::SIGSTOP),
            (Party::Replica(number), Fault::Partition) => self.link(number, Link::Down),
            (Party::Replica(number), Fault::Slow) => self.link(number, Link::Slow(LATE)),
        };
        done.map_err(|why| format!("{party} ended before it was disturbed: {why}"))
    }

    /// Undoes it.
    ///
    /// # Errors
    /// Why the replica or node cannot be used any more.
    pub(crate) fn restore(&self, party: Party, fault: Fault) -> Result<(), String> {
        let done = match (party, fault) {
            (Party::BrokerNode(number), _) => self.node().and_then(|nodes| nodes.restart_one(at(number))),
            (Party::Replica(number), Fault::Kill) => self.replicas.restart_one(at(number)),
            (Party::Replica(number), Fault::Pause) => self.replicas.signal_one(at(number), Signal::SIGCONT),
            (Party::Replica(number), Fault::Partition | Fault::Slow) => self.link(number, Link::Up),
        };
        done.map_err(|why| format!("{party} did not come back: {why}"))
    }

    fn node(&self) -> Result<&SharedProcess, String> {
        self.broker_nodes.ok_or_else(|| "the suite did not start it".to_owned())
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the others")]
    fn link(&self, number: Replica, link: Link) -> Result<(), String> {
        (self.set_link)(number, link);
        Ok(())
    }
}

/// The place of a process, from 0, that has this number.
fn at(number: u32) -> usize {
    (number as usize).saturating_sub(1)
}
