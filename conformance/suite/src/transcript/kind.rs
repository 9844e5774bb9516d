//! What messages there are.

use serde::{Deserialize, Serialize};

use super::bounds;

/// Bytes of a document that are kept.
pub(super) const DOCUMENT: usize = 1024 * 1024;

/// What a message is, whatever it travelled on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Worker to Tool Service.
    Command,
    /// The target asks the card store.
    CardsGet,
    /// The card store answers.
    CardsReply,
    /// The target saves a card.
    CardSave,
    /// The target asks for a `resource.tools` row.
    ToolsGet,
    /// The row.
    ToolsReply,
    /// The target reports a callback.
    Report,
    /// `cmd.agent.<target>.wakeup`, ours or the target's.
    Wakeup,
    /// An attempt to write `state.*`.
    StateWrite,
    /// A request to the platform that it does not know or cannot read.
    Unknown,
    /// The platform refuses a request.
    Refused,
    /// Anything else on the bus.
    Bus,
    /// A JSON-RPC request of the client.
    Request,
    /// The answer to a request.
    Response,
    /// A file of the artifact store.
    Artifact,
    /// The server ended, and a request stays unanswered.
    Closed,
    /// A request to a Hub: of the suite to the Hub under test, or of the agent under test to the suite's.
    HubRequest,
    /// A Hub's answer.
    HubResponse,
    /// A request of a Hub or an agent under test to the calendar and mail provider.
    Provider,
    /// The suite asks an agent under test to call a tool.
    Drive,
    /// What came of it.
    Outcome,
    /// An agent under test reads a web page, or searches.
    Web,
    /// An agent or a worker under test asks the model.
    Model,
    /// The model answers.
    ModelReply,
    /// All `resource.tools` rows of a project are asked for.
    ToolsList,
    /// A roster row is asked for.
    RosterGet,
    /// A roster row is saved.
    RosterSave,
    /// A turn of an agent is asked for: by a PMO under test, or of a runtime under test.
    TurnStart,
    /// The answer to it.
    TurnReply,
    /// An agent's turn is over (`evt.agent.<agent_id>.task`).
    Task,
    /// An execution service under test answers a report.
    ReportReply,
    /// The suite asks for the records of an Inbox.
    InboxList,
    /// The records of an Inbox, one message each.
    InboxRecord,
    /// A request to a management API under test.
    RegistryRequest,
    /// Its answer.
    RegistryResponse,
    /// A request of an executor under test to an upstream host.
    Upstream,
    /// What the upstream answers.
    UpstreamReply,
    /// A line of a target's log.
    Log,
    /// A breadcrumb of the suite: an invocation, a user's message, an answer of a tool.
    Put,
    /// A breadcrumb of the target.
    Crumb,
    /// The target changes a breadcrumb.
    CrumbChange,
    /// The target reads the breadcrumb store, or asks it for a secret.
    StoreRead,
    /// What the store holds, as the suite looked it up.
    Stored,
    /// What an agent under test says, word for word.
    Said,
}

impl Kind {
    /// The party that the suite plays at the other end.
    pub fn party(self) -> &'static str {
        match self {
            Self::Command => "worker",
            Self::CardsGet | Self::CardsReply | Self::CardSave => "card store",
            Self::ToolsGet | Self::ToolsReply | Self::ToolsList => "tool registry",
            Self::Report | Self::ReportReply => "report",
            Self::Wakeup => "L0",
            Self::StateWrite => "state",
            Self::Unknown | Self::Refused => "platform",
            Self::Bus => "bus",
            Self::Request | Self::Response => "MCP client",
            Self::Closed => "connection",
            Self::Artifact => "artifact store",
            Self::HubRequest | Self::HubResponse => "Hub contract",
            Self::Provider => "provider",
            Self::Drive | Self::Outcome | Self::Said => "driver",
            Self::Web => "web",
            Self::Model | Self::ModelReply => "model",
            Self::RosterGet | Self::RosterSave => "roster",
            Self::TurnStart | Self::TurnReply | Self::Task => "turns",
            Self::InboxList | Self::InboxRecord => "Inbox",
            Self::RegistryRequest | Self::RegistryResponse => "management API",
            Self::Upstream | Self::UpstreamReply => "upstream",
            Self::Log => "log",
            Self::Put | Self::Crumb | Self::CrumbChange | Self::StoreRead | Self::Stored => {
                "breadcrumb store"
            }
        }
    }
}

impl Kind {
    /// Whether it is read as a document of its own, and must stay one.
    pub(super) fn is_document(self) -> bool {
        matches!(
            self,
            Self::Response
                | Self::Artifact
                | Self::HubResponse
                | Self::RegistryResponse
                | Self::Crumb
                | Self::Said
        )
    }

    /// Bytes of one message that are kept.
    pub(super) fn budget(self) -> usize {
        if self.is_document() { DOCUMENT } else { bounds::MESSAGE }
    }
}
