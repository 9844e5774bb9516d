//! The mutating wire: does to messages what a mutant says.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use crate::mutation::body::{change, filled, put, remove, with_part};
use crate::mutation::mutant::{Action, Condition, Emit, Fault, HeaderNamed, Mutant, Named, Wrap};

use crate::engine::codec::Codec;
use crate::mutation::passed::{Passed, Scope, scope};
use crate::net::wire::{CALL, SCENARIO, Wire};
use crate::transcript::{Kind, Message, lock};

/// A wire with the faults of one mutant.
pub struct MutatingWire {
    faults: Vec<Fault>,
    codec: &'static dyn Codec,
    is_late: bool,
    /// Whether any fault asks how many messages there were, or for a card that was saved.
    counts: bool,
    keeps_cards: bool,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    stashed: HashMap<(Scope, String), Value>,
    seen: HashMap<(Scope, Kind), u32>,
    held: HashMap<Scope, Vec<Message>>,
    cards: HashMap<Scope, Value>,
    passed: HashMap<Kind, u32>,
    passed_here: HashMap<(String, Kind), u32>,
    reruns: bool,
    muted: HashSet<String>,
    /// The projects in which a fault, by its number, let a message pass.
    begun: HashSet<(String, usize)>,
    /// The scenario that is let alone.
    spared: Option<String>,
    known: HashSet<String>,
}

/// How many messages of a kind there were, this one included.
#[derive(Clone, Copy, Default)]
struct Count {
    call: u32,
    project: u32,
    wire: u32,
}

impl MutatingWire {
    /// The wire that makes a mutant, for a family whose messages this codec reads.
    pub fn of(mutant: &Mutant, codec: &'static dyn Codec) -> Self {
        let wire = Self::new(mutant.fault.clone(), codec);
        if mutant.late { wire.late() } else { wire }
    }

    /// A wire with these faults, which find JSON where the codec puts it.
    pub fn new(faults: Vec<Fault>, codec: &'static dyn Codec) -> Self {
        let counts = faults.iter().any(Fault::counts);
        let keeps_cards = faults.iter().flat_map(|fault| &fault.actions).any(Action::is_about_cards);
        Self { faults, codec, is_late: false, counts, keeps_cards, memory: Mutex::default() }
    }

    /// The same, but each fault lets the first message of a scenario pass that it would change; or the first scenario of
    /// the run in which there is one ([`Codec::repeats_in_scenario`]).
    #[must_use]
    pub fn late(self) -> Self {
        Self { is_late: true, ..self }
    }

    /// Whether a late fault lets a message pass: the first that it would change in its scenario, or all of the first
    /// scenario in which any fault would change one. There several faults are spared together.
    fn is_spared(&self, memory: &mut Memory, scenario: &str, fault: usize) -> bool {
        if self.codec.repeats_in_scenario() || scenario.is_empty() {
            return memory.begun.insert((scenario.to_owned(), fault));
        }
        memory.spared.get_or_insert_with(|| scenario.to_owned()) == scenario
    }

    fn pass(&self, message: Message) -> Vec<Message> {
        let mut memory = lock(&self.memory);
        let message = memory.recall(message);
        let scope = scope(&message);
        if message.direction == Direction::ToTarget && memory.muted.contains(&scope.0) {
            return Vec::new();
        }
        let count = self.note(&mut memory, &message, &scope);
        let is_held = memory.held.contains_key(&scope);
        if !is_held && self.faults_on(message.kind).next().is_none() {
            // Opening it and closing it again is work that changes nothing.
            return vec![message];
        }
        let (message, is_open) = match self.codec.open(message) {
            Ok(message) => (message, true),
            Err(message) => (message, false),
        };
        self.mutate(&mut memory, (message, is_open), count, &scope)
    }

    /// Whether it changes a message of a run without faults. They come in the order in which they passed.
    pub(super) fn changes(&self, passed: &Passed) -> bool {
        let mut memory = lock(&self.memory);
        let Passed { message, open, scope, .. } = passed;
        if memory.reruns || !memory.muted.is_empty() || !memory.held.is_empty() {
            drop(memory);
            return self.pass(message.clone()).as_slice() != std::slice::from_ref(message);
        }
        let count = self.note(&mut memory, message, scope);
        let shown = open.as_ref().unwrap_or(message);
        // Most faults are about few messages, and large ones are not to be copied for the others.
        let mut own = self.faults_on(message.kind);
        if !own.any(|(_, fault)| fault.holds(shown, count, scope, &memory)) {
            return false;
        }
        let mutated = self.mutate(&mut memory, (shown.clone(), open.is_some()), count, scope);
        mutated.as_slice() != std::slice::from_ref(message)
    }

    fn faults_on(&self, kind: Kind) -> impl Iterator<Item = (usize, &Fault)> {
        self.faults.iter().enumerate().filter(move |(_, fault)| fault.on == kind)
    }

    /// Notes that a message came, as far as a fault asks for it.
    fn note(&self, memory: &mut Memory, message: &Message, scope: &Scope) -> Count {
        if self.keeps_cards
            && message.kind == Kind::CardSave
            && let Some(card) = message.body.get("card")
        {
            memory.cards.insert(scope.clone(), card.clone());
        }
        if self.counts { memory.count(scope, message.kind) } else { Count::default() }
    }

    /// Does what the faults say to a message, whose JSON lies open or not.
    fn mutate(
        &self,
        memory: &mut Memory,
        (message, is_open): (Message, bool),
        count: Count,
        scope: &Scope,
    ) -> Vec<Message> {
        let original = message.kind;
        let mut passing =
            Passing { message: Some(message), extra: Vec::new(), repeat: count.call > 1, wrap: None };
        for (number, fault) in self.faults_on(original) {
            let holds =
                passing.message.as_ref().is_some_and(|message| fault.holds(message, count, scope, memory));
            if !holds {
                continue;
            }
            let changes = fault.actions.iter().any(|action| !action.remembers());
            let is_first = self.is_late && changes && self.is_spared(memory, &scope.0, number);
            for action in fault.actions.iter().filter(|action| !is_first || action.remembers()) {
                passing.apply(action, scope, memory);
            }
        }
        let mut out = passing.extra;
        let around = passing.wrap.as_ref().map_or(("", ""), |wrap| (&*wrap.before, &*wrap.after));
        out.extend(passing.message.map(
            |message| {
                if is_open { self.codec.close(message, around) } else { message }
            },
        ));
        if matches!(original, Kind::Report | Kind::Command) {
            out.extend(memory.held.remove(scope).unwrap_or_default());
        }
        out
    }
}

impl Wire for MutatingWire {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        self.pass(message)
    }

    fn incoming(&self, message: Message) -> Vec<Message> {
        self.pass(message)
    }
}

/// What the id of a rerun ends with. A second repeat is one of the rerun.
const RERUN: &str = "~rerun";

impl Memory {
    fn count(&mut self, scope: &Scope, kind: Kind) -> Count {
        let one_more = |count: &mut u32| {
            *count += 1;
            *count
        };
        Count {
            call: one_more(self.seen.entry((scope.clone(), kind)).or_default()),
            project: one_more(self.passed_here.entry((scope.0.clone(), kind)).or_default()),
            wire: one_more(self.passed.entry(kind).or_default()),
        }
    }

    /// A message of a rerun looks like one of the call that was run first.
    fn recall(&self, mut message: Message) -> Message {
        if message.direction == Direction::FromTarget && self.reruns {
            forget_reruns(&mut message.body);
        }
        message
    }
}

fn forget_reruns(value: &mut Value) {
    match value {
        Value::String(text) => {
            // Ids that were derived from the rerun's stay distinct; only the bare id is the first call's.
            if let Some(id) = text.strip_suffix(RERUN) {
                *text = id.to_owned();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(forget_reruns),
        Value::Object(members) => members.values_mut().for_each(forget_reruns),
        _ => {}
    }
}

impl Fault {
    fn holds(&self, message: &Message, count: Count, scope: &Scope, memory: &Memory) -> bool {
        self.when.iter().all(|condition| condition.holds(message, count, scope, memory))
    }

    /// Whether it asks how many messages there were.
    fn counts(&self) -> bool {
        let is_count = |condition: &Condition| {
            matches!(condition, Condition::Nth(_) | Condition::After(_) | Condition::AfterInProject(_))
        };
        self.when.iter().any(is_count) || self.actions.iter().any(Action::is_about_repeats)
    }
}

impl Condition {
    fn holds(&self, message: &Message, count: Count, scope: &Scope, memory: &Memory) -> bool {
        let member = |pointer: &str| message.body.pointer(pointer).filter(|value| !value.is_null());
        match self {
            Self::Has(pointer) => member(pointer).is_some(),
            Self::Lacks(pointer) => member(pointer).is_none(),
            Self::Text(pointer) => member(pointer).is_some_and(Value::is_string),
            Self::Equals(at) => message.body.pointer(&at.at) == Some(&at.to),
            Self::Channel(text) => message.channel.contains(text.as_str()),
            Self::Header(header) => {
                let to = || header.to.replace("{project_id}", &scope.0);
                message.headers.get(&header.name).is_some_and(|own| *own == to())
            }
            Self::NoHeader(name) => !message.headers.contains_key(name),
            Self::KeptInProject(name) => {
                memory.stashed.contains_key(&((scope.0.clone(), String::new()), name.clone()))
            }
            Self::Kept(name) => memory.stashed.contains_key(&(scope.clone(), name.clone())),
            Self::KeptIs(kept) => memory.stashed.get(&(scope.clone(), kept.name.clone())) == Some(&kept.to),
            Self::Nth(number) => *number == count.call,
            Self::After(number) => count.wire > *number,
            Self::AfterInProject(number) => count.project > *number,
        }
    }
}

/// A message on its way, what comes before it, and whether its like was there before.
struct Passing {
    message: Option<Message>,
    extra: Vec<Message>,
    repeat: bool,
    wrap: Option<Wrap>,
}

impl Passing {
    fn apply(&mut self, action: &Action, scope: &Scope, memory: &mut Memory) {
        let Some(message) = self.message.as_mut() else { return };
        match action {
            Action::Drop(pointer) => {
                remove(&mut message.body, pointer);
            }
            Action::Set(at) => {
                let value = filled(&at.to, &message_ids(scope, &message.body), &message.body);
                put(&mut message.body, &at.at, value);
            }
            Action::Null(pointer) => put(&mut message.body, pointer, Value::Null),
            Action::Stringify(pointer) => {
                change(&mut message.body, pointer, |value| Value::from(value.to_string()));
            }
            Action::Parse(pointer) => change(&mut message.body, pointer, |value| {
                let parsed = value.as_str().and_then(|text| serde_json::from_str(text).ok());
                parsed.unwrap_or_else(|| value.clone())
            }),
            Action::Lower(pointer) => change(&mut message.body, pointer, |value| {
                value.as_str().map_or_else(|| value.clone(), |text| Value::from(text.to_lowercase()))
            }),
            Action::Cut(at) => {
                let length = at.to.as_u64().and_then(|length| usize::try_from(length).ok());
                change(&mut message.body, &at.at, |value| match (value.as_str(), length) {
                    (Some(text), Some(length)) => text.chars().take(length).collect::<String>().into(),
                    _ => value.clone(),
                });
            }
            Action::Become(value) => message.body = value.clone(),
            Action::Wrap(wrap) => self.wrap = Some(wrap.clone()),
            Action::StoreUnshaped => {
                if message.body.pointer("/params/arguments/output").is_some() {
                    let mut extra = beside(message);
                    remove(&mut extra.body, "/params/arguments/output");
                    remove(&mut message.body, "/params/arguments/store_as");
                    self.extra.push(extra);
                }
            }
            Action::Header(header) => {
                message.headers.insert(header.name.clone(), header.to.clone());
            }
            Action::HeaderPart(part) => {
                if let Some(value) = message.headers.get_mut(&part.name) {
                    *value = with_part(value, part.part, &part.to);
                }
            }
            Action::DropHeader(name) => {
                message.headers.remove(name);
            }
            Action::Channel(replace) => {
                let to = replace.to.replace("{project_id}", &scope.0);
                let from = replace.from.replace("{project_id}", &scope.0);
                message.channel = message.channel.replace(&from, &to);
            }
            Action::Swallow => self.message = None,
            Action::Deafen => {
                memory.muted.insert(scope.0.clone());
            }
            Action::Twice => {
                let copy = message.clone();
                self.extra.push(copy);
            }
            Action::Hold => {
                memory.held.entry(scope.clone()).or_default().extend(self.message.take());
            }
            Action::Emit(emit) => {
                let extra = emitted(emit, message, scope);
                self.extra.push(extra);
            }
            Action::RerunRepeats if self.repeat => {
                memory.reruns = true;
                put(&mut message.body, "/tool_call_id", Value::from(format!("{}{RERUN}", scope.1)));
            }
            Action::SwallowKnownIds if self.repeat => self.message = None,
            Action::RerunRepeats | Action::SwallowKnownIds => {}
            Action::FreshCard => self.fresh_card(memory.cards.get(scope).cloned()),
            Action::Stash(_)
            | Action::Paste(_)
            | Action::Measure(_)
            | Action::Fill(_)
            | Action::DropKnown(_)
            | Action::StashHeader(_)
            | Action::PasteHeader(_) => remember(message, action, scope, memory),
        }
    }

    fn fresh_card(&mut self, card: Option<Value>) {
        let (Some(report), Some(mut card)) = (self.message.as_mut(), card) else { return };
        let id = format!("{}-again", card["card_id"].as_str().unwrap_or_default());
        card["card_id"] = Value::from(id.clone());
        put(&mut report.body, "/payload/tool_result_card_id", Value::from(id));
        self.extra.push(Message { kind: Kind::CardSave, body: json!({"card": card}), ..report.clone() });
    }
}

/// Keeps something of a message for a later one, or gives it what was kept.
fn remember(message: &mut Message, action: &Action, scope: &Scope, memory: &mut Memory) {
    let place = |wide: bool, name: &str| {
        let call = if wide { String::new() } else { scope.1.clone() };
        ((scope.0.clone(), call), name.to_owned())
    };
    let shared = |named: &Named| place(named.wide, &named.name);
    let key = |named: &HeaderNamed| place(named.wide, &named.name);
    match action {
        Action::Stash(named) => {
            if let Some(value) = message.body.pointer(&named.at) {
                memory.stashed.insert(shared(named), value.clone());
            }
        }
        Action::Paste(named) => {
            if let Some(value) = memory.stashed.get(&shared(named)) {
                put(&mut message.body, &named.at, value.clone());
            }
        }
        Action::Measure(named) => {
            let length = message.body.pointer(&named.at).map_or(0, |value| value.to_string().len());
            memory.stashed.insert(shared(named), Value::from(length));
        }
        Action::Fill(named) => {
            let length = memory.stashed.get(&shared(named)).and_then(Value::as_u64).unwrap_or_default();
            let text = "x".repeat(usize::try_from(length).unwrap_or_default());
            put(&mut message.body, &named.at, Value::from(text));
        }
        Action::DropKnown(pointer) => {
            if let Some(value) = message.body.pointer(pointer).cloned()
                && !memory.known.insert(value.to_string())
            {
                remove(&mut message.body, pointer);
            }
        }
        Action::StashHeader(named) => {
            if let Some(value) = message.headers.get(&named.header) {
                memory.stashed.insert(key(named), Value::from(value.clone()));
            }
        }
        Action::PasteHeader(named) => {
            if let Some(value) = memory.stashed.get(&key(named)).and_then(Value::as_str) {
                message.headers.insert(named.header.clone(), value.to_owned());
            }
        }
        _ => {}
    }
}

fn emitted(emit: &Emit, message: &Message, scope: &Scope) -> Message {
    let ids = message_ids(scope, &message.body);
    let body = filled(&emit.body, &ids, &message.body);
    if !emit.headers.is_empty() {
        let call = message.headers.get(CALL).cloned().unwrap_or_default();
        let headers = emit.headers.iter().map(|(name, text)| (name.clone(), text.replace("{call}", &call)));
        let scenario = message.headers.get(SCENARIO).map(|own| (SCENARIO.to_owned(), own.clone()));
        return Message {
            direction: Direction::FromTarget,
            kind: emit.kind,
            channel: emit.channel.clone(),
            headers: headers.chain(scenario).collect(),
            body,
        };
    }
    if emit.kind == Kind::Request {
        let id = beside(message).body["id"].clone();
        let mut request = Message { body, ..message.clone() };
        request.body["id"] = id;
        return request;
    }
    let channel = match filled(&Value::from(emit.channel.clone()), &ids, &message.body) {
        Value::String(channel) => channel,
        _ => emit.channel.clone(),
    };
    // The end of a child is reported to the target; everything else that is added comes from the target.
    let direction = if emit.kind == Kind::Task { message.direction } else { Direction::FromTarget };
    Message { direction, kind: emit.kind, channel, headers: message.headers.clone(), body }
}

/// Project and agent of a message.
fn message_ids(scope: &Scope, body: &Value) -> (String, String) {
    let agent = ["/payload/agent_id", "/agent_id", "/card/author_id"]
        .iter()
        .find_map(|pointer| body.pointer(pointer).and_then(Value::as_str));
    (scope.0.clone(), agent.unwrap_or_default().to_owned())
}

/// A further request, whose answer nobody waits for.
fn beside(message: &Message) -> Message {
    let mut extra = message.clone();
    let id = extra.body.get("id").and_then(Value::as_i64).unwrap_or_default();
    extra.body["id"] = Value::from(id + 1_000_000_000);
    extra
}

#[cfg(test)]
mod tests;
