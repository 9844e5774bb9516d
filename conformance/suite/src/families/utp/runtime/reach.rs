//! How a runtime is asked for something: over the bus, or over HTTP (`docs/bindings.md`).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Request};
use bytes::Bytes;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::engine::timing::heartbeat;
use crate::families::utp::message;
use crate::families::utp::nats;
use crate::families::utp::revision::Revision;
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::transcript::Message;

/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 8 * 1024 * 1024;

/// Where a runtime is asked over the bus. Below `l0.v1` the suite itself is the platform, for other roles of the target.
///
/// Each revision has a subject of its own, since runtimes of both may be on one broker.
pub(super) const fn below(revision: Revision) -> &'static str {
    match revision {
        Revision::V1r3 => "runtime.v1",
        Revision::V1r4 => "runtime.v1r4",
    }
}

/// The way to a runtime.
#[derive(Clone, Debug)]
pub(super) enum Reach {
    /// Request and reply.
    Nats {
        /// The suite's connection.
        client: Client,
        /// When a request may leave.
        outbound: Arc<Outbound>,
    },
    /// Below a base URL.
    Http {
        /// Without a trailing slash.
        base: String,
        /// Keeps connections.
        client: HttpSender,
    },
    /// To nobody, in a run that is judged again.
    Nowhere {
        /// Whether it was HTTP.
        is_http: bool,
    },
}

/// What a runtime is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuntimeMessage {
    /// `turns.start`.
    Turn,
    /// `report`.
    Report,
    /// `inbox.list`.
    Inbox,
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Whether it did as it was asked.
    pub accepted: bool,
    /// HTTP status, or the number of the error header; 200 where there is none.
    pub status: u16,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

impl Reach {
    /// Below a base URL.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub(super) fn http(base: &str, outbound: &Arc<Outbound>) -> Result<Self, String> {
        let options = SenderOptions { follows: true, ..SenderOptions::default() };
        let client = HttpSender::new(outbound, options)?;
        Ok(Self::Http { base: base.trim_end_matches('/').to_owned(), client })
    }

    /// Why nothing more is to be expected from there.
    pub(super) fn trouble(&self) -> Option<String> {
        match self {
            Self::Http { client, .. } => client.trouble(),
            Self::Nats { .. } | Self::Nowhere { .. } => None,
        }
    }

    pub(super) fn is_http(&self) -> bool {
        matches!(self, Self::Http { .. } | Self::Nowhere { is_http: true })
    }

    /// The channel of a kind of message in one revision, as transcripts name it.
    pub(super) fn channel(
        &self,
        (message_kind, revision): (RuntimeMessage, Revision),
        project: &str,
        channel_id: &str,
        agent_id: &str,
    ) -> String {
        let below = below(revision);
        match (self, message_kind) {
            (Self::Nats { .. } | Self::Nowhere { is_http: false }, RuntimeMessage::Turn) => {
                format!("{below}.{project}.{channel_id}.turns.start")
            }
            (Self::Nats { .. } | Self::Nowhere { is_http: false }, RuntimeMessage::Report) => {
                format!("{below}.{project}.{channel_id}.report")
            }
            (Self::Nats { .. } | Self::Nowhere { is_http: false }, RuntimeMessage::Inbox) => {
                format!("{below}.{project}.inbox.list")
            }
            (Self::Http { .. } | Self::Nowhere { .. }, RuntimeMessage::Turn) => {
                format!("POST /projects/{project}/channels/{channel_id}/turns")
            }
            (Self::Http { .. } | Self::Nowhere { .. }, RuntimeMessage::Report) => {
                format!("POST /projects/{project}/channels/{channel_id}/reports")
            }
            (Self::Http { .. } | Self::Nowhere { .. }, RuntimeMessage::Inbox) => {
                format!("GET /projects/{project}/agents/{agent_id}/inbox")
            }
        }
    }

    /// Sends a message and takes the answer; `None` when none comes in time.
    pub(super) async fn ask(&self, message: &Message, within: Duration) -> Option<Answered> {
        match self {
            Self::Nats { client, outbound } => {
                let _turn = outbound.turn().await;
                Box::pin(over_nats(client, message, within)).await
            }
            Self::Http { base, client } => Box::pin(over_http(client, base, message, within)).await,
            Self::Nowhere { .. } => None,
        }
    }
}

async fn over_nats(client: &Client, message: &Message, within: Duration) -> Option<Answered> {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        headers.insert(name.as_str(), value.as_str());
    }
    let mut request = Request::new().payload(Bytes::from(message.body.to_string())).timeout(None);
    if !headers.is_empty() {
        request = request.headers(headers);
    }
    let reply = client.send_request(message.channel.clone(), request);
    let reply = heartbeat::within(within, reply).await?.ok()?;
    let own = nats::headers(&reply);
    let code = own.get("nats-service-error-code").and_then(|code| code.parse().ok());
    let failed = code.is_some() || own.contains_key("nats-service-error");
    let body = message::body(&reply.payload);
    Some(answered(code.unwrap_or(if failed { 500 } else { 200 }), body))
}

async fn over_http(client: &HttpSender, base: &str, message: &Message, within: Duration) -> Option<Answered> {
    let (method, path) = message.channel.split_once(' ')?;
    let url = format!("{base}{path}");
    let mut request = match method {
        "GET" => client.request(Method::GET, &url),
        _ => client.request(Method::POST, &url).json(&message.body),
    };
    for (name, value) in &message.headers {
        request = request.header(name.as_str(), value.as_str());
    }
    let exchange = async {
        let mut response = client.send(request).await.inspect_err(|error| drop(error.deepest())).ok()?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER {
                return None;
            }
        }
        Some(answered(status, message::body(&bytes)))
    };
    let _turn = client.turn().await;
    heartbeat::within(within, exchange).await.flatten()
}

fn answered(status: u16, body: Value) -> Answered {
    let refused = body.get("error").is_some_and(|error| !error.is_null());
    Answered { accepted: (200..300).contains(&status) && !refused, status, body }
}

/// Headers that carry a trace.
pub(super) fn traced(traceparent: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("traceparent".to_owned(), traceparent.to_owned())])
}

/// The body with which an Inbox is asked for.
pub(super) fn whose_inbox(agent_id: &str) -> Value {
    json!({"agent_id": agent_id})
}
