//! How the suite's breadcrumbs reach a target, and where the target's own are found.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::in_memory_store::InMemoryStore;
use super::lines::Input;
use super::router::{ScenarioChannel, ScenarioRouter};
use super::store::Store;
use super::system::System;
use crate::transcript::Kind;

/// The way to a target.
pub(super) enum StoreAccess {
    /// The target is a client of the suite's store.
    Store(Store),
    /// The target reads JSON lines; the store is there as well.
    Lines { store: Store, input: Input },
    /// The suite is a client of the target's store.
    System(System),
    /// That was to a target with its own store, in a run that is judged again.
    Nobody,
}

impl StoreAccess {
    /// Gives the target a breadcrumb, as the wire lets it through.
    ///
    /// # Errors
    /// Why it does not get there.
    pub(super) async fn put(
        &self,
        router: &ScenarioRouter,
        scenario_channel: &ScenarioChannel,
        body: Value,
    ) -> Result<Vec<String>, String> {
        let arriving = router.told(scenario_channel, Kind::Put, "POST /breadcrumbs", BTreeMap::new(), body);
        let mut ids = Vec::new();
        for body in arriving {
            ids.push(self.store(&body).await?);
        }
        Ok(ids)
    }

    /// Stores a breadcrumb that is no message of a scenario.
    pub(super) async fn store(&self, body: &Value) -> Result<String, String> {
        match self {
            Self::System(system) => system.put(body).await,
            Self::Nobody => Ok(String::new()),
            Self::Store(store) => shelve(&store.shelf, body).map(|crumb| crumb.id),
            Self::Lines { store, input } => {
                let crumb = shelve(&store.shelf, body)?;
                input.send(&crumb.full())?;
                Ok(crumb.id)
            }
        }
    }

    /// What the store holds under an id.
    pub(super) async fn find(&self, id: &str) -> Option<Value> {
        match self {
            Self::System(system) => system.find(id).await,
            Self::Nobody => None,
            Self::Store(store) | Self::Lines { store, .. } => store.shelf.find(id).map(|crumb| crumb.full()),
        }
    }

    /// What a runner has done that answers nothing.
    pub(super) fn silence(&self) -> &'static str {
        match self {
            Self::Lines { .. } => "writes no line with a `tool.response.v1` that has the `request_id`",
            Self::Store(store) if *store.shelf.listeners().borrow() == 0 => {
                "never opened the event stream of the store at `CALLMARK_STORE_URL`"
            }
            _ => "listens to the event stream, and stores no `tool.response.v1` with the `request_id`",
        }
    }

    /// The suite's own store, where there is one.
    pub(super) fn shelf(&self) -> Option<&Arc<InMemoryStore>> {
        match self {
            Self::System(_) | Self::Nobody => None,
            Self::Store(store) | Self::Lines { store, .. } => Some(&store.shelf),
        }
    }
}

fn shelve(shelf: &InMemoryStore, body: &Value) -> Result<super::crumb::Crumb, String> {
    shelf
        .put(shelf.fresh_id(), body, None)
        .map_err(|refused| format!("the suite's own store refuses it: {refused:?}"))
}
