//! How far a mutant reaches: the scenarios whose messages its faults would touch.
//!
//! Each profile runs once on a wire that changes nothing and remembers what passed. A mutant's wire then gets the same
//! messages; where all of them come out as they went in, the scenario would run as it did without the mutant, and need
//! not run again. What cannot be attributed to one scenario (a message before the first scenario, a fault that counts
//! all messages) reaches every scenario.
//!
//! Neighbours: `mutating_wire` is the wire, `matrix` runs what is reached, and a mutant's own rule in any case.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Mutex;

use crate::engine::codec::Codec;
use crate::engine::run::RunOutput;
use crate::mutation::mutant::{Action, Condition, Fault, Mutant};
use crate::mutation::mutating_wire::MutatingWire;
use crate::mutation::passed::{Passed, scope};
use crate::net::wire::Wire;
use crate::transcript::{Kind, Message, lock};

/// What some actions are about beside the message that they are done to.
const REMEMBERED: [Kind; 3] = [Kind::CardSave, Kind::Report, Kind::Command];

/// Whether an action keeps other messages in mind, or lets them get lost later.
fn looks_around(action: &Action) -> bool {
    matches!(action, Action::FreshCard | Action::Deafen | Action::Hold | Action::RerunRepeats)
}

/// Passes everything on, and remembers it.
#[derive(Debug, Default)]
pub(super) struct Recording {
    messages: Mutex<Vec<Message>>,
}

impl Recording {
    fn keep(&self, message: Message) -> Vec<Message> {
        lock(&self.messages).push(message.clone());
        vec![message]
    }
}

impl Wire for Recording {
    fn outgoing(&self, message: Message) -> Vec<Message> {
        self.keep(message)
    }

    fn incoming(&self, message: Message) -> Vec<Message> {
        self.keep(message)
    }
}

/// What a mutant would change of the messages of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// How many messages of a scenario, by its id.
    pub(super) scenarios: BTreeMap<String, usize>,
    /// Whether it changes a message that belongs to none, and so may change any of them.
    pub(super) elsewhere: bool,
}

/// What passed while a profile ran without any fault.
#[derive(Debug)]
pub(super) struct Traffic {
    messages: Vec<Passed>,
    /// The scenario that a message belongs to, by what the wire knows it by.
    scenarios: HashMap<String, String>,
    /// What faults were found to reach, for the other mutants that have the same: late twins.
    found: Mutex<HashMap<String, Option<Reached>>>,
}

impl Traffic {
    /// Of a run that has ended.
    pub(super) fn of(recording: &Recording, output: &RunOutput, codec: &'static dyn Codec) -> Self {
        let passed = std::mem::take(&mut *lock(&recording.messages));
        let messages = passed.into_iter().map(|message| Passed::new(message, codec)).collect();
        let mut scenarios = HashMap::new();
        for (id, frames) in output.transcripts() {
            for frame in frames {
                let (own, _) = scope(&frame.into());
                if !own.is_empty() {
                    scenarios.entry(own).or_insert_with(|| id.to_owned());
                }
            }
        }
        Self { messages, scenarios, found: Mutex::default() }
    }

    /// What a mutant reaches; nothing where a fault counts the messages of a whole run.
    pub(super) fn reached(&self, mutant: &Mutant, codec: &'static dyn Codec) -> Option<Reached> {
        let key = format!("{:?}", mutant.fault);
        let known = lock(&self.found).get(&key).cloned();
        known.unwrap_or_else(|| {
            let reached = self.reach_of(&mutant.fault, codec);
            lock(&self.found).insert(key, reached.clone());
            reached
        })
    }

    fn reach_of(&self, faults: &[Fault], codec: &'static dyn Codec) -> Option<Reached> {
        if faults
            .iter()
            .flat_map(|fault| &fault.when)
            .any(|condition| matches!(condition, Condition::After(_)))
        {
            return None;
        }
        let around = faults.iter().flat_map(|fault| &fault.actions).any(looks_around);
        let remembered = REMEMBERED.into_iter().filter(|_| around);
        let kinds: HashSet<Kind> = faults.iter().map(|fault| fault.on).chain(remembered).collect();
        // What a late fault lets alone is what comes first in its own run.
        let wire = MutatingWire::new(faults.to_vec(), codec);
        let mut reached = Reached::default();
        for passed in self.messages.iter().filter(|passed| kinds.contains(&passed.kind())) {
            if wire.changes(passed) {
                match self.scenarios.get(&passed.scope.0) {
                    Some(scenario) => *reached.scenarios.entry(scenario.clone()).or_default() += 1,
                    None => reached.elsewhere = true,
                }
            }
        }
        Some(reached)
    }
}
