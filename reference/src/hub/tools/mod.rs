//! The nine tools: what each needs of its inputs, which scopes it takes, and what it does.
//!
//! A tool reads its inputs completely before anything else happens, so that a wrong one has no effect.
//! Neighbours: `free_busy` is what two calendar tools share, `mail_shape` how the provider writes a mail.

mod availability;
mod check_replies;
mod events;
mod free_busy;
mod mail_read;
mod mail_search;
mod mail_send;
mod mail_shape;
mod optimal_times;
mod slots;
#[cfg(test)]
mod slots_tests;

use serde_json::Value;

use super::envelope::{Code, Refusal};
use super::inputs::Inputs;
use super::session::ProviderSession;
use crate::hub::record::Integration;

/// Scopes of which one is enough.
type OneOf = &'static [&'static str];

const SEE_CALENDAR: &[OneOf] = &[&["calendar.readonly", "calendar.freebusy", "calendar"]];
const CHANGE_CALENDAR: &[OneOf] = &[&["calendar.events", "calendar"]];
const MAILBOX: &str = "https://mail.google.com/";
const READ_MAIL: OneOf = &["gmail.readonly", "gmail.modify", MAILBOX];
const CHANGE_MAIL: OneOf = &["gmail.modify", MAILBOX];
const SEND_MAIL: OneOf = &["gmail.send", "gmail.compose", "gmail.modify", MAILBOX];

/// A tool with its inputs, ready to run.
pub(super) enum ToolRequest {
    Availability(availability::Question),
    CreateEvent(events::Creation),
    UpdateEvent(events::Update),
    DeleteEvent(events::Deletion),
    OptimalTimes(optimal_times::Question),
    Send(mail_send::Draft),
    Search(mail_search::Search),
    Read(mail_read::MailReading),
    CheckReplies(check_replies::Check),
}

impl ToolRequest {
    pub(super) fn read(tool: &str, inputs: &Inputs<'_>) -> Result<Self, Refusal> {
        Ok(match tool {
            "calendar_get_availability" => Self::Availability(availability::Question::read(inputs)?),
            "calendar_create_event" => Self::CreateEvent(events::Creation::read(inputs)?),
            "calendar_update_event" => Self::UpdateEvent(events::Update::read(inputs)?),
            "calendar_delete_event" => Self::DeleteEvent(events::Deletion::read(inputs)?),
            "calendar_find_optimal_times" => Self::OptimalTimes(optimal_times::Question::read(inputs)?),
            "email_send" => Self::Send(mail_send::Draft::read(inputs)?),
            "email_search" => Self::Search(mail_search::Search::read(inputs)?),
            "email_read" => Self::Read(mail_read::MailReading::read(inputs)?),
            "email_check_replies" => Self::CheckReplies(check_replies::Check::read(inputs)?),
            _ => return Err(Refusal::new(Code::ToolNotFound, "the Hub has no tool of this name")),
        })
    }

    pub(super) fn integration(&self) -> Integration {
        match self {
            Self::Availability(_)
            | Self::CreateEvent(_)
            | Self::UpdateEvent(_)
            | Self::DeleteEvent(_)
            | Self::OptimalTimes(_) => Integration::Calendar,
            Self::Send(_) | Self::Search(_) | Self::Read(_) | Self::CheckReplies(_) => Integration::Mail,
        }
    }

    /// One scope of each of these groups is needed.
    pub(super) fn scopes(&self) -> &'static [OneOf] {
        match self {
            Self::Availability(_) | Self::OptimalTimes(_) => SEE_CALENDAR,
            Self::CreateEvent(_) | Self::UpdateEvent(_) | Self::DeleteEvent(_) => CHANGE_CALENDAR,
            Self::Send(draft) if draft.is_reply() => &[SEND_MAIL, READ_MAIL],
            Self::Send(_) => &[SEND_MAIL],
            Self::Read(reading) if reading.marks() => &[CHANGE_MAIL],
            Self::Search(_) | Self::Read(_) | Self::CheckReplies(_) => &[READ_MAIL],
        }
    }

    pub(super) async fn run(&self, session: &ProviderSession) -> Result<Value, Refusal> {
        match self {
            Self::Availability(question) => question.answer(session).await,
            Self::CreateEvent(creation) => creation.make(session).await,
            Self::UpdateEvent(update) => update.make(session).await,
            Self::DeleteEvent(deletion) => deletion.make(session).await,
            Self::OptimalTimes(question) => question.answer(session).await,
            Self::Send(draft) => draft.send(session).await,
            Self::Search(search) => search.run(session).await,
            Self::Read(reading) => reading.run(session).await,
            Self::CheckReplies(check) => check.run(session).await,
        }
    }
}
