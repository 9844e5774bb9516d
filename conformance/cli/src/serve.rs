//! `serve`: run the reference implementation. `utp` does it for UTP, `breadcrumb` for the Universal Tool Invocation
//! standard.

mod breadcrumb;
mod utp;

use std::sync::Arc;

use callmark_reference::hub::agent::{AgentConfig, DriveServer};
use callmark_reference::hub::{self, Hub, HubConfig};
use callmark_reference::{postgres, toolbus};

use crate::args::{Family, ServeArguments, StoreChoice};
use crate::broker;
use crate::exit::{self, Failure};
use crate::mock;
use crate::mock::{SECRET, TRIAL_SECRET};

/// Runs it until it is interrupted, or to the end of the tour.
pub(crate) fn run(arguments: &ServeArguments) -> Result<u8, Failure> {
    check_store(arguments)?;
    check_health(arguments)?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::internal)?;
    runtime.block_on(async {
        match arguments.family {
            Family::Utp if arguments.tour => utp::tour(arguments).await,
            Family::Utp if arguments.openapi => utp::openapi(arguments).await,
            Family::Utp if arguments.service => utp::service(arguments).await,
            Family::Utp => utp::serve(arguments).await,
            Family::Toolbus if arguments.stdio => {
                toolbus::serve_stdio(toolbus_config(arguments)).await.map_err(Failure::caused)?;
                Ok(exit::CONFORMANT)
            }
            Family::Toolbus => serve_toolbus(arguments).await,
            Family::Hub if arguments.agent => serve_agent(arguments).await,
            Family::Hub if arguments.mock.is_some() => mock::serve(arguments).await,
            Family::Hub => serve_hub(arguments).await,
            Family::Breadcrumb if arguments.runner => breadcrumb::runner(arguments).await,
            Family::Breadcrumb if arguments.agent => breadcrumb::agent().await,
            Family::Breadcrumb => breadcrumb::all(arguments).await,
        }
    })
}

/// Checks that what is served can be kept where the command line says.
fn check_store(arguments: &ServeArguments) -> Result<(), Failure> {
    let (family, is_alone) = (arguments.family, arguments.service || arguments.openapi);
    match &arguments.store {
        Some(StoreChoice::Invalid(reason)) => Err(Failure::usage(format!("`--store`: {reason}"))),
        Some(StoreChoice::Files) if family != Family::Toolbus => Err(Failure::usage(
            "`--store files` is for the tool bus",
        )
        .hint("`callmark serve toolbus --store files` shares its state with others on one context root")),
        Some(StoreChoice::Nats) if !is_alone => {
            Err(Failure::usage("`--store nats` is for what is served alone")
                .hint("`callmark serve utp --service --store nats` is the Tool Service"))
        }
        Some(StoreChoice::Postgres(_)) if !postgres::IS_BUILT => Err(Failure::usage(
            "this build of Callmark has no client of PostgreSQL",
        )
        .hint("build it with one, `cargo run --release --features postgres -- …`, as the packages are")),
        Some(StoreChoice::Postgres(_)) if !is_kept_in_tables(arguments) => {
            Err(Failure::usage("nothing of this is kept in PostgreSQL")
                .hint("`callmark serve utp --store postgres://…` keeps all of UTP there"))
        }
        _ => Ok(()),
    }
}

/// Checks that what is served has somebody who answers an orchestrator.
fn check_health(arguments: &ServeArguments) -> Result<(), Failure> {
    if arguments.health.is_none()
        || arguments.family == Family::Utp && (arguments.service || arguments.openapi)
    {
        return Ok(());
    }
    Err(Failure::usage("`--health` is for what is served alone")
        .hint("`callmark serve utp --service --health 0.0.0.0:8080` is the Tool Service; what speaks HTTP is asked there"))
}

/// Whether what is served keeps anything that has a place in a database.
fn is_kept_in_tables(arguments: &ServeArguments) -> bool {
    match arguments.family {
        Family::Utp => !arguments.tour,
        Family::Hub => !arguments.agent && arguments.mock.is_none(),
        Family::Breadcrumb => !arguments.runner && !arguments.agent,
        Family::Toolbus => false,
    }
}

/// The server's own configuration: its context root comes from the environment, as the contract says.
fn toolbus_config(arguments: &ServeArguments) -> toolbus::Config {
    let mut config = toolbus::Config::from_env();
    config.state_dir.clone_from(&arguments.data);
    config.shares_sessions = arguments.store == Some(StoreChoice::Files);
    config.log = Arc::new(|line: &str| eprintln!("{line}"));
    config
}

async fn serve_toolbus(arguments: &ServeArguments) -> Result<u8, Failure> {
    let config = toolbus_config(arguments);
    let root = config.root.clone();
    let server = toolbus::HttpServer::start(config, arguments.listen).await.map_err(Failure::caused)?;
    eprintln!("MCP       {}", server.url());
    match root {
        Some(root) => eprintln!("artifacts {}", root.display()),
        None => eprintln!("artifacts none: set SF_CONTEXT_REPO_ROOT to a directory to get them"),
    }
    eprintln!("serving the tools of `callmark serve toolbus`; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    server.shutdown().await;
    Ok(exit::CONFORMANT)
}

/// Where it finds its calendar and mail provider.
const PROVIDER: &str = "CALLMARK_PROVIDER_URL";
async fn serve_hub(arguments: &ServeArguments) -> Result<u8, Failure> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let secret = variable(SECRET);
    let (provider, stand_in) = if let Some(url) = variable(PROVIDER) {
        (url, None)
    } else {
        let any = ([127, 0, 0, 1], 0).into();
        let stand_in = hub::provider::StandIn::start(any).await.map_err(Failure::caused)?;
        (stand_in.url(), Some(stand_in))
    };
    let mut config = HubConfig::new(secret.clone().unwrap_or_else(|| TRIAL_SECRET.to_owned()), &provider);
    config.data_dir.clone_from(&arguments.data);
    config.database = arguments.store.as_ref().and_then(StoreChoice::database).cloned();
    config.log = Arc::new(|line: &str| eprintln!("{line}"));
    let hub = Hub::start(config, arguments.listen).await.map_err(Failure::caused)?;
    eprintln!("Hub       {}", hub.url());
    match secret {
        Some(_) => eprintln!("secret    that of {SECRET}"),
        None => eprintln!("secret    {TRIAL_SECRET} (set {SECRET} to choose another)"),
    }
    if stand_in.is_some() {
        eprintln!(
            "provider  embedded, with an invented calendar and mailbox (set {PROVIDER} to use another)"
        );
        for fixture in hub::fixtures::ALL {
            eprintln!("customer  {} {}", fixture.id, fixture.shows);
        }
    }
    eprintln!("serving the tools of `callmark serve hub`; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    hub.shutdown().await;
    if let Some(stand_in) = stand_in {
        stand_in.shutdown().await;
    }
    Ok(exit::CONFORMANT)
}

async fn serve_agent(arguments: &ServeArguments) -> Result<u8, Failure> {
    let mut config = AgentConfig::from_env().map_err(|error| Failure::usage(error.to_string()))?;
    config.data_dir.clone_from(&arguments.data);
    config.log = Arc::new(|line: &str| eprintln!("{line}"));
    let server = DriveServer::start(config, arguments.listen).await.map_err(Failure::caused)?;
    eprintln!("agent     {}", server.url());
    eprintln!("taking calls at /drive and messages at /v1/chat; end with Ctrl-C");
    exit::until_signal().await;
    eprintln!("ending");
    server.shutdown().await;
    Ok(exit::CONFORMANT)
}

impl ServeArguments {
    /// The broker's URL, without credentials that the user gave.
    fn broker_url(&self, running: &str) -> String {
        match &self.broker {
            broker::BrokerChoice::Url(_) => self.broker.to_string(),
            _ => running.to_owned(),
        }
    }
}
