//! How the suite's breadcrumbs reach a target, and where the target's own are found.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::external_store::ExternalStore;
use super::in_memory_store::{InMemoryStore, Refused};
use super::json_lines::LineWriter;
use super::router::{ScenarioChannel, ScenarioRouter};
use super::store::Store;
use crate::engine::session::CleanedUp;
use crate::transcript::Kind;

/// The way to a target.
pub(super) enum StoreAccess {
    /// The target is a client of the suite's store.
    Store(Store),
    /// The target reads JSON lines; the store is there as well.
    Lines { store: Store, input: LineWriter },
    /// The suite is a client of the target's store.
    External(ExternalStore),
    /// That was to a target with its own store, in a run that is judged again.
    Offline,
}

impl StoreAccess {
    /// Whether the target has a store of its own, which reports what is stored when it likes.
    pub(super) fn is_external(&self) -> bool {
        matches!(self, Self::External(_))
    }

    /// Gives the target a breadcrumb, as the wire lets it through, once it is the suite's turn.
    ///
    /// # Errors
    /// Why it does not get there.
    pub(super) async fn put(
        &self,
        router: &ScenarioRouter,
        scenario_channel: &ScenarioChannel,
        body: Value,
    ) -> Result<Vec<String>, String> {
        let arriving = router.send(scenario_channel, Kind::Put, "POST /breadcrumbs", BTreeMap::new(), body);
        let mut ids = Vec::new();
        for body in arriving {
            ids.push(match self {
                Self::External(store) => store.put_in_turn(&body).await?,
                Self::Store(_) | Self::Lines { .. } | Self::Offline => self.store(&body).await?,
            });
        }
        Ok(ids)
    }

    /// Changes a breadcrumb in the suite's own store, as the wire lets it through: the target receives it once more.
    ///
    /// # Errors
    /// Why it does not get there.
    pub(super) fn change(
        &self,
        router: &ScenarioRouter,
        scenario_channel: &ScenarioChannel,
        id: &str,
        changes: Value,
    ) -> Result<(), String> {
        // One that the target has deleted is changed no more.
        let patch = |store: &Store, changes: &Value| match store.contents.patch(id, changes, None) {
            Ok(patched) => Ok(Some(patched)),
            Err(Refused::Unknown) => Ok(None),
            Err(refused) => Err(format!("the suite's own store refuses it: {refused:?}")),
        };
        for changes in
            router.send(scenario_channel, Kind::Put, "PATCH /breadcrumbs", BTreeMap::new(), changes)
        {
            match self {
                Self::Store(store) => drop(patch(store, &changes)?),
                Self::Lines { store, input } => {
                    if let Some(crumb) = patch(store, &changes)? {
                        input.send(&crumb.full())?;
                    }
                }
                Self::External(_) | Self::Offline => {
                    return Err("the store is not the suite's own".to_owned());
                }
            }
        }
        Ok(())
    }

    /// Stores a breadcrumb that is no message of a scenario.
    pub(super) async fn store(&self, body: &Value) -> Result<String, String> {
        match self {
            Self::External(store) => store.put(body).await,
            Self::Offline => Ok(String::new()),
            Self::Store(store) => store_in(&store.contents, body).map(|crumb| crumb.id.clone()),
            Self::Lines { store, input } => {
                let crumb = store_in(&store.contents, body)?;
                input.send(&crumb.full())?;
                Ok(crumb.id.clone())
            }
        }
    }

    /// Deletes what the suite stored, where the store is not its own.
    pub(super) async fn clean_up(&self) -> CleanedUp {
        match self {
            Self::External(store) => store.delete_made().await,
            Self::Store(_) | Self::Lines { .. } | Self::Offline => CleanedUp::default(),
        }
    }

    /// What the store holds under an id.
    pub(super) async fn find(&self, id: &str) -> Option<Value> {
        match self {
            Self::External(store) => store.find(id).await,
            Self::Offline => None,
            Self::Store(store) | Self::Lines { store, .. } => {
                store.contents.find(id).map(|crumb| crumb.full())
            }
        }
    }

    /// What a runner has done that answers nothing.
    pub(super) fn silence(&self) -> &'static str {
        match self {
            Self::Lines { .. } => "writes no line with a `tool.response.v1` that has the `request_id`",
            Self::Store(store) if *store.contents.listeners().borrow() == 0 => {
                "never opened the event stream of the store at `CALLMARK_STORE_URL`"
            }
            _ => "listens to the event stream, and stores no `tool.response.v1` with the `request_id`",
        }
    }

    /// The suite's own store, where there is one.
    pub(super) fn contents(&self) -> Option<&Arc<InMemoryStore>> {
        match self {
            Self::External(_) | Self::Offline => None,
            Self::Store(store) | Self::Lines { store, .. } => Some(&store.contents),
        }
    }
}

fn store_in(contents: &InMemoryStore, body: &Value) -> Result<Arc<super::crumb::Crumb>, String> {
    contents
        .put(contents.fresh_id(), body, None)
        .map_err(|refused| format!("the suite's own store refuses it: {refused:?}"))
}
