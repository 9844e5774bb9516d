//! What L0 does, whichever binding asks: cards, tools, roster (UTP §2, Guide §2); reports are `execution`'s.
//!
//! The bindings only decode, call one of these, and encode.

use std::fmt;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;

use super::store::Store;
use super::upload;
use crate::cause::Cause;
use crate::log::Log;
use crate::utp::error::ReferenceError;
use crate::utp::execution::{Resources, served};
use crate::utp::message::{CardBatch, RosterRow, ToolRow, text_member};
use crate::utp::projects::Projects;
use crate::utp::revision::Revision;
use crate::utp::serving::{Denial, json_body, with_store};
use crate::utp::subject::{ProjectId, WorkerTarget, is_token};

/// The most cards that one request may ask for.
const MAX_CARDS: usize = 1000;

/// The state that both bindings share.
pub(crate) struct Operations {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) projects: Projects,
    pub(crate) log: Log,
}

impl fmt::Debug for Operations {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Operations").field("projects", &self.projects).finish_non_exhaustive()
    }
}

impl Operations {
    /// Checks that a project is one that is served here.
    pub(crate) fn project(&self, project_id: &str) -> Result<ProjectId, Denial> {
        served(&self.projects, project_id)
    }

    /// Reads cards; the body is `{"card_ids": […]}`.
    pub(crate) async fn cards(&self, project: &ProjectId, body: &[u8]) -> Result<CardBatch, Denial> {
        let body = json_body(body)?;
        let ids: Option<Vec<String>> = body["card_ids"]
            .as_array()
            .and_then(|ids| ids.iter().map(|id| id.as_str().map(str::to_owned)).collect());
        let ids = ids.ok_or_else(|| Denial::bad_request("no list `card_ids` of texts"))?;
        if ids.len() > MAX_CARDS {
            return Err(Denial::bad_request(format!("more than {MAX_CARDS} `card_ids`")));
        }
        let project = project.to_string();
        self.stored(move |store| {
            let mut batch = CardBatch::default();
            for id in ids {
                match store.card(&project, &id)? {
                    Some(card) => batch.cards.push(card),
                    None => batch.missing_card_ids.push(id),
                }
            }
            Ok(batch)
        })
        .await
    }

    /// Reads one card.
    pub(crate) async fn card(&self, project: &ProjectId, card_id: &str) -> Result<Value, Denial> {
        let (project, wanted) = (project.to_string(), card_id.to_owned());
        let card = self.stored(move |store| store.card(&project, &wanted)).await?;
        card.ok_or_else(|| Denial::not_found("card", card_id))
    }

    /// Writes a card; the body is `{"card": {…}}` or the card itself. Returns its id.
    pub(crate) async fn save_card(&self, project: &ProjectId, body: &[u8]) -> Result<String, Denial> {
        let mut body = json_body(body)?;
        let card = match body.get_mut("card") {
            Some(card) if card.is_object() => card.take(),
            _ => body,
        };
        let card_id = text_member(&card, "card_id")
            .ok_or_else(|| Denial::bad_request("the card has no `card_id`"))?
            .to_owned();
        if card.get("project_id").is_some_and(|id| id != project.as_str()) {
            return Err(Denial::bad_request("the card's `project_id` is another project"));
        }
        let (project, id) = (project.to_string(), card_id.clone());
        self.stored(move |store| store.put_card(&project, &id, &card)).await?;
        Ok(card_id)
    }

    /// Reads a `resource.tools` row.
    pub(crate) async fn tool(&self, project: &ProjectId, name: &str) -> Result<ToolRow, Denial> {
        let (project, wanted) = (project.to_string(), name.to_owned());
        let row = self.stored(move |store| store.tool(&project, &wanted)).await?;
        row.ok_or_else(|| Denial::not_found("tool", name))
    }

    /// Registers an uploaded tool definition.
    pub(crate) async fn upload(&self, project: &ProjectId, yaml: &[u8]) -> Result<ToolRow, Denial> {
        let row = upload::read(project, &self.revisions, yaml).map_err(Denial::bad_request)?;
        let stored = row.clone();
        self.stored(move |store| store.put_tool(&stored)).await?;
        Ok(row)
    }

    /// All rows of a project, by name.
    pub(crate) async fn tools(&self, project: &ProjectId) -> Result<Vec<ToolRow>, Denial> {
        let project = project.to_string();
        self.stored(move |store| store.tools(&project)).await
    }

    /// Removes a row.
    pub(crate) async fn remove_tool(&self, project: &ProjectId, name: &str) -> Result<(), Denial> {
        let (project, unwanted) = (project.to_string(), name.to_owned());
        let removed = self.stored(move |store| store.remove_tool(&project, &unwanted)).await?;
        if removed { Ok(()) } else { Err(Denial::not_found("tool", name)) }
    }

    /// Reads a roster row.
    pub(crate) async fn agent(&self, project: &ProjectId, agent_id: &str) -> Result<RosterRow, Denial> {
        let (project, wanted) = (project.to_string(), agent_id.to_owned());
        let row = self.stored(move |store| store.roster(&project, &wanted)).await?;
        row.ok_or_else(|| Denial::not_found("agent", agent_id))
    }

    /// Writes a roster row; the body is `{"agent": {…}}` or the row itself. Returns the agent's id.
    pub(crate) async fn save_agent(&self, project: &ProjectId, body: &[u8]) -> Result<String, Denial> {
        let mut body = json_body(body)?;
        let row = match body.get_mut("agent") {
            Some(row) if row.is_object() => row.take(),
            _ => body,
        };
        let mut row: RosterRow = serde_json::from_value(row)
            .map_err(|error| Denial::bad_request(format!("no roster row: {error}")))?;
        if !is_token(&row.agent_id) {
            // The id becomes a token of the agent's events.
            return Err(Denial::bad_request("`agent_id` is not a subject token"));
        }
        WorkerTarget::new(row.worker_target.clone())
            .map_err(|error| Denial::bad_request(format!("`worker_target`: {error}")))?;
        if row.project_id.is_empty() {
            row.project_id = project.to_string();
        } else if row.project_id != project.as_str() {
            return Err(Denial::bad_request("the row's `project_id` is another project"));
        }
        let agent_id = row.agent_id.clone();
        self.stored(move |store| store.put_roster(&row)).await?;
        Ok(agent_id)
    }

    /// Runs an operation on the store where it does not hold up an async thread.
    pub(crate) async fn with_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, ReferenceError> {
        let store = Arc::clone(&self.store);
        with_store("l0", store.waits_for_disk(), move || work(store.as_ref())).await
    }

    async fn stored<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Store) -> Result<T, Cause> + Send + 'static,
    ) -> Result<T, Denial> {
        self.with_store(work).await.map_err(|error| Denial::store(&self.log, error))
    }
}

impl Resources for Operations {
    fn row<'a>(
        &'a self,
        project: &'a ProjectId,
        agent_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<RosterRow>, Cause>> {
        let (project, agent_id) = (project.to_string(), agent_id.to_owned());
        async move { Ok(self.with_store(move |store| store.roster(&project, &agent_id)).await?) }.boxed()
    }

    fn card<'a>(
        &'a self,
        project: &'a ProjectId,
        card_id: &'a str,
    ) -> BoxFuture<'a, Result<Option<Value>, Cause>> {
        let (project, card_id) = (project.to_string(), card_id.to_owned());
        async move { Ok(self.with_store(move |store| store.card(&project, &card_id)).await?) }.boxed()
    }
}
