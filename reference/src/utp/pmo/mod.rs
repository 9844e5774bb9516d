//! The PMO: the built-in tools by which agents make agents and give them work (UTP §1, §4.1).
//!
//! It is a service of the same kind as a Tool Service: `tool_service` receives the commands below
//! `cmd.sys.pmo.internal.`, validates them, answers each once and reports; here is what the built-ins do. In reading
//! order: `arguments` (what they take), `built_ins` (what they do), `context` (what they share), `agents` (roster),
//! `children` (turns of others and their ends), `join` (many ends, one answer), `ids` (why a repetition starts nothing
//! new).
//!
//! A command needs the seven members that UTP §4.1 lists beside `tool_name`, in `v1r4` those of the identity as headers;
//! which built-in is meant, the subject says.
//! Inline `args`, `arguments` and `result` are refused with `bad_request`, as a Tool Service does.
//!
//! # Built-ins
//! Arguments come from the `tool.call` card; members that are not listed are ignored.
//!
//! | built-in | arguments | `result` |
//! |---|---|---|
//! | `provision_agent` | `action` `ensure`, `create` or `derive`; `agent_id` (needed by `ensure`), `profile_name`, `worker_target`, `display_name`, `from_agent_id` (`derive`; the caller unless said) | `{"outcome": "existing"\|"created", "agent": row}` |
//! | `delegate_async` | `target_strategy`, `target_ref`, `instruction`, `context_box_id` | `{"status": "dispatched", "agent_id", "agent_turn_id", "turn_epoch"}`, at once |
//! | `launch_principal` | `profile_name`, `instruction`, `context_box_id` | as `delegate_async` |
//! | `ask_expert` | `expert_profile`, `question`, `include_history` (the expert then gets the caller's `context_box_id`) | `{"answer", "agent_id", "agent_turn_id", "deliverable_card_id"}`, when the expert's turn is over |
//! | `fork_join` | `tasks`, 1 to 16 as `delegate_async`; `fail_fast`, `deadline_seconds` (above 0, at most a day) | `{"tasks": [{"index", "agent_id", "agent_turn_id", "status", "deliverable_card_id", "output", "error"}]}`, when all turns are over |
//!
//! `target_strategy` is `new` (an agent of the profile `target_ref`), `reuse` (the agent `target_ref`, which must be in
//! the roster) or `clone` (a copy of that agent's row under a new id).
//! `ensure` leaves a row that is there as it is; `create` and `derive` fail where another call has made one.
//!
//! How waiting ends: all tasks a success gives `success`; some useful gives `partial`, with `incomplete_result`, or
//! `tool_timeout` where the deadline cut it short; none useful gives `failed`, or `timeout` where the deadline did it.
//! With `fail_fast` the first task that is no success ends the call as `failed`, whatever else there is.
//! A failed or timed out call carries what there is of its tasks in `error.detail.tasks`. Tasks that the call does not
//! wait for any more are `unfinished` there: their turns go on, since nothing in the protocol ends a turn of another.
//!
//! # Depth
//! In `v1r4` a turn starts one deeper than the call, and never at [`PmoConfig::max_depth`] or above: a call that would
//! start one fails with `recursion_depth_exceeded` before any agent is made.
//!
//! # Repetition
//! Ids of agents follow from the call and the number of the task, and so does that by which the start of a turn is known
//! again: the turn's id in `v1r3`, a `correlation_id` in `v1r4`, where the platform gives the id. A start that is known
//! starts nothing, so a command that is repeated after a crash starts nothing new either. A call that waited
//! when the service ended then misses an end that was published meanwhile, and ends at its deadline.
//!
//! Deliberately absent: writes to `state.*`, profiles (a profile is a name in a row), ending other agents' turns.

mod agents;
mod arguments;
mod built_ins;
mod children;
mod context;
mod ids;
mod join;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::error::ReferenceError;
use super::message::{AfterExecution, ToolRow};
use super::platform::{PlatformConfig, REQUEST_DEADLINE};
use super::revision::Revision;
use super::revision::turn::MAX_DEPTH;
use super::subject::{WorkerTarget, subscription, target_template};
use super::tool_service::{Connection, Executor, Service, ServiceSetup};
use crate::log::{Log, no_log};
use crate::utp::projects::Projects;
use arguments::MAX_DEADLINE;
use built_ins::BuiltIns;
use context::PmoContext;

/// How the PMO is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct PmoConfig {
    /// The broker that carries commands and the ends of turns.
    pub nats_url: String,
    /// Which revisions are served.
    pub revisions: Vec<Revision>,
    /// How cards, roster, turns and report are reached.
    pub platform: PlatformConfig,
    /// Where the ledger is kept, in a directory that no other service uses; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// Whose commands are served.
    pub projects: Projects,
    /// Services of one group share the commands among them.
    pub queue_group: String,
    /// Where wakeups of new agents go unless the call says otherwise; one subject token.
    pub worker_target: String,
    /// How long `ask_expert`, and a `fork_join` that does not say, wait for the turns that they start.
    pub child_deadline: Duration,
    /// In `v1r4` no turn is started at this depth or above.
    pub max_depth: u64,
    /// For one attempt to reach the platform.
    pub request_deadline: Duration,
    /// For all attempts of one platform operation together.
    pub delivery_deadline: Duration,
    /// For running calls to report their end at shutdown.
    pub shutdown_deadline: Duration,
    /// Calls that wait or run; more are dropped.
    ///
    /// There is no smaller limit on what runs: a call that waits for a turn must not keep out the calls of that turn.
    pub max_accepted: usize,
    /// Where log lines go.
    pub log: Log,
}

impl PmoConfig {
    /// Sensible values for everything but the broker.
    pub fn new(nats_url: impl Into<String>) -> Self {
        Self {
            nats_url: nats_url.into(),
            revisions: Revision::ALL.to_vec(),
            platform: PlatformConfig::Nats,
            data_dir: None,
            projects: Projects::All,
            queue_group: "pmo".to_owned(),
            worker_target: "worker_generic".to_owned(),
            child_deadline: Duration::from_secs(600),
            max_depth: MAX_DEPTH,
            request_deadline: REQUEST_DEADLINE,
            delivery_deadline: Duration::from_secs(20),
            shutdown_deadline: Duration::from_secs(10),
            max_accepted: 16_384,
            log: no_log(),
        }
    }
}

/// A running PMO; dropping it ends it without waiting, [`Pmo::shutdown`] ends it in order.
#[derive(Debug)]
pub struct Pmo {
    service: Service,
}

impl Pmo {
    /// Connects, opens the ledger and subscribes; commands published after the return are received.
    ///
    /// # Errors
    /// When the broker does not answer, a subscription is refused, the ledger cannot be opened, or `worker_target` is
    /// not a subject token.
    pub async fn start(config: PmoConfig) -> Result<Self, ReferenceError> {
        let worker_target = WorkerTarget::new(config.worker_target)?;
        let connection = Connection::open(
            &config.nats_url,
            &config.queue_group,
            &config.platform,
            config.request_deadline,
        )
        .await?;
        let executor: Arc<dyn Executor> = Arc::new(BuiltIns::new(PmoContext {
            client: connection.client.clone(),
            platform: Arc::clone(&connection.platform),
            max_depth: config.max_depth,
            worker_target,
            child_deadline: config.child_deadline,
            delivery_deadline: config.delivery_deadline,
        }));
        let mut subscriptions = Vec::new();
        for revision in config.revisions {
            let template = target_template(revision, &format!("{}>", arguments::FAMILY));
            for project in config.projects.tokens() {
                subscriptions.push((subscription(&template, project), Arc::clone(&executor)));
            }
        }
        let setup = ServiceSetup {
            data_dir: config.data_dir,
            fleet: None,
            // Beyond the longest wait that a call may ask for: the built-ins say themselves when their time is over.
            time_limit: config.child_deadline.max(MAX_DEADLINE) + config.delivery_deadline * 8,
            delivery_deadline: config.delivery_deadline,
            shutdown_deadline: config.shutdown_deadline,
            max_running: config.max_accepted,
            max_accepted: config.max_accepted,
            queue_group: config.queue_group,
            subscriptions,
            health: None,
            log: config.log,
        };
        Ok(Self { service: Service::start(connection, setup).await? })
    }

    /// Takes no more commands, reports waiting calls as canceled, and returns when they are reported.
    pub async fn shutdown(self) {
        self.service.shutdown().await;
    }
}

/// The `resource.tools` rows of the built-ins in one project.
pub fn rows(project_id: &str, revision: Revision) -> Vec<ToolRow> {
    arguments::described()
        .into_iter()
        .map(|(tool_name, description, parameters)| ToolRow {
            project_id: project_id.to_owned(),
            tool_name: tool_name.to_owned(),
            description: Some(description.to_owned()),
            parameters,
            target_subject: target_template(revision, &format!("{}{tool_name}", arguments::FAMILY)),
            after_execution: AfterExecution::Suspend,
            options: serde_json::json!({}),
        })
        .collect()
}
