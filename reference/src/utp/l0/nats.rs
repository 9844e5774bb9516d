//! L0 over NATS: one subscription for each operation, a task for each request (`docs/bindings.md`, NATS).
//!
//! Neighbour: `platform::nats` sends these requests.

use std::sync::Arc;

use async_nats::{HeaderMap, Message};
use futures::StreamExt;
use futures::stream::{BoxStream, select_all};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use super::MAX_REQUEST;
use super::operations::{Denial, Operations, TraceReport, json_body};
use crate::utp::error::ReferenceError;
use crate::utp::message::{error_reply, text_member};
use crate::utp::platform::nats::{ERROR, ERROR_CODE};
use crate::utp::round_trip;
use crate::utp::subject::ChannelId;
use crate::utp::trace::nats_header;

/// Requests that are answered at once; more wait in the subscription.
const MAX_ANSWERING: usize = 256;

#[derive(Debug, Clone, Copy)]
enum Operation {
    CardsGet,
    CardsSave,
    ToolsGet,
    Report,
}

impl Operation {
    const ALL: [Self; 4] = [Self::CardsGet, Self::CardsSave, Self::ToolsGet, Self::Report];

    fn subject(self, project: &str) -> String {
        let end = match self {
            Self::CardsGet => "cards.get",
            Self::CardsSave => "cards.save",
            Self::ToolsGet => "tools.get",
            Self::Report => "*.report",
        };
        format!("l0.v1.{project}.{end}")
    }
}

/// Subscribes, and answers until the closing.
pub(crate) async fn serve(
    operations: Arc<Operations>,
    mut closing: watch::Receiver<bool>,
) -> Result<JoinHandle<()>, ReferenceError> {
    let mut streams: Vec<BoxStream<'static, (Operation, Message)>> = Vec::new();
    for project in operations.projects.tokens() {
        for operation in Operation::ALL {
            let subject = operation.subject(project);
            let subscriber = operations
                .client
                .subscribe(subject.clone())
                .await
                .map_err(|source| ReferenceError::Subscribe { subject, source: source.into() })?;
            streams.push(subscriber.map(move |message| (operation, message)).boxed());
        }
    }
    round_trip(&operations.client).await?;
    let mut requests = select_all(streams);
    Ok(tokio::spawn(async move {
        let mut answers = JoinSet::new();
        let answering = Arc::new(Semaphore::new(MAX_ANSWERING));
        loop {
            let request = tokio::select! {
                biased;
                // An error means that L0 was dropped.
                _ = closing.wait_for(|closing| *closing) => break,
                Some(_) = answers.join_next(), if !answers.is_empty() => continue,
                request = requests.next() => request,
            };
            let Some((operation, message)) = request else {
                break;
            };
            let operations = Arc::clone(&operations);
            // The semaphore is never closed, so there is always a place in the end.
            let place = Arc::clone(&answering).acquire_owned().await;
            answers.spawn(async move {
                answer(&operations, operation, message).await;
                drop(place);
            });
        }
        drop(requests);
        while answers.join_next().await.is_some() {}
        let _ = operations.client.flush().await;
    }))
}

async fn answer(operations: &Operations, operation: Operation, message: Message) {
    let outcome = perform(operations, operation, &message).await;
    let Some(reply) = message.reply else {
        return;
    };
    let published = match outcome {
        Ok(body) => operations.client.publish(reply, body.to_string().into()).await,
        Err(denial) => {
            let mut headers = HeaderMap::new();
            // A header cannot hold line breaks, and the message may quote what a peer sent.
            headers.insert(ERROR, denial.code);
            headers.insert(ERROR_CODE, denial.status.to_string().as_str());
            let body = error_reply(denial.code, &denial.message).to_string();
            operations.client.publish_with_headers(reply, headers, body.into()).await
        }
    };
    if let Err(error) = published {
        (operations.log)(&format!("no reply on `{}`: {error}", message.subject));
    }
}

async fn perform(operations: &Operations, operation: Operation, message: &Message) -> Result<Value, Denial> {
    if message.payload.len() > MAX_REQUEST {
        return Err(Denial::bad_request(format!("longer than {MAX_REQUEST} bytes")));
    }
    let tokens: Vec<&str> = message.subject.split('.').collect();
    let token = |index: usize| tokens.get(index).copied().unwrap_or_default();
    let project = operations.project(token(2))?;
    let body = &message.payload;
    Ok(match operation {
        Operation::CardsGet => json!(operations.cards(&project, body).await?),
        Operation::CardsSave => {
            json!({"card_id": operations.save_card(&project, body).await?})
        }
        Operation::ToolsGet => {
            let body = json_body(body)?;
            let name =
                text_member(&body, "tool_name").ok_or_else(|| Denial::bad_request("no `tool_name`"))?;
            json!({"tool": operations.tool(&project, name).await?})
        }
        Operation::Report => {
            let channel = ChannelId::new(token(3)).map_err(|error| Denial::bad_request(error.to_string()))?;
            let trace = TraceReport::new(|name| nats_header(message.headers.as_ref(), name));
            json!(operations.report(&project, &channel, trace, body).await?)
        }
    })
}
