//! Null targets that must have the machine for themselves: one that is late is none that does nothing.

mod null_executors;
mod null_runners;
#[path = "../support/mod.rs"]
mod support;

use tokio::sync::Semaphore;

/// Each holds a permit while it runs. They wait more than they work, so that two leave each other time enough.
static TURN: Semaphore = Semaphore::const_new(2);
