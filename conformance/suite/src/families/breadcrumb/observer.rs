//! Calls of a tool runner among breadcrumbs that nobody staged.
//!
//! A breadcrumb with requests is put together with what names one of their ids afterwards: the answers, and what the runner
//! stores beside them. It is judged some breadcrumbs after the last of its requests was answered, so that a second answer is
//! seen. Requests whose id another one has at that time are not judged.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::crumb::{INVOCATION, REQUEST};
use super::manifest::{Dispatch, RunnerTable};
use super::runner::answer::Answer;
use crate::engine::recording::observer::{Observer, Seen, StoredRecord, Traffic, window};
use crate::engine::recording::{At, MAX_OPEN, Window};
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind, Message};

/// Breadcrumbs after the last answer within which another one may come.
const LINGER: u64 = 64;
/// Ids of requests that are over, and breadcrumbs that are still to be filled, which are remembered.
const REMEMBERED: usize = 4096;
/// Messages of one breadcrumb with requests.
const FRAMES: usize = 256;
/// What an answer calls the id of its request, in the order in which it is looked for.
const IDS: [&str; 4] = ["request_id", "requestId", "correlation_id", "id"];

/// A breadcrumb with requests, and what came of it.
#[derive(Debug)]
struct Invocation {
    at: At,
    frames: Vec<Frame>,
    requests: BTreeSet<String>,
    unanswered: BTreeSet<String>,
    is_flooded: bool,
    /// Whether another request has one of the ids: nobody can say whose the answers are.
    is_mixed_up: bool,
}

/// Puts calls together.
#[derive(Debug)]
pub(super) struct CrumbObserver {
    profiles: Arc<[&'static str]>,
    dispatch: Dispatch,
    /// By the id of the breadcrumb.
    open: BTreeMap<String, Invocation>,
    /// In the order in which they were stored.
    begun: VecDeque<String>,
    /// The breadcrumb of each open request.
    asked: BTreeMap<String, String>,
    /// Breadcrumbs whose requests are answered, with the number of the last answer.
    answered: VecDeque<(u64, String)>,
    /// Ids of requests that are over.
    over: Recent,
    /// Answers that were stored without content.
    blank: Recent,
    crumbs: u64,
    looked: u64,
    unattributed: u64,
}

/// The last few names.
#[derive(Debug, Default)]
struct Recent {
    kept: BTreeSet<String>,
    order: VecDeque<String>,
}

impl Recent {
    fn keep(&mut self, name: String) {
        if self.kept.insert(name.clone()) {
            self.order.push_back(name);
        }
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.kept.remove(&oldest);
        }
    }
}

impl CrumbObserver {
    /// For the runner of this table.
    pub(super) fn new(table: &RunnerTable) -> Self {
        Self {
            profiles: ["breadcrumb.runner"].into(),
            dispatch: table.dispatch,
            open: BTreeMap::new(),
            begun: VecDeque::new(),
            asked: BTreeMap::new(),
            answered: VecDeque::new(),
            over: Recent::default(),
            blank: Recent::default(),
            crumbs: 0,
            looked: 0,
            unattributed: 0,
        }
    }

    fn crumb(&mut self, at: At, event: &StoredRecord, complete: &mut Vec<Window>) {
        self.crumbs += 1;
        self.close_until(self.crumbs.saturating_sub(LINGER), complete);
        let text = |name: &str| event.record.get(name).and_then(Value::as_str).unwrap_or_default();
        let id = text("id").to_owned();
        let is_request = match self.dispatch {
            Dispatch::Agent => text("schema_name") == INVOCATION,
            Dispatch::Request => text("schema_name") == REQUEST,
        };
        let requests = if is_request { requests(&event.record) } else { BTreeSet::new() };
        // What was asked for is taken once: a later version starts nothing again.
        if !requests.is_empty() && event.version == 1 {
            return self.begin(at, id, requests, event, complete);
        }
        let was_blank = self.blank.kept.remove(&id);
        let kind = if event.version > 1 && !was_blank { Kind::CrumbChange } else { Kind::Crumb };
        let frame = frame(Direction::FromTarget, kind, event);
        let answer = Answer { frame: &frame };
        let is_answer = answer.is_one();
        if answer.has_schema() && !is_answer {
            self.blank.keep(id);
        }
        let Some((request, invocation)) = self.named(&event.record) else {
            self.unattributed += 1;
            return;
        };
        let Some(own) = self.open.get_mut(&invocation) else { return };
        own.add(frame);
        if is_answer && own.unanswered.remove(&request) && own.unanswered.is_empty() {
            self.answered.push_back((self.crumbs, invocation));
        }
    }

    fn begin(
        &mut self,
        at: At,
        id: String,
        requests: BTreeSet<String>,
        event: &StoredRecord,
        complete: &mut Vec<Window>,
    ) {
        if self.open.len() >= MAX_OPEN
            && let Some(oldest) = self.begun.pop_front()
        {
            self.close(&oldest, complete);
        }
        if self.begun.len() >= 2 * MAX_OPEN {
            let open = &self.open;
            self.begun.retain(|id| open.contains_key(id));
        }
        let mut is_mixed_up = false;
        for request in &requests {
            let other = self.asked.insert(request.clone(), id.clone());
            if let Some(other) = other.and_then(|other| self.open.get_mut(&other)) {
                other.is_mixed_up = true;
                is_mixed_up = true;
            }
            is_mixed_up |= self.over.kept.contains(request);
        }
        let frames = vec![frame(Direction::ToTarget, Kind::Put, event)];
        let unanswered = requests.clone();
        let own = Invocation { at, frames, requests, unanswered, is_flooded: false, is_mixed_up };
        self.begun.push_back(id.clone());
        self.open.insert(id, own);
    }

    /// The open request that a breadcrumb names, and the breadcrumb that holds it.
    fn named(&self, crumb: &Value) -> Option<(String, String)> {
        let context = crumb.get("context").unwrap_or(crumb);
        let ids = IDS.iter().filter_map(|name| context.get(name)?.as_str());
        let tags = crumb.get("tags").and_then(Value::as_array).into_iter().flatten();
        let tagged = tags.filter_map(|tag| tag.as_str()?.strip_prefix("request:"));
        ids.chain(tagged).find_map(|id| Some((id.to_owned(), self.asked.get(id)?.clone())))
    }

    fn close_until(&mut self, last: u64, complete: &mut Vec<Window>) {
        while let Some((number, _)) = self.answered.front()
            && *number <= last
            && let Some((_, id)) = self.answered.pop_front()
        {
            self.close(&id, complete);
        }
    }

    fn close(&mut self, id: &str, complete: &mut Vec<Window>) {
        let Some(own) = self.open.remove(id) else { return };
        for request in own.requests {
            if self.asked.get(&request).is_some_and(|known| known == id) {
                self.asked.remove(&request);
            }
            self.over.keep(request);
        }
        if own.frames.len() > 1 && !own.is_flooded && !own.is_mixed_up {
            complete.push(window(&self.profiles, own.at, own.frames));
        } else {
            self.unattributed += own.frames.len() as u64;
        }
    }
}

impl Invocation {
    fn add(&mut self, frame: Frame) {
        if self.frames.len() >= FRAMES {
            self.is_flooded = true;
        } else {
            self.frames.push(frame);
        }
    }
}

impl Observer for CrumbObserver {
    fn take(&mut self, seen: &Seen, complete: &mut Vec<Window>) -> bool {
        let Traffic::Stored(event) = &seen.traffic else { return false };
        self.crumb(seen.at, event, complete);
        true
    }

    fn finish(&mut self, complete: &mut Vec<Window>) -> u64 {
        let before = self.unattributed;
        let ids: Vec<String> = self.open.keys().cloned().collect();
        for id in ids {
            self.close(&id, complete);
        }
        let left = self.unattributed - before;
        self.unattributed = before;
        left
    }

    fn unattributed(&self) -> u64 {
        self.unattributed
    }

    fn open(&self) -> usize {
        self.open.values().filter(|own| !own.unanswered.is_empty()).count()
    }

    /// What is missing may be an answer to any request.
    fn gap(&mut self) {
        for (_, own) in std::mem::take(&mut self.open) {
            self.unattributed += own.frames.len() as u64;
            own.requests.into_iter().for_each(|request| self.over.keep(request));
        }
        self.begun.clear();
        self.asked.clear();
        self.answered.clear();
    }

    /// A second answer may follow for as long as it takes from one look to the next.
    fn settle(&mut self, complete: &mut Vec<Window>) {
        self.close_until(self.looked, complete);
        self.looked = self.crumbs;
    }
}

/// The ids under which a breadcrumb asks.
fn requests(crumb: &Value) -> BTreeSet<String> {
    let context = crumb.get("context");
    let several = context.and_then(|own| own.get("tool_requests")).and_then(Value::as_array);
    let all = several.into_iter().flatten().chain(context);
    all.filter_map(|request| request.get("requestId")?.as_str().map(str::to_owned)).collect()
}

fn frame(direction: Direction, kind: Kind, event: &StoredRecord) -> Frame {
    let ids = ["/context/request_id", "/context/requestId"];
    let call = ids.iter().find_map(|pointer| event.record.pointer(pointer)?.as_str());
    let headers = call.map(|id| (CALL.to_owned(), id.to_owned())).into_iter().collect();
    let message =
        Message { direction, kind, channel: "event".to_owned(), headers, body: event.record.clone() };
    Frame { at_us: event.at_us, ..Frame::from(message) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::breadcrumb::crumb::RESPONSE;

    fn asks(id: &str, requests: &[&str]) -> StoredRecord {
        let all: Vec<Value> = requests
            .iter()
            .map(|request| json!({"tool": "echo", "input": {"message": "x"}, "requestId": request}))
            .collect();
        event(id, 1, INVOCATION, &json!({"tool_requests": all}))
    }

    fn answers(id: &str, version: u64, request: &str, content: bool) -> StoredRecord {
        let mut members = json!({"request_id": request, "tool": "echo"});
        if content {
            members["status"] = "success".into();
        }
        event(id, version, RESPONSE, &members)
    }

    fn event(id: &str, version: u64, schema: &str, context: &Value) -> StoredRecord {
        let crumb = json!({"id": id, "schema_name": schema, "title": "t", "tags": [], "context": context});
        StoredRecord { record: crumb, version, at_us: 1 }
    }

    /// Messages of each window, and what belongs to none.
    #[track_caller]
    fn check(events: Vec<StoredRecord>, windows: &[usize], unattributed: u64) {
        let table = serde_json::from_value(json!({})).expect("a table");
        let mut observer = CrumbObserver::new(&table);
        let mut complete = Vec::new();
        for event in events {
            let seen = Seen { at: At::default(), traffic: Traffic::Stored(event) };
            assert!(observer.take(&seen, &mut complete));
        }
        let left = observer.finish(&mut complete) + observer.unattributed();
        let found: Vec<usize> = complete.iter().map(|own| own.frames.len()).collect();
        assert_eq!((&*found, left), (windows, unattributed));
    }

    #[test]
    fn answers_belong_to_the_breadcrumb_that_asked() {
        check(
            vec![
                asks("i", &["a", "b"]),
                asks("j", &["c"]),
                answers("1", 1, "b", true),
                answers("2", 1, "c", true),
            ],
            &[2, 2],
            0,
        );
        let answer = |id: &str| answers(id, 1, "a", true);
        // A second one is part of the same exchange, while it may come.
        check(vec![asks("i", &["a"]), answer("1"), answer("2")], &[3], 0);
        // One that is filled later is an answer when it is.
        let filled = vec![asks("i", &["a"]), answers("1", 1, "a", false), answers("1", 2, "a", true)];
        check(filled, &[3], 0);
    }

    #[test]
    fn what_belongs_to_no_request_is_counted() {
        check(vec![answers("1", 1, "a", true)], &[], 1);
        check(vec![asks("i", &["a"])], &[], 1);
        // Two requests with one id.
        check(vec![asks("i", &["a"]), asks("j", &["a"]), answers("1", 1, "a", true)], &[], 3);
    }

    #[test]
    fn a_later_version_of_what_asked_asks_nothing_again() {
        let mut again = asks("i", &["a"]);
        again.version = 2;
        check(vec![asks("i", &["a"]), again, answers("1", 1, "a", true)], &[2], 1);
    }
}
