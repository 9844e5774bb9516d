//! What the calendar tools answer.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::hub::contract;
use crate::families::hub::server::judge::envelope::Empty;
use crate::families::hub::server::judge::{calendar, choice};
use crate::families::hub::server::world::World;

/// An event that is in the suite's calendar from the beginning.
const DENTIST: [&str; 2] = ["2031-03-05T11:00:00+01:00", "2031-03-05T11:45:00+01:00"];

/// When the event before it ended.
const BEFORE: &str = "2031-03-04T10:00:00+01:00";

vocabulary! {
    /// A property of the busy periods.
    enum FreeBusyPredicate "busy" {
        "start before they end" => Ordered,
        "overlap the range" => Overlap,
        "are in the time zone asked for" => Zone,
        "list what the calendar holds" => Complete,
    }
}

vocabulary! {
    /// A property of the suggestions.
    enum SuggestionPredicate "suggested" {
        "last as long as asked for" => Duration,
        "lie in the range of dates" => Range,
        "have scores of at most 1" => Scores,
        "have conflicts of attendees" => Conflicts,
        "avoid Mondays" => NoMondays,
        "keep the preferred hours" => Hours,
    }
}

#[then(expr = "the busy periods {busy}")]
fn busy(world: &mut World, property: FreeBusyPredicate) -> Step {
    let empty = Empty::at(world.session()?.table.stub);
    world.judge_each_reply(move |reply| match property {
        FreeBusyPredicate::Ordered => calendar::are_periods(reply, empty),
        FreeBusyPredicate::Overlap => calendar::overlap_the_range(reply, empty),
        FreeBusyPredicate::Zone => calendar::are_in_the_zone(reply, empty),
        // What the suite's calendar holds in the range of every availability request.
        FreeBusyPredicate::Complete => {
            let [start, end] = DENTIST;
            calendar::lists(reply, start, end, BEFORE)
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

#[then("what the calendar holds is listed, if the Hub takes such a range")]
fn is_listed_within(world: &mut World) -> Step {
    world.judge_reply(|reply| choice::lists_within(reply, DENTIST, BEFORE))
}

#[then("the event has both new times, where it is listed with one of them")]
fn has_new_times(world: &mut World) -> Step {
    let old = contract::times_of_event(&world.scene()?.subjects.day);
    world
        .judge_pair(|update, listed| calendar::has_both_new_times(update, listed, [old[0].as_str(), &old[1]]))
}

#[then("no busy period is of the primary calendar")]
fn none_of_the_primary(world: &mut World) -> Step {
    world.judge_reply(choice::is_not_of_the_primary)
}

#[then("both answers list the busy times of the primary calendar")]
fn primary(world: &mut World) -> Step {
    let times = contract::times_of_event(&world.scene()?.subjects.day);
    world.judge_pair(|with, without| {
        calendar::default_to_primary(with, without, [times[0].as_str(), &times[1]])
    })
}

#[then("everybody who was invited is listed")]
fn lists_invited(world: &mut World) -> Step {
    world.judge_each_reply(calendar::lists_the_invited)
}

#[then("the event is confirmed")]
fn confirmed(world: &mut World) -> Step {
    world.judge_each_reply(|reply| calendar::has_status(reply, "confirmed", true))
}

#[then(expr = "the suggestions {suggested}")]
fn suggested(world: &mut World, property: SuggestionPredicate) -> Step {
    let empty = Empty::at(world.session()?.table.stub);
    world.judge_each_reply(move |reply| match property {
        SuggestionPredicate::Duration => calendar::last_as_asked(reply),
        SuggestionPredicate::Range => calendar::lie_in_the_range(reply),
        SuggestionPredicate::Scores => calendar::have_scores_up_to_one(reply, empty),
        SuggestionPredicate::Conflicts => calendar::have_conflicts_of_attendees(reply),
        SuggestionPredicate::NoMondays => calendar::avoid_mondays(reply),
        SuggestionPredicate::Hours => calendar::keep_preferred_hours(reply),
    })
}

#[then("only the first customer has the event")]
fn event_of_the_first(world: &mut World) -> Step {
    let times = contract::times_of_event(&world.scene()?.subjects.day);
    world.judge_pair(|first, other| calendar::is_of_the_first(first, other, [times[0].as_str(), &times[1]]))
}
