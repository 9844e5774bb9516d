//! The operations of the platform, as both bindings carry them (`docs/bindings.md`).

use serde_json::{Value, json};

use crate::utp::message::{Report, RosterRow, TurnRequest};
use crate::utp::revision::Headers;
use crate::utp::subject::ChannelId;

/// One operation with what it carries beside the project.
#[derive(Debug, Clone, Copy)]
#[expect(missing_docs, reason = "named after the operations of the bindings")]
pub enum PlatformRequest<'a> {
    CardsGet { card_ids: &'a [String] },
    CardsSave { card: &'a Value },
    ToolsGet { tool_name: &'a str },
    ToolsList,
    RosterGet { agent_id: &'a str },
    RosterSave { row: &'a RosterRow },
    InboxList { agent_id: &'a str },
    Report { channel: &'a ChannelId, report: &'a Report, headers: &'a Headers },
    TurnsStart { channel: &'a ChannelId, turn: &'a TurnRequest, headers: &'a Headers },
}

impl<'a> PlatformRequest<'a> {
    /// The operation's name, also the end of its subject.
    pub fn name(&self) -> &'static str {
        match self {
            Self::CardsGet { .. } => "cards.get",
            Self::CardsSave { .. } => "cards.save",
            Self::ToolsGet { .. } => "tools.get",
            Self::ToolsList => "tools.list",
            Self::RosterGet { .. } => "roster.get",
            Self::RosterSave { .. } => "roster.save",
            Self::InboxList { .. } => "inbox.list",
            Self::Report { .. } => "report",
            Self::TurnsStart { .. } => "turns.start",
        }
    }

    /// The request's body over NATS; over HTTP the path says what a `GET` is about.
    pub(super) fn body(&self) -> Value {
        match self {
            Self::CardsGet { card_ids } => json!({"card_ids": card_ids}),
            Self::CardsSave { card } => json!({"card": card}),
            Self::ToolsGet { tool_name } => json!({"tool_name": tool_name}),
            Self::ToolsList => json!({}),
            Self::RosterGet { agent_id } | Self::InboxList { agent_id } => json!({"agent_id": agent_id}),
            Self::RosterSave { row } => json!({"agent": row}),
            Self::Report { report, .. } => json!(report),
            Self::TurnsStart { turn, .. } => json!(turn),
        }
    }

    /// The channel and the headers of an operation that has them.
    pub(super) fn routing(&self) -> Option<(&'a ChannelId, &'a Headers)> {
        match self {
            Self::Report { channel, headers, .. } | Self::TurnsStart { channel, headers, .. } => {
                Some((channel, headers))
            }
            _ => None,
        }
    }
}
