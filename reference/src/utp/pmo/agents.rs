//! The roster: who is there, who is made.
//!
//! A row that a call makes says so in its metadata, so that the same call knows it again when it is repeated.

use serde_json::{Value, json};

use crate::utp::message::{ErrorCode, RosterRow};
use crate::utp::platform::attempt;
use crate::utp::tool_service::{Call, ToolFailure, ToolOutput};

use super::arguments::{Action, Provision, Strategy, Task};
use super::context::{PmoContext, is_absent, missed};
use super::ids;

/// The member of a row's metadata that names the call which made it.
const MADE_BY: &str = "provisioned_by";

/// The agent of a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) row: RosterRow,
    /// Whether the row is yet to be written.
    pub(super) is_new: bool,
}

impl PmoContext {
    /// Does what `provision_agent` is asked for.
    pub(super) async fn provision(&self, call: &Call, asked: Provision) -> Result<ToolOutput, ToolFailure> {
        let agent_id = asked.agent_id.clone().unwrap_or_else(|| ids::agent_id(call, 0));
        if let Some(row) = self.agent(call, &agent_id).await? {
            if asked.action == Action::Ensure {
                return Ok(provisioned("existing", &row));
            }
            if !is_made_by(&row, call) {
                return Err(ToolFailure::new(
                    ErrorCode::BadRequest,
                    format!("the agent `{agent_id}` is there already"),
                )
                .with_detail(json!({"field": "agent_id"})));
            }
        }
        let mut row = if asked.action == Action::Derive {
            let from = asked.from_agent_id.as_deref().unwrap_or(&call.command.identity.agent_id);
            self.copied(call, from, &agent_id, "from_agent_id").await?
        } else {
            self.blank(call, &agent_id)
        };
        if let Some(profile) = asked.profile_name {
            row.profile = Some(Value::String(profile));
        }
        if let Some(target) = asked.worker_target {
            row.worker_target = target;
        }
        row.display_name = asked.display_name.or(row.display_name);
        self.save(call, &row).await?;
        Ok(provisioned("created", &row))
    }

    /// Finds or makes up the agent of task number `index`; nothing is written yet.
    pub(super) async fn target(&self, call: &Call, index: usize, task: &Task) -> Result<Target, ToolFailure> {
        let row = match task.strategy {
            Strategy::Reuse => {
                let row = self.agent(call, &task.target_ref).await?;
                let row = row.ok_or_else(|| absent(&task.target_ref, "target_ref"))?;
                return Ok(Target { row, is_new: false });
            }
            Strategy::Clone => {
                self.copied(call, &task.target_ref, &ids::agent_id(call, index), "target_ref").await?
            }
            Strategy::New => {
                let mut row = self.blank(call, &ids::agent_id(call, index));
                row.profile = Some(json!(task.target_ref));
                row.display_name = Some(task.target_ref.clone());
                row
            }
        };
        Ok(Target { row, is_new: true })
    }

    /// Writes the row of a target that has none yet.
    pub(super) async fn settle(&self, call: &Call, target: &Target) -> Result<(), ToolFailure> {
        if target.is_new { self.save(call, &target.row).await } else { Ok(()) }
    }

    fn blank(&self, call: &Call, agent_id: &str) -> RosterRow {
        let mut row = RosterRow::new(call.subject.project_id.as_str(), agent_id, self.worker_target.as_str());
        row.owner_agent_id = Some(call.command.identity.agent_id.clone());
        row.status = Some("active".to_owned());
        row.metadata = Some(json!({ MADE_BY: maker(call) }));
        row
    }

    async fn copied(
        &self,
        call: &Call,
        from: &str,
        agent_id: &str,
        field: &str,
    ) -> Result<RosterRow, ToolFailure> {
        let mut row = self.agent(call, from).await?.ok_or_else(|| absent(from, field))?;
        let blank = self.blank(call, agent_id);
        let mut metadata = match row.metadata.take() {
            Some(Value::Object(metadata)) => metadata,
            _ => serde_json::Map::new(),
        };
        metadata.insert(MADE_BY.to_owned(), maker(call));
        metadata.insert("copied_from".to_owned(), json!(from));
        Ok(RosterRow {
            agent_id: blank.agent_id,
            project_id: blank.project_id,
            owner_agent_id: blank.owner_agent_id,
            status: blank.status,
            metadata: Some(Value::Object(metadata)),
            ..row
        })
    }

    async fn agent(&self, call: &Call, agent_id: &str) -> Result<Option<RosterRow>, ToolFailure> {
        let project_id = &call.subject.project_id;
        match attempt(self.delivery_deadline, || self.platform.agent(project_id, agent_id)).await {
            Ok(row) => Ok(Some(row)),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(missed(&error)),
        }
    }

    async fn save(&self, call: &Call, row: &RosterRow) -> Result<(), ToolFailure> {
        let project_id = &call.subject.project_id;
        attempt(self.delivery_deadline, || self.platform.save_agent(project_id, row))
            .await
            .map_err(|error| missed(&error))
    }
}

fn provisioned(outcome: &str, row: &RosterRow) -> ToolOutput {
    ToolOutput::Complete(json!({"outcome": outcome, "agent_id": row.agent_id, "agent": row}))
}

fn maker(call: &Call) -> Value {
    let identity = &call.command.identity;
    json!({"agent_turn_id": identity.agent_turn_id, "tool_call_id": identity.tool_call_id})
}

fn is_made_by(row: &RosterRow, call: &Call) -> bool {
    row.metadata.as_ref().and_then(|metadata| metadata.get(MADE_BY)) == Some(&maker(call))
}

fn absent(agent_id: &str, field: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::BadRequest, format!("there is no agent `{agent_id}`"))
        .with_detail(json!({"field": field}))
}
