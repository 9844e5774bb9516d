//! How a Hub is set up.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::log::{Log, no_log};
use crate::postgres::DatabaseUrl;

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
    /// Keeps everything there, and nothing in `data_dir`; other Hubs may use it at the same time.
    pub database: Option<DatabaseUrl>,
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
            database: None,
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
            .field("database", &self.database)
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
