//! What a target has others do, and where its command stands: the frames that the judgements of built-ins look at.

use callmark_reports::record::Direction;

use crate::families::utp::call::Call;
use crate::families::utp::message;
use crate::families::utp::revision::Revision;
use crate::transcript::{Frame, Kind};

/// What the target has others do.
pub(super) fn effects(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|frame| {
        let commands_agent = frame.token(4) == Some("cmd") && frame.token(5) == Some("agent");
        frame.direction == Direction::FromTarget
            && match frame.kind {
                Kind::TurnStart | Kind::RosterSave => true,
                Kind::Bus | Kind::Wakeup => commands_agent,
                _ => false,
            }
    })
}

/// Where the command under test stands; it need not have an id.
pub(super) fn sent(frames: &[Frame], call: &Call) -> usize {
    let (headers, payload) = call.encoded();
    let has_headers = call.revision == Revision::V1r4;
    let is_it = |frame: &Frame| {
        frame.kind == Kind::Command
            && frame.body.as_object() == Some(&payload)
            && (!has_headers || frame.headers == headers)
    };
    frames.iter().position(is_it).unwrap_or(frames.len())
}

/// The turns that a call has started, each with the request for it.
pub(super) fn own_starts<'a>(
    frames: &'a [Frame],
    call: &Call,
) -> impl Iterator<Item = (&'a Frame, Option<&'a str>)> {
    let (token, revision) = (call.token.clone(), call.revision);
    frames.iter().enumerate().filter_map(move |(index, start)| {
        let own = start.kind == Kind::TurnStart && message::mentions(&start.body, &token);
        let is_reply = |frame: &&Frame| {
            frame.kind == Kind::TurnReply
                && (revision == Revision::V1r3 || frame.text("/agent_id") == start.text("/agent_id"))
        };
        let reply = || frames[index..].iter().find(is_reply)?.text("/agent_turn_id");
        let named = start.text("/agent_turn_id").filter(|_| revision == Revision::V1r3);
        own.then(|| (start, named.or_else(reply)))
    })
}
