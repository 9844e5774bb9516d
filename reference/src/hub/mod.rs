//! The Hub of the Tool Execution Contract: it runs calendar and mail tools for agents, with its customers' credentials.
//!
//! The path of one call, in the order in which the modules are worth reading:
//!
//! 1. `http` knows the secret, reads a bounded body, and answers in the form of `envelope`;
//! 2. `request` and `inputs` read what was sent; nothing is guessed that could be wrong;
//! 3. `execution` makes the checks, one by one: tool, inputs, customer, integration, limit, scopes;
//! 4. `tools` has the nine tools; each asks the provider through a `session`, which keeps the token fresh (`oauth`)
//!    and turns what the provider says (`upstream`) into the codes of the contract (`fault`).
//!
//! `customers` is what the Hub knows, `record` how it is kept, `store_postgres` what several Hubs share, `limiter` how often one may call, `listen` the listener with its deadlines,
//! [`provider`] a calendar and mail service to try it with, [`fixtures`] the customers of a new database.
//!
//! Deliberately absent: the pages on which a customer grants access, TLS, and tools beyond the nine.

pub mod agent;
mod config;
mod context;
mod customers;
mod envelope;
mod error;
mod execution;
mod fault;
pub mod fixtures;
mod http;
mod inputs;
mod limiter;
mod mime;
mod moment;
mod oauth;
pub mod provider;
mod record;
mod request;
mod secret;
mod session;
mod store;
#[cfg(feature = "postgres")]
mod store_postgres;
mod tools;
mod upstream;

use std::net::SocketAddr;
use std::sync::Arc;

use context::HubContext;
use customers::Customers;
use secret::SecretDigest;
use store::Store;
use upstream::Upstream;
use url::Url;

use crate::http::listen::{Bounds, Listening};

pub use config::{Allowance, HubConfig, Limits, OAuthClient, ProviderUrls};
pub use error::HubError;

/// A running Hub; dropping it ends it without waiting.
#[derive(Debug)]
pub struct Hub {
    listening: Listening,
}

impl Hub {
    /// Opens the store, fills an empty one with the [`fixtures`], and listens; port 0 takes a free one.
    ///
    /// # Errors
    ///
    /// When the configuration cannot work, the store cannot be opened, or the address is taken.
    pub async fn start(config: HubConfig, listen: SocketAddr) -> Result<Self, HubError> {
        if config.secret.is_empty() {
            return Err(HubError::config("the service secret is empty"));
        }
        if !Url::parse(&config.setup_url).is_ok_and(|url| url.has_host()) {
            return Err(HubError::config("the setup URL is not absolute"));
        }
        let limits = config.limits;
        let upstream = Upstream::new(&config.provider, config.oauth_client, limits.provider_deadline)?;
        let (store, records) = Store::open(config.data_dir, config.database.as_ref()).await?;
        let context = HubContext {
            secret: SecretDigest::new(&config.secret),
            customers: Customers::new(store, records, limits.allowance)?,
            upstream,
            setup_url: config.setup_url,
            limits,
            log: config.log,
        };
        let bounds = Bounds {
            head: limits.header_deadline,
            connections: limits.connections,
            stall: limits.header_deadline,
        };
        let listening = Listening::bind(listen, http::router(Arc::new(context)), bounds).await;
        let listening = listening.map_err(|source| HubError::Listen { address: listen, source })?;
        Ok(Self { listening })
    }

    /// The address that it listens on, with the port that was taken.
    pub fn address(&self) -> SocketAddr {
        self.listening.address()
    }

    /// What the paths of the contract are below: `http://127.0.0.1:port`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    /// Answers what is being answered, then ends.
    pub async fn shutdown(self) {
        self.listening.shutdown().await;
    }
}
