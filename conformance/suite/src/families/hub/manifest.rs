//! `[hub]`: a Hub, how it is reached, and what there is behind it; and `[hub.agent]`, an agent.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::agent::manifest::AgentTable;
use crate::engine::manifest::{Command, LaunchTable, Section, TargetTable};

/// `[hub]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HubTable {
    /// Where the Hub is. `{listen}` stands for the address that a started Hub was given.
    #[serde(default)]
    pub base_url: Option<String>,
    /// How a Hub that listens on `CALLMARK_LISTEN` is started; `{provider_url}`, `{listen}` and `{secret}` are filled in.
    #[serde(flatten)]
    pub launch: LaunchTable,
    /// How many processes of it are started, where that is more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<NonZeroU32>,
    /// Whether scenarios must run one at a time.
    #[serde(default)]
    pub serial: bool,
    /// The service secret.
    #[serde(default)]
    pub secret: Option<String>,
    /// The environment variable that holds it.
    #[serde(default)]
    pub secret_env: Option<String>,
    /// The agent that the suite is.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// Whether the Hub answers with made-up data that does not depend on the request (Contract L370).
    #[serde(default)]
    pub stub: bool,
    /// Slugs of the two integrations.
    #[serde(default)]
    pub integrations: IntegrationsTable,
    /// Customers that the Hub knows, by what is special about them.
    #[serde(default)]
    pub customers: BTreeMap<Customer, String>,
    /// What is in the mailbox of the customer `connected`.
    #[serde(default)]
    pub fixtures: FixturesTable,
    /// The limit of every customer.
    #[serde(default)]
    pub rate_limit: Option<RateLimitTable>,
    /// The Hub's calendar and mail provider can be the suite.
    #[serde(default)]
    pub provider: Option<ProviderTable>,
    /// `[hub.agent]`.
    #[serde(default)]
    pub agent: Option<AgentTable>,
}

/// What is special about a customer (rules/hub.md, vocabulary).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Customer {
    /// Both integrations are connected.
    Connected,
    /// None is.
    NotConnected,
    /// Its token has expired, and cannot be refreshed.
    Expired,
    /// Its token has expired, and can be refreshed.
    Refreshable,
    /// Its scopes only allow to read.
    ReadOnly,
    /// It has hit its limit, or soon will.
    Limited,
    /// Its provider answers with errors.
    UpstreamDown,
    /// A second customer that is connected.
    Other,
}

impl Customer {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Connected,
        Self::NotConnected,
        Self::Expired,
        Self::Refreshable,
        Self::ReadOnly,
        Self::Limited,
        Self::UpstreamDown,
        Self::Other,
    ];

    /// The name in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connected => "connected",
            Self::NotConnected => "not_connected",
            Self::Expired => "expired",
            Self::Refreshable => "refreshable",
            Self::ReadOnly => "read_only",
            Self::Limited => "limited",
            Self::UpstreamDown => "upstream_down",
            Self::Other => "other",
        }
    }
}

/// `[hub.integrations]`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntegrationsTable {
    /// Behind the calendar tools.
    #[serde(default = "google_calendar")]
    pub calendar: String,
    /// Behind the mail tools.
    #[serde(default = "google_gmail")]
    pub email: String,
}

impl Default for IntegrationsTable {
    fn default() -> Self {
        Self { calendar: google_calendar(), email: google_gmail() }
    }
}

/// `[hub.fixtures]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixturesTable {
    /// An event that may be changed and deleted, for a stub that cannot make one.
    #[serde(default)]
    pub event_id: Option<String>,
    /// A message without attachments.
    #[serde(default)]
    pub message_id: Option<String>,
    /// A message with attachments.
    #[serde(default)]
    pub message_with_attachment_id: Option<String>,
    /// A thread with replies.
    #[serde(default)]
    pub thread_id: Option<String>,
    /// A thread without replies.
    #[serde(default)]
    pub thread_without_replies_id: Option<String>,
    /// A second thread with replies.
    #[serde(default)]
    pub other_thread_id: Option<String>,
    /// Who wrote three messages or more.
    #[serde(default)]
    pub sender: Option<String>,
    /// A word in the subject of a message.
    #[serde(default)]
    pub subject_word: Option<String>,
    /// Two addresses that the suite may write to and invite.
    #[serde(default)]
    pub people: Option<[String; 2]>,
}

/// `[hub.rate_limit]`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitTable {
    /// Calls that one customer may make.
    pub calls: u32,
    /// In so many seconds.
    pub window_seconds: f64,
}

/// `[hub.provider]`: the suite plays the calendar and mail provider.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProviderTable {
    /// Where it listens, for a Hub that runs already; a free port when absent.
    #[serde(default)]
    pub listen: Option<String>,
}

impl HubTable {
    /// Whether a Hub is described, and not only an agent.
    pub fn has_server(&self) -> bool {
        self.base_url.is_some() || self.launch.is_started()
    }

    /// The service secret, where it is in the manifest or in the environment.
    pub fn secret(&self) -> Option<String> {
        let named = || self.secret_env.as_ref().and_then(|name| std::env::var(name).ok());
        self.secret.clone().or_else(named).filter(|secret| !secret.is_empty())
    }
}

impl Section for HubTable {
    fn profiles(&self) -> Vec<&'static str> {
        let all = [("hub.server", self.has_server()), ("hub.agent", self.agent.is_some())];
        all.into_iter().filter(|(_, is_there)| *is_there).map(|(profile, _)| profile).collect()
    }

    fn secrets(&self, _: &Path) -> Vec<String> {
        let agent = self.agent.iter().flat_map(AgentTable::secrets);
        self.launch.secrets(&[]).cloned().chain(self.secret()).chain(agent).collect()
    }

    fn is_serial(&self) -> bool {
        self.serial
    }

    fn commands(&self, is_selected: &dyn Fn(&str) -> bool) -> Vec<Command<'_>> {
        let mut all = Vec::new();
        if is_selected("hub.server") {
            all.push(self.launch.command());
        }
        if let Some(own) = self.agent.as_ref().filter(|_| is_selected("hub.agent")) {
            all.extend([own.launch.command(), own.launch.command_of(own.drive.command.as_ref())]);
        }
        all
    }

    fn contradictions(&self, target: &TargetTable) -> Vec<String> {
        let mut faults: Vec<String> = self.agent.iter().flat_map(AgentTable::contradictions).collect();
        let Some(base) = self.base_url.as_deref().or(self.launch.start.as_ref().map(|_| "http://{listen}"))
        else {
            return faults;
        };
        if !self.launch.is_started() && base.contains("{listen}") {
            faults.push(
                "`hub.base_url` has `{listen}`, and there is no `hub.start` that listens there".to_owned(),
            );
        }
        if self.replicas.is_some() && !(self.launch.is_started() && base.contains("{listen}")) {
            faults.push(
                "`hub.replicas` needs `start`, and `{listen}` in `base_url` where that is set: each replica is reached at an \
                 address of its own"
                    .to_owned(),
            );
        }
        let has_secret = self.secret.is_some() || self.secret_env.is_some() || target.has_token();
        if !has_secret && !self.launch.is_started() {
            faults.push(
                "`hub` needs `secret_env` (or `secret`, or a token in `[target.http]`): a Hub that runs already has one"
                    .to_owned(),
            );
        }
        if self.provider.as_ref().is_some_and(|provider| provider.listen.is_none())
            && !self.launch.is_started()
        {
            faults.push("`hub.provider.listen` is needed for a Hub that runs already".to_owned());
        }
        let mut ids: Vec<&String> = self.customers.values().collect();
        ids.sort();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            faults.push("`hub.customers` names one customer twice".to_owned());
        }
        faults
    }
}

fn google_calendar() -> String {
    "google_calendar".to_owned()
}

fn google_gmail() -> String {
    "google_gmail".to_owned()
}
