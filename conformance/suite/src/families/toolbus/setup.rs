//! How the session of an MCP server is opened, and restored when the run is judged again.

use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, FutureExt as _, LocalBoxFuture, join, select};
use serde_json::Value;

use super::chaos::ToolbusFleet;
use super::manifest::ToolbusTable;
use super::observer::CallObserver;
use super::reason::{Alternative, Undeclared};
use super::revision::{self, Era};
use super::session::{ToolbusSession, ToolbusSnapshot};
use crate::engine::chaos::Fleet;
use crate::engine::effect::{Effect, calls};
use crate::engine::judge::{Cause, Reasons};
use crate::engine::manifest::{Manifest, ManifestTable, Section, section};
use crate::engine::open::{Blocked, OpenPlan, Opened, lacks};
use crate::engine::protocol::{Protocol, Restore, Scope, Settled, table};
use crate::engine::recording::observer::Observer;
use crate::engine::session::Sessions;
use crate::spec::catalog::Case;

/// The tool bus over MCP.
#[derive(Debug)]
pub(crate) struct Toolbus;

/// Log of the server.
const LOG: &str = "toolbus.log";
/// Log of the server in the modern era.
const MODERN_LOG: &str = "toolbus@2026-07-28.log";

impl ManifestTable for Toolbus {
    fn name(&self) -> &'static str {
        "toolbus"
    }

    fn section(&self, table: Value) -> Result<Box<dyn Section>, serde_json::Error> {
        section::<ToolbusTable>(table)
    }
}

impl Protocol for Toolbus {
    fn logs(&self) -> &'static [&'static str] {
        &[LOG, MODERN_LOG]
    }

    fn reasons(&self) -> Reasons {
        Reasons { undeclared: Undeclared::ALL, alternatives: Alternative::ALL }
    }

    fn open<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Opened> {
        let opening = |era: Era| plan.session(ToolbusSession::family_of(era), open(era, plan));
        async move {
            let (mut opened, modern) = join(opening(Era::Legacy), opening(Era::Modern)).await;
            opened.extend(modern);
            opened
        }
        .boxed_local()
    }

    fn first_revisions(&self) -> &'static [&'static str] {
        &revision::WITH_A_SESSION
    }

    fn settle<'a>(&'a self, plan: &'a OpenPlan<'_>) -> LocalBoxFuture<'a, Option<Settled>> {
        async move {
            let is_asked_for =
                [Era::Legacy, Era::Modern].map(ToolbusSession::family_of).map(|own| plan.profiles.of(own));
            is_asked_for.iter().flatten().next()?;
            let table = plan.manifest.get::<ToolbusTable>().filter(|table| table.revisions.is_none())?;
            let found = Box::pin(eras(table, plan)).await;
            let settled: Settled = Box::new(move |manifest| {
                if let Some(table) = manifest.get_mut::<ToolbusTable>() {
                    (table.found_eras, table.unanswered) = match found {
                        Ok(found) => (Some(found), None),
                        Err(why) => (Some(vec![Era::Legacy]), Some(why)),
                    };
                }
            });
            Some(settled)
        }
        .boxed_local()
    }

    fn restore(&self, restore: &mut Restore<'_>) -> Result<Sessions, String> {
        let mut sessions = Sessions::default();
        for era in [Era::Legacy, Era::Modern] {
            let Some(found) = restore.take::<ToolbusSnapshot>(ToolbusSession::family_of(era))? else {
                continue;
            };
            let table = table(restore.manifest.get::<ToolbusTable>().cloned(), "toolbus")?;
            if let Some(why) = found.contradiction(&table) {
                return Err(why);
            }
            sessions.insert(ToolbusSession::restore(table, era, found, restore.seed));
        }
        Ok(sessions)
    }

    fn fleet(&self, sessions: &Sessions, family: &str, profile: &str) -> Option<Arc<dyn Fleet>> {
        let session = sessions.of_type::<ToolbusSession>(family)?;
        Some(Arc::new(ToolbusFleet::new(&session, profile)?))
    }

    fn effects(&self, manifest: &Manifest, case: &Case) -> Vec<Effect> {
        let is_started = manifest.get::<ToolbusTable>().is_none_or(ToolbusTable::is_started);
        let count = calls(case);
        // What a started server writes is gone with the run.
        let left =
            (!is_started).then_some(Effect { what: "calls with artifacts", count, reaches_people: false });
        left.into_iter().collect()
    }

    fn observer(&self, manifest: &Manifest) -> Option<Box<dyn Observer>> {
        manifest.get::<ToolbusTable>().map(|_| Box::new(CallObserver::new()) as Box<dyn Observer>)
    }

    fn unopened(&self, manifest: &Manifest, _: Scope) -> Sessions {
        let mut sessions = Sessions::default();
        let Some(table) = manifest.get::<ToolbusTable>() else { return sessions };
        // A manifest that names no revisions leaves it to the messages which ones are spoken.
        let may_have = |era: &Era| table.revisions.is_none() || table.has(*era);
        for era in [Era::Legacy, Era::Modern].into_iter().filter(may_have) {
            let found = ToolbusSnapshot::unopened(table);
            sessions.insert(ToolbusSession::restore(table.clone(), era, found, 0));
        }
        sessions
    }
}

/// For a server that has answered `initialize` to answer `server/discover` as well, in another process.
const SECOND_ERA: Duration = Duration::from_secs(5);

/// The eras that a server answers in (MCP 2026-07-28, Versioning): each is tried in a process or a connection of its own,
/// since a server may keep to that of its first request.
///
/// # Errors
/// It answers in none: what it does in place of answering `initialize`.
async fn eras(table: &ToolbusTable, plan: &OpenPlan<'_>) -> Result<Vec<Era>, String> {
    let table = &surrounded(table.clone(), plan).await?;
    let speaks = |era| ToolbusSession::speaks(era, plan.context(table.clone(), LOG));
    let (legacy, modern) = (speaks(Era::Legacy).boxed_local(), speaks(Era::Modern).boxed_local());
    let (legacy, modern) = match select(legacy, modern).await {
        // Silence is that of a server which knows nothing before `initialize`.
        Either::Left((Ok(()), modern)) => {
            let modern = tokio::time::timeout(SECOND_ERA, modern).await;
            (Ok(()), modern.is_ok_and(|spoken| spoken.is_ok()))
        }
        Either::Left((legacy, modern)) => (legacy, modern.await.is_ok()),
        Either::Right((modern, legacy)) => (legacy.await, modern.is_ok()),
    };
    match (legacy, modern) {
        (Ok(()), true) => Ok(vec![Era::Legacy, Era::Modern]),
        (Ok(()), false) => Ok(vec![Era::Legacy]),
        (Err(_), true) => Ok(vec![Era::Modern]),
        (Err(why), false) => Err(why),
    }
}

/// The table with all that its servers are started with.
///
/// # Errors
/// What of that cannot be made.
async fn surrounded(mut table: ToolbusTable, plan: &OpenPlan<'_>) -> Result<ToolbusTable, String> {
    for (name, value) in plan.inbound.around(Vec::new()).await? {
        table.launch.env.entry(name).or_insert(value);
    }
    Ok(table)
}

/// Opens a session with the MCP server of a manifest.
async fn open(era: Era, plan: &OpenPlan<'_>) -> Result<Arc<ToolbusSession>, Blocked> {
    let Some(table) = plan.manifest.get::<ToolbusTable>().cloned() else {
        return Err(lacks("has no table `[toolbus]`"));
    };
    let log = match era {
        Era::Legacy => LOG,
        Era::Modern => MODERN_LOG,
    };
    let table = surrounded(table, plan).await.map_err(|why| (Cause::Environment, why))?;
    let plan = plan.context(table, log);
    ToolbusSession::open(era, plan).await.map_err(|error| (error.cause(), error.to_string()))
}
