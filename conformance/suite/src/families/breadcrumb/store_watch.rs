//! Follows the breadcrumb store that others use, and hands what they store to a feed. It stores nothing.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::external_store::ExternalStore;
use super::manifest::BreadcrumbTable;
use crate::engine::manifest::Manifest;
use crate::engine::recording::MAX_LINE;
use crate::engine::recording::live::Feed;
use crate::engine::recording::observer::{StoredRecord, Traffic};
use crate::net::outbound::Outbound;

/// For the event stream to open.
const OPENING: Duration = Duration::from_secs(5);

/// An event stream that is followed until this is dropped.
pub struct StoreWatch {
    store: ExternalStore,
    feed: Arc<Feed>,
    began: Instant,
    _following: JoinSet<()>,
}

impl std::fmt::Debug for StoreWatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StoreWatch").finish_non_exhaustive()
    }
}

impl StoreWatch {
    /// The store of a manifest that others use; nothing where it names none.
    pub fn place(manifest: &Manifest) -> Option<&str> {
        manifest.get::<BreadcrumbTable>()?.store.as_deref()
    }

    /// Opens the event stream of the manifest's store (`[breadcrumb] store`).
    ///
    /// # Errors
    /// Why it does not open.
    pub async fn start(manifest: &Manifest, feed: &Arc<Feed>) -> Result<Self, String> {
        let table = manifest.get::<BreadcrumbTable>().and_then(|own| Some((own, own.store.as_deref()?)));
        let Some((table, base)) = table else {
            return Err("the manifest names no breadcrumb store".to_owned());
        };
        let store = ExternalStore::of(table, base, &Outbound::of(manifest))?;
        // What is stored before the stream opens is handed over at the end.
        store.skip_present().await;
        let (opened, mut is_open) = watch::channel(false);
        let mut following = JoinSet::new();
        let (began, to) = (Instant::now(), Arc::clone(feed));
        following.spawn(store.clone().follow(opened, move |crumb, version| {
            hand_over(&to, crumb, version, began);
        }));
        let open = tokio::time::timeout(OPENING, is_open.wait_for(|open| *open)).await;
        if !matches!(open, Ok(Ok(_))) {
            let why = store.trouble().unwrap_or_else(|| "the event stream does not open".to_owned());
            return Err(format!("`{base}`: {why}"));
        }
        Ok(Self { store, feed: Arc::clone(feed), began, _following: following })
    }

    /// Returns once everything that was stored since the start has been handed over, as far as the store lists it.
    pub async fn drain(&self) {
        self.store.catch_up(&|crumb, version| hand_over(&self.feed, crumb, version, self.began)).await;
    }
}

fn hand_over(feed: &Feed, crumb: Value, version: u64, began: Instant) {
    let bytes = crumb.to_string().len();
    if bytes > MAX_LINE {
        feed.too_long();
        feed.gap();
    } else if feed.reserve(bytes) {
        // The first one is at no time before 1, since 0 stands for none.
        let at_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1);
        feed.offer(Traffic::Stored(StoredRecord { record: crumb, version, at_us }), bytes);
    } else {
        feed.dropped();
    }
}
