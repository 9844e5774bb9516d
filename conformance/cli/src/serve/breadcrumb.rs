//! `serve breadcrumb`: a store with a tool runner and an agent, or one of these alone at a store that is there.

use std::sync::Arc;
use std::time::Duration;

use callmark_reference::breadcrumb::agent::{Agent, AgentConfig, Capture, ScriptedModel};
use callmark_reference::breadcrumb::browser::{Browser, BrowserConfig};
use callmark_reference::breadcrumb::client::{Event, StoreClient};
use callmark_reference::breadcrumb::llm::{self, LlmConfig};
use callmark_reference::breadcrumb::runner::{Runner, RunnerConfig, lines};
use callmark_reference::breadcrumb::store::{StoreConfig, StoreServer};
use callmark_reference::breadcrumb::tool::Tool;
use callmark_reference::breadcrumb::tools;
use callmark_reference::log::Log;
use callmark_reference::secret::Secret;
use serde_json::{Value, json};
use tokio::io::BufReader;

use crate::args::{ServeArguments, StoreChoice};
use crate::exit::{self, Failure};

/// Where the store is.
const STORE: &str = "CALLMARK_STORE_URL";
/// What it asks for.
const TOKEN: &str = "CALLMARK_STORE_TOKEN";
/// The model to ask in place of the scripted one.
const MODEL: &str = "CALLMARK_MODEL_URL";
/// The session of a demo turn.
const SESSION: &str = "session:demo";
/// For the demo turn.
const TURN_DEADLINE: Duration = Duration::from_secs(120);
/// Characters of a breadcrumb's context that are printed.
const SHOWN: usize = 1200;

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn to_stderr() -> Log {
    Arc::new(|line: &str| eprintln!("{line}"))
}

/// The runner with all its tools, and what its end is to wait for.
struct Tools {
    config: RunnerConfig,
    browser: Arc<Browser>,
}

impl Tools {
    /// Tools that find their providers in the environment.
    fn new(store_url: &str, token: Option<Secret>) -> Result<Self, Failure> {
        let store = StoreClient::new(store_url, token.as_ref()).map_err(Failure::caused)?;
        let mut models = LlmConfig::default();
        let places = [
            ("CALLMARK_OPENROUTER_URL", &mut models.openrouter_url),
            ("CALLMARK_VENICE_URL", &mut models.venice_url),
            ("CALLMARK_OLLAMA_URL", &mut models.ollama_url),
        ];
        for (name, place) in places {
            if let Some(url) = variable(name) {
                *place = url;
            }
        }
        let mut more: Vec<Arc<dyn Tool>> = llm::tools(&models).map_err(Failure::caused)?;
        let config = BrowserConfig { paths: Browser::find(), ..BrowserConfig::default() };
        let browser = Arc::new(Browser::new(config));
        more.push(Arc::clone(&browser) as Arc<dyn Tool>);
        let catalog = tools::catalog(&store, more).map_err(Failure::internal)?;
        let mut config = RunnerConfig::new(store_url, catalog);
        config.store_token = token;
        config.log = to_stderr();
        Ok(Self { config, browser })
    }

    async fn end(self) {
        self.browser.shutdown().await;
    }
}

fn store_url() -> Result<String, Failure> {
    variable(STORE).ok_or_else(|| {
        Failure::usage(format!("`{STORE}` is not set"))
            .hint("it is the address of a breadcrumb store, such as the one of `callmark serve breadcrumb`")
    })
}

/// The tool runner alone, at a store that is there; with `--stdio` in JSON lines.
pub(super) async fn runner(arguments: &ServeArguments) -> Result<u8, Failure> {
    let served = Tools::new(&store_url()?, variable(TOKEN).map(Secret::from))?;
    if arguments.stdio {
        let (input, output) = (BufReader::new(tokio::io::stdin()), tokio::io::stdout());
        lines::run_lines(served.config.clone(), input, output).await.map_err(Failure::caused)?;
        served.end().await;
        return Ok(exit::CONFORMANT);
    }
    let runner = Runner::start(served.config.clone()).await.map_err(Failure::caused)?;
    eprintln!("taking invocations from {}; end with Ctrl-C", served.config.store_url);
    exit::until_signal().await;
    eprintln!("ending");
    runner.shutdown().await;
    served.end().await;
    Ok(exit::CONFORMANT)
}

/// The agent alone, at a store and a model that are there.
pub(super) async fn agent() -> Result<u8, Failure> {
    let model = variable(MODEL).ok_or_else(|| {
        Failure::usage(format!("`{MODEL}` is not set"))
            .hint("it is the base of an OpenAI-compatible API and ends with `/v1`")
    })?;
    let config = agent_config(model, &store_url()?);
    let agent = Agent::start(config).await.map_err(Failure::caused)?;
    eprintln!("listening to users; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    agent.shutdown().await;
    Ok(exit::CONFORMANT)
}

fn agent_config(model_url: String, store_url: &str) -> AgentConfig {
    let mut config = AgentConfig::new(model_url);
    config.store_url = Some(store_url.to_owned());
    config.store_token = variable(TOKEN).map(Secret::from);
    config.capture = Capture::Envelope;
    config.log = to_stderr();
    config
}

/// Store, runner and agent, until it is interrupted or for one turn.
pub(super) async fn all(arguments: &ServeArguments) -> Result<u8, Failure> {
    let mut config = StoreConfig::new();
    config.listen = arguments.listen;
    config.data_dir.clone_from(&arguments.data);
    config.database = arguments.store.as_ref().and_then(StoreChoice::database).cloned();
    config.log = to_stderr();
    let store = StoreServer::start(config).await.map_err(Failure::caused)?;
    let served = Tools::new(&store.url(), None)?;
    let runner = Runner::start(served.config.clone()).await.map_err(Failure::caused)?;
    let (url, model) = if let Some(url) = variable(MODEL) {
        (url, None)
    } else {
        let model = ScriptedModel::start(([127, 0, 0, 1], 0).into()).await.map_err(Failure::caused)?;
        (model.url(), Some(model))
    };
    let agent = Agent::start(agent_config(url, &store.url())).await.map_err(Failure::caused)?;
    eprintln!("store     {}", store.url());
    eprintln!("tools     {}", names(&served).join(" "));
    match &model {
        Some(_) => eprintln!("model     scripted (set {MODEL} to an OpenAI-compatible URL to use another)"),
        None => eprintln!("model     that of {MODEL}"),
    }
    let code = if let Some(text) = &arguments.turn {
        turn(&store.url(), text).await
    } else {
        let watching = if arguments.watch { Some(watch(&store.url()).await?) } else { None };
        eprintln!("serving the tools of `callmark serve breadcrumb`; end with Ctrl-C");
        exit::until_signal().await;
        if let Some(watching) = watching {
            watching.abort();
        }
        Ok(exit::CONFORMANT)
    };
    eprintln!("ending");
    agent.shutdown().await;
    runner.shutdown().await;
    served.end().await;
    if let Some(model) = model {
        model.shutdown().await;
    }
    store.shutdown().await;
    code
}

fn names(served: &Tools) -> Vec<String> {
    served.config.catalog.definitions().map(|definition| definition.name.clone()).collect()
}

/// Prints every breadcrumb that is stored or changed.
async fn watch(store_url: &str) -> Result<tokio::task::JoinHandle<()>, Failure> {
    let client = StoreClient::new(store_url, None).map_err(Failure::caused)?;
    let mut events = client.events(Vec::new()).await.map_err(Failure::caused)?;
    Ok(tokio::spawn(async move {
        while let Some(event) = events.next().await {
            print(&event);
        }
    }))
}

/// Says something to the agent as a user does, and prints what follows until its last word.
async fn turn(store_url: &str, text: &str) -> Result<u8, Failure> {
    let client = StoreClient::new(store_url, None).map_err(Failure::caused)?;
    let mut events = client.events(Vec::new()).await.map_err(Failure::caused)?;
    let message = json!({
        "schema_name": "user.message.v1", "title": "User", "tags": ["user:message", SESSION],
        "context": {"message": text, "content": text},
    });
    client.create(&message).await.map_err(Failure::caused)?;
    let last_word = async {
        while let Some(event) = events.next().await {
            print(&event);
            if is_last_word(&event) {
                let message = event.context.get("message").and_then(Value::as_str);
                return Some(message.unwrap_or_default().to_owned());
            }
        }
        None
    };
    let said = tokio::select! {
        said = tokio::time::timeout(TURN_DEADLINE, last_word) => said.ok().flatten(),
        () = exit::until_signal() => None,
    };
    let Some(said) = said else { return Err(Failure::incomplete("the agent did not come to an end")) };
    println!("== the agent says: {said}");
    Ok(exit::CONFORMANT)
}

/// Whether an agent's breadcrumb asks for no more tools, and none of its calls is still open.
fn is_last_word(event: &Event) -> bool {
    let requests = event.context.get("tool_requests").and_then(Value::as_array).map_or(0, Vec::len);
    event.schema_name.as_deref() == Some("agent.response.v1") && event.has_tag(SESSION) && requests == 0
}

fn print(event: &Event) {
    let context = Value::Object(event.context.clone()).to_string();
    let shown = match context.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &context[..at]),
        None => context,
    };
    let schema = event.schema_name.as_deref().unwrap_or("-");
    println!("{schema} \"{}\" {}\n{shown}\n", event.title, event.tags.join(" "));
}
