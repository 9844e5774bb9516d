//! The OpenAPI executor: Jina search and reader as tools (Guide §4).
//!
//! It is a Tool Service like any other: `tool_service` receives, validates, answers once and reports; here is only what
//! is its own. In reading order: `options` (what a row says, and the allow-list), `request` (what is asked of the
//! upstream), `upstream` (how it is asked), `answer` (what the answer becomes), `redact` (why no key is in it),
//! `executor` (these in order).
//!
//! # Keys
//! The upstream's key comes from the variable that `options.jina.auth_env` names, `JINA_API_KEY` where it names none,
//! and goes out as `Authorization: Bearer …`. It comes from the [`Environment`] and from nowhere else: an argument or
//! an option that is called like a credential is not sent. Where `JINA_API_KEY` is not set, the request goes without
//! `Authorization`, since the upstream also serves anonymous callers; where `auth_env` is said and its variable is not
//! set, the call fails with `auth_failed`, since the call was meant to be authenticated. A variable of `options.envs`
//! that is not set is `auth_failed` too.
//!
//! Deliberately absent: `options.args`, which the worker has applied before the card was written; retries of the
//! upstream, which the agent decides on; every host but the two.

mod answer;
mod executor;
mod options;
mod redact;
mod request;
mod upstream;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::error::ReferenceError;
use super::message::{AfterExecution, ToolRow};
use super::platform::{PlatformConfig, REQUEST_DEADLINE};
use super::revision::Revision;
use super::subject::{subscription, target_template};
use super::tool_service::{Connection, Executor, FleetConfig, Service, ServiceSetup};
use crate::environment::Environment;
use crate::log::{Log, no_log};
use crate::utp::projects::Projects;
use executor::Jina;
use upstream::Exchange;

pub use options::{READER_HOST, SEARCH_HOST};
pub use upstream::Upstream;

/// How the executor is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenApiConfig {
    /// The broker that carries commands.
    pub nats_url: String,
    /// Which revisions are served.
    pub revisions: Vec<Revision>,
    /// How cards, rows and report are reached.
    pub platform: PlatformConfig,
    /// Where the ledger is kept, in a directory that no other service uses; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// Shares the ledger with other instances of the queue group, in JetStream and not in `data_dir`.
    pub fleet: Option<FleetConfig>,
    /// Whose commands are served.
    pub projects: Projects,
    /// Services of one group share the commands among them.
    pub queue_group: String,
    /// What is subscribed to: the ends of subjects, such as `cmd.tool.jina.>`.
    pub targets: Vec<String>,
    /// Where requests go.
    pub upstream: Upstream,
    /// Where keys come from.
    pub environment: Environment,
    /// Parameter to variable: what is said here wins over a row's `options.envs` entry for the same parameter.
    ///
    /// A parameter that the row does not list is not added, so that no key goes to a tool that did not ask for it.
    pub env_overrides: BTreeMap<String, String>,
    /// For one exchange with the upstream, its body included; then the call ends as `timeout`.
    pub upstream_deadline: Duration,
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
    /// Where `GET /livez` and `GET /readyz` are answered, for orchestrators; nowhere without one, at a free port with port 0.
    pub health: Option<SocketAddr>,
    /// Where log lines go; no key, no argument and no body is ever among them.
    pub log: Log,
}

impl OpenApiConfig {
    /// The real upstream with the keys of the process, and sensible values for everything but the broker.
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            revisions: Revision::ALL.to_vec(),
            platform: PlatformConfig::Nats,
            data_dir: None,
            fleet: None,
            projects: Projects::All,
            queue_group: "openapi-service".to_owned(),
            targets: vec!["cmd.tool.jina.>".to_owned()],
            upstream: Upstream::Real,
            environment: Environment::Process,
            env_overrides: BTreeMap::new(),
            upstream_deadline: Duration::from_secs(30),
            request_deadline: REQUEST_DEADLINE,
            delivery_deadline: Duration::from_secs(20),
            shutdown_deadline: Duration::from_secs(10),
            max_running: 256,
            max_accepted: 16_384,
            health: None,
            log: no_log(),
        }
    }
}

/// A running executor; dropping it ends it without waiting, [`OpenApi::shutdown`] ends it in order.
#[derive(Debug)]
pub struct OpenApi {
    service: Service,
}

impl OpenApi {
    /// Connects, opens the ledger and subscribes; commands published after the return are received.
    ///
    /// # Errors
    /// When the broker does not answer, a subscription is refused, the ledger cannot be opened, the upstream's address
    /// is none, or its HTTP client cannot be set up.
    pub async fn start(config: OpenApiConfig) -> Result<Self, ReferenceError> {
        let exchange = Exchange::new(&config.upstream, config.upstream_deadline)?;
        let connection = Connection::open(
            &config.nats_url,
            &config.queue_group,
            &config.platform,
            config.request_deadline,
        )
        .await?;
        let executor: Arc<dyn Executor> = Arc::new(Jina::new(executor::Parts {
            platform: Arc::clone(&connection.platform),
            delivery_deadline: config.delivery_deadline,
            exchange,
            environment: config.environment,
            env_overrides: config.env_overrides,
            log: Arc::clone(&config.log),
        }));
        let mut subscriptions = Vec::new();
        for target in &config.targets {
            for revision in &config.revisions {
                let template = target_template(*revision, target);
                for project in config.projects.tokens() {
                    subscriptions.push((subscription(&template, project), Arc::clone(&executor)));
                }
            }
        }
        let setup = ServiceSetup {
            data_dir: config.data_dir,
            fleet: config.fleet,
            // Beyond what the parts of a call may take, so that each of them says itself that it took too long.
            time_limit: config.upstream_deadline + config.delivery_deadline * 2,
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

/// The `resource.tools` rows of a search tool, `jina_search`, and a reader, `jina_reader`, in one project.
pub fn rows(project_id: &str, revision: Revision) -> Vec<ToolRow> {
    let row = |mode: &str, host: &str, description: &str, argument: &str| ToolRow {
        project_id: project_id.to_owned(),
        tool_name: format!("jina_{mode}"),
        description: Some(description.to_owned()),
        parameters: json!({
            "type": "object",
            "properties": {argument: {"type": "string"}},
            "required": [argument],
        }),
        target_subject: target_template(revision, &format!("cmd.tool.jina.{mode}")),
        after_execution: AfterExecution::Suspend,
        options: json!({"jina": {"mode": mode, "base_url": format!("https://{host}"), "method": "GET"}}),
    };
    vec![
        row("search", SEARCH_HOST, "Searches the web.", "query"),
        row("reader", READER_HOST, "Reads a page of the web as text.", "url"),
    ]
}
