//! The Tool Service: hosts tools, receives their commands, answers each exactly once (UTP §4, Guide §1 and §2).
//!
//! In reading order: `tool` (what a tool is), `command` (what comes in), `call` and `call_card` (what happens),
//! `result` (what goes out), `ledger` with `ledger_memory`, `ledger_file` and `ledger_postgres` (why it happens once), `service` (the shell
//! around calls: subscriptions, concurrency, shutdown), `fleet` (several instances that share the work), `probes` and
//! `tides` (the tools).
//! The PMO and the OpenAPI executor are services of the same kind: they bring an executor of their own to `service`.

mod call;
mod call_card;
mod command;
mod failure;
mod fleet;
mod health;
mod ledger;
#[cfg(test)]
mod ledger_contract;
mod ledger_file;
mod ledger_memory;
#[cfg(feature = "postgres")]
mod ledger_postgres;
mod probes;
mod result;
mod service;
mod tides;
mod tool;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::ReferenceError;
use super::message::ToolRow;
use super::platform::{PlatformConfig, REQUEST_DEADLINE};
use super::revision::Revision;
use super::subject::subscription;
use crate::log::{Log, no_log};
use crate::utp::projects::Projects;
use tool::Hosted;

pub(crate) use command::Form;
pub use failure::ToolFailure;
pub use fleet::FleetConfig;
pub(crate) use ledger_file::open as open_file;
pub(crate) use result::CONTROL;
#[cfg(feature = "postgres")]
pub(crate) use result::CallResponse;
pub(crate) use service::{Connection, Service, ServiceSetup};
pub use tool::{Arguments, Tool, ToolCall, ToolDefinition, ToolOutput};
pub(crate) use tool::{Call, Executor};

/// How a Tool Service is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct ToolServiceConfig {
    /// The broker that carries commands.
    pub nats_url: String,
    /// Which revisions are served.
    pub revisions: Vec<Revision>,
    /// How cards and report are reached.
    pub platform: PlatformConfig,
    /// Where the ledger is kept; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// Shares the ledger with other instances of the queue group, in JetStream or in PostgreSQL and not in `data_dir`, and
    /// pulls commands from the stream that keeps them, where there is one.
    pub fleet: Option<FleetConfig>,
    /// After this a tool is stopped and its call ends as `timeout`.
    pub tool_time_limit: Duration,
    /// For one attempt to reach the platform.
    pub request_deadline: Duration,
    /// For all attempts of one platform operation together.
    pub delivery_deadline: Duration,
    /// For running calls to report their end at shutdown.
    pub shutdown_deadline: Duration,
    /// Calls that run at once; more wait.
    pub max_running: usize,
    /// Calls that wait or run; more are dropped.
    pub max_accepted: usize,
    /// Whose commands are served.
    pub projects: Projects,
    /// Services of one group share the commands among them.
    pub queue_group: String,
    /// What is hosted.
    pub tools: Vec<Arc<dyn Tool>>,
    /// Where `GET /livez` and `GET /readyz` are answered, for orchestrators; nowhere without one, at a free port with port 0.
    pub health: Option<SocketAddr>,
    /// Where log lines go.
    pub log: Log,
}

impl ToolServiceConfig {
    /// Sensible values for everything but the broker.
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            revisions: Revision::ALL.to_vec(),
            platform: PlatformConfig::Nats,
            data_dir: None,
            fleet: None,
            tool_time_limit: Duration::from_secs(30),
            request_deadline: REQUEST_DEADLINE,
            delivery_deadline: Duration::from_secs(20),
            shutdown_deadline: Duration::from_secs(10),
            max_running: 256,
            max_accepted: 16_384,
            projects: Projects::All,
            queue_group: "tool-service".to_owned(),
            tools: tools(),
            health: None,
            log: no_log(),
        }
    }
}

/// The tools of this reference.
pub fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(probes::Echo),
        Arc::new(probes::Count),
        Arc::new(probes::Fail),
        Arc::new(probes::Control),
        Arc::new(tides::TideTable),
        Arc::new(tides::TideWait),
    ]
}

/// The `resource.tools` rows of these tools in one project.
pub fn rows(project_id: &str, revision: Revision) -> Vec<ToolRow> {
    tools().iter().map(|tool| tool.definition().row(project_id, revision)).collect()
}

/// A running Tool Service; dropping it ends it without waiting, [`ToolService::shutdown`] ends it in order.
#[derive(Debug)]
pub struct ToolService {
    service: Service,
}

impl ToolService {
    /// Connects, opens the ledger and subscribes; commands published after the return are received.
    ///
    /// # Errors
    /// When the broker does not answer, a subscription is refused, or the ledger cannot be opened: a fleet needs its
    /// database, or else a broker with JetStream and a queue group of letters, digits, `-` and `_`.
    pub async fn start(config: ToolServiceConfig) -> Result<Self, ReferenceError> {
        let connection = Connection::open(
            &config.nats_url,
            &config.queue_group,
            &config.platform,
            config.request_deadline,
        )
        .await?;
        let mut subscriptions = Vec::new();
        for tool in &config.tools {
            let hosted = Arc::new(Hosted::new(Arc::clone(tool)));
            for revision in &config.revisions {
                let template = hosted.definition.target_subject(*revision);
                for project in config.projects.tokens() {
                    let executor: Arc<dyn Executor> = Arc::clone(&hosted) as _;
                    subscriptions.push((subscription(&template, project), executor));
                }
            }
        }
        let setup = ServiceSetup {
            data_dir: config.data_dir,
            fleet: config.fleet,
            time_limit: config.tool_time_limit,
            delivery_deadline: config.delivery_deadline,
            shutdown_deadline: config.shutdown_deadline,
            max_running: config.max_running,
            max_accepted: config.max_accepted,
            queue_group: config.queue_group,
            subscriptions,
            health: config.health,
            log: config.log,
        };
        Ok(Self { service: Service::start(connection, setup).await? })
    }

    /// `http://address:port`, below which `/livez` and `/readyz` are answered, where they are.
    pub fn health_url(&self) -> Option<String> {
        self.service.health_url()
    }

    /// Takes no more commands, reports running calls as canceled, and returns when they are reported.
    pub async fn shutdown(self) {
        self.service.shutdown().await;
    }
}

#[cfg(test)]
mod tests {
    use super::rows;
    use crate::utp::revision::Revision;

    #[test]
    fn rows_are_complete_and_unexpanded() {
        let rows = rows("prj", Revision::V1r3);
        let subjects: Vec<&str> = rows.iter().map(|row| row.target_subject.as_str()).collect();
        assert_eq!(
            subjects,
            [
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.echo",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.count",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.fail",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.probe.ctl",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.table",
                "cg.v1r3.{project_id}.{channel_id}.cmd.tool.tides.wait",
            ]
        );
        assert!(rows.iter().all(|row| row.project_id == "prj" && row.parameters.is_object()));
    }
}
