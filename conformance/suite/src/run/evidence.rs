//! Evidence: a finding with everything around it, made ready for reports.
//!
//! Ids and times that the target mints differ from run to run; they are replaced by names, so that two
//! runs of one target give the same bytes.

use std::collections::BTreeMap;

use callmark_reports::record::{Direction, Evidence, FrameExcerpt};
use serde_json::Value;

use super::writer::Facts;
use crate::catalogue::Case;
use crate::judge::{Finding, seen};
use crate::transcript::{Frame, Kind, shorten};

/// Frames of one evidence.
const MAX_FRAMES: usize = 12;

/// The evidence of a finding.
pub(super) fn of(case: &Case, rule: &str, finding: &Finding, facts: &Facts, frames: &[Frame], rerun: &str) -> Evidence {
    let names = minted(frames);
    let stable = |value: &Value| shorten(&renamed(value, &names));
    let (step, location) = match &facts.step {
        Some(step) => (step.text.clone(), format!("{}:{}:{}", case.at.file, step.line, step.column)),
        None => (case.name.clone(), format!("{}:{}:1", case.at.file, case.at.line)),
    };
    Evidence {
        step,
        location,
        message: finding.message.clone(),
        expected: finding.expected.as_ref().map(&stable),
        actual: finding.actual.as_ref().map(&stable),
        pointer: finding.pointer.clone(),
        hint: finding.hint.clone(),
        frames: involved(finding, frames).map(|frame| excerpt(frame, &names)).collect(),
        rerun: format!("{rerun} --profile {} --rule {rule}", case.profile),
        reproduce: command(frames).map(reproduce),
    }
}

/// The command under test and the frames that the finding names.
fn involved<'a>(finding: &'a Finding, frames: &'a [Frame]) -> impl Iterator<Item = &'a Frame> {
    let sent = command(frames).map(|frame| frame.n);
    frames
        .iter()
        .filter(move |frame| Some(frame.n) == sent || finding.frames.contains(&frame.n))
        .take(MAX_FRAMES)
}

/// The command that the scenario is about: the first that is no sentinel, and sentinels are for the echo
/// probe with ids of their own, so the one that most of the scenario's steps shaped comes after them.
fn command(frames: &[Frame]) -> Option<&Frame> {
    let commands: Vec<&Frame> = frames.iter().filter(|frame| frame.kind == Kind::Command).collect();
    match commands.as_slice() {
        [] => None,
        [only] => Some(only),
        [_, second, ..] => Some(second),
    }
}

/// A command line that publishes the message by hand.
fn reproduce(frame: &Frame) -> String {
    let mut line = format!("nats pub {} {}", quoted(&frame.channel), quoted(&body_text(&frame.body)));
    for (name, value) in &frame.headers {
        line.push_str(&format!(" -H {}", quoted(&format!("{name}:{value}"))));
    }
    line
}

fn body_text(body: &Value) -> String {
    match shorten(body) {
        Value::String(text) => text,
        json => json.to_string(),
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn excerpt(frame: &Frame, names: &BTreeMap<String, String>) -> FrameExcerpt {
    let mut excerpt = frame.excerpt();
    excerpt.body = renamed(&excerpt.body, names);
    if frame.direction == Direction::FromTarget {
        for (name, value) in &mut excerpt.headers {
            if name == "traceparent" {
                *value = without_span(value);
            }
        }
    }
    excerpt
}

/// A traceparent whose span is a name: every run has another one.
fn without_span(text: &str) -> String {
    match text.split('-').collect::<Vec<_>>().as_slice() {
        [version, trace, span, flags] if span.len() == 16 => format!("{version}-{trace}-<span>-{flags}"),
        _ => text.to_owned(),
    }
}

/// Ids that the target gave to its cards, in the order of their first appearance.
fn minted(frames: &[Frame]) -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for (_, card) in seen::saved_cards(frames) {
        if let Some(id) = card.get("card_id").and_then(Value::as_str).filter(|id| id.len() >= 4) {
            let next = names.len() + 1;
            names.entry(id.to_owned()).or_insert_with(|| format!("<card {next}>"));
        }
    }
    names
}

fn renamed(value: &Value, names: &BTreeMap<String, String>) -> Value {
    match value {
        Value::String(text) => match names.get(text) {
            Some(name) => Value::String(name.clone()),
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| renamed(item, names)).collect(),
        Value::Object(members) => Value::Object(
            members
                .iter()
                .map(|(name, member)| {
                    let time = matches!(name.as_str(), "created_at" | "updated_at" | "timestamp") && !member.is_null();
                    let member = if time { Value::from("<time>") } else { renamed(member, names) };
                    (name.clone(), member)
                })
                .collect(),
        ),
        plain => plain.clone(),
    }
}
