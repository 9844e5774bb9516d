//! Requests for turns: by what one is known when it comes again, and whether it asks for a turn that is there already.

use std::collections::BTreeSet;

use super::project::project;
use crate::families::utp::revision::{Revision, header};
use crate::transcript::{Frame, Kind};

/// By what a request is known when it comes again: the turn's id, which the caller of `v1r4` does not choose. There it is
/// the `correlation_id`, among those of one parent.
pub(super) fn key(start: &Frame, revision: Revision) -> Option<(&str, &str)> {
    match revision {
        Revision::V1r3 => Some(("", start.text("/agent_turn_id")?)),
        Revision::V1r4 => Some((parent(start), start.text("/correlation_id")?)),
    }
}

fn parent(start: &Frame) -> &str {
    let name = Revision::V1r4.header("parent_agent_turn_id").unwrap_or_default();
    header(&start.headers, name).unwrap_or_default()
}

/// How many turns are asked for. One that is asked for again is the same.
pub(super) fn count<'a>(starts: impl Iterator<Item = &'a Frame>, revision: Revision) -> usize {
    let keys: Vec<_> = starts.map(|start| key(start, revision)).collect();
    let named: BTreeSet<_> = keys.iter().flatten().collect();
    named.len() + keys.iter().filter(|key| key.is_none()).count()
}

/// The earlier request of the same project, for something else, by whose key the platform knows this one: it starts nothing.
pub(super) fn known_as<'a>(frames: &'a [Frame], start: &Frame, revision: Revision) -> Option<&'a Frame> {
    let own = key(start, revision)?;
    let is_other = |other: &Frame| {
        ["/agent_id", "/instruction"].into_iter().any(|member| other.text(member) != start.text(member))
    };
    let own_project = project(start);
    let before = frames.iter().take_while(|frame| frame.n < start.n).enumerate();
    before
        .filter(|(_, other)| other.kind == Kind::TurnStart && project(other) == own_project)
        .filter(|(_, other)| key(other, revision) == Some(own))
        .find(|(index, other)| is_other(other) && was_taken(&frames[*index..], other))
        .map(|(_, other)| other)
}

/// Whether the platform started the turn: what it refused it does not know.
fn was_taken(after: &[Frame], start: &Frame) -> bool {
    let answer = after.iter().find(|frame| matches!(frame.kind, Kind::TurnReply | Kind::Refused));
    answer.is_some_and(|answer| {
        answer.kind == Kind::TurnReply && answer.text("/agent_id") == start.text("/agent_id")
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::{Value, json};

    use super::*;

    fn frame(n: u32, kind: Kind, parent: &str, body: Value) -> Frame {
        let headers = BTreeMap::from([("cg-parent-turn-id".to_owned(), parent.to_owned())]);
        Frame { n, at_us: 0, direction: Direction::FromTarget, kind, channel: String::new(), headers, body }
    }

    fn start(n: u32, parent: &str, key: &str, instruction: &str) -> Frame {
        let body = json!({
            "agent_id": "ag_helper", "agent_turn_id": key, "correlation_id": key, "instruction": instruction,
        });
        frame(n, Kind::TurnStart, parent, body)
    }

    #[test]
    fn a_turn_for_something_else_is_known_by_its_key() {
        let taken = || frame(2, Kind::TurnReply, "", json!({"agent_id": "ag_helper"}));
        let refused = || frame(2, Kind::Refused, "", json!({}));
        let check = |answer: Frame, second: Frame, expect: [bool; 2]| {
            let frames = [start(1, "turn_1", "t1", "first"), answer, second.clone()];
            let is_known = |revision| known_as(&frames, &second, revision).is_some();
            assert_eq!(Revision::ALL.map(is_known), expect, "{second:?}");
        };
        check(taken(), start(3, "turn_1", "t1", "second"), [true, true]);
        check(taken(), start(3, "turn_1", "t2", "second"), [false, false]);
        // In `v1r4` a key is one of its parent.
        check(taken(), start(3, "turn_2", "t1", "second"), [true, false]);
        // The same is asked for again.
        check(taken(), start(3, "turn_1", "t1", "first"), [false, false]);
        // In another project it is another turn.
        let mut elsewhere = start(3, "turn_1", "t1", "second");
        "l0.v1.other.public.turns.start".clone_into(&mut elsewhere.channel);
        check(taken(), elsewhere, [false, false]);
        // What was refused is not there.
        check(refused(), start(3, "turn_1", "t1", "second"), [false, false]);
    }

    #[test]
    fn a_turn_that_is_asked_for_again_counts_once() {
        let starts =
            [start(1, "turn_1", "t1", "a"), start(2, "turn_1", "t1", "a"), start(3, "turn_1", "t2", "a")];
        assert_eq!(count(starts.iter(), Revision::V1r3), 2);
        let mut bare = start(4, "turn_1", "", "a");
        bare.body = json!({"agent_id": "ag_helper", "instruction": "a"});
        assert_eq!(
            count([&bare, &bare].into_iter(), Revision::V1r4),
            2,
            "the platform makes up an id for each"
        );
    }
}
