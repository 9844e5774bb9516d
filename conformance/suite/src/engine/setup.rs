//! Finds out what profiles depend on, opens what the selected ones need, and restores it for a run that is judged again.
//!
//! Neighbours: each protocol opens and restores its own sessions (`Protocol`); `run` is given what was opened.

use std::time::Instant;

use futures::future::{LocalBoxFuture, join_all};

use crate::engine::family::Families;
use crate::engine::open::{OpenPlan, Opened};
use crate::engine::protocol::Settled;

/// Finds out what the manifest leaves to the target and profiles depend on, of all protocols at once. No profile need be
/// selected yet.
pub fn settle<'a>(families: Families, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Vec<Settled>> {
    Box::pin(async move {
        let settling = families.protocols().map(|protocol| protocol.settle(plan));
        join_all(settling).await.into_iter().flatten().collect()
    })
}

/// Opens what the selected profiles need, of all protocols at once: each waits for its own target to start and to show
/// what it does.
///
/// Boxed, as are the other public futures of this library: so it is compiled here, and not again in every crate that
/// calls it.
pub fn open(families: Families, plan: OpenPlan<'_>) -> LocalBoxFuture<'_, Opened> {
    Box::pin(async move {
        let mut all = Opened::default();
        let began = Instant::now();
        let opening = families.protocols().map(async |protocol| protocol.open(&plan).await.excused(began));
        for opened in join_all(opening).await {
            all.extend(opened);
        }
        all
    })
}
