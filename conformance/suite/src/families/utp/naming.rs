//! What a UTP target makes up differs from run to run; in reports a name stands for it.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::Direction;
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::judge::{children, seen};
use super::revision::Revision;
use crate::engine::judge::Finding;
use crate::engine::naming::Naming;
use crate::transcript::{Frame, Kind};

/// Hexadecimal digits in a row that make a text an id which a target minted.
const MINTED: usize = 16;

/// Names for it.
#[derive(Debug)]
pub(crate) struct UtpNaming;

impl Naming for UtpNaming {
    fn whole_ids(&self, finding: &Finding, frames: &[Frame], shown: &[&Frame]) -> BTreeMap<String, String> {
        named(finding, frames, shown)
    }

    fn ids_of_exchange(&self, shown: &[&Frame], is_named: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
        target_generated_ids(shown, is_named)
    }
}

/// Ids that the target gave to its cards, to the turns that it was asked for, and to the turns and agents that it made, in
/// the order in which the evidence shows them.
fn named(finding: &Finding, frames: &[Frame], shown: &[&Frame]) -> BTreeMap<String, String> {
    let saved = seen::saved_cards(frames).filter_map(|(_, card)| card.get("card_id"));
    let pointed = frames.iter().filter_map(|frame| frame.body.pointer("/payload/tool_result_card_id"));
    let known = |id: &&str| id.len() >= 4;
    let cards: BTreeSet<&str> = saved.chain(pointed).filter_map(Value::as_str).filter(known).collect();
    let children: BTreeSet<&str> = children::target_generated_ids(frames).filter(known).collect();
    let turns: BTreeSet<&str> = turns(frames).filter(known).collect();
    let (mut names, mut counts) = (BTreeMap::new(), [0, 0, 0]);
    let mut meet = |text: &str| {
        let kinds = [("card", &cards), ("child", &children), ("turn", &turns)];
        let Some(kind) = kinds.iter().position(|(_, minted)| minted.contains(text)) else { return };
        if !names.contains_key(text) {
            counts[kind] += 1;
            names.insert(text.to_owned(), format!("<{} {}>", kinds[kind].0, counts[kind]));
        }
    };
    for frame in shown {
        frame.channel.split('/').for_each(|segment| meet(&percent_decode_str(segment).decode_utf8_lossy()));
        strings(&frame.body, &mut meet);
        // In `v1r4` ids are in headers.
        frame.headers.values().for_each(|value| meet(value));
    }
    for value in finding.expected.iter().chain(&finding.actual) {
        strings(value, &mut meet);
    }
    names
}

/// Ids of turns that the target chose, where who asked for the turn did not.
fn turns(frames: &[Frame]) -> impl Iterator<Item = &str> {
    let of = |kind: Kind, direction: Direction| {
        let own = frames.iter().filter(move |frame| frame.kind == kind && frame.direction == direction);
        own.filter_map(|frame| frame.text("/agent_turn_id"))
    };
    let requested: BTreeSet<&str> = of(Kind::TurnStart, Direction::ToTarget).collect();
    of(Kind::TurnReply, Direction::FromTarget).filter(move |id| !requested.contains(id))
}

/// Every string in a value, in order.
fn strings(value: &Value, meet: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => meet(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, meet)),
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            meet(name);
            strings(member, meet);
        }),
        _ => {}
    }
}

/// Ids that came up in the target's messages first and have no name yet, by the names of their members: `step_id` gives
/// `<step 1>`.
fn target_generated_ids(shown: &[&Frame], is_named: &dyn Fn(&str) -> bool) -> BTreeMap<String, String> {
    let (mut ours, mut names) = (BTreeSet::new(), BTreeMap::new());
    let mut counts = BTreeMap::<String, u32>::new();
    for frame in shown {
        let mut meet = |member: &str, text: &str| {
            if frame.direction != Direction::FromTarget {
                ours.insert(text.to_owned());
            }
            let Some(kind) = member.strip_suffix("_id") else { return };
            if ours.contains(text) || names.contains_key(text) || !is_minted(text) || is_named(text) {
                return;
            }
            let count = counts.entry(kind.to_owned()).or_default();
            *count += 1;
            names.insert(text.to_owned(), format!("<{kind} {count}>"));
        };
        members(&frame.body, &mut meet);
        // In `v1r4` ids are in headers.
        for (name, value) in &frame.headers {
            if let Some(member) = Revision::V1r4.member(name) {
                meet(member, value);
            }
        }
    }
    names
}

fn is_minted(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_hexdigit()).any(|run| run.len() >= MINTED)
}

/// Every text with the name of the member that it is.
fn members(value: &Value, meet: &mut impl FnMut(&str, &str)) {
    match value {
        Value::Object(all) => all.iter().for_each(|(name, member)| match member {
            Value::String(text) => meet(name, text),
            other => members(other, meet),
        }),
        Value::Array(items) => items.iter().for_each(|item| members(item, meet)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(direction: Direction, kind: Kind, body: Value) -> Frame {
        Frame { n: 1, at_us: 0, direction, kind, channel: "c".to_owned(), headers: BTreeMap::new(), body }
    }

    #[test]
    fn what_the_target_minted_is_named_by_its_member() {
        let (ours, step) = ("turn_1_0123456789abcdef", "step_fedcba9876543210");
        let project = "prj_0123456789abcdef";
        let first = frame(Direction::ToTarget, Kind::TurnStart, json!({"agent_turn_id": ours}));
        let second = frame(
            Direction::FromTarget,
            Kind::Command,
            json!({"agent_turn_id": ours, "step_id": step, "agent_id": "ag_pilot", "note": step, "project_id": project}),
        );
        let expect = BTreeMap::from([(step.to_owned(), "<step 1>".to_owned())]);
        assert_eq!(target_generated_ids(&[&first, &second], &|id| id == project), expect);
    }

    #[test]
    fn a_turn_that_the_target_named_has_a_name() {
        let id = "turn_fedcba9876543210";
        let start = frame(Direction::ToTarget, Kind::TurnStart, json!({"instruction": "look"}));
        let reply = frame(Direction::FromTarget, Kind::TurnReply, json!({"agent_turn_id": id}));
        let headers = BTreeMap::from([("cg-turn-id".to_owned(), id.to_owned())]);
        let command = Frame { headers, ..frame(Direction::FromTarget, Kind::Command, json!({})) };
        let finding = Finding::new("message", "hint");
        let frames = [start, reply, command];
        let expect = BTreeMap::from([(id.to_owned(), "<turn 1>".to_owned())]);
        assert_eq!(named(&finding, &frames, &[&frames[2]]), expect);
        let of_member = BTreeMap::from([(id.to_owned(), "<agent_turn 1>".to_owned())]);
        assert_eq!(target_generated_ids(&[&frames[2]], &|_| false), of_member);
        let request = frame(Direction::ToTarget, Kind::TurnStart, json!({"agent_turn_id": id}));
        let frames = [request, frames[1].clone(), frames[2].clone()];
        assert_eq!(named(&finding, &frames, &[&frames[2]]), BTreeMap::new());
    }

    #[test]
    fn cards_are_numbered_as_the_evidence_shows_them() {
        let frame = |n: u32, id: &str| Frame {
            n,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::CardSave,
            channel: "l0.v1.prj.cards.save".to_owned(),
            headers: BTreeMap::new(),
            body: json!({"card": {"card_id": id}}),
        };
        let frames = [frame(1, "of the sentinel"), frame(2, "of the call"), frame(3, "of another")];
        let finding = Finding::new("message", "hint").actual(Some(&json!(["of another", "no card"])));
        let names = named(&finding, &frames, &[&frames[1]]);
        let expect = [("of another", "<card 2>"), ("of the call", "<card 1>")];
        assert!(names.iter().map(|(id, name)| (id.as_str(), name.as_str())).eq(expect), "{names:?}");
    }
}
