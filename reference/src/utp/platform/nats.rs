//! The NATS binding: request and reply below `l0.v1.<project_id>.`.
//!
//! Neighbour: `l0::nats` answers these requests. Retrying is not done here.

use std::time::Duration;

use async_nats::{Client, Request, RequestErrorKind};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::{MAX_ANSWER, Platform, PlatformError, PlatformRequest};
use crate::utp::subject::ProjectId;

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
}

impl Platform for NatsPlatform {
    fn request<'a>(
        &'a self,
        project_id: &'a ProjectId,
        request: PlatformRequest<'a>,
    ) -> BoxFuture<'a, Result<Bytes, PlatformError>> {
        async move {
            let operation = request.name();
            let subject = match request.routing() {
                Some((channel, _)) => format!("l0.v1.{project_id}.{channel}.{operation}"),
                None => format!("l0.v1.{project_id}.{operation}"),
            };
            let body = request.body().to_string().into_bytes();
            let mut message = Request::new().timeout(Some(self.deadline)).payload(body.into());
            if let Some((_, headers)) = request.routing() {
                message = message.headers(headers.to_nats());
            }
            let reply =
                self.client.send_request(subject, message).await.map_err(|error| match error.kind() {
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
        .boxed()
    }

    fn nests_rows(&self) -> bool {
        true
    }
}
