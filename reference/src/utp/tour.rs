//! A tour: one call for each way in which a call can end, over the real bus (UTP §4.2).
//!
//! A subscriber on the broker sees every message of the protocol meanwhile.

use std::time::Duration;

use async_nats::Client;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::caller::{CallOutcome, Caller};
use super::connection::{connect, round_trip};
use super::error::ReferenceError;
use super::l0::{L0, L0Config, L0Handle};
use super::message::{Status, ToolRow};
use super::projects::Projects;
use super::revision::Revision;
use super::subject::ProjectId;
use super::tool_service::{ToolService, ToolServiceConfig, rows};

/// For each stop of the tour.
const STOP_DEADLINE: Duration = Duration::from_secs(10);

/// Short enough that a waiting tool hits it at once, long enough that no other tool does.
const TOOL_TIME_LIMIT: Duration = Duration::from_millis(150);

const CHANNEL: &str = "tour";

/// One call of the tour.
#[derive(Debug, Clone, PartialEq)]
pub struct TourStop {
    /// The tool that was called.
    pub tool_name: String,
    /// How the call ended.
    pub status: Status,
    /// The answer as the caller got it.
    pub outcome: CallOutcome,
}

/// The tour's calls: tool, arguments, and the status that they end with.
fn calls() -> [(&'static str, Value, Status); 6] {
    [
        ("probe.echo", json!({"k": "tour"}), Status::Success),
        ("probe.ctl", json!({"after_execution": "terminate"}), Status::Success),
        ("tide_table", json!({"harbour": "Brest", "days": 3}), Status::Success),
        ("tide_table", json!({"harbour": "Dover", "days": 45}), Status::Partial),
        ("tide_table", json!({"harbour": "Atlantis"}), Status::Failed),
        ("tide_wait", json!({"harbour": "Saint-Malo"}), Status::Timeout),
    ]
}

/// A tour that was made. Its L0 still serves cards and tool rows to readers of the messages.
#[derive(Debug)]
pub struct Tour {
    /// The calls, in order.
    pub stops: Vec<TourStop>,
    l0: L0,
}

impl Tour {
    /// Ends its L0.
    pub async fn end(self) {
        self.l0.shutdown().await;
    }
}

/// Starts L0 and a Tool Service for this project alone and makes one call for each ending.
///
/// # Errors
/// When the broker is not there, an answer does not come, or a call ends otherwise than it should.
pub async fn tour(nats_url: &str, revision: Revision, project_id: &str) -> Result<Tour, ReferenceError> {
    let project = ProjectId::new(project_id)?;
    let l0 = L0::start(L0Config {
        revisions: vec![revision],
        projects: Projects::Only(vec![project.clone()]),
        ..L0Config::new(nats_url)
    })
    .await?;
    let service = ToolServiceConfig {
        revisions: vec![revision],
        projects: Projects::Only(vec![project]),
        // A group of its own, so that no other service on the broker takes the tour's commands.
        queue_group: format!("tour-{project_id}"),
        tool_time_limit: TOOL_TIME_LIMIT,
        ..ToolServiceConfig::new(nats_url)
    };
    // Boxed, because what all the stops keep across their waits is large.
    match Box::pin(visit(nats_url, revision, project_id, l0.handle(), service)).await {
        Ok(stops) => Ok(Tour { stops, l0 }),
        Err(error) => {
            l0.shutdown().await;
            Err(error)
        }
    }
}

async fn visit(
    nats_url: &str,
    revision: Revision,
    project_id: &str,
    l0: L0Handle,
    config: ToolServiceConfig,
) -> Result<Vec<TourStop>, ReferenceError> {
    let rows = rows(project_id, revision);
    for row in &rows {
        l0.put_tool(row.clone()).await?;
    }
    let caller =
        Caller::connect(nats_url, revision, l0, project_id, CHANNEL).await?.with_deadline(STOP_DEADLINE);
    let service = ToolService::start(config.clone()).await?;
    let stops = visit_all(&caller, &rows).await;
    service.shutdown().await;
    let mut stops = stops?;
    // The last call is called off, so its service must have time enough for it.
    let patient = ToolServiceConfig { tool_time_limit: STOP_DEADLINE, ..config };
    stops.push(visit_canceled(nats_url, project_id, &caller, &rows, patient).await?);
    Ok(stops)
}

async fn visit_all(caller: &Caller, rows: &[ToolRow]) -> Result<Vec<TourStop>, ReferenceError> {
    let mut stops = Vec::new();
    for (tool_name, arguments, status) in calls() {
        let outcome = caller.call(row(rows, tool_name)?, &arguments).await?;
        stops.push(stop(tool_name, status, outcome)?);
    }
    Ok(stops)
}

/// Shuts the service down while the call waits for the tide.
async fn visit_canceled(
    nats_url: &str,
    project_id: &str,
    caller: &Caller,
    rows: &[ToolRow],
    config: ToolServiceConfig,
) -> Result<TourStop, ReferenceError> {
    let tool_name = "tide_wait";
    let observer = connect(nats_url, "tour").await?;
    let service = ToolService::start(config).await?;
    let called_off = async {
        let call = caller.prepare(row(rows, tool_name)?, &json!({"harbour": "Brest"})).await?;
        let taken = card_is_read(&observer, project_id).await?;
        let shutdown = async {
            let seen = timeout(STOP_DEADLINE, taken).await;
            service.shutdown().await;
            seen.map_err(|_elapsed| ReferenceError::Deadline {
                what: "request for the tool.call card".to_owned(),
                after: STOP_DEADLINE,
            })
        };
        let (outcome, seen) = tokio::join!(caller.send(&call), shutdown);
        seen?;
        outcome
    };
    stop(tool_name, Status::Canceled, called_off.await?)
}

/// Waits until a service asks for a card: from then on the command is in its hands.
async fn card_is_read(
    observer: &Client,
    project_id: &str,
) -> Result<impl Future<Output = ()>, ReferenceError> {
    let subject = format!("l0.v1.{project_id}.cards.get");
    let failed = |source| ReferenceError::Subscribe { subject: subject.clone(), source };
    let mut requests = observer.subscribe(subject.clone()).await.map_err(|source| failed(source.into()))?;
    round_trip(observer).await?;
    Ok(async move {
        let _ = requests.next().await;
    })
}

fn row<'a>(rows: &'a [ToolRow], tool_name: &str) -> Result<&'a ToolRow, ReferenceError> {
    rows.iter().find(|row| row.tool_name == tool_name).ok_or_else(|| ReferenceError::Unexpected {
        what: "tool rows",
        reason: format!("none for `{tool_name}`"),
    })
}

fn stop(tool_name: &str, expected: Status, outcome: CallOutcome) -> Result<TourStop, ReferenceError> {
    let status = outcome.callback.status;
    if status != expected {
        let reason = format!("`{tool_name}` ended as {status:?} and not as {expected:?}");
        return Err(ReferenceError::Unexpected { what: "callback", reason });
    }
    Ok(TourStop { tool_name: tool_name.to_owned(), status, outcome })
}
