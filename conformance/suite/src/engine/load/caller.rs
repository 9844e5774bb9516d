//! Who makes the calls of a load.

use std::time::{Duration, Instant};

use futures::future::BoxFuture;

use crate::transcript::Frame;

/// Makes valid calls of one role of a target.
pub trait Caller: Send + Sync {
    /// The role.
    fn profile(&self) -> &'static str;

    /// Makes the call with this number, which no other call of the process has, and waits for its answer, at most until
    /// the deadline.
    fn call(&self, number: u64, deadline: Instant) -> BoxFuture<'_, Exchanged>;

    /// How long after an answer something may still come that belongs to the call.
    fn linger(&self) -> Duration;
}

/// What became of a call.
pub struct Exchanged {
    /// When its answer was there; nothing where none came before the deadline.
    pub answered: Option<Instant>,
    /// What its answer says in place of a success.
    pub failure: Option<String>,
    /// All its messages, once nothing more is to be expected.
    pub messages: Box<dyn FnOnce() -> Vec<Frame> + Send>,
}
