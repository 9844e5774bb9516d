//! The session of a run with an agent.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use thiserror::Error;

use crate::judge::Cause;
use crate::manifest::CrumbAgentTable;
use crate::pace::PaceLimits;
use crate::wire::Wire;

/// What a session is opened with.
pub struct CrumbAgentPlan {
    /// The manifest's table.
    pub table: CrumbAgentTable,
    /// The directory that relative paths refer to.
    pub directory: PathBuf,
    /// Where the output of a started agent goes.
    pub log: PathBuf,
    /// Limits of all waiting.
    pub limits: PaceLimits,
    /// What messages cross on their way.
    pub wire: Arc<dyn Wire>,
    /// Seed of all ids.
    pub seed: u64,
}

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CrumbAgentError {
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
}

impl CrumbAgentError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::Config(_) => Cause::Config,
        }
    }
}

/// An open session.
#[derive(Debug)]
pub struct CrumbAgentSession {
    /// The manifest's table.
    pub table: CrumbAgentTable,
}

impl CrumbAgentSession {
    /// Opens the parties and starts the agent.
    ///
    /// # Errors
    /// Why there is nothing to certify.
    pub async fn open(plan: CrumbAgentPlan) -> Result<Arc<Self>, CrumbAgentError> {
        Ok(Arc::new(Self { table: plan.table }))
    }

    /// What the target declares, as `@cap:` tags name it.
    pub fn capabilities(&self) -> BTreeSet<String> {
        BTreeSet::new()
    }

    /// Whether the agent did what it was asked to.
    pub fn works(&self) -> bool {
        false
    }

    /// Ends what the session started.
    pub async fn close(&self) {}
}
