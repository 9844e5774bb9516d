//! Hands the changes of all stores on, in their order.
//!
//! A writer leaves an event under the number of its change and sends a word to all that follow, who read what is newer than
//! the last they have read. A word that is lost costs a second and no event: they also look by themselves.
//! Events are kept for an hour, which is how long a store may be cut off from the database without missing one.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::super::record::Record;
use crate::cause::Cause;
use crate::log::Log;
use crate::postgres::{Client, Database};

/// Between two looks that nobody asked for.
const LOOK: Duration = Duration::from_secs(1);
/// Events that one look reads.
const READ: i64 = 256;
/// Looks between two removals of old events.
const LOOKS: u32 = 600;

const NEWER: &str = "
SELECT changed, record FROM breadcrumb_events WHERE changed > $1 ORDER BY changed LIMIT $2";
const OLD: &str = "DELETE FROM breadcrumb_events WHERE at < clock_timestamp() - INTERVAL '1 hour'";

/// What hands on the changes.
pub(crate) struct Follower {
    database: Arc<Database>,
    /// The last change that was handed on.
    last: watch::Sender<i64>,
    /// That there is something to read.
    word: Arc<Notify>,
    log: Log,
}

impl Follower {
    pub(super) fn new(database: Arc<Database>, changed: i64, log: Log) -> Self {
        Self { database, last: watch::Sender::new(changed), word: Arc::default(), log }
    }

    /// Returns when a change has been handed on.
    pub(super) async fn reached(&self, changed: i64) {
        self.word.notify_one();
        // The sender is this one's own, so this cannot fail.
        let _ = self.last.subscribe().wait_for(|last| *last >= changed).await;
    }

    /// Hands on what changes, until the task is aborted.
    pub(crate) async fn run(self: Arc<Self>, publish: impl Fn(&Record) + Send) {
        let mut listening = None;
        let mut looks = 0;
        loop {
            if listening.as_ref().is_none_or(|client: &Client| client.is_closed()) {
                listening = self.database.listen("breadcrumbs", Arc::clone(&self.word)).await.ok();
            }
            match self.look(looks % LOOKS == LOOKS - 1).await {
                Ok(events) => {
                    for (changed, record) in &events {
                        publish(record);
                        self.last.send_replace(*changed);
                    }
                    if !events.is_empty() {
                        continue;
                    }
                    looks += 1;
                    let _ = timeout(LOOK, self.word.notified()).await;
                }
                Err(error) => {
                    (self.log)(&format!("events are late: {error}"));
                    sleep(LOOK).await;
                }
            }
        }
    }

    async fn look(&self, removes: bool) -> Result<Vec<(i64, Record)>, Cause> {
        if removes {
            self.database.once(OLD, &[]).await?;
        }
        let last = *self.last.borrow();
        let rows = self.database.once(NEWER, &[&last, &READ]).await?;
        rows.iter().map(|row| Ok((row.try_get(0)?, serde_json::from_str(row.try_get(1)?)?))).collect()
    }
}
