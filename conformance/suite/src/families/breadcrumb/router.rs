//! Who is in the room with a target: the scenarios, each with its transcript, and the wire between them and it.
//!
//! A message belongs to the scenario whose mark stands in it, wherever that is. One without a mark belongs to nobody who
//! is judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use callmark_reports::record::Direction;
use serde_json::Value;

use super::crumb::RESPONSE;
use crate::net::outbound::open_calls::OpenCalls;
use crate::net::wire::{CALL, SCENARIO, Wire};
use crate::transcript::{Kind, Message, Transcript, lock};

/// Characters of a mark.
const MARK: usize = 12;
/// Requests without an answer that are remembered.
const MAX_UNPLAYED: usize = 16;

/// One scenario as the parties see it.
#[derive(Debug)]
pub struct ScenarioChannel {
    /// Its mark, 12 hexadecimal digits, which stand in every id of it.
    pub unique: String,
    /// Its messages.
    pub transcript: Arc<Transcript>,
}

/// The scenarios of a run and the wire that all messages cross.
pub struct ScenarioRouter {
    wire: Arc<dyn Wire>,
    /// What is open at the target, by the ids of calls or the marks of tasks.
    pub(super) open_calls: Arc<OpenCalls>,
    /// What belongs to no scenario.
    pub unattributed: Arc<ScenarioChannel>,
    scenario_channels: Mutex<HashMap<String, Arc<ScenarioChannel>>>,
    /// Numbers that belong to a scenario.
    numbers: Mutex<HashMap<String, Arc<ScenarioChannel>>>,
    /// Requests of the target to paths at which the suite plays nothing.
    unplayed: Mutex<BTreeSet<String>>,
}

impl ScenarioRouter {
    /// An empty room.
    pub fn new(wire: Arc<dyn Wire>) -> Self {
        let unattributed = ScenarioChannel { unique: "unattributed".to_owned(), transcript: Arc::default() };
        Self {
            wire,
            open_calls: Arc::default(),
            unattributed: Arc::new(unattributed),
            scenario_channels: Mutex::default(),
            numbers: Mutex::default(),
            unplayed: Mutex::default(),
        }
    }

    /// Notes a request to which the suite has no answer.
    pub fn note_unplayed(&self, method: &str, path: &str) {
        // Ids differ from run to run.
        let is_id = |step: &&str| step.len() >= MARK && step.bytes().any(|byte| byte.is_ascii_digit());
        let steps: Vec<&str> = path.split('/').map(|step| if is_id(&step) { "{id}" } else { step }).collect();
        let mut unplayed = lock(&self.unplayed);
        if unplayed.len() < MAX_UNPLAYED {
            unplayed.insert(format!("{method} {}", steps.join("/")));
        }
    }

    /// One of the requests to which the suite had no answer.
    pub fn unplayed(&self) -> Option<String> {
        lock(&self.unplayed).first().cloned()
    }

    /// A scenario is known by a number too, for a target that loses its mark.
    pub fn know_by(&self, number: String, scenario_channel: &Arc<ScenarioChannel>) {
        lock(&self.numbers).insert(number, Arc::clone(scenario_channel));
    }

    /// A scenario comes in.
    pub fn enter(&self, unique: &str) -> Arc<ScenarioChannel> {
        self.enter_with(unique, Arc::default())
    }

    /// As [`ScenarioRouter::enter`], with what the scenario writes down.
    pub fn enter_with(&self, unique: &str, transcript: Arc<Transcript>) -> Arc<ScenarioChannel> {
        let scenario_channel = Arc::new(ScenarioChannel { unique: unique.to_owned(), transcript });
        lock(&self.scenario_channels).insert(unique.to_owned(), Arc::clone(&scenario_channel));
        scenario_channel
    }

    /// The scenario that a text belongs to.
    pub fn whose(&self, text: &str) -> Arc<ScenarioChannel> {
        let (scenario_channels, numbers) = (lock(&self.scenario_channels), lock(&self.numbers));
        let marked = marks(text).find_map(|mark| scenario_channels.get(mark));
        let mut words = text.split(|letter: char| !letter.is_ascii_digit());
        let known = marked.or_else(|| words.find_map(|word| numbers.get(word)));
        Arc::clone(known.unwrap_or(&self.unattributed))
    }

    /// A message of the target: what the suite takes it to have sent, written down where it belongs.
    pub fn record_incoming(
        &self,
        kind: Kind,
        channel: &str,
        headers: BTreeMap<String, String>,
        body: Value,
    ) -> Vec<Value> {
        let scenario_channel = self.whose(&format!("{channel} {body}"));
        self.record_incoming_of(&scenario_channel, kind, channel, headers, body)
    }

    /// The same, of a scenario that is known.
    pub fn record_incoming_of(
        &self,
        scenario_channel: &ScenarioChannel,
        kind: Kind,
        channel: &str,
        headers: BTreeMap<String, String>,
        body: Value,
    ) -> Vec<Value> {
        let message = Self::message(scenario_channel, Direction::FromTarget, kind, channel, headers, body);
        if let Some(id) = message.headers.get(CALL).filter(|_| message.body["schema_name"] == RESPONSE) {
            self.open_calls.answered(id);
        }
        let arrived = self.wire.incoming(message);
        arrived
            .into_iter()
            .map(|message| {
                let body = message.body.clone();
                scenario_channel.transcript.record(message);
                body
            })
            .collect()
    }

    /// A message of the suite: written down as it was meant; what really arrives at the target.
    pub fn send(
        &self,
        scenario_channel: &ScenarioChannel,
        kind: Kind,
        channel: &str,
        headers: BTreeMap<String, String>,
        body: Value,
    ) -> Vec<Value> {
        let message = Self::message(scenario_channel, Direction::ToTarget, kind, channel, headers, body);
        scenario_channel.transcript.record(message.clone());
        self.wire.outgoing(message).into_iter().map(|message| message.body).collect()
    }

    fn message(
        scenario_channel: &ScenarioChannel,
        direction: Direction,
        kind: Kind,
        channel: &str,
        mut headers: BTreeMap<String, String>,
        body: Value,
    ) -> Message {
        headers.insert(SCENARIO.to_owned(), scenario_channel.unique.clone());
        let ids = ["/context/request_id", "/context/requestId"];
        if let Some(id) = ids.iter().find_map(|pointer| body.pointer(pointer).and_then(Value::as_str)) {
            headers.entry(CALL.to_owned()).or_insert_with(|| id.to_owned());
        }
        Message { direction, kind, channel: channel.to_owned(), headers, body }
    }
}

/// What may be marks in a text: hexadecimal digits, 12 at a time.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
    let bytes = text.as_bytes();
    let mut end = 0;
    // Digits that come before each end, so that each window is looked at once.
    let mut run = 0;
    std::iter::from_fn(move || {
        while end < bytes.len() {
            run = if is_digit(&bytes[end]) { run + 1 } else { 0 };
            end += 1;
            if run >= MARK {
                return text.get(end - MARK..end);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::net::wire::PassthroughWire;

    #[test]
    fn what_the_suite_does_not_play_is_noted_without_ids() {
        let router = ScenarioRouter::new(Arc::new(PassthroughWire));
        assert_eq!(router.unplayed(), None);
        router.note_unplayed("DELETE", "/breadcrumbs/7d1e4c20-5b3f-4f6a-8e21-c94d0a6b3f58");
        assert_eq!(router.unplayed().as_deref(), Some("DELETE /breadcrumbs/{id}"));
    }

    #[test]
    fn a_message_belongs_to_the_scenario_whose_mark_it_holds() {
        let router = ScenarioRouter::new(Arc::new(PassthroughWire));
        let scenario_channel = router.enter("0123456789ab");
        let _other = router.enter("ba9876543210");
        let body = json!({"context": {"request_id": "echo-f0123456789abc"}});
        router.record_incoming(Kind::Crumb, "POST /breadcrumbs", BTreeMap::new(), body);
        assert_eq!(scenario_channel.transcript.seen(), 1);
        router.record_incoming(
            Kind::Crumb,
            "POST /breadcrumbs",
            BTreeMap::new(),
            json!({"context": "012345 6789ab"}),
        );
        assert_eq!((scenario_channel.transcript.seen(), router.unattributed.transcript.seen()), (1, 1));
    }
}
