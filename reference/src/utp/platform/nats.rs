//! The NATS binding: request and reply below `l0.v1.<project_id>.`.
//!
//! Neighbour: `l0::nats` answers these requests. Retrying is not done here.

use std::time::Duration;

use async_nats::{Client, HeaderMap, Request, RequestErrorKind};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{AgentReply, MAX_ANSWER, Platform, PlatformError, Records, ToolList, decode};
use crate::utp::message::{
    CardBatch, InboxRecord, Report, ReportReceipt, RosterRow, ToolRow, TurnReceipt, TurnRequest,
};
use crate::utp::subject::{ChannelId, ProjectId};
use crate::utp::trace::TraceHeaders;

/// Header of an error reply: its text.
pub(crate) const ERROR: &str = "Nats-Service-Error";
/// Header of an error reply: its number.
pub(crate) const ERROR_CODE: &str = "Nats-Service-Error-Code";

/// The platform over the broker.
#[derive(Debug, Clone)]
pub struct NatsPlatform {
    client: Client,
    deadline: Duration,
}

impl NatsPlatform {
    /// Uses a connection that is there already; `deadline` bounds each request.
    pub fn new(client: Client, deadline: Duration) -> Self {
        Self { client, deadline }
    }

    async fn request(
        &self,
        operation: &'static str,
        subject: String,
        body: Vec<u8>,
        headers: Option<HeaderMap>,
    ) -> Result<Bytes, PlatformError> {
        let mut request = Request::new().timeout(Some(self.deadline)).payload(body.into());
        if let Some(headers) = headers {
            request = request.headers(headers);
        }
        let reply = self.client.send_request(subject, request).await.map_err(|error| match error.kind() {
            RequestErrorKind::TimedOut => PlatformError::Deadline { operation, after: self.deadline },
            RequestErrorKind::MaxPayloadExceeded => {
                PlatformError::TooLong { operation, limit: self.client.server_info().max_payload }
            }
            _ => PlatformError::Unreachable { operation, source: Box::new(error) },
        })?;
        if reply.payload.len() > MAX_ANSWER {
            return Err(PlatformError::TooLong { operation, limit: MAX_ANSWER });
        }
        let error = reply.headers.as_ref().filter(|headers| headers.get(ERROR).is_some());
        match error {
            None => Ok(reply.payload),
            Some(headers) => {
                let status = headers.get(ERROR_CODE).and_then(|code| code.as_str().parse().ok());
                Err(PlatformError::refused(operation, status.unwrap_or(500), &reply.payload))
            }
        }
    }
}

impl Platform for NatsPlatform {
    fn cards<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card_ids: &'a [String],
    ) -> BoxFuture<'a, Result<CardBatch, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.cards.get");
            let body = encode(&json!({"card_ids": card_ids}));
            decode("cards.get", &self.request("cards.get", subject, body, None).await?)
        }
        .boxed()
    }

    fn save_card<'a>(
        &'a self,
        project_id: &'a ProjectId,
        card: &'a Value,
    ) -> BoxFuture<'a, Result<(), PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.cards.save");
            let body = encode(&json!({"card": card}));
            self.request("cards.save", subject, body, None).await.map(drop)
        }
        .boxed()
    }

    fn tool<'a>(
        &'a self,
        project_id: &'a ProjectId,
        tool_name: &'a str,
    ) -> BoxFuture<'a, Result<ToolRow, PlatformError>> {
        #[derive(Deserialize)]
        struct Reply {
            tool: ToolRow,
        }
        async move {
            let subject = format!("l0.v1.{project_id}.tools.get");
            let body = encode(&json!({"tool_name": tool_name}));
            let reply = self.request("tools.get", subject, body, None).await?;
            decode::<Reply>("tools.get", &reply).map(|reply| reply.tool)
        }
        .boxed()
    }

    fn report<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel_id: &'a ChannelId,
        report: &'a Report,
        headers: &'a TraceHeaders,
    ) -> BoxFuture<'a, Result<ReportReceipt, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.{channel_id}.report");
            let body = encode(&json!(report));
            let reply = self.request("report", subject, body, Some(headers.to_nats())).await?;
            decode("report", &reply)
        }
        .boxed()
    }

    fn tools_list<'a>(
        &'a self,
        project_id: &'a ProjectId,
    ) -> BoxFuture<'a, Result<Vec<ToolRow>, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.tools.list");
            let reply = self.request("tools.list", subject, encode(&json!({})), None).await?;
            decode::<ToolList>("tools.list", &reply).map(ToolList::rows)
        }
        .boxed()
    }

    fn agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<RosterRow, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.roster.get");
            let body = encode(&json!({"agent_id": agent_id}));
            let reply = self.request("roster.get", subject, body, None).await?;
            decode::<AgentReply>("roster.get", &reply).map(|reply| reply.agent)
        }
        .boxed()
    }

    fn save_agent<'a>(
        &'a self,
        project_id: &'a ProjectId,
        row: &'a RosterRow,
    ) -> BoxFuture<'a, Result<(), PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.roster.save");
            let body = encode(&json!({"agent": row}));
            self.request("roster.save", subject, body, None).await.map(drop)
        }
        .boxed()
    }

    fn start_turn<'a>(
        &'a self,
        project_id: &'a ProjectId,
        channel_id: &'a ChannelId,
        request: &'a TurnRequest,
        headers: &'a TraceHeaders,
    ) -> BoxFuture<'a, Result<TurnReceipt, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.{channel_id}.turns.start");
            let body = encode(&json!(request));
            let reply = self.request("turns.start", subject, body, Some(headers.to_nats())).await?;
            decode("turns.start", &reply)
        }
        .boxed()
    }

    fn inbox<'a>(
        &'a self,
        project_id: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Vec<InboxRecord>, PlatformError>> {
        async move {
            let subject = format!("l0.v1.{project_id}.inbox.list");
            let body = encode(&json!({"agent_id": agent_id}));
            let reply = self.request("inbox.list", subject, body, None).await?;
            decode::<Records>("inbox.list", &reply).map(|reply| reply.records)
        }
        .boxed()
    }
}

fn encode(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}
