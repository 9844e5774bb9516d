//! Evidence: a finding with everything around it, made ready for reports.
//!
//! Ids and times that the target mints differ from run to run; they are replaced by names, so that two
//! runs of one target give the same bytes.

use std::collections::BTreeMap;

use callmark_reports::record::{Direction, Evidence, FrameExcerpt};
use serde_json::Value;

use super::remains::Remains;
use super::writer::Facts;
use crate::catalogue::Case;
use crate::judge::Finding;
use crate::toolbus;
use crate::transcript::{Frame, Kind, shorten};
use crate::utp::judge::seen;
use crate::world::Family;

/// Frames of one evidence.
const MAX_FRAMES: usize = 12;

/// Where a finding was made.
pub(super) struct Context<'a> {
    pub case: &'a Case,
    pub rule: &'a str,
    pub facts: &'a Facts,
    pub remains: &'a Remains,
    /// Start of the command that reruns the rule.
    pub rerun: &'a str,
    /// Text that must not be stored.
    pub secrets: &'a [String],
}

/// The evidence of a finding.
pub(super) fn of(finding: &Finding, context: &Context<'_>) -> Evidence {
    let Context { case, rule, facts, remains, rerun, secrets } = context;
    let frames = &remains.frames()[..];
    let mut parts: Vec<(String, String)> =
        secrets.iter().map(|secret| (secret.clone(), "***".to_owned())).collect();
    parts.extend(remains.world.names.iter().cloned());
    let family = Family::of(&case.profile);
    let whole = match family {
        Family::Utp => minted(frames),
        Family::Toolbus => {
            // Ids of a server also stand within uris and texts.
            parts.extend(toolbus::evidence::minted(frames));
            BTreeMap::new()
        }
    };
    let names = Names { whole, parts };
    let steady = |value: &Value| match family {
        Family::Utp => names.rename(value),
        Family::Toolbus => names.rename(&toolbus::evidence::steady(value)),
    };
    let stable = |value: &Value| shorten(&steady(value));
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
        // Numbered anew: how the messages of a run interleave differs from run to run.
        frames: involved(finding, frames, remains.world.subject.as_ref())
            .zip(1..)
            .map(|(frame, n)| FrameExcerpt { n, ..excerpt(frame, family, &names) })
            .collect(),
        rerun: format!("{rerun} --profile {} --rule {rule}", case.profile),
        reproduce: match &remains.world.reproduce {
            Some(line) => Some(crate::transcript::shorten_line(&names.text(line))),
            None => {
                command(frames, remains.world.subject.as_ref()).map(|frame| names.text(&reproduce(frame)))
            }
        },
    }
}

/// The command under test and the frames that the finding names.
fn involved<'a>(
    finding: &'a Finding,
    frames: &'a [Frame],
    sent: Option<&Value>,
) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let sent = command(frames, sent).map(|frame| frame.n);
    frames
        .iter()
        .filter(move |frame| Some(frame.n) == sent || finding.frames.contains(&frame.n))
        .take(MAX_FRAMES)
}

/// The message that the scenario is about: the command under test as it was sent, else the last one.
fn command<'a>(frames: &'a [Frame], sent: Option<&Value>) -> Option<&'a Frame> {
    let mut commands = frames.iter().filter(|frame| matches!(frame.kind, Kind::Command | Kind::Request));
    commands.clone().find(|frame| Some(&frame.body) == sent).or_else(|| commands.next_back())
}

/// A command line that publishes the message by hand.
fn reproduce(frame: &Frame) -> String {
    let headers: Vec<String> = frame
        .headers
        .iter()
        .map(|(name, value)| format!(" -H {}", quoted(&format!("{name}:{value}"))))
        .collect();
    format!("nats pub {} {}{}", quoted(&frame.channel), quoted(&body_text(&frame.body)), headers.concat())
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

fn excerpt(frame: &Frame, family: Family, names: &Names) -> FrameExcerpt {
    let mut excerpt = match family {
        Family::Utp => frame.excerpt(),
        Family::Toolbus => Frame { body: toolbus::evidence::steady(&frame.body), ..frame.clone() }.excerpt(),
    };
    excerpt.channel = names.text(&excerpt.channel);
    excerpt.body = names.rename(&excerpt.body);
    for (name, value) in &mut excerpt.headers {
        let minted = frame.direction == Direction::FromTarget && name == "traceparent";
        *value = names.text(&if minted { without_span(value) } else { value.clone() });
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
    let saved = seen::saved_cards(frames).filter_map(|(_, card)| card.get("card_id"));
    let pointed = frames.iter().filter_map(|frame| frame.body.pointer("/payload/tool_result_card_id"));
    let mut names = BTreeMap::new();
    for id in saved.chain(pointed).filter_map(Value::as_str).filter(|id| id.len() >= 4) {
        let next = names.len() + 1;
        names.entry(id.to_owned()).or_insert_with(|| format!("<card {next}>"));
    }
    names
}

/// What stands in reports in place of what a run made up, and of secrets.
#[derive(Default)]
pub(super) struct Names {
    /// Whole strings.
    pub whole: BTreeMap<String, String>,
    /// Parts of strings.
    pub parts: Vec<(String, String)>,
}

impl Names {
    pub(super) fn text(&self, text: &str) -> String {
        if let Some(name) = self.whole.get(text) {
            return name.clone();
        }
        self.parts.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
    }

    pub(super) fn rename(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.rename(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| {
                        let time = matches!(name.as_str(), "created_at" | "updated_at" | "timestamp");
                        let stamped = time && !member.is_null() && !self.whole.is_empty();
                        let member = if stamped { Value::from("<time>") } else { self.rename(member) };
                        (self.text(name), member)
                    })
                    .collect(),
            ),
            plain => plain.clone(),
        }
    }
}
