//! The execution service: takes a report into the Inbox of the agent that it names and wakes that agent's worker (UTP §4.2).
//!
//! `report` is what it checks, `inbox` where records are kept, `wire` how it is reached.
//! It serves inside `l0` and inside `runtime`: both take reports, from there on they differ.
//! It resumes no turn: the worker does, from the Inbox (`runtime::worker`). It looks at the card of a report in `v1r4`
//! alone, to see that card and report belong together, and never at the result in it.

pub(crate) mod inbox;
mod report;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use inbox::{InboxStore, Insertion, PENDING};

use super::error::ReferenceError;
use super::ident::{new_id, timestamp};
use super::message::{InboxRecord, Report, ReportContext, ReportReceipt, RosterRow, text_member};
use super::platform::{Platform, PlatformError, attempt};
#[cfg(feature = "postgres")]
use super::revision::report::written;
use super::revision::{Headers, Revision, shown, turn};
use super::serving::{Denial, with_store};
use super::subject::{ChannelId, ProjectId, WorkerTarget, wakeup};
#[cfg(feature = "postgres")]
use super::tool_service::CallResponse;
use super::trace::{RECURSION_DEPTH, TraceHeaders};
use crate::cause::Cause;
use crate::log::Log;
use crate::utp::projects::Projects;

pub(crate) use wire::routes;

/// How long a platform elsewhere may take to answer; a report waits for it.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(3);

/// Roster and cards: who an agent is and where its wakeups go at the moment, and what a report points to.
pub(crate) trait Resources: Send + Sync {
    /// The agent's row, or nothing when it is not in the roster.
    fn row<'a>(
        &'a self,
        project: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<RosterRow>, Cause>>;

    /// A card of a project, or nothing when there is none.
    fn card<'a>(
        &'a self,
        project: &'a ProjectId,
        card_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Cause>>;
}

/// Who made the calls that reports answer.
pub(crate) trait Commands: Send + Sync {
    /// How deeply an outstanding call is nested; nothing when the call is not known here.
    fn depth(&self, project_id: &str, agent_turn_id: &str, tool_call_id: &str) -> Option<u64>;
}

/// What a platform elsewhere has.
pub(crate) struct PlatformResources(pub(crate) Arc<dyn Platform>);

impl Resources for PlatformResources {
    fn row<'a>(
        &'a self,
        project: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<RosterRow>, Cause>> {
        async move {
            match attempt(LOOKUP_DEADLINE, || self.0.agent(project, agent_id)).await {
                Ok(row) => Ok(Some(row)),
                Err(PlatformError::Refused { status: 404, .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        }
        .boxed()
    }

    fn card<'a>(
        &'a self,
        project: &'a ProjectId,
        card_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Cause>> {
        async move {
            let wanted = [card_id.to_owned()];
            let batch = attempt(LOOKUP_DEADLINE, || self.0.cards(project, &wanted)).await?;
            Ok(batch.cards.into_iter().find(|card| card["card_id"] == card_id))
        }
        .boxed()
    }
}

/// Inbox and wakeups.
pub(crate) struct Execution {
    pub(crate) inbox: Arc<dyn InboxStore>,
    pub(crate) resources: Arc<dyn Resources>,
    pub(crate) commands: Arc<dyn Commands>,
    pub(crate) client: Client,
    pub(crate) revisions: Vec<Revision>,
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

    /// Takes a report; `lookup` finds its headers.
    pub(crate) async fn report<'a>(
        &self,
        project: &ProjectId,
        channel: &ChannelId,
        lookup: impl Fn(&str) -> Option<&'a str> + Send + Sync,
        body: &[u8],
    ) -> Result<ReportReceipt, Denial> {
        let headers = &TraceHeaders::child_of(&lookup);
        let revision = shown(&self.revisions, &lookup);
        let (report, context) = match revision {
            Revision::V1r3 => (report::read(body).map_err(Denial::bad_request)?, None),
            Revision::V1r4 => {
                let place = (project.as_str(), channel.as_str());
                let (report, context) = report::read_v1r4(place, lookup, body).map_err(violation)?;
                self.check(project, &report, &context).await?;
                (report, Some(context))
            }
        };
        let record = new_record((project.as_str(), channel.as_str()), headers, report, context.clone());
        let (inbox_id, agent_id) = (record.inbox_id.clone(), record.agent_id.clone());
        let insertion = self.stored(move |inbox| inbox.insert(&record)).await?;
        if let Insertion::Duplicate(inbox_id) = insertion {
            return Ok(ReportReceipt { inbox_id, duplicate: true });
        }
        let headers = turn::wakeup(revision, context.as_ref(), headers);
        self.wake(revision, (project, channel), &agent_id, &headers).await;
        Ok(ReportReceipt { inbox_id, duplicate: false })
    }

    /// Checks that a report of `v1r4` is made by whom it says, and about the call whose result it points to.
    async fn check(
        &self,
        project: &ProjectId,
        report: &Report,
        context: &ReportContext,
    ) -> Result<(), Denial> {
        let unreachable = |error: Cause| Denial {
            status: 503,
            code: "unavailable",
            message: format!("the report cannot be checked: {error}"),
        };
        let source = report.source_agent_id.as_str();
        if !report::is_service(source) {
            let row = self.resources.row(project, source).await.map_err(unreachable)?;
            let of_project =
                |row: &RosterRow| row.project_id.is_empty() || row.project_id == project.as_str();
            if !row.as_ref().is_some_and(of_project) {
                let message = format!("`{source}` is not in the roster of the project");
                return Err(Denial::refused("invalid_source_actor", message));
            }
        }
        let card_id = report.payload["tool_result_card_id"].as_str().unwrap_or_default();
        let card = self.resources.card(project, card_id).await.map_err(unreachable)?;
        let card = card.filter(|card| card.get("project_id").is_none_or(|id| id == project.as_str()));
        let card = card.ok_or_else(|| violation(format!("there is no card `{card_id}`")))?;
        report::check_card(&card, report).map_err(violation)?;
        let made = self.commands.depth(project.as_str(), &context.agent_turn_id, &context.tool_call_id);
        if made.is_some_and(|depth| depth != context.recursion_depth) {
            let message = format!("`{RECURSION_DEPTH}` is not that of the command");
            return Err(violation(message));
        }
        Ok(())
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
    async fn wake(
        &self,
        revision: Revision,
        (project, channel): (&ProjectId, &ChannelId),
        agent_id: &str,
        headers: &Headers,
    ) {
        let not_woken = |reason: &str| (self.log)(&format!("agent `{agent_id}` not woken: {reason}"));
        let row = match self.resources.row(project, agent_id).await {
            Ok(Some(row)) => row,
            Ok(None) => return not_woken("not in the roster"),
            Err(error) => return not_woken(&error.to_string()),
        };
        let target = match WorkerTarget::new(row.worker_target) {
            Ok(target) => target,
            Err(error) => return not_woken(&error.to_string()),
        };
        let subject = wakeup(revision, project, channel, &target);
        let payload = json!({"agent_id": agent_id}).to_string();
        let published = self.client.publish_with_headers(subject, headers.to_nats(), payload.into()).await;
        if let Err(error) = published {
            not_woken(&error.to_string());
        }
    }
}

/// The Inbox record of a report that is taken.
fn new_record(
    (project_id, channel_id): (&str, &str),
    headers: &TraceHeaders,
    report: Report,
    context: Option<ReportContext>,
) -> InboxRecord {
    let agent_id = match &context {
        Some(context) => context.agent_id.clone(),
        None => text_member(&report.payload, "agent_id").unwrap_or_default().to_owned(),
    };
    InboxRecord {
        inbox_id: new_id("inbox"),
        project_id: project_id.to_owned(),
        channel_id: channel_id.to_owned(),
        agent_id,
        message_type: report.message_type,
        correlation_id: report.correlation_id,
        source_agent_id: report.source_agent_id,
        traceparent: headers.traceparent.to_string(),
        tracestate: headers.tracestate.clone(),
        payload: report.payload,
        context,
        status: PENDING.to_owned(),
        created_at: timestamp(),
    }
}

/// The Inbox record that the report of an answer will come to, or what would be wrong with that report.
#[cfg(feature = "postgres")]
pub(crate) fn record_of(answer: &CallResponse) -> Result<InboxRecord, String> {
    let place = (answer.project_id.as_str(), answer.channel_id.as_str());
    let trace = answer.trace();
    let (report, headers) =
        written(answer.revision, place, &answer.source_agent_id, &answer.callback, &trace);
    let body = serde_json::to_vec(&report).map_err(|error| error.to_string())?;
    let (report, context) = match answer.revision {
        Revision::V1r3 => (report::read(&body)?, None),
        Revision::V1r4 => {
            let (report, context) = report::read_v1r4(place, |name| headers.value(name), &body)?;
            report::check_card(&answer.card, &report)?;
            (report, Some(context))
        }
    };
    Ok(new_record(place, &trace, report, context))
}

/// The refusal of a report that breaks the protocol.
fn violation(message: String) -> Denial {
    Denial::refused("protocol_violation", message)
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
