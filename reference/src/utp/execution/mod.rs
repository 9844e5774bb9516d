//! The execution service: takes a report into the Inbox of the agent that it names and wakes that agent's worker (UTP §4.2).
//!
//! `report` is what it checks, `inbox` where records are kept, `wire` how it is reached.
//! It serves inside `l0` and inside `runtime`: both take reports, from there on they differ.
//! It resumes no turn and opens no card: the worker does, from the Inbox (`runtime::worker`).

pub(crate) mod inbox;
mod report;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::json;

use inbox::{InboxStore, Insertion, PENDING};

use super::error::ReferenceError;
use super::ident::{new_id, timestamp};
use super::message::{InboxRecord, ReportReceipt, RosterRow, text_member};
use super::platform::{Platform, PlatformError, attempt};
use super::serving::{Denial, with_store};
use super::subject::{ChannelId, ProjectId, WorkerTarget, wakeup};
use super::trace::TraceHeaders;
use crate::cause::Cause;
use crate::log::Log;
use crate::utp::projects::Projects;

pub(crate) use wire::routes;

/// How long a roster elsewhere may take to answer; a report waits for it.
const ROSTER_DEADLINE: Duration = Duration::from_secs(3);

/// Who knows where an agent's wakeups go at the moment.
pub(crate) trait Roster: Send + Sync {
    /// The agent's row, or nothing when it is not in the roster.
    fn row<'a>(
        &'a self,
        project: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<RosterRow>, Cause>>;
}

/// The roster of a platform elsewhere.
pub(crate) struct PlatformRoster(pub(crate) Arc<dyn Platform>);

impl Roster for PlatformRoster {
    fn row<'a>(
        &'a self,
        project: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<RosterRow>, Cause>> {
        async move {
            match attempt(ROSTER_DEADLINE, || self.0.agent(project, agent_id)).await {
                Ok(row) => Ok(Some(row)),
                Err(PlatformError::Refused { status: 404, .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }
}

/// Inbox and wakeups.
pub(crate) struct Execution {
    pub(crate) inbox: Arc<dyn InboxStore>,
    pub(crate) roster: Arc<dyn Roster>,
    pub(crate) client: Client,
    pub(crate) version: String,
    pub(crate) projects: Projects,
    pub(crate) log: Log,
}

impl fmt::Debug for Execution {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Execution").field("projects", &self.projects).finish_non_exhaustive()
    }
}

impl Execution {
    /// Checks that a project is one that is served here.
    fn project(&self, project_id: &str) -> Result<ProjectId, Denial> {
        served(&self.projects, project_id)
    }

    /// Takes a report; `headers` are those that follow from the reported ones.
    pub(crate) async fn report(
        &self,
        project: &ProjectId,
        channel: &ChannelId,
        headers: &TraceHeaders,
        body: &[u8],
    ) -> Result<ReportReceipt, Denial> {
        let report = report::read(body).map_err(Denial::bad_request)?;
        let agent_id = text_member(&report.payload, "agent_id").unwrap_or_default().to_owned();
        let record = InboxRecord {
            inbox_id: new_id("inbox"),
            project_id: project.to_string(),
            channel_id: channel.to_string(),
            agent_id: agent_id.clone(),
            message_type: report.message_type,
            correlation_id: report.correlation_id,
            source_agent_id: report.source_agent_id,
            traceparent: headers.traceparent.to_string(),
            tracestate: headers.tracestate.clone(),
            payload: report.payload,
            status: PENDING.to_owned(),
            created_at: timestamp(),
        };
        let inbox_id = record.inbox_id.clone();
        let insertion = self.stored(move |inbox| inbox.insert(&record)).await?;
        if let Insertion::Duplicate(inbox_id) = insertion {
            return Ok(ReportReceipt { inbox_id, duplicate: true });
        }
        self.wake(project, channel, &agent_id, headers).await;
        Ok(ReportReceipt { inbox_id, duplicate: false })
    }

    /// All records of an agent, oldest first.
    pub(crate) async fn records(
        &self,
        project: &ProjectId,
        agent_id: &str,
    ) -> Result<Vec<InboxRecord>, Denial> {
        let (project, agent_id) = (project.to_string(), agent_id.to_owned());
        self.stored(move |inbox| inbox.records(&project, &agent_id)).await
    }

    /// Runs an operation on the Inbox where it does not hold up an async thread.
    pub(crate) async fn with_inbox<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn InboxStore) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, ReferenceError> {
        let inbox = Arc::clone(&self.inbox);
        with_store("inbox", inbox.waits_for_disk(), move || work(inbox.as_ref())).await
    }

    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn InboxStore) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Denial> {
        self.with_inbox(work).await.map_err(|error| Denial::store(&self.log, error))
    }

    /// Wakes a worker; the record is written, so a wakeup that is lost costs time and no data.
    ///
    /// The roster is read after the record is written: what it says then is where the wakeup goes (Guide §2).
    async fn wake(&self, project: &ProjectId, channel: &ChannelId, agent_id: &str, headers: &TraceHeaders) {
        let not_woken = |reason: &str| (self.log)(&format!("agent `{agent_id}` not woken: {reason}"));
        let row = match self.roster.row(project, agent_id).await {
            Ok(Some(row)) => row,
            Ok(None) => return not_woken("not in the roster"),
            Err(error) => return not_woken(&error.to_string()),
        };
        let target = match WorkerTarget::new(row.worker_target) {
            Ok(target) => target,
            Err(error) => return not_woken(&error.to_string()),
        };
        let subject = wakeup(&self.version, project, channel, &target);
        let payload = json!({"agent_id": agent_id}).to_string();
        let published = self.client.publish_with_headers(subject, headers.to_nats(), payload.into()).await;
        if let Err(error) = published {
            not_woken(&error.to_string());
        }
    }
}

/// Reads a project id and checks that it is one of those that are served.
pub(crate) fn served(projects: &Projects, project_id: &str) -> Result<ProjectId, Denial> {
    let project_id = ProjectId::new(project_id).map_err(|error| Denial::bad_request(error.to_string()))?;
    if projects.contains(&project_id) {
        Ok(project_id)
    } else {
        Err(Denial::not_found("project", project_id.as_str()))
    }
}
