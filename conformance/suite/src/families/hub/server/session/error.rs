//! Why no session with a Hub can be opened.

use thiserror::Error;

use crate::engine::judge::Cause;

/// A session that cannot be opened.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HubError {
    /// The manifest describes no Hub.
    #[error("the manifest has no `hub.base_url` and no `hub.start`, so there is no Hub to reach")]
    NoHub,
    /// The secret is not there.
    #[error("the environment variable `{0}`, which `hub.secret_env` names, is not set")]
    NoSecret(String),
    /// It cannot be started.
    #[error("the Hub cannot be started: {0}")]
    Start(String),
    /// The provider cannot listen.
    #[error("the suite's calendar and mail provider cannot listen: {0}")]
    Provider(String),
    /// The manifest says something that cannot be.
    #[error("{0}")]
    Config(String),
    /// Nothing more is to be expected from there.
    #[error("the Hub at {base} cannot be reached: {why}")]
    Reach {
        /// Its address.
        base: String,
        /// What stands in the way.
        why: String,
    },
    /// It does not answer.
    #[error("the Hub at {base} does not answer within {seconds} s: {why}")]
    Silent {
        /// Its address.
        base: String,
        /// The deadline.
        seconds: u64,
        /// What came of the last try.
        why: String,
    },
    /// The customer `connected` is none.
    #[error(
        "`hub.customers.connected` is not connected: both a calendar and a mail tool are answered by `{0}`; name a \
         customer whose integrations are connected, or correct the Hub"
    )]
    Customer(String),
    /// The provider is not asked.
    #[error(
        "the Hub executes tools and asks the provider that the suite plays nothing: point it at \
         `CALLMARK_PROVIDER_URL` (or `{{provider_url}}` in `hub.env`), or leave `[hub.provider]` out"
    )]
    Unasked,
    /// The provider cannot be asked: the CA of the run is not trusted.
    #[error("the Hub cannot ask the provider that the suite plays: {0}")]
    Distrust(String),
    /// The provider is not reached.
    #[error(
        "the Hub answers `EXTERNAL_API_ERROR`, and asked the provider that the suite plays nothing: point it at \
         `CALLMARK_PROVIDER_URL` (or `{{provider_url}}` in `hub.env`), or set `intercept = true` where the address of \
         its provider is compiled in"
    )]
    Unreached,
    /// Its secret is not ours.
    #[error(
        "the Hub refuses the service secret ({0}): check `hub.secret_env`, or that a started Hub takes its secret \
         from `CALLMARK_HUB_SECRET`"
    )]
    Secret(String),
}

impl HubError {
    /// Class of the cause.
    pub fn cause(&self) -> Cause {
        match self {
            Self::NoHub | Self::NoSecret(_) | Self::Start(_) | Self::Secret(_) | Self::Config(_) => {
                Cause::Config
            }
            Self::Provider(_) => Cause::Suite,
            Self::Silent { .. } | Self::Reach { .. } => Cause::Reachability,
            Self::Customer(_) | Self::Unasked | Self::Unreached | Self::Distrust(_) => Cause::Fixture,
        }
    }
}
