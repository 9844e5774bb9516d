//! Evidence: a finding with everything around it, made ready for reports.
//!
//! Ids and times that the target mints differ from run to run; they are replaced by names, so that two
//! runs of one target give the same bytes.

use std::sync::Arc;

use callmark_reports::record::{Direction, Evidence, FrameExcerpt};
use serde_json::Value;

use super::names::Names;
use super::scenario_result::ScenarioResult;
use super::writer::Facts;
use crate::engine::codec::Codec;
use crate::engine::judge::Finding;
use crate::engine::naming::Naming;
use crate::engine::parts::Parts;
use crate::engine::secrets::Redactor;
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
    pub result: &'a ScenarioResult,
    /// Start of the command that reruns the rule.
    pub rerun: &'a str,
    /// Text that must not be stored.
    pub secrets: &'a Arc<Redactor>,
}

/// The evidence of a finding.
pub(super) fn of(finding: &Finding, context: &Context<'_>) -> Evidence {
    let Context { case, naming, codec, rule, facts, result, rerun, secrets } = context;
    let frames = &result.frames()[..];
    let subject = subject(finding, frames, result.artifacts.subject.as_ref());
    let involved: Vec<&Frame> = involved(finding, frames, subject, *codec).collect();
    let names = names(*naming, finding, result, frames, &involved, secrets);
    let stable = |value: &Value| shorten(&names.rename(&naming.normalized(value)));
    let (step, location) = match &facts.step {
        Some(step) => (step.text.clone(), format!("{}:{}:{}", case.at.file, step.line, step.column)),
        None => (case.name.clone(), format!("{}:{}:1", case.at.file, case.at.line)),
    };
    // What an exchange of another scenario shows is seen again with that scenario.
    let also = result.found_in.as_deref().and_then(rule_of).filter(|own| own != rule);
    let also = also.map(|own| format!(" --rule {own}")).unwrap_or_default();
    Evidence {
        step,
        location,
        // What a target says can stand in a sentence of ours as well.
        message: names.text(&finding.message),
        expected: finding.expected.as_ref().map(&stable),
        actual: finding.actual.as_ref().map(&stable),
        pointer: finding.pointer.as_deref().map(|pointer| names.text(pointer)),
        hint: names.text(&finding.hint),
        scenario: result.found_in.clone(),
        // Numbered anew: how the messages of a run interleave differs from run to run.
        frames: involved
            .iter()
            .zip(1..)
            .map(|(frame, n)| FrameExcerpt { n, ..excerpt(frame, *naming, &names) })
            .collect(),
        rerun: format!("{rerun} --profile {} --rule {rule}{also}", case.profile),
        reproduce: result
            .artifacts
            .reproduce
            .as_ref()
            .zip(subject)
            .map(|(by_hand, subject)| names.line(&by_hand.line(frames, subject))),
    }
}

/// The rule in the id of a scenario.
fn rule_of(scenario: &str) -> Option<&str> {
    scenario.rsplit('/').nth(1)
}

/// What stands in place of what the run made up, and of secrets.
pub(super) fn names(
    naming: &dyn Naming,
    finding: &Finding,
    result: &ScenarioResult,
    frames: &[Frame],
    shown: &[&Frame],
    secrets: &Arc<Redactor>,
) -> Names {
    let mut parts: Vec<(String, String)> = result.artifacts.names.clone();
    parts.extend(naming.ids(frames));
    let whole = naming.whole_ids(finding, frames, shown);
    let secrets = Arc::clone(secrets);
    Names { secrets, whole, parts: Parts::new(parts), nonce: result.artifacts.nonce.clone() }
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

/// The frame as a report shows it. Long texts are cut last: what is left of a secret or an id that the end goes through
/// would have no name.
pub(super) fn excerpt(frame: &Frame, naming: &dyn Naming, names: &Names) -> FrameExcerpt {
    let header = |name: &str, value: &str| {
        let is_generated = frame.direction != Direction::ToTarget && name == "traceparent";
        names.text(&if is_generated { without_span(value) } else { value.to_owned() })
    };
    let headers = frame.headers.iter().map(|(name, value)| (name.clone(), header(name, value))).collect();
    let channel = names.channel(&frame.channel);
    let body = names.rename(&naming.normalized(&frame.body));
    Frame { channel, headers, body, ..frame.clone() }.excerpt()
}

/// A traceparent whose span is a name: the target's, and the platform's that goes on from it, are other ones in every run.
fn without_span(text: &str) -> String {
    match text.split('-').collect::<Vec<_>>().as_slice() {
        [version, trace, span, flags] if span.len() == 16 => format!("{version}-{trace}-<span>-{flags}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::engine::naming::Verbatim;

    #[test]
    fn what_the_end_of_a_long_text_goes_through_has_its_name_first() {
        let secret = "orchid-key-7f3a9c51";
        let names = Names {
            secrets: Arc::new(Redactor::hiding(&[secret.to_owned()])),
            parts: Parts::new(vec![("0f1e2d3c4b".to_owned(), "<unique>".to_owned())]),
            ..Names::default()
        };
        let check = |value: &str| {
            // The text is cut at 400 characters, in the middle of the value.
            let text = format!("{}{value} and more", "x".repeat(395));
            let frame = Frame {
                n: 1,
                at_us: 0,
                direction: Direction::FromTarget,
                kind: Kind::Command,
                channel: text.clone(),
                headers: BTreeMap::from([("traceparent".to_owned(), text.clone())]),
                body: json!({ "text": text }),
            };
            let shown = excerpt(&frame, &Verbatim, &names);
            for text in [&shown.channel, &shown.headers["traceparent"], &shown.body["text"].to_string()] {
                assert!(text.contains('…') && !text.contains(&value[..5]), "{text}");
            }
        };
        check(secret);
        check("0f1e2d3c4b");
    }
}
