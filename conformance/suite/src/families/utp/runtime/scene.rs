//! One scenario with a runtime: its project, its turns and their calls, and the I/O around them.
//!
//! What a scene does is send and wait; what it saw is judged elsewhere, from the transcript.

mod tools;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::record::Direction;
use serde_json::{Value, json};

use super::model;
use super::model::{Ending, ModelScript, PlannedCall};
use super::reach::{Answered, RuntimeMessage, whose_inbox};
use super::seen;
use super::seen::Behaviour;
use super::session::RuntimeSession;
use super::turn::{ToolCall, Turn};
use crate::engine::by_hand::ByHand;
use crate::families::utp::by_hand;
use crate::families::utp::by_hand::{Preparation, PreparedRow};
use crate::families::utp::message::whole;
use crate::families::utp::platform::Project;
use crate::families::utp::revision;
use crate::families::utp::trace::RECURSION_DEPTH;
use crate::transcript;
use crate::transcript::{Frame, Kind, Message};

/// The agent of turns that show that the runtime is alive. A runtime may run one turn of an agent at a time.
const SENTINEL: &str = "ag_sentinel";
/// The agent of a turn whose call has a result card and no report.
const UNREPORTED: &str = "ag_unreported";
/// Records of an Inbox that are looked at.
const MAX_RECORDS: usize = 200;

/// Why a scene does not come to where it should be.
#[derive(Clone, Debug, PartialEq)]
pub enum Stuck {
    /// The turn was not started.
    NotStarted(Option<Value>),
    /// No command came for a call.
    NoCommand(usize),
    /// Calls of one answer are not under way together.
    OneByOne,
}

/// The state of one scenario.
#[derive(Debug)]
pub struct Scene {
    /// The scenario's own project.
    pub project: Arc<Project>,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Calls of all turns.
    pub calls: Vec<ToolCall>,
    /// How turns end.
    pub ending: Ending,
    /// Whether the roster names the runtime's own workers, who consume what the Inbox holds.
    pub is_served: bool,
    /// Which worker target serves which agent.
    served: BTreeMap<String, String>,
    started: usize,
}

/// What a call needs that is sent by hand.
struct Needed {
    /// Mark of its turn and id of the call: messages that mention one of them need it.
    words: [String; 2],
    tool_name: String,
    /// The agent and the worker target that serves it, where the scenario says which.
    served: Option<(String, String)>,
    /// Its result card, as JSON text.
    card: Box<str>,
}

impl Scene {
    /// A scene with nothing in it.
    pub fn bare(session: &RuntimeSession, project: Arc<Project>) -> Self {
        project.let_target_call();
        let mut scene = Self {
            project,
            turns: Vec::new(),
            calls: Vec::new(),
            ending: Ending::Text,
            is_served: true,
            served: BTreeMap::new(),
            started: 0,
        };
        scene.add_turn(session);
        scene
    }

    /// A further turn of the scenario's agent; it is not started yet.
    pub fn add_turn(&mut self, session: &RuntimeSession) -> usize {
        let number = self.turns.len() + 1;
        let unique = format!("{}{}", self.project.name.unique, self.project.name.suffix);
        let turn = Turn::new(session.revision(), &self.project.name, number, model::mark(&unique, number));
        // Whoever serves the agent already goes on with it.
        if !self.served.contains_key(&turn.agent_id) {
            self.assign(&turn.agent_id, &session.worker_target);
        }
        self.turns.push(turn);
        number - 1
    }

    /// Has the runtime start a turn, whose calls are planned.
    pub async fn start_turn(
        &mut self,
        session: &RuntimeSession,
        turn: usize,
        within: Duration,
    ) -> Result<(), Stuck> {
        self.seed_tools(session, turn);
        let own = &self.turns[turn];
        session.model.script(&own.mark, self.script(session, turn));
        let message = self.message(session, RuntimeMessage::Turn, turn, own.request(&self.project.id));
        self.started = self.started.max(turn + 1);
        let answer = self.ask(session, message, Kind::TurnReply, within).await;
        let body = answer.as_ref().map(|answer| answer.body.clone());
        let Some(answer) = answer.filter(|answer| answer.accepted) else {
            return Err(Stuck::NotStarted(body));
        };
        let own = &mut self.turns[turn];
        if let Some(id) = answer.body.get("agent_turn_id").and_then(Value::as_str) {
            id.clone_into(&mut own.id);
        }
        if let Some(epoch) = answer.body.get("turn_epoch") {
            own.epoch = whole(epoch);
        }
        Ok(())
    }

    /// How the last that was asked for was refused, if it was: the request, the status and the body.
    pub(super) fn refusal(&self) -> Option<String> {
        let name = &self.project.name;
        self.project.transcript.with(|frames| {
            let is_answer = |frame: &&Frame| matches!(frame.kind, Kind::TurnReply | Kind::ReportReply);
            let last = frames.iter().rev().find(is_answer)?;
            let status = last.headers.get(crate::net::wire::STATUS)?;
            let body = match &last.body {
                Value::Null => "no body".to_owned(),
                body => format!("`{}`", transcript::shorten(body)),
            };
            let channel = last.channel.replace(&name.unique, &name.stable);
            Some(format!("`{channel}` was answered {status} with {body}"))
        })
    }

    fn script(&self, session: &RuntimeSession, turn: usize) -> ModelScript {
        let mut rounds: Vec<Vec<PlannedCall>> = Vec::new();
        for call in self.calls.iter().filter(|call| call.turn == turn) {
            rounds.resize_with(rounds.len().max(call.round + 1), Vec::new);
            let arguments = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
            let tool = call.row.tool_name.clone();
            rounds[call.round].push(PlannedCall { id: call.model_id.clone(), tool, arguments });
        }
        let project = Arc::clone(&self.project);
        ModelScript {
            platform_service: Arc::clone(&session.test_environment.platform_service),
            project,
            rounds,
            ending: self.ending,
            last_words: format!("{} {}.", model::LAST_WORDS, turn + 1),
        }
    }

    /// Starts the turns that are not under way, and waits for the commands of their first answers.
    pub async fn wait_for_commands(&mut self, session: &RuntimeSession) -> Result<(), Stuck> {
        while self.started < self.turns.len() {
            self.start_turn(session, self.started, session.timeouts.answer).await?;
        }
        let first: Vec<usize> = (0..self.calls.len())
            .filter(|call| self.calls[*call].round == 0 && self.calls[*call].command.is_none())
            .collect();
        let side_by_side = first.iter().any(|call| {
            first.iter().any(|other| other != call && self.calls[*other].turn == self.calls[*call].turn)
        });
        if side_by_side && session.baseline.parallel == Some(false) {
            let came = self.await_command(session, first[0], session.timeouts.answer).await;
            return Err(if came { Stuck::OneByOne } else { Stuck::NoCommand(first[0]) });
        }
        for call in first {
            if !self.await_command(session, call, session.timeouts.answer).await {
                return Err(Stuck::NoCommand(call));
            }
        }
        Ok(())
    }

    /// Waits for the command of a call, and prepares what the tool says to it.
    pub async fn await_command(&mut self, session: &RuntimeSession, call: usize, within: Duration) -> bool {
        let own = self.calls[call].clone();
        let turn = self.turns[own.turn].clone();
        let project = self.project.id.clone();
        let find = |frames: &[Frame]| {
            let frame = seen::command(frames, &project, &turn, &own)?;
            let card = frame.text("/tool_call_card_id").and_then(|id| seen::saved(frames, id)).cloned();
            let depth = revision::header(&frame.headers, RECURSION_DEPTH).map(str::to_owned);
            Some((Value::Object(turn.revision.decode(frame)), depth, card))
        };
        let waiting = self.project.transcript.wait(within, find);
        let Some((command, depth, card)) = session.test_environment.unless_ended(waiting).await else {
            return false;
        };
        let own = &mut self.calls[call];
        (own.command, own.depth) = (Some(command), depth);
        own.prepare_answer(&self.project.id, &turn, call + 1, card.as_ref());
        true
    }

    /// Acts as if a command had come, for an execution service that has no worker.
    pub fn make_up(&mut self, call: usize) {
        let turn = self.turns[self.calls[call].turn].clone();
        let own = &mut self.calls[call];
        own.command = Some(json!({
            "agent_id": turn.agent_id, "agent_turn_id": turn.id, "turn_epoch": 6, "tool_call_id": own.model_id,
        }));
        own.prepare_answer(&self.project.id, &turn, call + 1, None);
    }

    /// Prepares what the tool says once more, without the fault that it had.
    pub fn correct(&mut self, call: usize) {
        let turn = self.turns[self.calls[call].turn].clone();
        let own = self.calls[call].clone();
        let card = self.project.transcript.with(|frames| seen::call_card(frames, &own).cloned());
        self.calls[call].prepare_answer(&self.project.id, &turn, call + 1, card.as_ref());
        // A card is written once: what corrects one is another.
        self.calls[call].rename_card("_corrected");
    }

    /// How messages of the scenario are sent by hand. Most scenarios are never asked, so the rows that it takes are read
    /// from the project, which stays, when one is.
    pub fn by_hand(&self) -> ByHand {
        let project = Arc::clone(&self.project);
        let needed: Vec<Needed> = self.calls.iter().map(|call| self.needed(call)).collect();
        ByHand::new(move |frames, frame| {
            let prepared = needed.iter().flat_map(|own| {
                let tool = project.tool(&own.tool_name).map(PreparedRow::Tool);
                let agent = own.served.as_ref().map(|(agent_id, worker_target)| {
                    PreparedRow::Agent(project.roster_row(agent_id, worker_target))
                });
                let words = own.words.to_vec();
                let prepared = move |row| Preparation { words: words.clone(), row };
                [tool, agent].into_iter().flatten().map(prepared)
            });
            let cards = needed.iter().filter_map(|own| serde_json::from_str(&own.card).ok());
            by_hand::by_hand(&project.id, prepared.collect(), cards.collect()).line(frames, frame)
        })
    }

    fn needed(&self, call: &ToolCall) -> Needed {
        let turn = &self.turns[call.turn];
        let served = self.served.get(&turn.agent_id);
        Needed {
            words: [turn.mark.clone(), call.id().to_owned()],
            tool_name: call.row.tool_name.clone(),
            served: served.map(|worker_target| (turn.agent_id.clone(), worker_target.clone())),
            card: call.card.to_string().into_boxed_str(),
        }
    }

    /// Ids in which reports have no stable part to show, and what stands for them there.
    pub fn names(&self) -> Vec<(String, String)> {
        let number = self.project.name.number();
        let is_used =
            self.calls.iter().any(|call| call.model_id == number || call.card["card_id"] == *number);
        is_used.then(|| (number, "<number>".to_owned())).into_iter().collect()
    }

    /// Says in the roster which worker target serves an agent from now on.
    pub fn assign(&mut self, agent_id: &str, worker_target: &str) {
        self.project.assign(agent_id, worker_target);
        self.served.insert(agent_id.to_owned(), worker_target.to_owned());
    }

    /// Saves the result card of a call and reports its callback.
    pub async fn report(&mut self, session: &RuntimeSession, call: usize) -> Option<Answered> {
        let own = &self.calls[call];
        if own.card.is_object() {
            self.project.seed_card(&own.card);
        }
        let message = self.message(session, RuntimeMessage::Report, own.turn, own.report(session.revision()));
        self.ask(session, message, Kind::ReportReply, session.timeouts.answer).await
    }

    /// Reports a call twice at once, the second time as `other` says.
    pub async fn report_at_once(&self, session: &RuntimeSession, call: usize, other: &ToolCall) {
        let own = &self.calls[call];
        let send = |call: &ToolCall| {
            self.project.seed_card(&call.card);
            let message =
                self.message(session, RuntimeMessage::Report, own.turn, call.report(session.revision()));
            self.ask(session, message, Kind::ReportReply, session.timeouts.answer)
        };
        futures::join!(send(own), send(other));
    }

    /// Reports a call, and reads the Inbox as soon as its agent is woken, whether the report is answered by then or not.
    pub async fn report_and_look(&self, session: &RuntimeSession, call: usize) {
        let own = &self.calls[call];
        self.project.seed_card(&own.card);
        let message = self.message(session, RuntimeMessage::Report, own.turn, own.report(session.revision()));
        let turn = &self.turns[own.turn];
        let looking = async {
            if self.wait(session, |frames| seen::wakeups(frames, turn, own).next().is_some()).await {
                self.read_inbox(session, own.turn).await;
            }
        };
        futures::join!(self.ask(session, message, Kind::ReportReply, session.timeouts.answer), looking);
    }

    /// Reads the Inbox of a call's agent.
    pub async fn read_inbox(&self, session: &RuntimeSession, turn: usize) -> Option<usize> {
        let agent = self.turns[turn].agent_id.clone();
        let message =
            self.message(session, RuntimeMessage::Inbox, turn, (BTreeMap::new(), whose_inbox(&agent)));
        let answer = self.exchange(session, message, session.timeouts.answer).await?;
        let body = answer.body;
        let records = body.get("records").or_else(|| body.get("items")).unwrap_or(&body).as_array()?.clone();
        let platform_service = &session.test_environment.platform_service;
        let mut read = 0;
        for record in records.into_iter().take(MAX_RECORDS) {
            let message = Message {
                direction: Direction::FromTarget,
                kind: Kind::InboxRecord,
                channel: format!("Inbox of {}", self.project.id),
                headers: BTreeMap::new(),
                body: record,
            };
            read += platform_service.incoming(&self.project, message).len();
        }
        Some(read)
    }

    /// What follows the first report of a call. Waits for it.
    pub async fn behaviour(&self, session: &RuntimeSession, call: usize) -> Behaviour {
        self.behaviour_within(session, call, session.timeouts.answer).await
    }

    /// As [`Scene::behaviour`], with a patience of its own.
    pub async fn behaviour_within(
        &self,
        session: &RuntimeSession,
        call: usize,
        within: Duration,
    ) -> Behaviour {
        let own = &self.calls[call];
        let turn = &self.turns[own.turn];
        let first = |frames: &[Frame]| {
            let since = seen::report(frames, own, 0)?.n;
            let next = seen::nexts(frames, turn).map(|frame| frame.n).find(|n| *n > since);
            let end = seen::end(frames, turn).map(|frame| frame.n).filter(|n| *n > since);
            match (next, end) {
                (Some(next), Some(end)) if end < next => Some(Behaviour::End),
                (Some(_), _) => Some(Behaviour::Next),
                (None, Some(_)) => Some(Behaviour::End),
                (None, None) => None,
            }
        };
        let waiting = self.project.transcript.linger(within, first);
        session.test_environment.unless_ended(waiting).await.unwrap_or(Behaviour::Stays)
    }

    /// Waits until something shows, at most as long as an answer may take.
    pub async fn wait(&self, session: &RuntimeSession, found: impl Fn(&[Frame]) -> bool) -> bool {
        let waiting =
            self.project.transcript.wait(session.timeouts.answer, |frames| found(frames).then_some(()));
        session.test_environment.unless_ended(waiting).await.is_some()
    }

    /// After something that may have no effect: a whole turn of another agent in the same project, and a quiet window.
    pub async fn settle(&mut self, session: &RuntimeSession) -> bool {
        let began = Instant::now();
        let turn = self.add_turn(session);
        SENTINEL.clone_into(&mut self.turns[turn].agent_id);
        self.assign(SENTINEL, &session.worker_target);
        let call = self.plan_call(session, "suspend");
        if !session.resumes() {
            self.make_up(call);
            self.started = self.turns.len();
            let taken = self.report(session, call).await.is_some_and(|answer| answer.accepted);
            transcript::sleep_unless_replaying(session.timeouts.settle_window_after(began.elapsed())).await;
            return taken;
        }
        if self.start_turn(session, turn, session.timeouts.answer).await.is_err()
            || !self.await_command(session, call, session.timeouts.answer).await
        {
            return false;
        }
        self.report(session, call).await;
        let alive = self.behaviour(session, call).await == session.baseline.suspend;
        // An early end of the window would need something to wait for; the point is that nothing comes.
        transcript::sleep_unless_replaying(session.timeouts.settle_window_after(began.elapsed())).await;
        alive
    }

    /// Whether a turn goes on although nothing is reported of its call, once the result card is in the store: what then
    /// follows a report is no sign that the report was used.
    pub async fn goes_on_unreported(&mut self, session: &RuntimeSession) -> bool {
        let turn = self.add_turn(session);
        UNREPORTED.clone_into(&mut self.turns[turn].agent_id);
        self.assign(UNREPORTED, &session.worker_target);
        let call = self.plan_call(session, "suspend");
        if self.start_turn(session, turn, session.timeouts.answer).await.is_err()
            || !self.await_command(session, call, session.timeouts.answer).await
        {
            return false;
        }
        self.project.seed_card(&self.calls[call].card);
        let own = &self.turns[turn];
        self.wait(session, |frames| seen::goings_on(frames, own).next().is_some()).await
    }

    /// A quiet window, for what must not come after something that was seen.
    pub async fn wait_settle_window(&self, session: &RuntimeSession) {
        transcript::sleep_unless_replaying(session.timeouts.settle_window).await;
    }

    /// Whether the target did anything here.
    pub fn is_responsive(&self) -> bool {
        let is_responsive =
            |frames: &[Frame]| frames.iter().any(|frame| frame.direction == Direction::FromTarget);
        self.project.transcript.with(is_responsive)
    }

    fn message(
        &self,
        session: &RuntimeSession,
        message_kind: RuntimeMessage,
        turn: usize,
        (headers, body): (BTreeMap<String, String>, Value),
    ) -> Message {
        let turn = &self.turns[turn];
        let kind = match message_kind {
            RuntimeMessage::Turn => Kind::TurnStart,
            RuntimeMessage::Report => Kind::Report,
            RuntimeMessage::Inbox => Kind::InboxList,
        };
        let channel = session.reach.channel(
            (message_kind, turn.revision),
            &self.project.id,
            &turn.channel,
            &turn.agent_id,
        );
        Message { direction: Direction::ToTarget, kind, channel, headers, body }
    }

    /// Asks for something and writes down the answer.
    async fn ask(
        &self,
        session: &RuntimeSession,
        message: Message,
        kind: Kind,
        within: Duration,
    ) -> Option<Answered> {
        let call = message.body.pointer("/payload/tool_call_id").cloned().or_else(|| {
            let call = session.revision().reported_in(&message.headers, &message.body, "tool_call_id");
            call.map(Value::from)
        });
        // A turn's start has a correlation id of its own since `v1r4`.
        let start = message.body.get("correlation_id").filter(|_| kind == Kind::TurnReply).cloned();
        let call = call.or(start);
        let channel = message.channel.clone();
        let answer = self.exchange(session, message, within).await?;
        let mut body = answer.body.clone();
        if let (Some(call), Some(body)) = (call, body.as_object_mut()) {
            // Which call it answers, for whoever reads the transcript.
            body.insert("correlation_id".to_owned(), call);
        }
        let headers = BTreeMap::from([(crate::net::wire::STATUS.to_owned(), answer.status.to_string())]);
        let message = Message { direction: Direction::FromTarget, kind, channel, headers, body };
        session.test_environment.platform_service.incoming(&self.project, message);
        Some(answer)
    }

    async fn exchange(
        &self,
        session: &RuntimeSession,
        message: Message,
        within: Duration,
    ) -> Option<Answered> {
        let mut answer = None;
        // A report and a look into the Inbox may be under way together.
        let label = format!("answer to {:?}", message.kind);
        for message in session.test_environment.platform_service.outgoing(&self.project, message) {
            let reply = session.reach.ask(&message, within);
            let own = session.test_environment.unless_ended(reply);
            let own = self.project.transcript.record_external_async(&label, own).await;
            answer = answer.or(own);
        }
        if answer.is_none() {
            self.project.transcript.note_silence();
        }
        answer
    }
}
