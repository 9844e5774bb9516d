//! One scenario with a Tool Service: its project, the call under test, and the I/O around them.
//!
//! What a scene does is send and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::record::Direction;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::by_hand;
use super::by_hand::{Preparation, PreparedRow};
use super::call;
use super::call::{AGENT, Blueprint, CHANNEL, Call, HELPER, OTHER_HELPER, WORKER_TARGET};
use super::judge::seen;
use super::judge::seen::Calls;
use super::message;
use super::platform::Project;
use super::platform::platform_service::open_call;
use super::revision::Revision;
use super::session::{Counter, UtpSession};
use super::tool::{Role, Tool, ToolTable};
use crate::engine::by_hand::ByHand;
use crate::transcript;
use crate::transcript::{Frame, Kind, Message};

/// How often a sentinel that was refused is followed by another one, and after what time.
const RECOVERIES: usize = 8;
const RECOVERY: Duration = Duration::from_millis(500);

/// What became of a sentinel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pulse {
    /// Its work was done; the call took so long.
    Steady(Duration),
    /// It was answered, and the answer does not show its own work.
    MixedUp,
    /// It was answered as failed; what is known of that.
    Refused(String),
    /// No answer came.
    Silent,
}

/// The state of one scenario.
#[derive(Debug)]
pub struct Scene {
    /// The scenario's own project.
    pub project: Arc<Project>,
    /// The call under test, once it is prepared.
    pub call: Option<Call>,
    /// The first of two calls of which the second is under test.
    beside: Option<Call>,
    /// Ids of every other call of the suite in the project: sentinels, readings, comparisons.
    pub others: Vec<String>,
    /// Reading of the counter before the command, where the call is for the count probe.
    pub counted: Option<i64>,
    turn: Option<OwnedMutexGuard<()>>,
    /// What a scenario waits for an answer beyond the usual.
    patience: Duration,
    /// The row of the call under test, where it is the scenario's own.
    own: Option<ToolTable>,
    version: String,
    tools: std::collections::BTreeMap<Tool, ToolTable>,
    prepared: u32,
    /// Ids of the calls that were sent, each with the name of its tool.
    sent: Vec<([String; 2], String)>,
}

impl Scene {
    /// A scene with nothing in it.
    pub fn bare(session: &UtpSession, project: Arc<Project>) -> Self {
        project.try_role(session.role);
        for agent in [AGENT, HELPER, OTHER_HELPER] {
            project.assign(agent, WORKER_TARGET);
        }
        if session.role == Role::Pmo {
            // Its built-ins are there whether they are called or not.
            for table in session.tools.values() {
                project.seed_tool(&call::row(table, &session.test_environment.version, &project.id));
            }
        }
        Self {
            project,
            call: None,
            beside: None,
            others: Vec::new(),
            counted: None,
            turn: None,
            patience: Duration::ZERO,
            own: None,
            version: session.test_environment.version.clone(),
            tools: session.tools.clone(),
            prepared: 0,
            sent: Vec::new(),
        }
    }

    /// A complete, valid call for a probe that the target declares.
    pub fn prepare(&mut self, tool: Tool) -> Call {
        let table = self.tools[&tool].clone();
        self.prepared_from(tool, &table)
    }

    /// As [`Scene::prepare`], with a row of the scenario's own beside the one that all others use.
    pub fn prepare_own(&mut self, tool: Tool) -> Call {
        let mut table = self.tools[&tool].clone();
        table.tool_name.push_str("_own");
        let call = self.prepared_from(tool, &table);
        self.own = Some(table);
        call
    }

    /// Has the next call of a tool whose work shows in its result be one with its first arguments.
    pub(super) fn begin_with_first_arguments(&mut self) {
        self.prepared += self.prepared % 2;
    }

    /// Makes this the call under test; the earlier one becomes one of the others.
    pub fn put_under_test(&mut self, call: Call) {
        if let Some(earlier) = self.call.replace(call) {
            self.others.extend(earlier.names());
        }
    }

    /// As [`Scene::put_under_test`], where the earlier call is judged as well.
    pub fn put_beside(&mut self, call: Call) {
        self.beside = self.call.clone();
        self.put_under_test(call);
    }

    /// Puts the other of two calls under test.
    pub fn change_places(&mut self) {
        let Some(other) = self.beside.take() else { return };
        let own: Vec<String> = other.names().collect();
        self.others.retain(|name| !own.contains(name));
        self.put_beside(other);
    }

    /// Changes the `options` of the scenario's own row.
    pub fn configure(&mut self, change: impl FnOnce(&mut Value)) {
        if let Some(table) = &mut self.own {
            change(&mut table.options);
            self.project.seed_tool(&call::row(table, &self.version, &self.project.id));
        }
    }

    /// Registers the tool of the call under test with another `after_execution`.
    pub fn register(&mut self, tool: Tool, after_execution: String) {
        let own = ToolTable {
            after_execution: Some(after_execution),
            ..self.own.clone().unwrap_or_else(|| self.tools[&tool].clone())
        };
        self.project.seed_tool(&call::row(&own, &self.version, &self.project.id));
    }

    /// From now on an answer may take so much longer.
    pub fn allow(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn prepared_from(&mut self, tool: Tool, table: &ToolTable) -> Call {
        self.prepared += 1;
        let table = &table.turned(self.prepared);
        let seed = format!("{}", self.prepared);
        let project_id = self.project.id.as_str();
        self.project.seed_tool(&call::row(table, &self.version, project_id));
        let call = Call::new(Blueprint {
            tool,
            table,
            version: &self.version,
            project_id,
            name: &self.project.name,
            seed: &seed,
        });
        self.project.seed_card(&call.card);
        if tool.asks_upstream() {
            self.project.upstream.expect(&call.token, &call.tool_call_id);
        }
        call
    }

    /// Another call that differs from an earlier one in its ids and its token only.
    pub fn prepare_like(&mut self, earlier: &Call) -> Call {
        let mut call = self.prepare(earlier.tool);
        let ids = ["tool_call_id", "agent_turn_id", "tool_call_card_id"];
        let mut command = earlier.command.clone();
        for id in ids.into_iter().filter(|id| earlier.command.contains_key(*id)) {
            command.insert(id.to_owned(), call.command[id].clone());
        }
        let mut card = earlier.card.clone();
        card["card_id"] = call.card["card_id"].clone();
        card["tool_call_id"] = call.card["tool_call_id"].clone();
        card["content"]["arguments"] = call.card["content"]["arguments"].clone();
        for id in ["tool_call_id", "agent_turn_id"] {
            card["metadata"][id] = call.card["metadata"][id].clone();
        }
        let own = call.card["card_id"].as_str().unwrap_or_default().to_owned();
        match earlier.card["card_id"].as_str().and_then(|id| self.project.card(id)) {
            Some(_) => self.project.seed_card(&card),
            None => self.project.remove_card(&own),
        }
        self.project.decide_children_alike(&earlier.token, &call.token);
        self.project.upstream.answer_alike(&earlier.token, &call.token);
        let trace = call.headers.remove("traceparent");
        call.headers = earlier.headers.clone();
        call.headers.extend(trace.map(|trace| ("traceparent".to_owned(), trace)));
        Call {
            command,
            card,
            subject: earlier.subject.clone(),
            obstructed: earlier.obstructed,
            misplaced: earlier.misplaced.clone(),
            ..call
        }
    }

    /// How messages of the scenario are sent by hand. Most scenarios are never asked, so what that needs is read from the
    /// project, which stays, when one is.
    pub fn by_hand(&self) -> ByHand {
        let project = Arc::clone(&self.project);
        let needed: Vec<_> = self.sent.iter().cloned().chain(self.call.iter().filter_map(needs)).collect();
        let card = self.call.as_ref().map(|call| call.card.to_string().into_boxed_str());
        ByHand::new(move |frames, frame| {
            let prepared = needed.iter().filter_map(|(words, tool_name)| {
                let row = PreparedRow::Tool(project.tool(tool_name)?);
                Some(Preparation { words: words.to_vec(), row })
            });
            let cards = card.iter().filter_map(|card| serde_json::from_str(card).ok());
            by_hand::by_hand(&project.id, prepared.collect(), cards.collect()).line(frames, frame)
        })
    }

    /// What the manifest says of a probe.
    pub fn table(&self, tool: Tool) -> &ToolTable {
        &self.tools[&tool]
    }

    /// Publishes a command and records it.
    pub async fn send(&mut self, session: &UtpSession, call: &Call) {
        if let Some(agent) = call.agent_id() {
            self.project.assign_unless_known(agent, WORKER_TARGET);
        }
        self.sent.extend(needs(call).filter(|needs| !self.sent.contains(needs)));
        let (headers, payload) = call.encoded();
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Command,
            channel: call.subject.clone(),
            headers,
            body: Value::Object(payload),
        };
        let id = call.command.get("tool_call_id").and_then(Value::as_str);
        self.publish_of(session, message, id).await;
    }

    /// Publishes any message of the worker and records it.
    pub async fn publish(&mut self, session: &UtpSession, message: Message) {
        self.publish_of(session, message, None).await;
    }

    async fn publish_of(&mut self, session: &UtpSession, message: Message, tool_call_id: Option<&str>) {
        // Before it is written down, so that what is measured from there has no waiting in it.
        let environment = &session.test_environment;
        let open_calls = &environment.platform_service.open_calls;
        let ids: Vec<String> = tool_call_id.map(|id| open_call(&self.project.id, id)).into_iter().collect();
        // A command that is sent once more makes no further call.
        let is_open = ids.iter().any(|id| open_calls.is_open(id));
        let turn = if is_open { environment.further_turn().await } else { environment.turn().await };
        open_calls.hold(ids, turn, session.timeouts.answer);
        self.project.transcript.record(message.clone());
        let sending = session
            .test_environment
            .publish(session.test_environment.platform_service.wire().outgoing(message));
        let _ = tokio::time::timeout(session.test_environment.send_deadline(), sending).await;
    }

    /// Calls the echo probe and waits for a sign that its work was done.
    pub async fn sentinel(&mut self, session: &UtpSession) -> Pulse {
        self.sentinels(session, 1).await
    }

    /// So many sentinels at once. The worst of them counts.
    pub async fn sentinels(&mut self, session: &UtpSession, count: usize) -> Pulse {
        let calls: Vec<Call> = (0..count).map(|_| self.prepare(session.sentinel())).collect();
        self.others.extend(calls.iter().flat_map(Call::names));
        let began = Instant::now();
        for call in &calls {
            self.send(session, call).await;
        }
        for call in &calls {
            match self.pulse(session, call).await {
                Pulse::Steady(_) => {}
                other => return other,
            }
        }
        Pulse::Steady(began.elapsed())
    }

    async fn pulse(&self, session: &UtpSession, call: &Call) -> Pulse {
        let transcript = &self.project.transcript;
        let began = Instant::now();
        let reflected = |frames: &[Frame]| seen::reflects(frames, call).then_some(());
        let reported = |frames: &[Frame]| seen::outcome(frames, call).map(|_| ());
        let either = |frames: &[Frame]| reflected(frames).or_else(|| reported(frames));
        if session
            .test_environment
            .unless_ended(transcript.wait(session.timeouts.answer, either))
            .await
            .is_none()
        {
            return Pulse::Silent;
        }
        if transcript.with(reflected).is_some() {
            // Its report follows; waiting for it keeps it out of what comes next. One that does not come is
            // not the sentinel's business.
            let _ = transcript.linger(session.timeouts.settle_window, reported).await;
            return Pulse::Steady(began.elapsed());
        }
        // The report is there. A card that follows it may still show the work.
        let settled = |frames: &[Frame]| {
            reflected(frames).map(|()| true).or_else(|| seen::is_mixed_up(frames, call).then_some(false))
        };
        match transcript.wait(session.timeouts.late, settled).await {
            Some(true) => Pulse::Steady(began.elapsed()),
            _ => match transcript.with(|frames| seen::failure(frames, call)) {
                Some(failure) => Pulse::Refused(failure),
                None => Pulse::MixedUp,
            },
        }
    }

    /// What becomes of a sentinel in the end. A target may refuse calls for a moment: since there are too many at once, or
    /// since what it rests on has just failed.
    pub async fn recovered(&mut self, session: &UtpSession, mut pulse: Pulse) -> Pulse {
        for _ in 0..RECOVERIES {
            if !matches!(pulse, Pulse::Refused(_)) {
                break;
            }
            transcript::sleep_unless_replaying(RECOVERY).await;
            pulse = self.sentinel(session).await;
        }
        pulse
    }

    /// After a message that may have no effect: a sentinel on the same path, its answer, a quiet window.
    pub async fn settle(&mut self, session: &UtpSession) -> Pulse {
        let pulse = self.sentinel(session).await;
        if let Pulse::Steady(latency) = pulse {
            let quiet = session.timeouts.settle_window_after(latency);
            // An early end of the window would need something to wait for; the point is that nothing comes.
            transcript::sleep_unless_replaying(quiet).await;
        }
        pulse
    }

    /// Waits for the report of the call under test. `false` when none came in time.
    pub async fn answer(&self, session: &UtpSession, call: &Call) -> bool {
        let patience = session.timeouts.answer + self.patience;
        let calls = Calls::new(call, &self.others);
        let found = |frames: &[Frame]| seen::report(frames, &calls).map(|_| ());
        if session
            .test_environment
            .unless_ended(self.project.transcript.wait(patience, found))
            .await
            .is_none()
        {
            return false;
        }
        self.card_follows(session, &calls).await;
        true
    }

    /// As [`Scene::answer`], of a call that need not be answered.
    pub async fn late_answer(&self, session: &UtpSession, call: &Call) {
        let calls = Calls::new(call, &self.others);
        let found = |frames: &[Frame]| seen::report(frames, &calls).map(|_| ());
        let waiting = self.project.transcript.linger(session.timeouts.late, found);
        if session.test_environment.unless_ended(waiting).await.is_some() {
            self.card_follows(session, &calls).await;
        }
    }

    async fn card_follows(&self, session: &UtpSession, calls: &Calls<'_>) {
        // A card that comes after its report breaks one rule; the others are judged with the card there.
        let complete = |frames: &[Frame]| {
            let report = seen::report(frames, calls)?;
            seen::card_of(frames, report).filter(|(_, card)| seen::holds_outcome(card)).map(|_| ())
        };
        let _ = self
            .project
            .transcript
            .wait(session.timeouts.late.max(session.timeouts.settle_window), complete)
            .await;
    }

    /// Waits for a report of this turn.
    pub async fn answer_in_turn(&self, session: &UtpSession, turn: &Value) -> bool {
        let found = |frames: &[Frame]| seen::report_in_turn(frames, self.revision(), turn).map(|_| ());
        self.project.transcript.wait(session.timeouts.answer, found).await.is_some()
    }

    /// Makes a call that counts and reads the number; `None` when the probe gives none.
    pub async fn read_counter(&mut self, session: &UtpSession) -> Option<i64> {
        // A reading that was late beside others is no reason not to read again alone.
        let transcript = Arc::clone(&self.project.transcript);
        let is_first = transcript.attempt() == 0;
        if transcript.record_external("counter fails", || is_first && session.counter_fails()) {
            if transcript.record_external("counter is silent", || session.counter_is_silent()) {
                // So this scenario is run again alone as well.
                transcript.note_silence();
            }
            return None;
        }
        let read = self.read_counter_once(session).await;
        if read.is_none() {
            session.give_up_counter(self.project.transcript.fell_silent());
        }
        read
    }

    async fn read_counter_once(&mut self, session: &UtpSession) -> Option<i64> {
        let call = self.prepare(Tool::Count);
        self.others.extend(call.names());
        self.send(session, &call).await;
        let id = call.tool_call_id.as_str();
        let number = |card: &Value| {
            let result = card.pointer("/content/result")?;
            result.pointer(&call.result_pointer).and_then(Value::as_i64)
        };
        let pointed =
            |frames: &[Frame]| Some(number(seen::card_of(frames, seen::outcome(frames, &call)?)?.1));
        let named = |frames: &[Frame]| {
            seen::result_cards(frames)
                .filter(|(_, card)| message::call_id(card) == Some(id))
                .filter_map(|(_, card)| number(card))
                .last()
        };
        // The report says which card is the outcome; one that points nowhere still says that it is over.
        let over = |frames: &[Frame]| {
            (named(frames).is_some() || seen::outcome(frames, &call).is_some()).then_some(())
        };
        let transcript = &self.project.transcript;
        session.test_environment.unless_ended(transcript.wait(session.timeouts.answer, over)).await?;
        let patience = if transcript.with(named).is_some() {
            session.timeouts.settle_window
        } else {
            session.timeouts.late
        };
        match transcript.linger(patience, pointed).await {
            Some(read) => read,
            None => transcript.with(named),
        }
    }

    /// Reads the counter before the call under test, alone where the counter is shared.
    pub async fn begin_count(&mut self, session: &UtpSession) -> bool {
        if session.counter == Counter::Shared {
            self.turn = Some(Arc::clone(&session.counting).lock_owned().await);
        }
        self.counted = self.read_counter(session).await;
        self.counted.is_some()
    }

    /// Runs of the count probe since [`Scene::begin_count`], without the two readings.
    pub async fn runs_counted(&mut self, session: &UtpSession) -> Option<i64> {
        let before = self.counted?;
        let after = self.read_counter(session).await?;
        self.turn = None;
        // A counter kept for each call answers the same number every time; it shows repeats elsewhere.
        Some((after - before - 1).max(0))
    }

    /// The revision in which its calls are sent.
    pub fn revision(&self) -> Revision {
        Revision::of(&self.version)
    }

    /// The channel of a call, as its subject says.
    pub fn channel(call: &Call) -> &str {
        call.subject.split('.').nth(3).unwrap_or(CHANNEL)
    }
}

/// The ids by which messages mention a call, and the name of its tool.
fn needs(call: &Call) -> Option<([String; 2], String)> {
    let tool_name = call.command.get("tool_name")?.as_str()?;
    let card_id = call.card["card_id"].as_str().unwrap_or(&call.tool_call_id);
    Some(([call.tool_call_id.clone(), card_id.to_owned()], tool_name.to_owned()))
}
