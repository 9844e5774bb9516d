//! One scenario with a Tool Service: its project, the call under test, and the I/O around them.
//!
//! What a scene does is send and wait; what it saw is judged elsewhere, from the transcript.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::record::Direction;
use serde_json::Value;
use tokio::sync::OwnedMutexGuard;

use super::call::{self, AGENT, Blueprint, CHANNEL, Call, WORKER_TARGET};
use super::session::{Counter, UtpSession};
use crate::manifest::ProbeName;
use crate::transcript::{Frame, Kind, Message};
use crate::utp::judge::seen::{self, Calls};
use crate::utp::platform::{Project, nats};

/// For a message to leave this process. A client that has lost its broker keeps messages without end.
const SEND_DEADLINE: Duration = Duration::from_secs(5);

/// The state of one scenario.
#[derive(Debug)]
pub struct Scene {
    /// The scenario's own project.
    pub project: Arc<Project>,
    /// The call under test, once it is prepared.
    pub call: Option<Call>,
    /// Ids of every other call of the suite in the project: sentinels, readings, comparisons.
    pub others: Vec<String>,
    /// Reading of the counter before the command, where the call is for the count probe.
    pub counted: Option<i64>,
    turn: Option<OwnedMutexGuard<()>>,
    version: String,
    probes: crate::manifest::ToolServiceTable,
    prepared: u32,
}

impl Scene {
    /// A scene with nothing in it.
    pub fn bare(session: &UtpSession, project: Arc<Project>) -> Self {
        project.assign(AGENT, WORKER_TARGET);
        Self {
            project,
            call: None,
            others: Vec::new(),
            counted: None,
            turn: None,
            version: session.version.clone(),
            probes: session.probes.clone(),
            prepared: 0,
        }
    }

    /// A complete, valid call for a probe that the target declares.
    pub fn prepare(&mut self, probe: ProbeName) -> Call {
        self.prepared += 1;
        let table = &self.probes.probes[&probe];
        let seed = format!("{}", self.prepared);
        let project_id = self.project.id.as_str();
        self.project.seed_tool(call::row(table, &self.version, project_id));
        let call = Call::new(Blueprint {
            probe,
            table,
            version: &self.version,
            project_id,
            name: &self.project.name,
            seed: &seed,
        });
        self.project.seed_card(call.card.clone());
        call
    }

    /// What the manifest says of a probe.
    pub fn table(&self, probe: ProbeName) -> &crate::manifest::ProbeTable {
        &self.probes.probes[&probe]
    }

    /// Publishes a command and records it.
    pub async fn send(&mut self, session: &UtpSession, call: &Call) {
        if let Some(agent) = call.agent_id() {
            self.project.assign_unless_known(agent, WORKER_TARGET);
        }
        let message = Message {
            direction: Direction::ToTarget,
            kind: Kind::Command,
            channel: call.subject.clone(),
            headers: call.headers.clone(),
            body: Value::Object(call.command.clone()),
        };
        self.publish(session, message).await;
    }

    /// Publishes any message of the worker and records it.
    pub async fn publish(&mut self, session: &UtpSession, message: Message) {
        self.project.transcript.record(message.clone());
        let sending = async {
            for message in session.desk.wire().outgoing(message) {
                // A lost broker shows in the session; here it means silence, which a deadline ends.
                let _ = nats::send(&session.client, &message).await;
            }
            let _ = session.client.flush().await;
        };
        let _ = tokio::time::timeout(SEND_DEADLINE, sending).await;
    }

    /// Calls the echo probe and waits for a sign that its work was done. Answers how long that took.
    pub async fn sentinel(&mut self, session: &UtpSession) -> Option<Duration> {
        let call = self.prepare(ProbeName::Echo);
        self.others.extend(call.names());
        let began = Instant::now();
        self.send(session, &call).await;
        let reports = |frames: &[Frame]| frames.iter().filter(|frame| frame.kind == Kind::Report).count();
        let before = self.project.transcript.with(reports);
        let answered = |frames: &[Frame]| seen::reflects(frames, &call.token).then_some(());
        self.project.transcript.wait(session.pace.answer, answered).await?;
        // Its report follows; waiting for it keeps it out of what comes next. One that does not come is not
        // the sentinel's business.
        let reported = |frames: &[Frame]| (reports(frames) > before).then_some(());
        let _ = self.project.transcript.wait(session.pace.quiet, reported).await;
        Some(began.elapsed())
    }

    /// After a message that may have no effect: a sentinel on the same path, its answer, a quiet window.
    ///
    /// `false` when the sentinel was not answered.
    pub async fn settle(&mut self, session: &UtpSession) -> bool {
        let Some(latency) = self.sentinel(session).await else { return false };
        let quiet = session.pace.quiet_after(latency);
        // An early end of the window would need something to wait for; the point is that nothing comes.
        tokio::time::sleep(quiet).await;
        true
    }

    /// Waits for the report of the call under test. `false` when none came in time.
    pub async fn answer(&self, session: &UtpSession, call: &Call) -> bool {
        self.answer_within(session.pace.answer, session, call).await
    }

    /// As [`Scene::answer`], with a patience of its own.
    pub async fn answer_within(&self, patience: Duration, session: &UtpSession, call: &Call) -> bool {
        let calls = Calls { subject: call, others: &self.others };
        let found = |frames: &[Frame]| seen::report(frames, &calls).map(|_| ());
        if self.project.transcript.wait(patience, found).await.is_none() {
            return false;
        }
        // A card that comes after its report breaks one rule; the others are judged with the card there.
        let complete = |frames: &[Frame]| {
            let report = seen::report(frames, &calls)?;
            seen::card_of(frames, report).map(|_| ())
        };
        let _ = self.project.transcript.wait(session.pace.late.max(session.pace.quiet), complete).await;
        true
    }

    /// Waits for a report of this turn.
    pub async fn answer_in_turn(&self, session: &UtpSession, turn: &Value) -> bool {
        let found = |frames: &[Frame]| {
            let mut reports = frames.iter().filter(|frame| frame.kind == Kind::Report);
            reports.any(|frame| frame.body.pointer("/payload/agent_turn_id") == Some(turn)).then_some(())
        };
        self.project.transcript.wait(session.pace.answer, found).await.is_some()
    }

    /// Makes a call that counts and reads the number; `None` when the probe gives none.
    pub async fn read_counter(&mut self, session: &UtpSession) -> Option<i64> {
        if session.counter_fails() {
            return None;
        }
        let read = self.read_counter_once(session).await;
        if read.is_none() {
            session.give_up_counter();
        }
        read
    }

    async fn read_counter_once(&mut self, session: &UtpSession) -> Option<i64> {
        let call = self.prepare(ProbeName::Count);
        self.others.extend(call.names());
        self.send(session, &call).await;
        let id = call.tool_call_id.as_str();
        let number = |card: &Value| {
            let result = card.pointer("/content/result")?;
            result.pointer(&call.result_pointer).and_then(Value::as_i64)
        };
        // The report says which card is the outcome; without a number in it there is none to wait for.
        let reported = |frames: &[Frame]| {
            let report = frames
                .iter()
                .filter(|frame| frame.kind == Kind::Report)
                .find(|frame| seen::owner(frames, frame) == Some(id))?;
            Some(number(seen::card_of(frames, report)?.1))
        };
        if let Some(read) = self.project.transcript.wait(session.pace.answer, reported).await {
            return read;
        }
        self.project.transcript.with(|frames| {
            let own = seen::result_cards(frames).filter(|(_, card)| seen::call_id(card) == Some(id)).last();
            own.and_then(|(_, card)| number(card))
        })
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

    /// The channel of a call, as its subject says.
    pub fn channel(call: &Call) -> &str {
        call.subject.split('.').nth(3).unwrap_or(CHANNEL)
    }
}
