//! Where the worker's post comes from: the runtime's own execution service, or that of a platform beside it.
//!
//! The interface between the two halves of the runtime: the worker knows only what is here.

use std::sync::Arc;

use serde_json::json;

use crate::utp::execution::Execution;
use crate::utp::message::{InboxRecord, Report};
use crate::utp::platform::Platform;
use crate::utp::revision::Headers;
use crate::utp::subject::{ChannelId, ProjectId};

/// Inbox and report, as the worker sees them.
pub(super) enum Mail {
    /// The execution service in the same process.
    Own(Arc<Execution>),
    /// An execution service elsewhere takes the reports.
    Platform(Arc<dyn Platform>),
}

impl Mail {
    /// What may be new in an agent's Inbox; elsewhere that includes what was read before.
    pub(super) async fn records(
        &self,
        project: &ProjectId,
        agent_id: &str,
    ) -> Result<Vec<InboxRecord>, String> {
        match self {
            Self::Own(execution) => {
                let (project, agent_id) = (project.to_string(), agent_id.to_owned());
                let taken = execution.with_inbox(move |inbox| inbox.take(&project, &agent_id)).await;
                taken.map_err(|error| error.to_string())
            }
            Self::Platform(platform) => {
                platform.inbox(project, agent_id).await.map_err(|error| error.to_string())
            }
        }
    }

    /// Reports in a tool's stead.
    pub(super) async fn report(
        &self,
        project: &ProjectId,
        channel: &ChannelId,
        report: &Report,
        headers: &Headers,
    ) -> Result<(), String> {
        match self {
            Self::Own(execution) => {
                let body = json!(report).to_string();
                let lookup = |name: &str| headers.value(name);
                let taken = execution.report(project, channel, lookup, body.as_bytes()).await;
                taken.map(drop).map_err(|denial| denial.message)
            }
            Self::Platform(platform) => {
                let taken = platform.report(project, channel, report, headers).await;
                taken.map(drop).map_err(|error| error.to_string())
            }
        }
    }
}
