//! The reference's server of the tool bus.

use std::num::NonZeroU32;

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::session::Sessions;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::toolbus::revision::Era;
use callmark_suite::families::toolbus::session::ToolbusSession;
use callmark_suite::spec::revision::split;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::setting::{Bundled, Setting};

/// Replicas that mutants are tried with.
const REPLICAS: Option<NonZeroU32> = NonZeroU32::new(2);

/// The era that a profile is certified in.
fn era_of(profile: &str) -> Era {
    match split(profile) {
        (_, Some(_)) => Era::Modern,
        (_, None) => Era::Legacy,
    }
}

/// The server.
pub(super) struct ToolbusReference;

impl Bundled for ToolbusReference {
    fn protocol(&self) -> &'static str {
        "toolbus"
    }

    fn complete(&self, manifest: &mut Manifest, serve: &dyn Fn(&[&str]) -> Vec<String>) {
        if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
            toolbus.launch.start = Some(serve(&["toolbus", "--store", "files"]));
            toolbus.command = Some(serve(&["toolbus", "--stdio"]));
        }
    }

    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            let mut table: ToolbusTable = setting.table("toolbus")?;
            // What goes over HTTP goes to several: mutants of replicas share the bench of all others.
            table.replicas = REPLICAS;
            let era = era_of(profile);
            let session = ToolbusSession::open(era, setting.patient().context(table)).await;
            Ok(Sessions::one(session.map_err(|error| error.to_string())?))
        }
        .boxed_local()
    }
}
