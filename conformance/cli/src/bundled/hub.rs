//! The reference's Hub, and its agent.

use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::session::Sessions;
use callmark_suite::families::hub::agent::session::AgentSession;
use callmark_suite::families::hub::manifest::HubTable;
use callmark_suite::families::hub::server::session::HubSession;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::setting::{Bundled, Setting, lacks};

/// Both parties.
pub(super) struct HubReference;

impl Bundled for HubReference {
    fn protocol(&self) -> &'static str {
        "hub"
    }

    fn complete(&self, manifest: &mut Manifest, serve: &dyn Fn(&[&str]) -> Vec<String>) {
        if let Some(hub) = manifest.get_mut::<HubTable>() {
            hub.launch.start = Some(serve(&["hub"]));
            if let Some(agent) = &mut hub.agent {
                agent.launch.start = Some(serve(&["hub", "--agent"]));
            }
        }
    }

    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            let table: HubTable = setting.table("hub")?;
            if profile == "hub.agent" {
                let table = table.agent.ok_or_else(|| lacks("hub.agent"))?;
                let session = AgentSession::open(setting.context(table), None).await;
                return Ok(Sessions::one(session.map_err(|error| error.to_string())?));
            }
            let session = HubSession::open(setting.context(table)).await;
            Ok(Sessions::one(session.map_err(|error| error.to_string())?))
        }
        .boxed_local()
    }
}
