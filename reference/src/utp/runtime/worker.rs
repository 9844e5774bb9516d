//! A turn, and what all turns of a runtime share.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Client;
use tokio::sync::watch;

use super::mail::Mail;
use super::model::Model;
use super::turns::Waiting;
use crate::log::Log;
use crate::utp::platform::Platform;
use crate::utp::revision::Revision;
use crate::utp::revision::headers::whole_number;
use crate::utp::subject::{ChannelId, ProjectId};
use crate::utp::trace::TraceHeaders;

/// What a turn is about and where it takes place.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    /// In which it was asked for, and in which its end is published.
    pub(super) revision: Revision,
    pub(super) project: ProjectId,
    pub(super) channel: ChannelId,
    pub(super) agent_id: String,
    pub(super) agent_turn_id: String,
    pub(super) instruction: String,
    pub(super) context_box_id: Option<String>,
    /// The step that asked for the turn; every step of the turn is its child.
    pub(super) parent_step_id: String,
    /// Where the turn's trace is at the moment; what is sent next is a child of it.
    pub(super) headers: TraceHeaders,
}

impl Turn {
    /// Project and channel.
    pub(super) fn place(&self) -> (&str, &str) {
        (self.project.as_str(), self.channel.as_str())
    }

    /// How deeply its calls are nested.
    pub(super) fn depth(&self) -> u64 {
        self.headers.recursion_depth.as_deref().and_then(whole_number).unwrap_or_default()
    }
}

/// What all turns of a runtime share.
pub(super) struct Worker {
    pub(super) client: Client,
    pub(super) platform: Arc<dyn Platform>,
    pub(super) mail: Mail,
    pub(super) model: Model,
    pub(super) waiting: Arc<Waiting>,
    /// For a call whose row does not say how long it may take.
    pub(super) call_deadline: Duration,
    /// For all attempts of one platform operation together.
    pub(super) delivery_deadline: Duration,
    pub(super) closing: watch::Receiver<bool>,
    pub(super) log: Log,
}
