//! Answers requests on the broker: one subscription for each operation, a task for each request (`docs/bindings.md`, NATS).
//!
//! Neighbour: `platform::nats` sends these requests.

use std::sync::Arc;

use async_nats::{Client, HeaderMap, Message};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, select_all};
use serde_json::Value;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::{Denial, MAX_REQUEST};
use crate::log::Log;
use crate::utp::connection::round_trip;
use crate::utp::error::ReferenceError;
use crate::utp::message::error_reply;
use crate::utp::platform::nats::{ERROR, ERROR_CODE};
use crate::utp::projects::Projects;
use crate::utp::subject::ChannelId;
use crate::utp::trace::nats_header;

/// Requests that are answered at once; more wait in the subscription.
const MAX_ANSWERING: usize = 256;

/// Who answers requests.
pub(crate) trait RequestHandler: Send + Sync + 'static {
    /// Which operation a request is for.
    type Operation: Copy + Send + Sync + 'static;

    /// Each operation with the end of its subject, `<below>.<project_id>.<end>`.
    fn operations(&self) -> Vec<(Self::Operation, &'static str)>;

    fn projects(&self) -> &Projects;

    fn log(&self) -> &Log;

    fn perform<'a>(
        &'a self,
        operation: Self::Operation,
        request: NatsRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, Denial>>;
}

/// A request as it came, no longer than it may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NatsRequest<'a> {
    message: &'a Message,
}

impl<'a> NatsRequest<'a> {
    pub(crate) fn project(self) -> &'a str {
        self.token(2)
    }

    /// The channel of a subject that has one.
    pub(crate) fn channel(self) -> Result<ChannelId, Denial> {
        ChannelId::new(self.token(3)).map_err(|error| Denial::bad_request(error.to_string()))
    }

    pub(crate) fn body(self) -> &'a [u8] {
        &self.message.payload
    }

    pub(crate) fn header(self, name: &str) -> Option<&'a str> {
        nats_header(self.message.headers.as_ref(), name)
    }

    fn token(self, index: usize) -> &'a str {
        self.message.subject.as_str().split('.').nth(index).unwrap_or_default()
    }
}

/// Where the platform is asked.
pub(crate) const PLATFORM: &str = "l0.v1";

/// Subscribes below two subject tokens, and answers until the closing.
pub(crate) async fn answer_requests<H: RequestHandler>(
    client: Client,
    below: &str,
    handler: Arc<H>,
    mut closing: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, ReferenceError> {
    let mut streams: Vec<BoxStream<'static, (H::Operation, Message)>> = Vec::new();
    for project in handler.projects().tokens() {
        for (operation, end) in handler.operations() {
            let subject = format!("{below}.{project}.{end}");
            let subscriber = client
                .subscribe(subject.clone())
                .await
                .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
            streams.push(subscriber.map(move |message| (operation, message)).boxed());
        }
    }
    round_trip(&client).await?;
    let mut requests = select_all(streams);
    Ok(tokio::spawn(async move {
        let mut answers = JoinSet::new();
        let answering = Arc::new(Semaphore::new(MAX_ANSWERING));
        loop {
            let request = tokio::select! {
                biased;
                // An error means that the component was dropped.
                _ = closing.wait_for(|closing| *closing) => break,
                Some(_) = answers.join_next(), if !answers.is_empty() => continue,
                request = requests.next() => request,
            };
            let Some((operation, message)) = request else {
                break;
            };
            let (client, handler) = (client.clone(), Arc::clone(&handler));
            // The semaphore is never closed, so there is always a place in the end.
            let place = Arc::clone(&answering).acquire_owned().await;
            answers.spawn(async move {
                answer(&client, handler.as_ref(), operation, message).await;
                drop(place);
            });
        }
        drop(requests);
        while answers.join_next().await.is_some() {}
        let _ = client.flush().await;
    }))
}

async fn answer<H: RequestHandler>(client: &Client, handler: &H, operation: H::Operation, message: Message) {
    let outcome = if message.payload.len() > MAX_REQUEST {
        Err(Denial::too_long())
    } else {
        handler.perform(operation, NatsRequest { message: &message }).await
    };
    let Some(reply) = message.reply else {
        return;
    };
    let published = match outcome {
        Ok(body) => client.publish(reply, body.to_string().into()).await,
        Err(denial) => {
            let mut headers = HeaderMap::new();
            // A header cannot hold line breaks, and the message may quote what a peer sent.
            headers.insert(ERROR, denial.code);
            headers.insert(ERROR_CODE, denial.status.to_string().as_str());
            let body = error_reply(denial.code, &denial.message).to_string();
            client.publish_with_headers(reply, headers, body.into()).await
        }
    };
    if let Err(error) = published {
        (handler.log())(&format!("no reply on `{}`: {error}", message.subject));
    }
}
