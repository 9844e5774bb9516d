//! The agent: the client side of the Tool Execution Contract.
//!
//! A tool belongs to one of three categories, and [`Agent::call`] sends each call where its category says
//! (Overview): a local tool runs here, a direct one asks the external service, a Hub-proxied one asks the Hub.
//! Read in this order: [`tool`](AgentTool) for the tools and their categories, `inputs` for what is checked before
//! anything leaves, `hub_client` for the one request of the contract and `answer` for what comes back,
//! [`CallFailure`] for every way in which a call fails. `local` and `direct` are the other two categories,
//! `chat` is one turn with a model, `drive` makes all of it reachable from outside.
//!
//! Deliberately absent: TLS (put a proxy in between), an API key for the model, memory between turns, the
//! integration status endpoint (asking is optional: the call itself reports it), a filter of the addresses that
//! `research_fetch_page` may reach (that is for the network in which an agent runs).

mod answer;
mod chat;
mod config;
mod direct;
mod drive;
mod effect;
mod error;
mod failure;
mod fetch;
mod hub_client;
mod ids;
mod inputs;
mod local;
mod model;
mod page;
mod status;
mod tool;
#[cfg(test)]
mod unit_tests;

use serde::Deserialize;
use serde_json::Value;

use self::direct::Research;
use self::hub_client::{Execution, HubClient};
use self::ids::Uuid;
use self::local::Workspaces;
use self::model::Model;

pub use self::chat::Turn;
pub use self::config::{AgentConfig, Deadlines, ServiceSecret};
pub use self::drive::{DriveServer, run_once};
pub use self::effect::Effect;
pub use self::error::{AgentError, ChatError};
pub use self::failure::{CallFailure, HubCode, HubRefusal};
pub use self::inputs::{Field, Kind};
pub use self::tool::{AgentTool, Category, DirectTool, LocalTool, TOOLS};
use crate::log::Log;

/// One call of a tool, for one customer; also the body of the drive hook.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct AgentCall {
    /// Name of the tool.
    pub tool: String,
    /// Its inputs, an object; they are checked and then passed on as they are.
    pub inputs: Value,
    /// Whose integrations are used, a UUID; without one the customer of the configuration.
    #[serde(default)]
    pub customer_id: Option<String>,
    /// The end user within the customer's system, where there is one.
    #[serde(default)]
    pub user_id: Option<String>,
    /// The conversation that the call belongs to.
    #[serde(default)]
    pub conversation_id: Option<String>,
}

/// What a tool gave: of a Hub's answer the `result` and nothing around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The result, an object.
    pub result: Value,
}

/// An agent that calls tools; calls may run side by side.
pub struct Agent {
    customer: Option<Uuid>,
    hub: HubClient,
    workspaces: Workspaces,
    research: Research,
    model: Option<Model>,
    turn_deadline: std::time::Duration,
    log: Log,
}

impl Agent {
    /// An agent with this configuration. Nothing is sent yet: the Hub need not be there.
    ///
    /// # Errors
    /// [`AgentError::Invalid`] names what is wrong in the configuration, [`AgentError::Store`] says that
    /// `data_dir` cannot be used.
    pub fn new(config: AgentConfig) -> Result<Self, AgentError> {
        let customer = config
            .customer_id
            .as_deref()
            .map(|id| Uuid::parse(id).ok_or_else(|| AgentError::invalid("customer_id", "it is no UUID")))
            .transpose()?;
        Ok(Self {
            customer,
            hub: HubClient::new(&config)?,
            workspaces: Workspaces::new(config.data_dir)?,
            research: Research::new(config.search_url.as_deref(), config.deadlines)?,
            model: config
                .model_url
                .map(|url| Model::new(&url, config.model, config.deadlines.model))
                .transpose()?,
            turn_deadline: config.deadlines.turn,
            log: config.log,
        })
    }

    /// Calls a tool where its category says.
    ///
    /// # Errors
    /// Every failed call, whichever side failed; the agent stays ready for the next one.
    pub async fn call(&self, call: AgentCall) -> Result<Outcome, CallFailure> {
        let done = self.route(&call).await;
        // The name is the model's or a stranger's, so only a known one is logged.
        let name = AgentTool::find(&call.tool).map_or("(unknown)", |tool| tool.name);
        match &done {
            Ok(_) => (self.log)(&format!("tool {name}: done")),
            Err(failure) => (self.log)(&format!("tool {name}: failed with {:?}", failure.code())),
        }
        done.map(|result| Outcome { result })
    }

    async fn route(&self, call: &AgentCall) -> Result<Value, CallFailure> {
        let tool = AgentTool::known(&call.tool)?;
        let inputs = tool.check(&call.inputs)?;
        let customer = match &call.customer_id {
            None => self.customer.clone(),
            Some(id) => {
                Some(Uuid::parse(id).ok_or(CallFailure::Call { reason: "`customer_id` is no UUID" })?)
            }
        };
        match tool.category {
            Category::Local(local) => self.workspaces.run(local, customer.as_ref(), inputs).await,
            Category::Direct(direct) => self.research.run(direct, inputs).await,
            Category::HubProxied(effect) => {
                let customer = customer.ok_or(CallFailure::Call {
                    reason: "neither the call nor the configuration names a customer",
                })?;
                let execution = Execution {
                    tool: tool.name,
                    effect,
                    customer: &customer,
                    user_id: call.user_id.as_deref(),
                    conversation_id: call.conversation_id.as_deref(),
                    inputs,
                };
                match self.hub.execute(&execution).await {
                    Err(CallFailure::Refused(mut refusal))
                        if refusal.code == HubCode::IntegrationNotConnected =>
                    {
                        refusal.connected = self.hub.connected(&customer).await;
                        Err(CallFailure::Refused(refusal))
                    }
                    done => done,
                }
            }
        }
    }
}
