//! A scenario's messages as a story: in the order in which they follow from each other, with names in place of what
//! the run made up.
//!
//! Neighbours: `evidence` does the same for the messages of a finding. Messages of different parties may cross on the
//! wire; a story has one order, so that two runs tell it in the same bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use callmark_reports::record::{Direction, FrameExcerpt};
use serde_json::Value;
use thiserror::Error;

use super::evidence::{self, excerpt};
use super::remains::Remains;
use crate::catalogue::Case;
use crate::judge::Finding;
use crate::secrets::Redactor;
use crate::transcript::{Frame, Kind};
use crate::world::Family;

/// Hexadecimal digits in a row that make a text an id which a target minted.
const MINTED: usize = 16;

/// The messages of a scenario are not those of the story.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Nothing is known of the scenario.
    #[error("scenario `{scenario}` did not run")]
    NotRun {
        /// Its id.
        scenario: String,
    },
    /// The story has more messages.
    #[error("scenario `{scenario}` has no message {number} of the kind `{kind:?}`")]
    Missing {
        /// Its id.
        scenario: String,
        /// The kind.
        kind: Kind,
        /// Which of the story's messages it is, from 1.
        number: usize,
    },
    /// The scenario has more messages.
    #[error("scenario `{scenario}` has a further message of the kind `{kind:?}` on `{channel}`")]
    Unforeseen {
        /// Its id.
        scenario: String,
        /// The kind.
        kind: Kind,
        /// Where it travelled.
        channel: String,
    },
}

/// The messages in the order of the story, each once.
pub(super) fn of(
    case: &Case,
    remains: Option<&Remains>,
    secrets: &[String],
    story: &[Kind],
) -> Result<Vec<FrameExcerpt>, ExchangeError> {
    let scenario = || case.id.clone();
    let remains = remains.ok_or_else(|| ExchangeError::NotRun { scenario: scenario() })?;
    let frames = remains.frames();
    let mut left: Vec<&Frame> = frames.iter().collect();
    let mut told = Vec::new();
    for (kind, number) in story.iter().zip(1..) {
        let at = left.iter().position(|frame| frame.kind == *kind);
        let at = at.ok_or_else(|| ExchangeError::Missing { scenario: scenario(), kind: *kind, number })?;
        told.push(left.remove(at));
    }
    if let Some(frame) = left.first() {
        let (kind, channel) = (frame.kind, frame.channel.clone());
        return Err(ExchangeError::Unforeseen { scenario: scenario(), kind, channel });
    }
    let family = Family::of(&case.profile);
    let secrets = Arc::new(Redactor::hiding(secrets));
    let mut names = evidence::names(family, &Finding::new("", ""), remains, &frames, &told, &secrets);
    if matches!(family, Family::Utp | Family::Runtime) {
        for (id, name) in minted(&told, |id| names.text(id) == id) {
            names.whole.entry(id).or_insert(name);
        }
    }
    let numbered = told.into_iter().zip(1..);
    Ok(numbered.map(|(frame, n)| FrameExcerpt { n, ..excerpt(frame, family, &names) }).collect())
}

/// Ids that came up in the target's messages first and have no name yet, by the names of their members: `step_id` gives
/// `<step 1>`.
fn minted(told: &[&Frame], is_nameless: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let (mut ours, mut names) = (BTreeSet::new(), BTreeMap::new());
    let mut counts = BTreeMap::<String, u32>::new();
    for frame in told {
        members(&frame.body, &mut |member, text| {
            if frame.direction != Direction::FromTarget {
                ours.insert(text.to_owned());
            }
            let Some(kind) = member.strip_suffix("_id") else { return };
            if ours.contains(text) || names.contains_key(text) || !is_minted(text) || !is_nameless(text) {
                return;
            }
            let count = counts.entry(kind.to_owned()).or_default();
            *count += 1;
            names.insert(text.to_owned(), format!("<{kind} {count}>"));
        });
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
        assert_eq!(minted(&[&first, &second], |id| id != project), expect);
    }
}
