//! A failed call: every way in which a tool can fail, and what the user should be shown of it.
//!
//! Contract, Error Codes: the six codes that a Hub answers with are [`HubCode`]. The other kinds are what can
//! go wrong around them. Each has a code, a message and an advice; none holds a secret.
//! Neighbour: `answer` makes the ones that come from a Hub's answer.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use super::effect::Effect;
use super::inputs::shown;

/// The longest link that is passed on.
const LINK_BYTES: usize = 2048;

/// Why a Hub refused a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum HubCode {
    /// The customer has not connected the integration.
    IntegrationNotConnected,
    /// The customer's token expired and could not be refreshed.
    IntegrationExpired,
    /// The integration lacks scopes that the tool needs.
    IntegrationPermissionDenied,
    /// The Hub knows no tool of this name.
    ToolNotFound,
    /// The external service answered with an error.
    ExternalApiError,
    /// The customer's limit is reached.
    RateLimited,
    /// A code that the contract does not name.
    Other(String),
}

impl HubCode {
    pub(super) fn parse(code: &str) -> Self {
        let known = [
            Self::IntegrationNotConnected,
            Self::IntegrationExpired,
            Self::IntegrationPermissionDenied,
            Self::ToolNotFound,
            Self::ExternalApiError,
            Self::RateLimited,
        ];
        known.into_iter().find(|known| known.as_str() == code).unwrap_or_else(|| Self::Other(shown(code)))
    }

    /// The code as the Hub writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::IntegrationNotConnected => "INTEGRATION_NOT_CONNECTED",
            Self::IntegrationExpired => "INTEGRATION_EXPIRED",
            Self::IntegrationPermissionDenied => "INTEGRATION_PERMISSION_DENIED",
            Self::ToolNotFound => "TOOL_NOT_FOUND",
            Self::ExternalApiError => "EXTERNAL_API_ERROR",
            Self::RateLimited => "RATE_LIMITED",
            Self::Other(code) => code,
        }
    }
}

/// What a Hub said when it refused a call.
#[derive(Debug, Clone, PartialEq)]
pub struct HubRefusal {
    /// Why.
    pub code: HubCode,
    /// The Hub's words, shortened.
    pub message: String,
    /// What it added, empty when nothing.
    pub details: Map<String, Value>,
    /// When it wants to be asked again, from `Retry-After`.
    pub retry_after: Option<Duration>,
    /// What the customer has connected, where the integration behind the tool is not and the Hub was asked.
    pub connected: Vec<String>,
}

impl HubRefusal {
    /// Where the customer connects the integration, when the Hub said so.
    pub fn setup_url(&self) -> Option<&str> {
        let link = self.details.get("setup_url")?.as_str()?;
        let is_link = link.starts_with("https://") || link.starts_with("http://");
        let is_clean = link.len() <= LINK_BYTES && !link.contains(|c: char| c.is_control() || c == ' ');
        (is_link && is_clean).then_some(link)
    }
}

impl fmt::Display for HubRefusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)?;
        if let Some(link) = self.setup_url().filter(|link| !self.message.contains(link)) {
            write!(formatter, " (set it up at {link})")?;
        }
        if self.connected.is_empty() {
            return Ok(());
        }
        write!(formatter, " (connected: {})", self.connected.join(", "))
    }
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CallFailure {
    /// This agent has no such tool.
    #[error("there is no tool `{tool}`{}", .nearest.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    UnknownTool {
        /// The name asked for, shortened.
        tool: String,
        /// The name that may have been meant.
        nearest: Option<&'static str>,
    },
    /// The inputs are not what the tool takes; nothing was sent.
    #[error("`{tool}` was not called: {reason}")]
    Inputs {
        /// Which tool.
        tool: String,
        /// Which input, and what it should be.
        reason: String,
    },
    /// Something around the inputs is wrong; nothing was sent.
    #[error("the tool was not called: {reason}")]
    Call {
        /// What is wrong.
        reason: &'static str,
    },
    /// The Hub answered that the call failed, with one of the codes of the contract or one of its own.
    #[error("{0}")]
    Refused(Box<HubRefusal>),
    /// The Hub does not know our secret. The customer's integration is not to blame.
    #[error(
        "the Hub does not accept this agent's own service secret (`CALLMARK_HUB_SECRET`): a fault of the agent's configuration, not of the customer's integration"
    )]
    SecretRefused,
    /// No connection to the Hub; nothing was sent.
    #[error("the Hub cannot be reached: {reason}")]
    Unreachable {
        /// What the system says.
        reason: String,
    },
    /// The Hub's answer did not come in time.
    #[error("the Hub did not answer within {after:?}{}", .effect.uncertainty())]
    Deadline {
        /// How long was waited.
        after: Duration,
        /// What the tool may have done.
        effect: Effect,
    },
    /// The Hub's answer is none that the contract knows.
    #[error("the Hub's answer cannot be used: {reason}{}", .effect.uncertainty())]
    Answer {
        /// What is wrong with it.
        reason: String,
        /// What the tool may have done.
        effect: Effect,
    },
    /// The Hub's answer is larger than this agent reads.
    #[error("the Hub's answer is larger than {limit} bytes{}", .effect.uncertainty())]
    AnswerTooLarge {
        /// How much is read.
        limit: usize,
        /// What the tool may have done.
        effect: Effect,
    },
    /// The agent was started without something that the tool needs.
    #[error("{what} is not configured")]
    NotConfigured {
        /// What is missing.
        what: &'static str,
    },
    /// A web page or a search service failed.
    #[error("{what} failed: {reason}")]
    Web {
        /// Which: `the search` or `the page`.
        what: &'static str,
        /// How.
        reason: String,
    },
    /// A local tool was asked for something that is not there.
    #[error("there is no {what} with this id")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// A customer's tasks and documents fill the room that there is for them.
    #[error("there is no room left: tasks and documents of a customer take at most {limit} bytes")]
    Full {
        /// How many bytes there may be.
        limit: usize,
    },
    /// Tasks and documents could not be read or written.
    #[error("the agent's own store failed: {reason}")]
    Store {
        /// What the system says.
        reason: String,
    },
}

impl CallFailure {
    /// A name for the kind of failure, in the style of the contract's codes.
    pub fn code(&self) -> &str {
        match self {
            Self::UnknownTool { .. } => "UNKNOWN_TOOL",
            Self::Inputs { .. } => "INVALID_INPUTS",
            Self::Call { .. } => "INVALID_CALL",
            Self::Refused(refusal) => refusal.code.as_str(),
            Self::SecretRefused => "HUB_SECRET_REFUSED",
            Self::Unreachable { .. } => "HUB_UNREACHABLE",
            Self::Deadline { .. } => "HUB_DEADLINE",
            Self::Answer { .. } => "HUB_ANSWER",
            Self::AnswerTooLarge { .. } => "HUB_ANSWER_TOO_LARGE",
            Self::NotConfigured { .. } => "NOT_CONFIGURED",
            Self::Web { .. } => "WEB_FAILED",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::Full { .. } => "STORE_FULL",
            Self::Store { .. } => "STORE_FAILED",
        }
    }

    /// What went wrong, in one line; it holds the setup link where there is one.
    pub fn message(&self) -> String {
        self.to_string()
    }

    /// Where the customer sets up the integration, when the Hub said so.
    pub fn setup_url(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => refusal.setup_url(),
            _ => None,
        }
    }

    /// What the model should do about it and say to the user.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::Refused(refusal) => match refusal.code {
                HubCode::IntegrationNotConnected => {
                    "Tell the user that the integration has to be connected first, and give them the setup link."
                }
                HubCode::IntegrationExpired => {
                    "Tell the user that the integration's access has expired and has to be connected again. Do not try again."
                }
                HubCode::IntegrationPermissionDenied => {
                    "Tell the user that the integration lacks a permission that this needs. Do not try again."
                }
                HubCode::RateLimited => "Tell the user that the limit is reached and to try again later.",
                HubCode::ExternalApiError => {
                    "Tell the user that the external service failed. Do not repeat anything that changes data."
                }
                HubCode::ToolNotFound | HubCode::Other(_) => "Tell the user that this did not work, and why.",
            },
            Self::UnknownTool { .. } | Self::Inputs { .. } | Self::NotFound { .. } => {
                "Correct the call and try again, or tell the user what is missing."
            }
            Self::Deadline { effect: Effect::Writes, .. }
            | Self::Answer { effect: Effect::Writes, .. }
            | Self::AnswerTooLarge { effect: Effect::Writes, .. } => {
                "Tell the user that it may or may not have been done. Do not repeat it before someone looked."
            }
            _ => "Tell the user that this did not work, and why.",
        }
    }
}
