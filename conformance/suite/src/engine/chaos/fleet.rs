//! What a family offers where replicas of its target can be disturbed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosFinding, Fault, Party};
use futures::future::BoxFuture;

/// Number of a replica, from 1.
pub type Replica = u32;

/// Replicas of one role, all of which the suite started.
pub trait Fleet: Send + Sync {
    /// The role.
    fn profile(&self) -> &'static str;

    /// How many there are.
    fn replicas(&self) -> Replica;

    /// How many nodes of the broker the suite started, where one of them can be missed for a while; else none.
    fn broker_nodes(&self) -> u32 {
        0
    }

    /// Stretches a time as the run's options say.
    fn scaled(&self, time: Duration) -> Duration;

    /// Gets ready to count what the calls do.
    ///
    /// # Errors
    /// Why nobody could tell what was done twice.
    fn begin(&self) -> BoxFuture<'_, Result<(), String>>;

    /// Makes a call of its own, and sends it again until it is answered, at most until the deadline.
    fn call(self: Arc<Self>, deadline: Instant) -> BoxFuture<'static, Called>;

    /// Does this to a replica or a node.
    ///
    /// # Errors
    /// Why not.
    fn disturb(&self, party: Party, fault: Fault) -> Result<(), String>;

    /// Undoes it.
    ///
    /// # Errors
    /// Why the replica or node cannot be used any more.
    fn restore(&self, party: Party, fault: Fault) -> Result<(), String>;

    /// Waits for what is late, and returns what was lost or done twice by these calls; and why that is not all, where nobody
    /// can tell.
    fn findings(&self, called: Vec<Called>) -> BoxFuture<'_, (Vec<ChaosFinding>, Option<String>)>;
}

/// What became of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its place among those of the fleet.
    pub index: usize,
    /// How often it was sent.
    pub times: u32,
    /// Whether it was answered, and with a success.
    pub succeeded: Option<bool>,
}
