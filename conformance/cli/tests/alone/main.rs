//! Null targets that must have the machine for themselves: one that is late is none that does nothing.

mod null_executors;
mod null_runners;
#[path = "../support/mod.rs"]
mod support;

use tokio::sync::Semaphore;

/// Each holds a permit while it runs. They wait for nearly all of their time, so that six leave each other time enough.
static TURN: Semaphore = Semaphore::const_new(6);
