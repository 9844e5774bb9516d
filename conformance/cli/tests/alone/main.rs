//! Null targets that must have the machine for themselves: one that is late is none that does nothing.

mod null_executors;
mod null_runners;
#[path = "../support/mod.rs"]
mod support;

use tokio::sync::Mutex;

/// Held by the one that runs.
static TURN: Mutex<()> = Mutex::const_new(());
