//! Uploads as the messages of a scenario show them, whichever of them it is about: what `@always` scenarios judge.

use std::rc::Rc;

use super::definition::Definition;
use super::exchange::Exchange;
use super::judge::VALUES;
use super::upload::{Seen, Upload};
use crate::engine::invariant::ExchangeKind;
use crate::families::utp::subject;
use crate::net::wire::{CALL, EXCHANGE};
use crate::transcript::{Frame, Kind};

/// Names of the PMO's own tools (Guide §3.2).
const TAKEN: [&str; 5] = ["delegate_async", "launch_principal", "ask_expert", "fork_join", "provision_agent"];

/// Every upload that was answered, of a definition of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EveryUpload {
    /// One that breaks no constraint, of a tool that was not there before.
    Sound,
    /// A sound one with nothing in it that a rule of its own is about: it suspends, on a subject of the usual form.
    Usual,
    /// One that breaks a constraint.
    Faulty,
}

/// What a definition is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// `after_execution` is missing or means none of the two values.
    AfterExecution,
    /// The subject is of the family `cmd.sys`.
    SystemSubject,
    /// The subject is missing or of another family.
    ForeignSubject,
    /// The name is that of a PMO's own tool.
    TakenName,
}

/// An upload with what was read of its tool, before it and until the next upload of the tool.
struct Found<'a> {
    definition: Definition,
    post: Exchange<'a>,
    before: Option<Exchange<'a>>,
    after: Option<Exchange<'a>>,
}

/// An upload, and all uploads of the scenario in which it was made.
pub(super) struct ObservedUpload<'a> {
    all: Rc<Vec<Found<'a>>>,
    own: usize,
    project: &'a str,
}

impl ExchangeKind for EveryUpload {
    type Exchange<'a> = ObservedUpload<'a>;

    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<ObservedUpload<'a>> {
        Self::find_each(&[self], frames).pop().unwrap_or_default()
    }

    /// Parsing the definitions takes longest.
    fn find_each<'a>(kinds: &[&Self], frames: &'a [Frame]) -> Vec<Vec<ObservedUpload<'a>>> {
        let all = Rc::new(uploads(frames));
        kinds.iter().map(|kind| kind.among(&all)).collect()
    }

    fn stimulus(exchange: &ObservedUpload<'_>) -> u32 {
        exchange.all[exchange.own].post.request.n
    }
}

impl EveryUpload {
    fn among<'a>(self, all: &Rc<Vec<Found<'a>>>) -> Vec<ObservedUpload<'a>> {
        let version =
            all.iter().find(|own| is_sound(&own.definition)).and_then(|own| own.definition.version());
        // One of another version than the first of its scenario may be refused, or stored with another subject.
        let is_sound = |own: &Definition| is_sound(own) && own.version() == version;
        let counts = |own: &usize| {
            let found = &all[*own];
            found.post.answer.is_some()
                && match self {
                    Self::Sound => is_sound(&found.definition) && is_first(all, *own),
                    Self::Usual => {
                        is_sound(&found.definition) && is_usual(&found.definition) && is_first(all, *own)
                    }
                    Self::Faulty => fault(&found.definition).is_some(),
                }
        };
        let observed = |own: usize| {
            let project = project(all[own].post.request)?;
            Some(ObservedUpload { all: Rc::clone(all), own, project })
        };
        (0..all.len()).filter(counts).filter_map(observed).collect()
    }
}

impl ObservedUpload<'_> {
    /// What was uploaded.
    pub(super) fn definition(&self) -> &Definition {
        &self.all[self.own].definition
    }

    /// As judgements know it: between the good uploads that come before and after it.
    pub(super) fn seen(&self) -> Seen<'_> {
        let is_good = |found: &&Found<'_>| is_sound(&found.definition);
        let before = self.all[..self.own].iter().rev().find(is_good);
        let after = self.all[self.own + 1..].iter().find(is_good);
        Seen {
            upload: self.all[self.own].upload(),
            old: None,
            // The second of two follows the upload, so it says nothing without the first.
            good: before
                .map(|before| std::iter::once(before).chain(after).map(Found::upload).collect())
                .unwrap_or_default(),
            project: self.project,
            elsewhere: None,
        }
    }
}

impl<'a> Found<'a> {
    fn upload<'u>(&'u self) -> Upload<'u>
    where
        'a: 'u,
    {
        let Self { definition, post, before, after } = self;
        Upload { definition, post: *post, before: *before, after: *after }
    }
}

/// All uploads among the messages of a scenario, in order.
fn uploads(frames: &[Frame]) -> Vec<Found<'_>> {
    let requests: Vec<&Frame> = frames.iter().filter(|frame| frame.kind == Kind::RegistryRequest).collect();
    let exchange = |request: &Frame| Exchange::of(frames, request.headers.get(EXCHANGE)?.parse().ok()?);
    let found = |(at, request): (usize, &&Frame)| {
        let definition = Definition::read(request.body.as_str().filter(|_| is_upload(request))?)?;
        let same = |other: &&&Frame| {
            other.headers.get(CALL) == request.headers.get(CALL) && project(other) == project(request)
        };
        let is_next = |other: &&&Frame| !is_upload(other);
        let mut earlier = requests[..at].iter().rev().filter(same).take_while(is_next);
        let later = requests[at + 1..].iter().filter(same).take_while(is_next);
        Some(Found {
            definition,
            post: exchange(request)?,
            before: earlier.next().and_then(|read| exchange(read)),
            after: later.last().and_then(|read| exchange(read)),
        })
    };
    requests.iter().enumerate().filter_map(found).collect()
}

fn is_upload(request: &Frame) -> bool {
    request.channel.starts_with("POST ")
}

/// The project in the path of a request.
fn project(request: &Frame) -> Option<&str> {
    let (_, rest) = request.channel.split_once("/projects/")?;
    rest.split('/').next()
}

/// Whether it is the first upload of its tool. What becomes of a second one is left open, and of one whose name a registry
/// may take for the same.
fn is_first(all: &[Found<'_>], own: usize) -> bool {
    let name = all[own].definition.name();
    all[..own].iter().all(|earlier| !earlier.definition.name().eq_ignore_ascii_case(name))
}

/// Whether a definition breaks no constraint, and no other expectation that a registry may have.
fn is_sound(definition: &Definition) -> bool {
    let body = &definition.body;
    let is_plain = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
    };
    is_plain(definition.name())
        && !TAKEN.contains(&definition.name())
        && body["after_execution"].as_str().is_some_and(|value| VALUES.contains(&value))
        && body["target_subject"].as_str().is_some_and(is_of_tools)
        && body["description"].is_string()
        && ["parameters", "options"].into_iter().all(|name| body[name].is_object())
}

/// What APIs of language models take as the name of a function; a registry may refuse what is longer (UTP-2-02).
const LONGEST_USUAL_NAME: usize = 64;

/// Whether a sound definition has the values that most have.
fn is_usual(definition: &Definition) -> bool {
    let text = |name: &str| definition.body[name].as_str();
    is_sound(definition)
        && definition.name().len() <= LONGEST_USUAL_NAME
        && text("after_execution") == Some("suspend")
        && text("target_subject").is_some_and(|subject| subject.ends_with(".lookup"))
}

/// Whether a subject with its placeholders is of the family `cmd.tool`.
fn is_of_tools(template: &str) -> bool {
    subject::is_tool_command(&subject::expand(template, "project", "channel"))
}

/// The constraint that a definition breaks; none where a registry may take another spelling for what is meant.
pub(super) fn fault(definition: &Definition) -> Option<Fault> {
    let text = |name: &str| definition.body[name].as_str();
    let is_meant = |value: &str| VALUES.contains(&value.trim().to_lowercase().as_str());
    if !text("after_execution").is_some_and(is_meant) {
        return Some(Fault::AfterExecution);
    }
    if TAKEN.contains(&definition.name()) {
        return Some(Fault::TakenName);
    }
    match text("target_subject") {
        Some(subject) if subject.contains(".cmd.sys.") => Some(Fault::SystemSubject),
        Some(subject) if is_of_tools(subject) => None,
        Some(subject) if subject.contains(".cmd.tool.") => None,
        _ => Some(Fault::ForeignSubject),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_definition_is_sound_or_has_a_fault_or_is_left_open() {
        let check = |name: &str, value: Value, expect: (bool, Option<Fault>)| {
            let mut definition = Definition::full("v1r3", "tide_1", "wabc");
            definition.set(name, value.clone());
            let definition = Definition::read(&definition.text()).expect("a definition");
            assert_eq!((is_sound(&definition), fault(&definition)), expect, "{name} {value}");
        };
        check("description", json!("plain"), (true, None));
        check("tool_name", json!("Tide.table"), (false, None));
        check("tool_name", json!("ask_expert"), (false, Some(Fault::TakenName)));
        check("after_execution", json!("terminate"), (true, None));
        check("after_execution", json!(" Terminate"), (false, None));
        check("after_execution", json!("pause"), (false, Some(Fault::AfterExecution)));
        check("after_execution", Value::Null, (false, Some(Fault::AfterExecution)));
        let of = |rest: &str| json!(format!("cg.v1r3.{{project_id}}.{{channel_id}}.{rest}"));
        check("target_subject", of("cmd.tool.x.y"), (true, None));
        check("target_subject", of("cmd.tool.x y"), (false, None));
        check("target_subject", of("cmd.sys.pmo.internal.x"), (false, Some(Fault::SystemSubject)));
        check("target_subject", of("cmd.toolbox.x"), (false, Some(Fault::ForeignSubject)));
        check("target_subject", json!(""), (false, Some(Fault::ForeignSubject)));
    }

    #[test]
    fn a_long_name_is_not_usual() {
        let of = |length: usize| {
            let definition = Definition::full("v1r3", &"a".repeat(length), "wabc");
            Definition::read(&definition.text()).expect("a definition")
        };
        assert!(is_usual(&of(LONGEST_USUAL_NAME)));
        assert!(is_sound(&of(LONGEST_USUAL_NAME + 1)) && !is_usual(&of(LONGEST_USUAL_NAME + 1)));
    }
}
