//! Evidence: a finding with everything around it, made ready for reports.
//!
//! Ids and times that the target mints differ from run to run; they are replaced by names, so that two
//! runs of one target give the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use callmark_reports::record::{Direction, Evidence, FrameExcerpt};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::scenario_result::ScenarioResult;
use super::writer::Facts;
use crate::engine::codec::Codec;
use crate::engine::family::Naming;
use crate::engine::judge::Finding;
use crate::engine::parts::Parts;
use crate::engine::secrets::Redactor;
use crate::engine::world::STABLE;
use crate::net::wire::{CALL, EXCHANGE};
use crate::spec::catalog::Case;
use crate::transcript::{Frame, Kind, shorten};

/// Frames of one evidence.
const MAX_FRAMES: usize = 12;

/// Where a finding was made.
pub(super) struct Context<'a> {
    pub case: &'a Case,
    pub naming: &'static dyn Naming,
    pub codec: &'static dyn Codec,
    pub rule: &'a str,
    pub facts: &'a Facts,
    pub remains: &'a ScenarioResult,
    /// Start of the command that reruns the rule.
    pub rerun: &'a str,
    /// Text that must not be stored.
    pub secrets: &'a Arc<Redactor>,
}

/// The evidence of a finding.
pub(super) fn of(finding: &Finding, context: &Context<'_>) -> Evidence {
    let Context { case, naming, codec, rule, facts, remains, rerun, secrets } = context;
    let frames = &remains.frames()[..];
    let subject = subject(finding, frames, remains.world.subject.as_ref());
    let involved: Vec<&Frame> = involved(finding, frames, subject, *codec).collect();
    let names = names(*naming, finding, remains, frames, &involved, secrets);
    let stable = |value: &Value| shorten(&names.rename(&naming.normalized(value)));
    let (step, location) = match &facts.step {
        Some(step) => (step.text.clone(), format!("{}:{}:{}", case.at.file, step.line, step.column)),
        None => (case.name.clone(), format!("{}:{}:1", case.at.file, case.at.line)),
    };
    Evidence {
        step,
        location,
        // What a target says can stand in a sentence of ours as well.
        message: names.text(&finding.message),
        expected: finding.expected.as_ref().map(&stable),
        actual: finding.actual.as_ref().map(&stable),
        pointer: finding.pointer.as_deref().map(|pointer| names.text(pointer)),
        hint: names.text(&finding.hint),
        // Numbered anew: how the messages of a run interleave differs from run to run.
        frames: involved
            .iter()
            .zip(1..)
            .map(|(frame, n)| FrameExcerpt { n, ..excerpt(frame, *naming, &names) })
            .collect(),
        rerun: format!("{rerun} --profile {} --rule {rule}", case.profile),
        reproduce: remains
            .world
            .reproduce
            .as_ref()
            .zip(subject)
            .map(|(by_hand, subject)| names.line(&by_hand.line(frames, subject))),
    }
}

/// What stands in place of what the run made up, and of secrets.
pub(super) fn names(
    naming: &dyn Naming,
    finding: &Finding,
    remains: &ScenarioResult,
    frames: &[Frame],
    shown: &[&Frame],
    secrets: &Arc<Redactor>,
) -> Names {
    let mut parts: Vec<(String, String)> = remains.world.names.clone();
    parts.extend(naming.ids(frames));
    let whole = naming.whole_ids(finding, frames, shown);
    let secrets = Arc::clone(secrets);
    Names { secrets, whole, parts: Parts::new(parts), nonce: remains.world.nonce.clone() }
}

/// The message that is judged, what it points to, and the frames that the finding names.
fn involved<'a>(
    finding: &'a Finding,
    frames: &'a [Frame],
    subject: Option<&'a Frame>,
    codec: &dyn Codec,
) -> impl Iterator<Item = &'a Frame> + use<'a> {
    let shown = subject.and_then(|subject| codec.pointed_to(frames, subject)).map(|frame| frame.n);
    // A command may be sent more than once.
    let is_sent_again =
        move |frame: &Frame| subject.is_some_and(|own| own.kind == Kind::Command && own.body == frame.body);
    frames
        .iter()
        .filter(move |frame| {
            Some(frame.n) == subject.map(|own| own.n)
                || Some(frame.n) == shown
                || finding.frames.contains(&frame.n)
                || (is_asking(frame) && is_sent_again(frame))
        })
        .take(MAX_FRAMES)
}

/// The message to the target that is judged: the one that the finding is about, else the one whose exchange the finding
/// shows, else the one that the scenario is about, else the last one.
fn subject<'a>(finding: &Finding, frames: &'a [Frame], sent: Option<&Value>) -> Option<&'a Frame> {
    let named = |n: &u32| frames.iter().find(|frame| frame.n == *n);
    let asking = || frames.iter().filter(|frame| is_asking(frame));
    let of_exchange = || {
        finding.frames.iter().filter_map(named).find_map(|frame| {
            let exchange = exchange(frame)?;
            asking().find(|asking| exchange == self::exchange(asking).unwrap_or_default())
        })
    };
    finding
        .subject
        .as_ref()
        .and_then(named)
        .or_else(of_exchange)
        .or_else(|| asking().find(|frame| Some(&frame.body) == sent))
        .or_else(|| asking().next_back())
}

/// Whether the suite asks the target for something by this message.
fn is_asking(frame: &Frame) -> bool {
    frame.direction == Direction::ToTarget
        && matches!(
            frame.kind,
            Kind::Command
                | Kind::TurnStart
                | Kind::Report
                | Kind::Request
                | Kind::HubRequest
                | Kind::RegistryRequest
                | Kind::Drive
                | Kind::Put
        )
}

/// The number of the exchange that a message belongs to, where its family numbers them.
fn exchange(frame: &Frame) -> Option<&str> {
    let number = [CALL, EXCHANGE].iter().find_map(|name| frame.headers.get(*name));
    number.map(String::as_str).filter(|number| !number.is_empty())
}

/// The frame as a report shows it.
pub(super) fn excerpt(frame: &Frame, naming: &dyn Naming, names: &Names) -> FrameExcerpt {
    let mut excerpt = Frame { body: naming.normalized(&frame.body), ..frame.clone() }.excerpt();
    excerpt.channel = names.channel(&excerpt.channel);
    excerpt.body = names.rename(&excerpt.body);
    for (name, value) in &mut excerpt.headers {
        let minted = frame.direction != Direction::ToTarget && name == "traceparent";
        *value = names.text(&if minted { without_span(value) } else { value.clone() });
    }
    excerpt
}

/// A traceparent whose span is a name: the target's, and the platform's that goes on from it, are other ones in every run.
fn without_span(text: &str) -> String {
    match text.split('-').collect::<Vec<_>>().as_slice() {
        [version, trace, span, flags] if span.len() == 16 => format!("{version}-{trace}-<span>-{flags}"),
        _ => text.to_owned(),
    }
}

/// What stands in reports in place of what a run made up, and of secrets.
#[derive(Default)]
pub(super) struct Names {
    /// Secrets, in all their forms.
    pub secrets: Arc<Redactor>,
    /// Whole strings.
    pub whole: BTreeMap<String, String>,
    /// Parts of strings.
    pub parts: Parts,
    /// End of the unique part of every id of the run; without one, ids and times stay as they are.
    pub nonce: Option<String>,
}

impl Names {
    pub(super) fn text(&self, text: &str) -> String {
        if let Some(name) = self.whole.get(text) {
            return name.clone();
        }
        let text = self.secrets.text(text);
        let text = match &self.nonce {
            Some(nonce) => without_nonce(&text, nonce),
            None => text,
        };
        self.parts.replace(text)
    }

    /// A command line. What the target made up stands in single quotes in it, and becomes a variable.
    fn line(&self, line: &str) -> String {
        let whole = self.whole.iter().fold(line.to_owned(), |line, (id, name)| line.replace(id, name));
        with_variables(&self.text(&whole))
    }

    /// A subject, or an HTTP method and path whose segments may be ids.
    fn channel(&self, channel: &str) -> String {
        let segment = |segment: &str| match self.whole.get(&*percent_decode_str(segment).decode_utf8_lossy())
        {
            Some(name) => name.clone(),
            None => self.text(segment),
        };
        channel.split('/').map(segment).collect::<Vec<_>>().join("/")
    }

    pub(super) fn rename(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.rename(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| {
                        let time =
                            matches!(name.as_str(), "created_at" | "updated_at" | "timestamp" | "latency_ms");
                        let stamped = time && !member.is_null() && self.nonce.is_some();
                        let member = if stamped { Value::from("<time>") } else { self.rename(member) };
                        (self.text(name), member)
                    })
                    .collect(),
            ),
            // A number that the run made up, or what a target calculates from one, is shown as its name.
            Value::Number(number) => {
                let text = number.to_string();
                let name = self.secrets.parts().name(&text).or_else(|| self.parts.name(&text));
                name.map_or_else(|| value.clone(), Value::from)
            }
            plain => plain.clone(),
        }
    }
}

/// A command line with a variable in the place of each name such as `<id 1>`: the id differs from run to run, and who
/// pastes the line knows one that is there.
fn with_variables(line: &str) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..].split_once('>').and_then(|(name, _)| {
            let (kind, number) = name.split_once(' ')?;
            let is_kind = ["id", "card", "child"].contains(&kind);
            (is_kind && number.parse::<u32>().is_ok()).then_some((kind, number, name.len() + 2))
        });
        let Some((kind, number, length)) = name else {
            kept.push('<');
            rest = &rest[1..];
            continue;
        };
        // Writing to a string cannot fail.
        let _ = write!(kept, "'\"${{{}_{number}:-{kind}-{number}}}\"'", kind.to_uppercase());
        rest = &rest[length..];
    }
    kept + rest
}

/// Takes the nonce of a run out of every unique part, of whatever project: what stays is the stable part.
fn without_nonce(text: &str, nonce: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(nonce) {
        kept.push_str(&rest[..at]);
        let stable = kept.bytes().rev().take_while(u8::is_ascii_hexdigit).count();
        if stable < STABLE {
            kept.push_str(nonce);
        }
        rest = &rest[at + nonce.len()..];
    }
    kept + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Names {
        let whole = BTreeMap::from([("a/b ü".to_owned(), "<card 1>".to_owned())]);
        Names { whole, nonce: Some("c0ffee".to_owned()), ..Names::default() }
    }

    #[test]
    fn ids_of_every_project_lose_what_differs_from_run_to_run() {
        let check = |text: &str, expect: &str| assert_eq!(names().text(text), expect, "{text}");
        check("cg.v1r3.prj_0123456789c0ffee.public", "cg.v1r3.prj_0123456789.public");
        check("call_1_9876543210c0ffee-other", "call_1_9876543210-other");
        check("call_0123456789c0ffee_0123456789c0ffee", "call_0123456789_0123456789");
        check("a cup of c0ffee, 12c0ffee", "a cup of c0ffee, 12c0ffee");
        check("a/b ü", "<card 1>");
    }

    #[test]
    fn a_command_line_asks_the_environment_for_ids() {
        let check = |text: &str, expect: &str| assert_eq!(names().line(text), expect, "{text}");
        check(r#"curl -d '{"card":"a/b ü"}'"#, r#"curl -d '{"card":"'"${CARD_1:-card-1}"'"}'"#);
        check("x '<id 12>/<unique>' <<'E'", r#"x ''"${ID_12:-id-12}"'/<unique>' <<'E'"#);
        check("printf '%s' '1 < 2 > 1'", "printf '%s' '1 < 2 > 1'");
    }

    #[test]
    fn an_id_in_a_path_is_renamed_too() {
        let check = |channel: &str, expect: &str| assert_eq!(names().channel(channel), expect, "{channel}");
        check(
            "PUT /projects/prj_0123456789c0ffee/cards/a%2Fb%20%C3%BC",
            "PUT /projects/prj_0123456789/cards/<card 1>",
        );
        check("l0.v1.prj_0123456789c0ffee.cards.save", "l0.v1.prj_0123456789.cards.save");
    }
}
