//! The reference's server of the tool bus.

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::session::Sessions;
use callmark_suite::families::toolbus::manifest::ToolbusTable;
use callmark_suite::families::toolbus::session::ToolbusSession;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::setting::{Bundled, Setting};

/// The server.
pub(super) struct ToolbusReference;

impl Bundled for ToolbusReference {
    fn protocol(&self) -> &'static str {
        "toolbus"
    }

    fn complete(&self, manifest: &mut Manifest, serve: &dyn Fn(&[&str]) -> Vec<String>) {
        if let Some(toolbus) = manifest.get_mut::<ToolbusTable>() {
            toolbus.start = Some(serve(&["toolbus"]));
            toolbus.command = Some(serve(&["toolbus", "--stdio"]));
        }
    }

    fn sessions<'a>(
        &'a mut self,
        _: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            let table: ToolbusTable = setting.table("toolbus")?;
            let session = ToolbusSession::open(setting.patient().context(table)).await;
            Ok(Sessions::one(session.map_err(|error| error.to_string())?))
        }
        .boxed_local()
    }
}
