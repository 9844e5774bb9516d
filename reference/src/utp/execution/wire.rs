//! How the execution service is reached: `report` and `inbox.list`, over both bindings.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::routing::{get, post};
use axum::{Json, Router};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::Execution;
use crate::log::Log;
use crate::utp::message::text_member;
use crate::utp::projects::Projects;
use crate::utp::revision::headers::http_header;
use crate::utp::serving::{Body, Denial, NatsRequest, RequestHandler, body_bytes, json_body};
use crate::utp::subject::ChannelId;

#[derive(Debug, Clone, Copy)]
pub(crate) enum InboxOperation {
    Report,
    InboxList,
}

impl RequestHandler for Execution {
    type Operation = InboxOperation;

    fn operations(&self) -> Vec<(InboxOperation, &'static str)> {
        vec![(InboxOperation::Report, "*.report"), (InboxOperation::InboxList, "inbox.list")]
    }

    fn projects(&self) -> &Projects {
        &self.projects
    }

    fn log(&self) -> &Log {
        &self.log
    }

    fn perform<'a>(
        &'a self,
        operation: InboxOperation,
        request: NatsRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        async move {
            let project = self.project(request.project())?;
            match operation {
                InboxOperation::Report => {
                    let channel = request.channel()?;
                    let lookup = |name: &str| request.header(name);
                    Ok(json!(self.report(&project, &channel, lookup, request.body()).await?))
                }
                InboxOperation::InboxList => {
                    let body = json_body(request.body())?;
                    let agent_id =
                        text_member(&body, "agent_id").ok_or_else(|| Denial::bad_request("no `agent_id`"))?;
                    Ok(json!({"records": self.records(&project, agent_id).await?}))
                }
            }
        }
        .boxed()
    }
}

/// The same over HTTP.
pub(crate) fn routes(execution: Arc<Execution>) -> Router {
    Router::new()
        .route("/projects/{project}/channels/{channel}/reports", post(report))
        .route("/projects/{project}/agents/{agent}/inbox", get(records))
        .with_state(execution)
}

type SharedExecution = State<Arc<Execution>>;

async fn report(
    State(execution): SharedExecution,
    Path((project, channel)): Path<(String, String)>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Denial> {
    let project = execution.project(&project)?;
    let channel = ChannelId::new(channel).map_err(|error| Denial::bad_request(error.to_string()))?;
    let lookup = |name: &str| http_header(&headers, name);
    Ok(Json(json!(execution.report(&project, &channel, lookup, &body_bytes(body)?).await?)))
}

async fn records(
    State(execution): SharedExecution,
    Path((project, agent_id)): Path<(String, String)>,
) -> Result<Json<Value>, Denial> {
    let project = execution.project(&project)?;
    Ok(Json(json!({"records": execution.records(&project, &agent_id).await?})))
}
