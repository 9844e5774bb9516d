//! Judgements over what an agent did, one module a subject.
//!
//! They take frames and the call that was made, and answer `Ok` or what is wrong. `request`, `inputs` and `status`
//! look at one request and serve the mock Hub too.

pub mod inputs;
pub mod outcome;
pub mod request;
pub mod status;
pub mod traffic;
pub mod values;
mod words;

use self::request::Route;
use super::call::Call;
use crate::engine::judge::{CheckFailure, Finding};
use crate::net::wire;
use crate::transcript::{Frame, Kind};

/// Header of an outcome that says how the agent was driven.
pub const DRIVEN_BY: &str = "driven-by";
/// Its value where the suite played the model.
pub const CHAT: &str = "chat";
/// In place of a status where no answer came.
pub const LOST: &str = "lost";

/// A call that the agent was asked to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// The call.
    pub call: Call,
    /// The customer for whom it was made.
    pub customer_id: String,
    /// Its number in the scenario, from 1; frames name it in the header `call`.
    pub number: u32,
}

/// A call and everything that was seen.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord<'a> {
    /// The call.
    pub made: &'a Made,
    /// All messages of the scenario.
    pub frames: &'a [Frame],
}

impl<'a> CallRecord<'a> {
    /// Frames of the call, of one kind.
    pub fn own(&self, kind: Kind) -> impl Iterator<Item = &'a Frame> + use<'a> {
        let number = self.made.number.to_string();
        self.frames
            .iter()
            .filter(move |frame| frame.kind == kind && frame.headers.get(wire::CALL) == Some(&number))
    }

    /// What the Hub answered to the requests to execute something, in order.
    pub fn answers(&self) -> impl Iterator<Item = &'a Frame> + use<'a> {
        self.own(Kind::HubResponse).filter(|frame| Route::of(frame) == Route::Execute)
    }

    /// What the agent asked the Hub to execute while the call was made.
    pub fn executions(&self) -> Vec<&'a Frame> {
        self.own(Kind::HubRequest).filter(|frame| Route::of(frame) == Route::Execute).collect()
    }

    /// The same, for rules that are about such a request.
    ///
    /// # Errors
    /// Not observed where there was none: that no request comes breaks rules of their own.
    pub fn requests(&self) -> Result<Vec<&'a Frame>, CheckFailure> {
        let executions = self.executions();
        if executions.is_empty() {
            let message = format!("the agent sent no execute request for `{}`", self.tool());
            return Err(CheckFailure::NotObserved(message));
        }
        Ok(executions)
    }

    /// The tool's name.
    pub fn tool(&self) -> &'a str {
        &self.made.call.tool
    }

    /// What the hook or the chat answered, in a sentence.
    pub fn summary(&self) -> String {
        let Some(frame) = self.own(Kind::Outcome).last() else { return "no answer came".to_owned() };
        let party = if frame.headers.contains_key(DRIVEN_BY) { "chat" } else { "hook" };
        let reply = frame.body.get("reply");
        let status = frame.headers.get(wire::STATUS).filter(|status| *status != LOST);
        if status.is_none() && party == "hook" && frame.headers.contains_key(wire::STATUS) {
            // How long was waited differs from run to run.
            return format!("the {party} gave no answer");
        }
        let body = reply.filter(|_| party == "chat").unwrap_or(&frame.body);
        let text = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
        let text = if text.is_empty() { "an empty body".to_owned() } else { format!("`{text}`") };
        format!(
            "the {party} answered{}: {text}",
            status.map(|status| format!(" {status}")).unwrap_or_default()
        )
    }

    /// A finding with what the agent was sent and what it reported.
    pub fn finding(&self, message: impl Into<String>, hint: impl Into<String>) -> Finding {
        let frames = self
            .own(Kind::Drive)
            .chain(self.own(Kind::HubRequest))
            .chain(self.own(Kind::HubResponse))
            .chain(self.own(Kind::Outcome));
        let finding = frames.fold(Finding::new(message, hint), Finding::frame);
        match self.own(Kind::Drive).next() {
            Some(drive) => finding.about(drive),
            None => finding,
        }
    }
}

#[cfg(test)]
pub(super) fn request_frame(body: serde_json::Value) -> Frame {
    Frame {
        n: 1,
        at_us: 0,
        direction: callmark_reports::record::Direction::FromTarget,
        kind: Kind::HubRequest,
        channel: format!("POST {}", crate::families::hub::contract::EXECUTE),
        headers: std::collections::BTreeMap::new(),
        body,
    }
}
