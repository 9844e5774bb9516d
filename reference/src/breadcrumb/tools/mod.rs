//! The tools of the Standard that need no one but the store, and the catalogue of all (`docs/breadcrumbs.md`, "Tools").
//!
//! Deliberately absent: language models and the browser, which are modules of their own and are added to the catalogue
//! by whoever has them.

mod breadcrumbs;
mod calculator;
mod parts;
mod utility;

use std::sync::Arc;

pub use self::breadcrumbs::{Create, Search, Update};
pub use self::calculator::Calculator;
pub use self::utility::{Echo, Random, Timer};
use super::client::StoreClient;
use super::tool::{Catalog, CatalogError, Tool};
use super::workflow::Workflow;

/// All tools: the seven of this module, `more`, and a workflow that can run each of them.
///
/// # Errors
///
/// When two of them share a name.
pub fn catalog(
    store: &StoreClient,
    more: impl IntoIterator<Item = Arc<dyn Tool>>,
) -> Result<Catalog, CatalogError> {
    let mut catalog = Catalog::new();
    let own: [Arc<dyn Tool>; 7] = [
        Arc::new(Calculator::new()),
        Arc::new(Random::new()),
        Arc::new(Echo::new()),
        Arc::new(Timer::new()),
        Arc::new(Create::new(store.clone())),
        Arc::new(Update::new(store.clone())),
        Arc::new(Search::new(store.clone())),
    ];
    for tool in own.into_iter().chain(more) {
        catalog.add(tool)?;
    }
    let workflow = Workflow::new(catalog.clone());
    catalog.add(Arc::new(workflow))?;
    Ok(catalog)
}
