//! Judgements about a runtime: pure functions over the frames of a scenario.

pub mod arguments;
pub mod command;
pub mod header;
pub mod inbox;
pub mod refusal;
pub mod report;
pub mod turn;
pub mod wakeup;

use crate::engine::judge::{CheckFailure, Finding};
use crate::families::utp::revision::Revision;
use crate::transcript::Frame;

use super::seen;
use super::view::View;

/// The command of the call.
pub fn command<'a>(frames: &'a [Frame], view: View<'_>) -> Result<&'a Frame, CheckFailure> {
    seen::command(frames, view.project, view.turn, view.call)
        .ok_or_else(|| CheckFailure::NotObserved("no command came for the call".to_owned()))
}

/// Adds a frame where there is one.
fn with(finding: Finding, frame: Option<&Frame>) -> Finding {
    match frame {
        Some(frame) => finding.frame(frame),
        None => finding,
    }
}

/// A command's member has a value that is not that of its call.
fn meaningless(frame: &Frame, member: &str, revision: Revision) -> Finding {
    Finding::new(
        format!("the command's `{member}` is not that of the call"),
        format!("take `{member}` from the turn that makes the call, and from its tool.call card"),
    )
    .actual(revision.sent_value(frame, member).as_ref())
    .at(revision.header(member).map_or_else(|| format!("/{member}"), |name| format!("header {name}")))
    .frame(frame)
}
