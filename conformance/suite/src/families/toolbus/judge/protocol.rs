//! What MCP itself asks of every exchange since it has no sessions (revision 2026-07-28), beside the tool bus.

mod refusal;
mod result;
mod unsolicited;

use serde_json::Value;

use super::Reply;
use super::reply::unanswered;
use crate::engine::judge::CheckFailure;
use crate::families::toolbus::answer::{self, Answer};
use crate::families::toolbus::wire_format::HTTP_STATUS;
use crate::net::wire::STATUS;
use crate::transcript::{Frame, shorten};

pub use self::refusal::{
    has_no_code_of_servers, has_no_reserved_code, has_status, is_an_error, is_an_error_or_legacy,
    is_not_refused_for_its_headers, is_refused, is_refused_or_legacy, is_refused_unless_served,
    names_the_versions,
};
pub use self::result::{
    discovers, has_its_result_type, lists_the_same, names_its_server, names_only_versions_of_mcp,
    says_how_long_it_holds, says_who_may_share_it,
};
pub use self::unsolicited::{
    asks_nothing, asks_only_for_what_is_declared, logs_nothing_unasked, names_no_session,
    writes_only_messages,
};

/// The HTTP status of an answer; nothing over standard input and output.
fn status(frame: &Frame) -> Option<&str> {
    frame.headers.get(HTTP_STATUS).or_else(|| frame.headers.get(STATUS)).map(String::as_str)
}

/// Whether the answer came over HTTP.
pub fn is_over_http(reply: &Reply<'_>) -> bool {
    answer::frame(reply.frames, reply.made.id).and_then(status).is_some()
}

/// A member of the answer to a request, which must have come.
fn member<'a>(reply: &'a Reply<'_>, pointer: &str) -> Result<Option<&'a Value>, CheckFailure> {
    match answer::frame(reply.frames, reply.made.id) {
        Some(frame) if !matches!(*reply.answer, Answer::Closed(_)) => Ok(frame.member(pointer)),
        _ => Err(unanswered(reply, &reply.answer)),
    }
}

/// What stands in place of a member, for a finding.
fn shown(value: Option<&Value>) -> Value {
    value.map_or_else(|| Value::from("absent"), shorten)
}
