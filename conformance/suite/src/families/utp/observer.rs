//! Commands and callbacks among messages on a bus that nobody staged, over the NATS binding of the platform
//! (`docs/bindings.md`).
//!
//! A call is put together by its project and its `tool_call_id`, wherever the revision of its subject has that: the command, the answer of the card store that showed its
//! card, the cards that name it, its reports. It is judged some messages after its report, so that a second report is
//! seen. Two calls of one project that have one id are not judged. Where no message of the card store is seen in a project, its cards are kept elsewhere, and nothing is judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use callmark_reports::record::Direction;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::manifest::UtpTable;
use super::revision::Revision;
use super::{message, subject};
use crate::engine::recording::observer::{BusMessage, Observer, Seen, Traffic, window};
use crate::engine::recording::{At, MAX_OPEN, Window};
use crate::transcript::{Frame, Kind, Message};

/// Messages after a report within which more may come that is about the same call.
const LINGER: u64 = 512;
/// Saved cards, questions to the card store and projects that are remembered.
const REMEMBERED: usize = 4096;
/// Messages of one call.
const FRAMES: usize = 256;

/// Project and id of a call.
type Key = (String, String);

/// A call that has begun.
#[derive(Debug)]
struct Call {
    at: At,
    revision: Revision,
    profile: usize,
    frames: Vec<Frame>,
    is_reported: bool,
    is_flooded: bool,
    /// Whether another call has the same id: nobody can say whose the reports and cards are.
    is_mixed_up: bool,
}

/// The last few of something, by name.
#[derive(Debug)]
struct Recent<T> {
    kept: BTreeMap<Key, T>,
    order: VecDeque<Key>,
}

impl<T> Recent<T> {
    fn new() -> Self {
        Self { kept: BTreeMap::new(), order: VecDeque::new() }
    }

    fn clear(&mut self) {
        self.kept.clear();
        self.order.clear();
    }

    fn keep(&mut self, key: Key, value: T) {
        if self.kept.insert(key.clone(), value).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }

    fn take(&mut self, key: &Key) -> Option<T> {
        let value = self.kept.remove(key)?;
        self.order.retain(|own| own != key);
        Some(value)
    }
}

/// Puts calls together.
#[derive(Debug)]
pub(super) struct BusObserver {
    /// Tool Service, PMO, worker, by revision.
    roles: BTreeMap<Revision, [Option<Arc<[&'static str]>>; 3]>,
    calls: BTreeMap<Key, Call>,
    /// Calls in the order of their commands.
    begun: VecDeque<Key>,
    /// Calls in the order of their first reports, with the number of that message.
    reported: VecDeque<(u64, Key)>,
    /// Saved cards, by project and id.
    saved: Recent<Frame>,
    /// Commands that point to a card which was not seen yet, where the worker's cards are seen; by project and id of the card.
    unsaved: Recent<(At, Revision, Frame)>,
    /// Questions to the card store, by the subject of the answer.
    requests: Recent<(String, Frame)>,
    /// Calls, by project and id of the card that their command points to.
    pointed: Recent<Key>,
    /// Projects whose card store was seen.
    stores: Recent<()>,
    /// Projects in which a card of a call was seen to be saved, which is the worker's.
    workers: Recent<()>,
    /// Calls that are over. A command that is delivered once more is answered with what was saved then.
    over: Recent<()>,
    messages: u64,
    /// How many there were when time was last looked at.
    looked: u64,
    unattributed: u64,
}

/// The profiles of the roles.
const V1R3: [&str; 3] = ["utp.tool-service", "utp.pmo", "utp.worker"];
const V1R4: [&str; 3] = ["utp.tool-service@v1r4", "utp.pmo@v1r4", "utp.worker@v1r4"];

const TOOL_SERVICE: usize = 0;
const PMO: usize = 1;
const WORKER: usize = 2;

impl BusObserver {
    /// For the roles that this table has.
    pub(super) fn new(table: &UtpTable) -> Self {
        let has = [table.tool_service.is_some(), table.pmo.is_some(), table.worker.is_some()];
        let role = |(profile, has): (&'static str, bool)| has.then(|| [profile].into());
        let of = |revision: Revision| {
            let [tool_service, pmo, worker] = match revision {
                Revision::V1r3 => V1R3,
                Revision::V1r4 => V1R4,
            };
            let [first, second, third] = has;
            (revision, [(tool_service, first), (pmo, second), (worker, third)].map(role))
        };
        Self {
            roles: Revision::ALL.map(of).into(),
            calls: BTreeMap::new(),
            begun: VecDeque::new(),
            reported: VecDeque::new(),
            saved: Recent::new(),
            unsaved: Recent::new(),
            requests: Recent::new(),
            pointed: Recent::new(),
            stores: Recent::new(),
            workers: Recent::new(),
            over: Recent::new(),
            messages: 0,
            looked: 0,
            unattributed: 0,
        }
    }

    fn message(&mut self, at: At, bus: &BusMessage, complete: &mut Vec<Window>) -> bool {
        self.messages += 1;
        self.close_until(self.messages.saturating_sub(LINGER), complete);
        let tokens: Vec<&str> = bus.subject.split('.').collect();
        match tokens.as_slice() {
            ["cg", version, project, ..]
                if subject::is_tool_command(&bus.subject) || subject::is_pmo_command(&bus.subject) =>
            {
                self.command(at, (Revision::of(version), project), bus, complete);
            }
            ["l0", "v1", project, "cards", "get"] => {
                self.stores.keep(named(project, ""), ());
                let request = frame(Direction::FromTarget, Kind::CardsGet, bus);
                if let Some(reply) = &bus.reply {
                    self.requests.keep(named("", reply), ((*project).to_owned(), request));
                }
            }
            ["l0", "v1", project, "cards", "save"] => self.save(project, bus, complete),
            ["l0", "v1", project, _, "report"] => self.report(project, bus),
            ["l0", "v1", ..] | ["cg", ..] => self.unattributed += 1,
            _ => return self.answer(bus),
        }
        true
    }

    fn command(
        &mut self,
        at: At,
        (revision, project): (Revision, &str),
        bus: &BusMessage,
        complete: &mut Vec<Window>,
    ) {
        let command = frame(Direction::ToTarget, Kind::Command, bus);
        let card = command.text("/tool_call_card_id").filter(|id| !id.is_empty());
        let card = card.map(|id| named(project, id));
        let is_again = bus.reply.as_deref().is_some_and(is_delivered_again);
        if !is_again {
            self.sent((at, revision), (project, &command), card.as_ref(), complete);
        }
        let Some(id) = revision.sent(&command, "tool_call_id").map(str::to_owned).filter(|id| !id.is_empty())
        else {
            self.unattributed += 1;
            return;
        };
        let key = named(project, &id);
        if self.over.kept.contains_key(&key) {
            self.unattributed += 1;
            return;
        }
        if is_again && !self.calls.contains_key(&key) {
            // What its first delivery came to, for example a card, was there before anything of it was seen.
            self.over.keep(key, ());
            self.unattributed += 1;
            return;
        }
        if let Some(card) = card {
            self.pointed.keep(card, key.clone());
        }
        if let Some(call) = self.calls.get_mut(&key) {
            let is_another = call.frames.first().is_some_and(|first| first.channel != command.channel);
            call.is_mixed_up |= is_another;
            call.add(command);
            return;
        }
        if self.calls.len() >= MAX_OPEN
            && let Some(oldest) = self.begun.pop_front()
        {
            self.close(&oldest, complete);
        }
        if self.begun.len() >= 2 * MAX_OPEN {
            let calls = &self.calls;
            self.begun.retain(|key| calls.contains_key(key));
        }
        let profile = if subject::is_pmo_command(&bus.subject) { PMO } else { TOOL_SERVICE };
        let call = Call {
            at,
            revision,
            profile,
            frames: vec![command],
            is_reported: false,
            is_flooded: false,
            is_mixed_up: false,
        };
        self.begun.push_back(key.clone());
        self.calls.insert(key, call);
    }

    /// The command as its worker's, with the card that was saved before it. Where the worker's cards are seen, one that
    /// points to no card is judged alone, and one whose card is yet to come together with that.
    fn sent(
        &mut self,
        (at, revision): (At, Revision),
        (project, command): (&str, &Frame),
        card: Option<&Key>,
        complete: &mut Vec<Window>,
    ) {
        let Some(profiles) = self.profiles(revision, WORKER) else { return };
        let saved = card.and_then(|card| self.saved.kept.get(card));
        let command = Frame { direction: Direction::FromTarget, ..command.clone() };
        let shows_cards = self.workers.kept.contains_key(&named(project, ""));
        match (card, saved) {
            (_, Some(saved)) => complete.push(window(profiles, at, vec![saved.clone(), command])),
            (None, None) if shows_cards => complete.push(window(profiles, at, vec![command])),
            (Some(card), None) if shows_cards => self.unsaved.keep(card.clone(), (at, revision, command)),
            _ => {}
        }
    }

    /// The card of a call, saved after the command that points to it.
    fn saved_late(&mut self, card: &Key, saved: &Frame, complete: &mut Vec<Window>) {
        let Some((at, revision, command)) = self.unsaved.take(card) else { return };
        if let Some(profiles) = self.profiles(revision, WORKER) {
            complete.push(window(profiles, at, vec![command, saved.clone()]));
        }
    }

    fn profiles(&self, revision: Revision, role: usize) -> Option<&Arc<[&'static str]>> {
        self.roles.get(&revision)?[role].as_ref()
    }

    fn save(&mut self, project: &str, bus: &BusMessage, complete: &mut Vec<Window>) {
        self.stores.keep(named(project, ""), ());
        let saved = frame(Direction::FromTarget, Kind::CardSave, bus);
        let card = saved.body.get("card").filter(|card| card.is_object()).unwrap_or(&saved.body);
        // The card of the call itself is its worker's.
        let is_result = message::card_type(card) != Some("tool.call");
        if !is_result {
            self.workers.keep(named(project, ""), ());
        }
        let call = message::call_id(card).filter(|_| is_result).map(|id| named(project, id));
        let id = card.get("card_id").and_then(Value::as_str).map(|id| named(project, id));
        if let Some(call) = call.and_then(|key| self.calls.get_mut(&key)) {
            call.add(saved.clone());
        }
        let Some(id) = id else {
            if is_unreadable(&bus.body) {
                self.gap();
            }
            self.unattributed += 1;
            return;
        };
        if !is_result {
            self.saved_late(&id, &saved, complete);
        }
        self.saved.keep(id, saved);
    }

    fn report(&mut self, project: &str, bus: &BusMessage) {
        let report = frame(Direction::FromTarget, Kind::Report, bus);
        // The subject of a report has no revision. One that names its call in the wrong place is about that call, too.
        let named_by = Revision::ALL.into_iter().filter_map(|own| own.reported(&report, "tool_call_id"));
        let ids = named_by.chain(report.text("/correlation_id"));
        let key = ids.map(|id| named(project, id)).find(|key| self.calls.contains_key(key));
        let Some(call) = key.as_ref().and_then(|key| self.calls.get_mut(key)) else {
            self.unattributed += 1;
            return;
        };
        let card = report.text("/payload/tool_result_card_id").map(|id| named(project, id));
        // A card that names no call belongs to the report that points to it.
        if let Some(saved) = card.and_then(|card| self.saved.kept.get(&card))
            && !call.frames.iter().any(|own| own.kind == Kind::CardSave && own.body == saved.body)
        {
            call.add(saved.clone());
        }
        call.add(report);
        if !call.is_reported {
            call.is_reported = true;
            self.reported.extend(key.map(|key| (self.messages, key)));
        }
    }

    /// An answer of the card store, by the subject that was named for it.
    fn answer(&mut self, bus: &BusMessage) -> bool {
        let Some((project, request)) = self.requests.kept.remove(&named("", &bus.subject)) else {
            return false;
        };
        let reply = frame(Direction::ToTarget, Kind::CardsReply, bus);
        let cards = reply.body.get("cards").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let ids = cards.iter().chain([&reply.body]).filter_map(|card| card.get("card_id")?.as_str());
        let cards: BTreeSet<Key> = ids.map(|id| named(&project, id)).collect();
        for card in &cards {
            // It was saved before anything of it was seen.
            self.unsaved.take(card);
        }
        let keys: BTreeSet<Key> =
            cards.iter().filter_map(|card| self.pointed.kept.get(card).cloned()).collect();
        for key in keys {
            if let Some(call) = self.calls.get_mut(&key) {
                call.add(request.clone());
                call.add(reply.clone());
            }
        }
        true
    }

    /// Closes calls that were reported until this message.
    fn close_until(&mut self, last: u64, complete: &mut Vec<Window>) {
        while let Some((number, _)) = self.reported.front()
            && *number <= last
            && let Some((_, key)) = self.reported.pop_front()
        {
            self.close(&key, complete);
        }
    }

    fn close(&mut self, key: &Key, complete: &mut Vec<Window>) {
        let Some(call) = self.calls.remove(key) else { return };
        self.over.keep(key.clone(), ());
        let shows_cards = self.stores.kept.contains_key(&named(&key.0, ""));
        match self.profiles(call.revision, call.profile) {
            Some(profiles) if call.is_reported && shows_cards && !call.is_flooded && !call.is_mixed_up => {
                complete.push(window(profiles, call.at, call.frames));
            }
            _ => self.unattributed += call.frames.len() as u64,
        }
    }
}

impl Call {
    fn add(&mut self, frame: Frame) {
        if self.frames.len() >= FRAMES {
            self.is_flooded = true;
        } else {
            self.frames.push(frame);
        }
    }
}

impl Observer for BusObserver {
    fn take(&mut self, seen: &Seen, complete: &mut Vec<Window>) -> bool {
        match &seen.traffic {
            Traffic::Bus(bus) => self.message(seen.at, bus, complete),
            Traffic::Http(_) | Traffic::Rpc(_) | Traffic::Stored(_) => false,
        }
    }

    fn finish(&mut self, complete: &mut Vec<Window>) -> u64 {
        let before = self.unattributed;
        let keys: Vec<Key> = self.calls.keys().cloned().collect();
        for key in keys {
            self.close(&key, complete);
        }
        let left = self.unattributed - before;
        self.unattributed = before;
        left
    }

    fn unattributed(&self) -> u64 {
        self.unattributed
    }

    fn open(&self) -> usize {
        self.calls.values().filter(|call| !call.is_reported).count()
    }

    /// What is missing may be a card, a report or the question to an answer, of any call.
    fn gap(&mut self) {
        for (key, call) in std::mem::take(&mut self.calls) {
            self.unattributed += call.frames.len() as u64;
            self.over.keep(key, ());
        }
        self.begun.clear();
        self.reported.clear();
        self.saved.clear();
        self.unsaved.clear();
        self.requests.clear();
        self.pointed.clear();
    }

    /// A second report may follow the first one for as long as it takes from one look to the next.
    fn settle(&mut self, complete: &mut Vec<Window>) {
        self.close_until(self.looked, complete);
        self.looked = self.messages;
    }
}

/// Whether a stream delivers a message not for the first time, by where it is acknowledged:
/// `$JS.ACK.<stream>.<consumer>.<times>.…`, and before the stream two more tokens where domains have names.
fn is_delivered_again(reply: &str) -> bool {
    let tokens: Vec<&str> = reply.split('.').collect();
    let (["$JS", "ACK", _, _, times, _, _, _, _] | ["$JS", "ACK", _, _, _, _, times, _, _, _, _, ..]) =
        tokens.as_slice()
    else {
        return false;
    };
    times.parse().is_ok_and(|times: u64| times > 1)
}

/// Whether it has the form of JSON, and holds what this reader cannot: half of a surrogate pair, a number of another size, more
/// levels.
fn is_unreadable(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_err() && serde_json::from_slice::<IgnoredAny>(body).is_ok()
}

fn named(project: &str, id: &str) -> Key {
    (project.to_owned(), id.to_owned())
}

fn frame(direction: Direction, kind: Kind, bus: &BusMessage) -> Frame {
    let message = Message {
        direction,
        kind,
        channel: bus.subject.clone(),
        headers: bus.headers.clone(),
        body: message::body(&bus.body),
    };
    Frame { at_us: bus.at_us, ..Frame::from(message) }
}

#[cfg(test)]
mod tests;
