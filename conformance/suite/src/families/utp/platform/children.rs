//! Children: the turns that a PMO under test starts. The suite runs them all.
//!
//! A child of which nothing is said ends with success soon after it was started. A scenario says of the children of
//! a call that they end otherwise, that they wait until it ends them, or that they cannot be started. A call is known
//! by its token, which stands in what its children are asked to do.
//!
//! Neighbours: `platform_service` answers `turns.start` and publishes a child's end; `project` holds one `Children`.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::reply::{PlatformReply, Refusal, bad_request};
use crate::families::utp::message;
use crate::families::utp::project_name::ProjectName;
use crate::families::utp::revision::{Revision, header};
use crate::families::utp::trace;
use crate::spec::library::hex;
use crate::transcript::bounds;
use crate::transcript::lock;

/// Largest number of turns of one project.
const MAX_TURNS: usize = 2_000;
/// Bytes of an id that are kept.
const MAX_ID: usize = 2 * 1024;
/// What a child takes for its work. Nobody's child is done before its parent knows that it was started.
pub(super) const WORK: Duration = Duration::from_millis(10);

/// What becomes of the children of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildOutcome {
    /// They end by themselves, with this status.
    Ends(&'static str),
    /// The one that is started first ends with this status, the others with success.
    FirstEnds(&'static str),
    /// They work until the scenario ends them.
    Waits,
    /// The platform refuses to start them.
    Refused,
    /// The platform's answer to their start makes no sense.
    Nonsense,
}

/// A turn that was started and has not ended.
#[derive(Clone, Debug)]
pub struct Child {
    pub(super) agent_id: String,
    pub(super) agent_turn_id: String,
    /// The card of what it delivers.
    deliverable_id: String,
    pub(super) channel_id: String,
    pub(super) instruction: String,
    /// How it will end.
    pub(super) status: &'static str,
}

/// Which of the waiting children ends first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The one that was started first.
    FirstStarted,
    /// The one that was started last.
    LastStarted,
}

/// The children of one project.
#[derive(Debug, Default)]
pub(super) struct Children {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    child_outcomes: Vec<(String, ChildOutcome)>,
    /// What was answered, by what a start is known by.
    turns: BTreeMap<String, Value>,
    /// Started, and about to end by themselves.
    due: Vec<Child>,
    /// Started, and waiting for the scenario.
    waiting: Vec<Child>,
}

impl State {
    fn child_outcome(&self, body: &Value) -> ChildOutcome {
        let planned = self.child_outcomes.iter().rev().find(|(token, _)| message::mentions(body, token));
        planned.map_or(ChildOutcome::Ends("success"), |(_, child_outcome)| *child_outcome)
    }

    /// What becomes of a child that starts now.
    fn begin(&mut self, body: &Value) -> ChildOutcome {
        let mut planned = self.child_outcomes.iter_mut().rev();
        let Some((_, planned)) = planned.find(|(token, _)| message::mentions(body, token)) else {
            return ChildOutcome::Ends("success");
        };
        let own = *planned;
        if matches!(own, ChildOutcome::FirstEnds(_)) {
            *planned = ChildOutcome::Ends("success");
        }
        own
    }
}

impl Children {
    /// What becomes of the children of one call becomes of those of another.
    pub(super) fn decide_alike(&self, earlier: &str, token: &str) {
        let mut state = lock(&self.state);
        let own = state.child_outcomes.iter().rev().find(|(own, _)| own == earlier);
        if let Some(child_outcome) = own.map(|(_, child_outcome)| *child_outcome) {
            state.child_outcomes.push((token.to_owned(), child_outcome));
        }
    }

    /// Says what becomes of the children of the call with this token.
    pub(super) fn decide(&self, token: &str, child_outcome: ChildOutcome) {
        lock(&self.state).child_outcomes.push((token.to_owned(), child_outcome));
    }

    /// What the platform says to a request that is to fail.
    pub(super) fn obstacle(&self, body: &Value) -> Option<PlatformReply> {
        match lock(&self.state).child_outcome(body) {
            ChildOutcome::Refused => Some(Err(Refusal {
                status: 403,
                code: "forbidden",
                message: "this may not be done in the project".to_owned(),
            })),
            ChildOutcome::Nonsense => Some(Ok(json!(["nonsense", 42]))),
            ChildOutcome::Ends(_) | ChildOutcome::FirstEnds(_) | ChildOutcome::Waits => None,
        }
    }

    /// Starts a turn, or says again what was said of it before.
    ///
    /// Since `v1r4` nobody asks for an id of the turn; a `correlation_id` says which start of its parent is meant.
    pub(super) fn start(
        &self,
        revision: Revision,
        (headers, body): (&BTreeMap<String, String>, &Value),
        channel_id: &str,
        name: &ProjectName,
    ) -> PlatformReply {
        let text = |member: &str| body.get(member).and_then(Value::as_str).filter(|text| !text.is_empty());
        let agent = text("agent_id").filter(|agent| is_token(agent)).ok_or_else(|| {
            bad_request("`agent_id` is a non-empty string that can be a token of a subject")
        })?;
        let instruction =
            text("instruction").ok_or_else(|| bad_request("`instruction` is a non-empty string"))?;
        if trace::is_too_deep(revision, headers) {
            let message = format!("no turn starts at depth {} or above", trace::DEPTH_LIMIT);
            return Err(Refusal { status: 409, code: "recursion_depth_exceeded", message });
        }
        let mut state = lock(&self.state);
        let generated = name.made(&format!("turn_{}", state.turns.len() + 1));
        let given = |member: &str| text(member).map(|given| bounds::cut(given, MAX_ID));
        let (turn, key) = match revision {
            Revision::V1r3 => {
                let turn = given("agent_turn_id").unwrap_or(generated);
                (turn.clone(), turn)
            }
            Revision::V1r4 => {
                let key = given("correlation_id").map(|own| of_parent(headers, &own));
                let key = key.unwrap_or_else(|| generated.clone());
                (generated, key)
            }
        };
        if let Some(reply) = state.turns.get(&key) {
            return Ok(reply.clone());
        }
        if state.turns.len() >= MAX_TURNS {
            return Err(Refusal { status: 507, code: "full", message: "too many turns".to_owned() });
        }
        let agent_id = bounds::cut(agent, MAX_ID);
        let reply = json!({"agent_id": agent_id, "agent_turn_id": turn, "turn_epoch": 1});
        let child_outcome = state.begin(body);
        let child = Child {
            agent_id,
            deliverable_id: deliverable_id(&name.prefix, &turn),
            agent_turn_id: turn,
            channel_id: channel_id.to_owned(),
            instruction: instruction.to_owned(),
            status: match child_outcome {
                ChildOutcome::Ends(status) | ChildOutcome::FirstEnds(status) => status,
                _ => "success",
            },
        };
        if child_outcome == ChildOutcome::Waits {
            state.waiting.push(child);
        } else {
            state.due.push(child);
        }
        state.turns.insert(key, reply.clone());
        Ok(reply)
    }

    /// The children that end by themselves from now on.
    pub(super) fn take_due(&self) -> Vec<Child> {
        std::mem::take(&mut lock(&self.state).due)
    }

    /// Whether a child waits for the scenario.
    pub(super) fn one_waits(&self) -> bool {
        !lock(&self.state).waiting.is_empty()
    }

    /// The next one that the scenario ends.
    pub(super) fn take_waiting(&self, order: Order) -> Option<Child> {
        let mut state = lock(&self.state);
        let last = state.waiting.len().checked_sub(1)?;
        Some(state.waiting.remove(if order == Order::FirstStarted { 0 } else { last }))
    }
}

impl Child {
    /// What it delivers, if it delivers anything.
    pub(super) fn deliverable(&self, project_id: &str) -> Option<Value> {
        if !matches!(self.status, "success" | "partial") {
            return None;
        }
        Some(json!({
            "card_id": self.deliverable_id, "project_id": project_id,
            "type": "task.deliverable", "author_id": self.agent_id, "created_at": "2031-04-02T10:11:13+00:00",
            "content": {"text": answer_to(&self.instruction)},
            "metadata": {"agent_turn_id": self.agent_turn_id},
        }))
    }

    /// Headers of what its runtime publishes when it is over.
    pub(super) fn task_headers(&self, revision: Revision, project_id: &str) -> BTreeMap<String, String> {
        let members = [
            ("project_id", project_id),
            ("channel_id", &self.channel_id),
            ("agent_id", &self.agent_id),
            ("agent_turn_id", &self.agent_turn_id),
            ("turn_epoch", "1"),
        ];
        let header =
            |(member, value): (&str, &str)| Some((revision.header(member)?.to_owned(), value.to_owned()));
        members.into_iter().filter_map(header).collect()
    }

    /// What its runtime publishes when it is over.
    pub(super) fn task_event(&self, deliverable: Option<&Value>) -> Value {
        let error = match deliverable {
            Some(_) => Value::Null,
            None => json!({"code": "internal_error", "message": "the child did not get to its end"}),
        };
        json!({
            "agent_id": self.agent_id, "agent_turn_id": self.agent_turn_id, "turn_epoch": 1,
            "status": self.status, "deliverable_card_id": deliverable.map(|card| &card["card_id"]),
            "tool_result_card_id": null, "error": error,
        })
    }
}

/// A key that another parent may use for a child of its own.
fn of_parent(headers: &BTreeMap<String, String>, correlation_id: &str) -> String {
    let name = Revision::V1r4.header("parent_agent_turn_id").unwrap_or_default();
    let parent = header(headers, name).unwrap_or_default();
    format!("{} {correlation_id}", bounds::cut(parent, MAX_ID))
}

/// What a child says to an instruction. Only who read the deliverable knows it.
pub fn answer_to(instruction: &str) -> String {
    format!("answer-{}", &hex(&Sha256::digest(instruction.as_bytes()))[..12])
}

/// Whether a text can stand as one token of a subject.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|letter| !letter.is_whitespace() && !letter.is_control() && !".*>".contains(letter))
}

/// The card of what a turn delivers. A turn that the suite named has the prefix already, one that the target named has not.
fn deliverable_id(prefix: &str, turn: &str) -> String {
    format!("{prefix}card_d_{}", turn.strip_prefix(prefix).unwrap_or(turn))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ProjectName {
        ProjectName {
            prefix: String::new(),
            unique: "u".to_owned(),
            stable: "s".to_owned(),
            suffix: String::new(),
        }
    }

    fn turn(id: &str, instruction: &str) -> Value {
        json!({"agent_id": "ag_helper", "agent_turn_id": id, "instruction": instruction})
    }

    #[test]
    fn a_turn_that_is_asked_for_again_is_started_once() {
        let children = Children::default();
        let first = children
            .start(Revision::V1r3, (&BTreeMap::new(), &turn("t1", "go")), "public", &name())
            .expect("a turn");
        let second = children
            .start(Revision::V1r3, (&BTreeMap::new(), &turn("t1", "go")), "public", &name())
            .expect("the same turn");
        assert_eq!(first, second);
        assert_eq!(children.take_due().len(), 1);
        assert!(children.take_due().is_empty());
    }

    #[test]
    fn a_correlation_id_is_one_of_its_parent() {
        let children = Children::default();
        let check = |parent: &str, expect: usize| {
            let headers = BTreeMap::from([("cg-parent-turn-id".to_owned(), parent.to_owned())]);
            let mut body = turn("", "go");
            body["correlation_id"] = json!("1");
            children.start(Revision::V1r4, (&headers, &body), "public", &name()).expect("a turn");
            assert_eq!(children.take_due().len(), expect, "{parent}");
        };
        check("turn_1", 1);
        check("turn_1", 0);
        check("turn_2", 1);
    }

    #[test]
    fn children_of_one_call_wait_and_those_of_others_do_not() {
        let children = Children::default();
        children.decide("tok-1", ChildOutcome::Waits);
        for (id, instruction) in [("t1", "first tok-1"), ("t2", "second tok-1"), ("t3", "tok-2")] {
            children
                .start(Revision::V1r3, (&BTreeMap::new(), &turn(id, instruction)), "public", &name())
                .expect("a turn");
        }
        let ended = |child: Option<Child>| child.map(|child| child.agent_turn_id);
        assert_eq!(children.take_due().len(), 1);
        assert_eq!(ended(children.take_waiting(Order::LastStarted)).as_deref(), Some("t2"));
        assert_eq!(ended(children.take_waiting(Order::LastStarted)).as_deref(), Some("t1"));
        assert!(!children.one_waits());
    }

    #[test]
    fn an_agent_whose_id_is_no_token_has_no_turns() {
        for agent in ["", "a b", "a.b", "a>", "a\r\nPUB x"] {
            let body = json!({"agent_id": agent, "instruction": "go"});
            assert!(
                Children::default()
                    .start(Revision::V1r3, (&BTreeMap::new(), &body), "public", &name())
                    .is_err(),
                "{agent}"
            );
        }
    }
}
