//! How a runner is set up.

use std::fmt;
use std::time::Duration;

use crate::breadcrumb::execution::DEADLINE;
use crate::breadcrumb::tool::Catalog;
use crate::log::{Log, no_log};
use crate::secret::Secret;

/// How a runner is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct RunnerConfig {
    /// Where the store is.
    pub store_url: String,
    /// What the store asks for.
    pub store_token: Option<Secret>,
    /// The tools.
    pub catalog: Catalog,
    /// The tag of the breadcrumbs that belong to runners like this one.
    pub workspace: String,
    /// How long a call may take, unless its tool says otherwise.
    pub deadline: Duration,
    /// How long open calls may take to end when the runner does.
    pub patience: Duration,
    /// Where log lines go; they hold no input, output or secret.
    pub log: Log,
}

impl RunnerConfig {
    /// A silent runner of `workspace:tools`.
    pub fn new(store_url: impl Into<String>, catalog: Catalog) -> Self {
        Self {
            store_url: store_url.into(),
            store_token: None,
            catalog,
            workspace: "workspace:tools".to_owned(),
            deadline: DEADLINE,
            patience: Duration::from_secs(2),
            log: no_log(),
        }
    }
}

impl fmt::Debug for RunnerConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("RunnerConfig")
            .field("store_url", &self.store_url)
            .field("catalog", &self.catalog)
            .field("workspace", &self.workspace)
            .finish_non_exhaustive()
    }
}
