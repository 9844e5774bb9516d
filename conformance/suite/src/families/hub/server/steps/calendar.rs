//! What the calendar tools answer.

use std::str::FromStr;

use cucumber::{Parameter, then};

use crate::engine::world::Step;
use crate::families::hub::contract;
use crate::families::hub::server::judge::calendar;
use crate::families::hub::server::judge::envelope::Empty;
use crate::families::hub::server::world::World;

/// A property of the busy periods.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "busy",
    regex = "start before they end|overlap the range|are in the time zone asked for|list what the calendar holds"
)]
enum FreeBusyPredicate {
    Ordered,
    Overlap,
    Zone,
    Complete,
}

impl FromStr for FreeBusyPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "start before they end" => Self::Ordered,
            "overlap the range" => Self::Overlap,
            "are in the time zone asked for" => Self::Zone,
            "list what the calendar holds" => Self::Complete,
            other => return Err(format!("`{other}` is no property of busy periods")),
        })
    }
}

/// A property of the suggestions.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "suggested",
    regex = "last as long as asked for|lie in the range of dates|have scores of at most 1|have conflicts of attendees|avoid Mondays|keep the preferred hours"
)]
enum SuggestionPredicate {
    Duration,
    Range,
    Scores,
    Conflicts,
    NoMondays,
    Hours,
}

impl FromStr for SuggestionPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "last as long as asked for" => Self::Duration,
            "lie in the range of dates" => Self::Range,
            "have scores of at most 1" => Self::Scores,
            "have conflicts of attendees" => Self::Conflicts,
            "avoid Mondays" => Self::NoMondays,
            "keep the preferred hours" => Self::Hours,
            other => return Err(format!("`{other}` is no property of suggestions")),
        })
    }
}

#[then(expr = "the busy periods {busy}")]
fn busy(world: &mut World, property: FreeBusyPredicate) -> Step {
    let empty = Empty::at(world.session()?.table.stub);
    world.judge_reply(|reply| match property {
        FreeBusyPredicate::Ordered => calendar::are_periods(reply, empty),
        FreeBusyPredicate::Overlap => calendar::overlap_the_range(reply, empty),
        FreeBusyPredicate::Zone => calendar::are_in_the_zone(reply, empty),
        // What the suite's calendar holds in the range of every availability request.
        FreeBusyPredicate::Complete => {
            let [start, end] = ["2031-03-05T11:00:00+01:00", "2031-03-05T11:45:00+01:00"];
            calendar::lists(reply, start, end, "2031-03-04T10:00:00+01:00")
        }
    })
}

/// A stub need not know what was made.
#[then(regex = "^the event is (among them|listed)$")]
fn event_is_listed(world: &mut World, how: String) -> Step {
    if world.session()?.table.stub {
        return Ok(());
    }
    let times = contract::times_of_event(&world.scene()?.subjects.day);
    world.judge_replies(|replies| {
        let times = [times[0].as_str(), &times[1]];
        replies.iter().try_for_each(|reply| match how.as_str() {
            "listed" => calendar::lists_the_event(reply, times),
            _ => calendar::has_the_event(reply, times),
        })
    })
}

#[then("both answers list the busy times of the primary calendar")]
fn primary(world: &mut World) -> Step {
    world.judge_pair(calendar::default_to_primary)
}

#[then("everybody who was invited is listed")]
fn lists_invited(world: &mut World) -> Step {
    world.judge_reply(calendar::lists_the_invited)
}

#[then("the event is confirmed")]
fn confirmed(world: &mut World) -> Step {
    world.judge_reply(|reply| calendar::has_status(reply, "confirmed", true))
}

#[then(expr = "the suggestions {suggested}")]
fn suggested(world: &mut World, property: SuggestionPredicate) -> Step {
    let empty = Empty::at(world.session()?.table.stub);
    world.judge_reply(|reply| match property {
        SuggestionPredicate::Duration => calendar::last_as_asked(reply),
        SuggestionPredicate::Range => calendar::lie_in_the_range(reply),
        SuggestionPredicate::Scores => calendar::have_scores_up_to_one(reply, empty),
        SuggestionPredicate::Conflicts => calendar::have_conflicts_of_attendees(reply),
        SuggestionPredicate::NoMondays => calendar::avoid_mondays(reply),
        SuggestionPredicate::Hours => calendar::keep_preferred_hours(reply),
    })
}
