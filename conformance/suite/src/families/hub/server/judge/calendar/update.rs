//! What the busy times show of an event that was just changed (Tool Execution Contract L112-113, L156-164).

use jiff::Timestamp;
use serde_json::Value;

use super::covering;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::judge::envelope;
use crate::families::hub::server::judge::shape::moment;
use crate::families::hub::server::reply::Reply;

/// An event whose start and end were changed at once, and that is listed with one of the new times, has the other as well.
/// It may still be listed with the times that it had before, `old`, or not at all.
pub fn has_both_new_times(update: &Reply<'_>, listed: &Reply<'_>, old: [&str; 2]) -> Judgement {
    if !update.is_executed() {
        let message = format!("the update is not carried out: {}", update.summary());
        return Err(CheckFailure::NotObserved(message));
    }
    let new = |name: &str| update.request.text(&format!("/inputs/updates/{name}"));
    let (Some(from), Some(to)) = (new("start"), new("end")) else { return Ok(()) };
    let (Some(start), Some(end)) = (moment(from), moment(to)) else { return Ok(()) };
    if covering(listed, start, end)?.is_some() {
        return Ok(());
    }
    let items = envelope::items(listed, "busy_periods")?;
    let is_as_before = |item: &Value| times(item) == old.map(moment);
    let has_one = |item: &Value| {
        let [own_start, own_end] = times(item);
        own_start == Some(start) || own_end == Some(end)
    };
    let half = items.iter().position(has_one).filter(|_| !items.iter().any(is_as_before));
    let Some(index) = half else { return Err(Alternative::ListsUpdatesLate.seen_in(listed.answer)) };
    Err(listed
        .finding(
            "an event has only one of the two times that an update gives it",
            "take both `start` and `end` from `updates`; an event need not last as long as it did before",
        )
        .expected(format!("{from} to {to}"))
        .actual(items.get(index))
        .at(format!("/result/busy_periods/{index}"))
        .frame(update.request)
        .into())
}

/// Start and end of a busy period.
fn times(item: &Value) -> [Option<Timestamp>; 2] {
    ["start", "end"].map(|name| moment(item.get(name)?.as_str()?))
}
