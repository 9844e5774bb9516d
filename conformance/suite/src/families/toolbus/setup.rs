//! How the session of an MCP server is opened, and restored when the run is judged again.

use std::sync::Arc;

use futures::future::{FutureExt as _, LocalBoxFuture, join};
use serde_json::Value;

use super::manifest::ToolbusTable;
use super::observer::CallObserver;
use super::reason::{Alternative, Undeclared};
use super::revision::Era;
use super::session::{ToolbusSession, ToolbusSnapshot};
use crate::engine::judge::Reasons;
use crate::engine::manifest::{Manifest, ManifestTable, Section, section};
use crate::engine::open::{Blocked, OpenPlan, Opened, lacks};
use crate::engine::protocol::{Protocol, Restore, Scope, table};
use crate::engine::recording::observer::Observer;
use crate::engine::session::Sessions;

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

    fn observer(&self, manifest: &Manifest) -> Option<Box<dyn Observer>> {
        manifest.get::<ToolbusTable>().map(|_| Box::new(CallObserver::new()) as Box<dyn Observer>)
    }

    fn unopened(&self, manifest: &Manifest, _: Scope) -> Sessions {
        let Some(table) = manifest.get::<ToolbusTable>() else { return Sessions::default() };
        Sessions::one(ToolbusSession::restore(
            table.clone(),
            Era::Legacy,
            ToolbusSnapshot::unopened(table),
            0,
        ))
    }
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
    let plan = plan.context(table, log);
    ToolbusSession::open(era, plan).await.map_err(|error| (error.cause(), error.to_string()))
}
