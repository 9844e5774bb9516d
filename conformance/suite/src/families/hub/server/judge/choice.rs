//! What an agent may choose beyond what the contract shows: other calendars, long ranges, further members of an event.
//! A Hub may refuse these; what it takes has to count.

use serde_json::Value;

use super::calendar;
use super::envelope;
use crate::engine::judge::Judgement;
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::reply::Reply;

/// That the Hub takes what was asked for.
///
/// # Errors
/// The way that it takes where it refuses it.
pub fn is_taken(reply: &Reply<'_>, otherwise: Alternative) -> Judgement {
    let is_refused = reply.status().is_some_and(|status| (400..500).contains(&status));
    if is_refused && !reply.is_executed() { Err(otherwise.seen_in(reply.answer)) } else { Ok(()) }
}

/// Where another calendar is named, no busy period is of the primary one.
pub fn is_not_of_the_primary(reply: &Reply<'_>) -> Judgement {
    is_taken(reply, Alternative::RefusesRange)?;
    let items = envelope::items(reply, "busy_periods")?;
    let is_primary = |item: &Value| item.get("calendar").is_some_and(|name| name == "primary");
    let Some(index) = items.iter().position(is_primary) else { return Ok(()) };
    let pointer = format!("/result/busy_periods/{index}");
    Err(reply
        .finding(
            "a busy period is of the calendar `primary`, which `calendars` does not name",
            "look at the calendars that `calendars` names",
        )
        .expected("a calendar that was asked for")
        .actual(items.get(index))
        .at(pointer)
        .into())
}

/// What is in the calendar is listed, in a range that a Hub may find too long.
pub fn lists_within(reply: &Reply<'_>, [from, to]: [&str; 2], apart: &str) -> Judgement {
    is_taken(reply, Alternative::RefusesRange)?;
    calendar::lists(reply, from, to, apart)
}
