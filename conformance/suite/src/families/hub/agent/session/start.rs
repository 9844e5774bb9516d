//! Opens the parties around an agent, and starts it with what it has to know of them.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use tokio::sync::Semaphore;

use super::{AgentError, AgentSession, Liveness, uuid};
use crate::engine::digest::{hash, nonce};
use crate::engine::target::{ChildProcess, Handing, Launch, OpenContext, Pipes, Port};
use crate::engine::timing::Timeouts;
use crate::families::hub::agent::driver::{Driver, Endpoint, Hook};
use crate::families::hub::agent::manifest::{AgentTable, ENV_PLACEHOLDERS};
use crate::families::hub::agent::router::{PROVIDER, SEARCH, ScenarioChannel, ScenarioRouter};
use crate::net::http_server::{HttpServer, ReceivedRequest};
use crate::net::outbound::Outbound;

/// What an agent has to know of the parties around it.
#[derive(Clone, Debug)]
pub struct Around {
    /// Its Hub.
    pub hub_url: String,
    /// The service secret.
    pub secret: String,
    /// Its model; ends with `/v1`.
    pub model_url: String,
    /// Where it is to listen.
    pub listen: String,
    /// Its own id.
    pub agent_id: String,
    /// The customer that it serves where a call names none.
    pub customer_id: String,
    /// The web search.
    pub search_url: String,
    /// The provider that it must not call.
    pub provider_url: String,
}

impl Around {
    /// As environment variables.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let all = [
            ("CALLMARK_HUB_URL", &self.hub_url),
            ("CALLMARK_HUB_SECRET", &self.secret),
            ("CALLMARK_MODEL_URL", &self.model_url),
            ("CALLMARK_LISTEN", &self.listen),
            ("CALLMARK_AGENT_ID", &self.agent_id),
            ("CALLMARK_CUSTOMER_ID", &self.customer_id),
            ("CALLMARK_SEARCH_URL", &self.search_url),
            ("CALLMARK_PROVIDER_URL", &self.provider_url),
        ];
        all.into_iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// What stands for a placeholder of the manifest.
    fn word(&self, name: &str) -> &str {
        match name {
            "hub_url" => &self.hub_url,
            "secret" => &self.secret,
            "model_url" => &self.model_url,
            "listen" => &self.listen,
            "search_url" => &self.search_url,
            "provider_url" => &self.provider_url,
            "agent_id" => &self.agent_id,
            _ => &self.customer_id,
        }
    }
}

/// An agent that runs within this process. It ends when it is dropped.
pub struct Embedded {
    /// `host:port`, for `{listen}` in the manifest.
    pub listen: String,
    /// What holds it open.
    pub keep: Box<dyn Any + Send + Sync>,
}

/// Starts an agent within this process.
pub type StartAgent = Box<dyn FnOnce(Around) -> BoxFuture<'static, Result<Embedded, String>> + Send + Sync>;

/// The agent, where the suite started it.
#[derive(Default)]
pub(super) enum Running {
    /// Somebody else did.
    #[default]
    Elsewhere,
    /// A process.
    Process(Box<ChildProcess>),
    /// Within this process.
    Embedded(Embedded),
}

impl Running {
    pub(super) async fn end(self) {
        match self {
            Self::Process(mut process) => process.stop().await,
            Self::Embedded(embedded) => drop(embedded.keep),
            Self::Elsewhere => {}
        }
    }
}

/// The key of the agent's chat, where it has one.
fn chat_key(table: &AgentTable) -> Result<Option<String>, AgentError> {
    match (&table.drive.key, &table.drive.key_env) {
        (Some(key), _) => Ok(Some(key.clone())),
        (None, Some(variable)) => from_environment("hub.agent.drive.key_env", variable).map(Some),
        (None, None) => Ok(None),
    }
}

/// How the agent is made to call a tool.
fn driver(
    table: &AgentTable,
    hook: impl FnOnce(&[String]) -> Hook,
    listen: &str,
    key: Option<String>,
    outbound: &Arc<Outbound>,
) -> Result<Driver, String> {
    let drive = &table.drive;
    let endpoint = |name: &str, url: &str, key| Endpoint::new(name, url, listen, key, outbound);
    match (&drive.http, &drive.command, &drive.chat) {
        (Some(url), ..) => endpoint("hub.agent.drive.http", url, None).map(Driver::Http),
        (_, Some(command), _) => Ok(Driver::Command(hook(command))),
        (_, _, Some(url)) => endpoint("hub.agent.drive.chat", url, key).map(Driver::Chat),
        _ => Err("`hub.agent.drive` says no way to make a call".to_owned()),
    }
}

/// A session before anything was learnt.
pub(super) async fn set_up(
    plan: OpenContext<AgentTable>,
    agent: Option<StartAgent>,
    handing: Handing,
) -> Result<AgentSession, AgentError> {
    let OpenContext { table, directory, log, limits, wire, seed, outbound, inbound } = plan;
    let is_embedded = agent.is_some();
    let text = seed.to_string();
    let secret = secret(&table, &text, is_embedded)?;
    let key = chat_key(&table)?;
    let generated = |what: &str| {
        let digits = hash(&[what, &text]);
        uuid(&digits[..20], &digits[20..32])
    };
    let nonce = nonce();
    let unique = hash(&["calibration", &nonce])[..12].to_owned();
    let mark = format!("tok-{}", &hash(&["calibration mark", &nonce])[..12]);
    let router = Arc::new(ScenarioRouter::new(
        wire,
        table.drive.model.unwrap_or_default(),
        ScenarioChannel::new(unique, mark),
    ));
    let (serving, thinking) = (Arc::clone(&router), Arc::clone(&router));
    let hub = HttpServer::start(
        table.listen.as_deref(),
        Arc::new(move |request: ReceivedRequest| serving.serve(&request)),
    )
    .await
    .map_err(AgentError::Listen)?;
    let model = HttpServer::start(
        table.model_listen.as_deref(),
        Arc::new(move |request: ReceivedRequest| thinking.think(&request)),
    )
    .await
    .map_err(AgentError::Listen)?;
    let hub_url = inbound.url(&hub.url()).await.map_err(AgentError::Listen)?;
    let model_url = inbound.url(&model.url()).await.map_err(AgentError::Listen)?;
    let beneath = inbound.around(Vec::new()).await.map_err(AgentError::Listen)?;
    let port = Port::take(handing).map_err(AgentError::Listen)?;
    let mut around = Around {
        hub_url: hub_url.clone(),
        secret: secret.clone(),
        model_url: format!("{model_url}/v1"),
        listen: port.address(),
        agent_id: table.agent_id.clone().unwrap_or_else(|| generated("agent")),
        customer_id: table.customer_id.clone().unwrap_or_else(|| generated("customer")),
        search_url: format!("{hub_url}{SEARCH}"),
        provider_url: format!("{hub_url}{PROVIDER}"),
    };
    let launch = |command: &[String], around: &Around| {
        let words = ENV_PLACEHOLDERS.map(|name| (name, around.word(name)));
        Launch::of(&table.launch, command, &directory, &log, &words).beneath(beneath.clone())
    };
    log.hide(key.iter().chain([&secret]).cloned());
    log.clear();
    let running = match (agent, &table.launch.start) {
        (Some(start), _) => {
            let embedded = start(around.clone()).await.map_err(AgentError::Start)?;
            around.listen.clone_from(&embedded.listen);
            Running::Embedded(embedded)
        }
        (None, Some(command)) => {
            let variables = around.variables();
            let process =
                launch(command, &around).spawn(&pairs(&variables), Pipes::None).map_err(AgentError::Start)?;
            Running::Process(Box::new(process.on(port)))
        }
        (None, None) => Running::Elsewhere,
    };
    let hook = |command: &[String]| Hook { launch: launch(command, &around), around: around.variables() };
    let driver = driver(&table, hook, &around.listen, key, &outbound).map_err(AgentError::Config)?;
    let is_passed = is_embedded || table.launch.is_started() || table.drive.command.is_some();
    Ok(AgentSession {
        timeouts: Timeouts::calibrated(Duration::from_secs(1), &limits),
        driver,
        router,
        secret,
        // An agent that runs already has an id that only its manifest can give.
        agent_id: table.agent_id.clone().or_else(|| is_passed.then(|| around.agent_id.clone())),
        customer_id: around.customer_id,
        liveness: Liveness::Idle,
        turn: Arc::new(Semaphore::new(1)),
        running: Mutex::new(running),
        nonce,
        prefix: outbound.prefix().to_owned(),
        outbound,
        seed,
        hub_url,
        model_url,
        _parties: vec![hub, model],
        table,
    })
}

fn secret(table: &AgentTable, seed: &str, is_embedded: bool) -> Result<String, AgentError> {
    if let Some(secret) = &table.secret {
        return Ok(secret.clone());
    }
    let can_be_passed = is_embedded || table.launch.is_started() || table.drive.command.is_some();
    match &table.secret_env {
        Some(variable) => match from_environment("hub.agent.secret_env", variable) {
            Err(_) if can_be_passed => {}
            result => return result,
        },
        None if can_be_passed => {}
        None => return Err(AgentError::Config("`hub.agent` names no secret".to_owned())),
    }
    // The same in every run, so that two reports of one target are the same.
    Ok(format!("made-up-{}", &hash(&["secret", seed])[..24]))
}

fn from_environment(key: &str, variable: &str) -> Result<String, AgentError> {
    match std::env::var(variable) {
        Ok(value) if !value.is_empty() => Ok(value),
        _ => Err(AgentError::Config(format!("`{key}` names `{variable}`, which is not set"))),
    }
}

fn pairs(variables: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}
