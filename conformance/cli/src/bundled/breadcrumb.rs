//! The reference's tool runner, and its agent.

use callmark_reference::breadcrumb::browser::{Browser, UNSTARTED};
use callmark_suite::engine::manifest::Manifest;
use callmark_suite::engine::session::Sessions;
use callmark_suite::families::breadcrumb::agent::session::CrumbAgentSession;
use callmark_suite::families::breadcrumb::manifest::BreadcrumbTable;
use callmark_suite::families::breadcrumb::runner::session::RunnerSession;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;

use super::setting::{Bundled, Setting, lacks};

/// Both parties.
pub(super) struct BreadcrumbReference;

impl Bundled for BreadcrumbReference {
    fn protocol(&self) -> &'static str {
        "breadcrumb"
    }

    fn complete(&self, manifest: &mut Manifest, serve: &dyn Fn(&[&str]) -> Vec<String>) {
        if let Some(breadcrumb) = manifest.get_mut::<BreadcrumbTable>() {
            breadcrumb.launch.start = Some(serve(&["breadcrumb", "--runner"]));
            // Without a browser on this machine there is no browser tool to certify.
            if Browser::find().is_none() {
                breadcrumb.catalog.remove("astral");
            }
            breadcrumb.faults_of_the_machine = vec![UNSTARTED.to_owned()];
            if let Some(agent) = &mut breadcrumb.agent {
                agent.launch.start = Some(serve(&["breadcrumb", "--agent"]));
            }
        }
    }

    fn sessions<'a>(
        &'a mut self,
        profile: &'a str,
        setting: Setting<'a>,
    ) -> LocalBoxFuture<'a, Result<Sessions, String>> {
        async move {
            let table: BreadcrumbTable = setting.table("breadcrumb")?;
            if profile == "breadcrumb.agent" {
                let table = table.agent.ok_or_else(|| lacks("breadcrumb.agent"))?;
                let session = CrumbAgentSession::open(setting.context(table)).await;
                return Ok(Sessions::one(session.map_err(|error| error.to_string())?));
            }
            let session = RunnerSession::open(setting.context(table)).await;
            Ok(Sessions::one(session.map_err(|error| error.to_string())?))
        }
        .boxed_local()
    }
}
