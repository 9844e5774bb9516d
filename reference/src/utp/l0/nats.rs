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
use crate::utp::serving::{Denial, Request, RequestHandler, json_body};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Operation {
    CardsGet,
    CardsSave,
    ToolsGet,
    ToolsList,
    RosterGet,
    RosterSave,
}

impl RequestHandler for Operations {
    type Operation = Operation;

    fn operations(&self) -> Vec<(Operation, &'static str)> {
        vec![
            (Operation::CardsGet, "cards.get"),
            (Operation::CardsSave, "cards.save"),
            (Operation::ToolsGet, "tools.get"),
            (Operation::ToolsList, "tools.list"),
            (Operation::RosterGet, "roster.get"),
            (Operation::RosterSave, "roster.save"),
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
        operation: Operation,
        request: Request<'a>,
    ) -> BoxFuture<'a, Result<Value, Denial>> {
        async move {
            let project = self.project(request.project())?;
            let body = request.body();
            Ok(match operation {
                Operation::CardsGet => json!(self.cards(&project, body).await?),
                Operation::CardsSave => json!({"card_id": self.save_card(&project, body).await?}),
                Operation::ToolsGet => {
                    json!({"tool": self.tool(&project, &named(body, "tool_name")?).await?})
                }
                Operation::ToolsList => json!({"tools": self.tools(&project).await?}),
                Operation::RosterGet => {
                    json!({"agent": self.agent(&project, &named(body, "agent_id")?).await?})
                }
                Operation::RosterSave => json!({"agent_id": self.save_agent(&project, body).await?}),
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
