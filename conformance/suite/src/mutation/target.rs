//! What mutants are tried on: a correct target, with a wire between it and the suite.

use std::sync::Arc;

use futures::future::{BoxFuture, LocalBoxFuture};

use crate::engine::session::Sessions;
use crate::net::wire::Wire;

/// Sets up targets, one for each worker.
pub trait TargetFactory: Send + Sync {
    /// Sets up a broker, and a correct target.
    fn open(&self) -> BoxFuture<'_, Result<Box<dyn TargetInstance>, String>>;
}

/// A place where a correct target can be put behind a wire.
pub trait TargetInstance {
    /// Opens the session of a profile behind `wire`.
    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        wire: Arc<dyn Wire>,
        patience: Patience,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>>;
}

/// How long a target is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// As long as the reference needs: most mutants that are killed by silence are silent for good.
    Short,
    /// As long as in a run of its own.
    Full,
}
