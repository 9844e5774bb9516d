//! The Hub of the Tool Execution Contract: it runs calendar and mail tools for agents, with its customers' credentials.
//!
//! The path of one call, in the order in which the modules are worth reading:
//!
//! 1. `http` knows the secret, reads a bounded body, and answers in the form of `envelope`;
//! 2. `request` and `inputs` read what was sent; nothing is guessed that could be wrong;
//! 3. `execution` makes the checks, one by one: tool, inputs, customer, integration, limit, scopes;
//! 4. `tools` has the nine tools; each asks the provider through a `session`, which keeps the token fresh (`oauth`)
//!    and turns what the provider says (`upstream`) into the codes of the contract.
//!
//! `customers` is what the Hub knows, `limiter` how often one may call, `listen` the listener with its deadlines,
//! [`provider`] a calendar and mail service to try it with, [`fixtures`] the customers of a new database.
//!
//! Deliberately absent: the pages on which a customer grants access, TLS, and tools beyond the nine.

pub mod agent;
mod customers;
mod envelope;
mod error;
mod execution;
pub mod fixtures;
mod http;
mod inputs;
mod limiter;
mod mime;
mod moment;
mod oauth;
pub mod provider;
mod request;
mod secret;
mod session;
mod store;
mod tools;
mod upstream;

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use customers::Customers;
use secret::Secret;
use store::Store;
use upstream::Upstream;
use url::Url;

use crate::http::listen::{Bounds, Listening};
use crate::log::{Log, no_log};

pub use error::HubError;

/// How a Hub is set up.
#[derive(Clone)]
#[non_exhaustive]
pub struct HubConfig {
    /// What agents show as `Authorization: ServiceSecret <secret>`.
    pub secret: String,
    /// Where the calendar and mail provider is.
    pub provider: ProviderUrls,
    /// As whom the Hub asks the provider for new tokens.
    pub oauth_client: OAuthClient,
    /// Where `hub.sqlite` is kept; in memory without one.
    pub data_dir: Option<PathBuf>,
    /// The page on which a customer connects an integration; absolute.
    pub setup_url: String,
    /// What is bounded, and how.
    pub limits: Limits,
    /// Where log lines go; they hold no secret, token or mail.
    pub log: Log,
}

impl HubConfig {
    /// In memory, silent, with the provider's three services below one base URL.
    pub fn new(secret: impl Into<String>, provider_base_url: &str) -> Self {
        Self {
            secret: secret.into(),
            provider: ProviderUrls::below(provider_base_url),
            oauth_client: OAuthClient { id: "callmark-hub".to_owned(), secret: "callmark-hub".to_owned() },
            data_dir: None,
            setup_url: "https://hub.example/integrations/google".to_owned(),
            limits: Limits::default(),
            log: no_log(),
        }
    }
}

impl fmt::Debug for HubConfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("HubConfig")
            .field("provider", &self.provider)
            .field("data_dir", &self.data_dir)
            .field("setup_url", &self.setup_url)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// The provider's services: Google Calendar v3, Gmail v1, and the OAuth token endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderUrls {
    /// What `/freeBusy` and `/calendars/…` are below.
    pub calendar: String,
    /// What `/users/me/…` is below.
    pub gmail: String,
    /// The token endpoint itself.
    pub token: String,
}

impl ProviderUrls {
    /// The paths that Google uses, below one base.
    pub fn below(base: &str) -> Self {
        let base = base.trim_end_matches('/');
        Self {
            calendar: format!("{base}/calendar/v3"),
            gmail: format!("{base}/gmail/v1"),
            token: format!("{base}/token"),
        }
    }
}

/// The Hub's own registration with the provider.
#[derive(Clone)]
pub struct OAuthClient {
    /// `client_id`.
    pub id: String,
    /// `client_secret`.
    pub secret: String,
}

impl fmt::Debug for OAuthClient {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("OAuthClient").field("id", &self.id).finish_non_exhaustive()
    }
}

/// What is bounded, and how.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Limits {
    /// No request may have a longer body.
    pub body_bytes: usize,
    /// For the head of a request; a connection without a request is closed after it, too.
    pub header_deadline: Duration,
    /// For the body of a request.
    pub body_deadline: Duration,
    /// For one call to the provider, its answer included.
    pub provider_deadline: Duration,
    /// For customers without an allowance of their own.
    pub allowance: Allowance,
    /// How many connections there may be at once; more wait to be accepted.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes: 1024 * 1024,
            header_deadline: Duration::from_secs(30),
            body_deadline: Duration::from_secs(10),
            provider_deadline: Duration::from_secs(5),
            allowance: Allowance { calls: 6000, per: Duration::from_secs(60) },
            connections: 1024,
        }
    }
}

/// How many calls a customer has in a window of time, which begins with the first of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// So many calls,
    pub calls: u32,
    /// in so much time.
    pub per: Duration,
}

/// What every request needs; shared by all of them.
struct Core {
    secret: Secret,
    customers: Customers,
    upstream: Upstream,
    setup_url: String,
    limits: Limits,
    log: Log,
}

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
        let data_dir = config.data_dir;
        let opened = tokio::task::spawn_blocking(move || Store::open(data_dir.as_deref())).await;
        let (store, records) = opened.map_err(HubError::store)??;
        let core = Core {
            secret: Secret::new(&config.secret),
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
        let listening = Listening::bind(listen, http::router(Arc::new(core)), bounds).await;
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
