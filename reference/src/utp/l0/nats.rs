//! L0's own operations over NATS (`docs/bindings.md`, NATS and Agents); `serving` does the answering.
//!
//! Neighbour: `platform::nats` sends these requests.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::operations::Operations;
use crate::log::Log;
use crate::utp::message::text_member;
use crate::utp::projects::Projects;
use crate::utp::serving::{Denial, NatsRequest, RequestHandler, json_body};

#[derive(Debug, Clone, Copy)]
pub(crate) enum PlatformOperation {
    CardsGet,
    CardsSave,
    ToolsGet,
    ToolsList,
    RosterGet,
    RosterSave,
}

impl RequestHandler for Operations {
    type Operation = PlatformOperation;

    fn operations(&self) -> Vec<(PlatformOperation, &'static str)> {
        vec![
            (PlatformOperation::CardsGet, "cards.get"),
            (PlatformOperation::CardsSave, "cards.save"),
            (PlatformOperation::ToolsGet, "tools.get"),
            (PlatformOperation::ToolsList, "tools.list"),
            (PlatformOperation::RosterGet, "roster.get"),
            (PlatformOperation::RosterSave, "roster.save"),
        ]
    }

    fn projects(&self) -> &Projects {
        &self.projects
    }

    fn log(&self) -> &Log {
        &self.log
    }

    fn perform<'a>(
        &'a self,
        operation: PlatformOperation,
        request: NatsRequest<'a>,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        async move {
            let project = self.project(request.project())?;
            let body = request.body();
            Ok(match operation {
                PlatformOperation::CardsGet => json!(self.cards(&project, body).await?),
                PlatformOperation::CardsSave => json!({"card_id": self.save_card(&project, body).await?}),
                PlatformOperation::ToolsGet => {
                    json!({"tool": self.tool(&project, &named(body, "tool_name")?).await?})
                }
                PlatformOperation::ToolsList => json!({"tools": self.tools(&project).await?}),
                PlatformOperation::RosterGet => {
                    json!({"agent": self.agent(&project, &named(body, "agent_id")?).await?})
                }
                PlatformOperation::RosterSave => json!({"agent_id": self.save_agent(&project, body).await?}),
            })
        }
        .boxed()
    }
}

/// The one text that a request is about.
fn named(body: &[u8], member: &str) -> Result<String, Denial> {
    let body = json_body(body)?;
    let text = text_member(&body, member).map(str::to_owned);
    text.ok_or_else(|| Denial::bad_request(format!("no `{member}`")))
}
