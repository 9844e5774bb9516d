//! Replicas of an MCP server over HTTP that are disturbed while they work: what a call that succeeded has stored in the scope
//! `persistent` is there afterwards, whichever replica is asked; and so are the artifacts that it left.
//!
//! Each sending of a call has a key and ids of its own: what one leaves that was not answered harms no other. That something
//! is done twice has no trace on a tool bus, since to store a result again changes nothing.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosFinding, ChaosKind, Fault, Party};
use callmark_reports::record::FrameExcerpt;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::answer;
use super::answer::Answer;
use super::artifacts;
use super::artifacts::Form;
use super::call::Probe;
use super::replicas::EVERYWHERE;
use super::revision::Era;
use super::scene::{Made, Scene};
use super::server::Server;
use super::session::{RootKind, StartedFleet, ToolbusSession};
use crate::engine::chaos::{Called, Fleet, Processes, Replica};
use crate::spec::revision::split;
use crate::transcript::{Frame, Kind, Transcript, lock};

/// From one sending of a call to the next, while it is not answered.
const AGAIN: Duration = Duration::from_secs(1);
/// Between two sendings, also where a replica refuses connections.
const PAUSE: Duration = Duration::from_millis(50);
/// For what a replica does late that slept.
const AFTERMATH: Duration = Duration::from_secs(3);
/// How often something is looked at, where it is not there.
const LOOKS: usize = 5;
/// Between two of those.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// The scope that outlives a session and a server.
const SCOPE: &str = "persistent";

/// What of a call has to be there afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// The result that it has stored.
    State,
    /// The artifacts that it has left.
    Artifacts,
}

impl Effect {
    /// What a server has to do for it.
    fn hint(self) -> String {
        let what = match self {
            Self::State => "the result",
            Self::Artifacts => "both artifacts",
        };
        format!("write {what} {EVERYWHERE} and a restart leaves it, before the call is answered")
    }
}

/// The replicas of an MCP server.
pub(super) struct ToolbusFleet {
    session: Arc<ToolbusSession>,
    effect: Effect,
    started: OnceLock<StartedFleet>,
    calls: AtomicUsize,
    succeeded: Mutex<Vec<Succeeded>>,
    /// The artifacts that a call left before anything was disturbed.
    forms: Mutex<BTreeSet<&'static str>>,
}

/// A call that was answered with a success.
struct Succeeded {
    /// The replica that answered, from 0.
    replica: usize,
    /// What it stored its result under.
    key: String,
    scene: Scene,
    made: Made,
}

/// What came of a call.
enum Outcome {
    Succeeded(Box<Succeeded>),
    /// Another answer.
    Failed(String),
    /// No answer, and why.
    Silent(String),
}

impl ToolbusFleet {
    /// Those of a session in a profile; nothing where there are not several over HTTP that the suite starts, or nothing by
    /// which the profile would show what is lost.
    pub(super) fn new(session: &Arc<ToolbusSession>, profile: &str) -> Option<Self> {
        let table = &session.table;
        let is_shared = table.scopes.iter().any(|scope| scope == SCOPE);
        let effect = match split(profile).0 {
            "toolbus.server" if is_shared && Probe::State.table(table).is_some() => Effect::State,
            "toolbus.artifacts" if table.artifacts.is_some() => Effect::Artifacts,
            _ => return None,
        };
        let are_several = table.replicas_count() > 1 && table.launch.is_started();
        are_several.then(|| Self {
            session: Arc::clone(session),
            effect,
            started: OnceLock::new(),
            calls: AtomicUsize::new(0),
            succeeded: Mutex::default(),
            forms: Mutex::default(),
        })
    }

    fn scaled_time(&self, time: Duration) -> Duration {
        self.session.timeouts.scaled(time)
    }

    async fn connect(&self, replica: usize, within: Duration) -> Result<Arc<Server>, String> {
        let started = self.started.get().ok_or("the replicas were not started")?;
        self.session.connect_with(started, replica, within).await
    }

    /// Makes a call at one replica, and waits so long for its answer.
    async fn send(&self, replica: usize, name: &str, patience: Duration) -> Outcome {
        let server = match self.connect(replica, patience).await {
            Ok(server) => server,
            Err(why) => return Outcome::Silent(why),
        };
        let transcript = Arc::<Transcript>::default();
        let scene = Scene::new(&self.session, Arc::clone(&server), RootKind::First, name, transcript);
        let value = json!({"disturbed": scene.unique});
        let Some(mut call) = scene.prepare(Probe::Echo, value) else {
            return Outcome::Failed("the manifest has no echo probe".to_owned());
        };
        for (name, id) in [("trace_id", "tr-01"), ("span_id", "sp-01"), ("parent_span_id", "sp-00")] {
            call.arguments.insert(name.to_owned(), Value::from(scene.id(id)));
        }
        let key = scene.id("disturbed");
        if self.effect == Effect::State {
            call.arguments.insert("store_as".to_owned(), Value::from(key.clone()));
            call.arguments.insert("store_scope".to_owned(), Value::from(SCOPE));
        }
        let params = json!({"name": call.tool, "arguments": call.arguments});
        let body = json!({"jsonrpc": "2.0", "method": "tools/call", "params": params});
        let id = server.ask(&scene.client, &call.tool, body, None, patience).await;
        let answer = scene.client.transcript.peek(|frames| answer::of(frames, id));
        server.forget(id);
        // Who sleeps takes no leave either.
        tokio::spawn(async move { server.close().await });
        match answer {
            Answer::Success(result) if result.to_string().contains(&scene.unique) => {
                let made = Made { call, id };
                Outcome::Succeeded(Box::new(Succeeded { replica, key, scene, made }))
            }
            Answer::Success(_) => Outcome::Failed("the result is not that of the call".to_owned()),
            Answer::ToolError(_) => Outcome::Failed("the result has `isError`".to_owned()),
            Answer::Error(error) => Outcome::Failed(format!("the error {}", error["code"])),
            Answer::Other(status, _) => Outcome::Failed(format!("HTTP {status} and no JSON-RPC result")),
            Answer::Closed(why) => Outcome::Silent(why),
            Answer::Missing => Outcome::Silent("there was no answer in time".to_owned()),
        }
    }

    /// Makes a call until it is answered, each time at the next replica.
    async fn make(&self, index: usize, deadline: Instant) -> Called {
        let mut times = 0_u32;
        loop {
            let replica = (index + times as usize) % self.session.table.replicas_count();
            let left = || deadline.saturating_duration_since(Instant::now());
            let patience = self.scaled_time(AGAIN).min(left());
            let outcome = self.send(replica, &format!("chaos, call {index}, {times}"), patience).await;
            times += 1;
            match outcome {
                Outcome::Succeeded(own) => {
                    lock(&self.succeeded).push(*own);
                    return Called { index, times, succeeded: Some(true) };
                }
                Outcome::Failed(_) => return Called { index, times, succeeded: Some(false) },
                Outcome::Silent(_) if left().is_zero() => return Called { index, times, succeeded: None },
                Outcome::Silent(_) => tokio::time::sleep(PAUSE.min(left())).await,
            }
        }
    }

    /// Why one replica does not give what calls have stored, by their place; nothing where it gives it.
    async fn unread(
        &self,
        replica: usize,
        all: &[Succeeded],
    ) -> Result<Vec<(usize, Vec<FrameExcerpt>)>, String> {
        let server = self.connect(replica, self.session.timeouts.answer).await?;
        let (name, transcript) = (format!("chaos, replica {replica}"), Arc::<Transcript>::default());
        let mut scene = Scene::new(&self.session, Arc::clone(&server), RootKind::First, &name, transcript);
        let mut missing = Vec::new();
        for (place, own) in all.iter().enumerate() {
            let before = scene.client.transcript.seen();
            let read = scene.read_state(&own.key, SCOPE).await;
            let is_there = |(value, _): &(Option<Value>, i64)| {
                value.as_ref().is_some_and(|value| value.to_string().contains(&own.scene.unique))
            };
            match read {
                Ok(read) if is_there(&read) => {}
                Ok(_) => {
                    let frames = scene.client.transcript.all();
                    missing.push((place, frames.iter().skip(before).map(Frame::excerpt).collect()));
                }
                Err(answer) => {
                    let why = format!("the state cannot be read: {}", answer.shown());
                    server.close().await;
                    return Err(why);
                }
            }
        }
        server.close().await;
        Ok(missing)
    }

    /// As [`ToolbusFleet::unread`], a few times where a replica gives no answer.
    async fn unread_at_last(
        &self,
        replica: usize,
        all: &[Succeeded],
    ) -> Result<Vec<(usize, Vec<FrameExcerpt>)>, String> {
        let mut last = self.unread(replica, all).await;
        for _ in 1..LOOKS {
            if last.is_ok() {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
            last = self.unread(replica, all).await;
        }
        last
    }

    /// The kinds of whole artifacts that a call has left.
    fn left_by(own: &Succeeded) -> BTreeSet<&'static str> {
        let frames = artifacts::record(&own.scene, &own.made, own.scene.session.wire());
        let is_whole = |form: Form, frame: &Frame| {
            let text = frame.body.as_str().unwrap_or_default();
            match form {
                Form::Context => !text.is_empty(),
                // What is measured and not kept is no text any more.
                Form::Json => !frame.body.is_string() || serde_json::from_str::<Value>(text).is_ok(),
            }
        };
        [Form::Context, Form::Json]
            .into_iter()
            .filter(|form| {
                let mut own = frames.iter().filter(|frame| frame.kind == Kind::Artifact);
                own.any(|frame| form.is(&frame.channel) && is_whole(*form, frame))
            })
            .map(Form::name)
            .collect()
    }

    /// Makes a call at one replica, and sees that its effect is there for all of them.
    async fn try_out(&self, replica: usize) -> Result<(), String> {
        let patience = self.session.timeouts.answer;
        let own = match self.send(replica, &format!("chaos, replica {replica} first"), patience).await {
            Outcome::Succeeded(own) => [*own],
            Outcome::Failed(why) | Outcome::Silent(why) => {
                return Err(format!("replica {} does not answer the echo probe: {why}", replica + 1));
            }
        };
        if self.effect == Effect::Artifacts {
            let mut forms = Self::left_by(&own[0]);
            for _ in 1..LOOKS {
                if !forms.is_empty() {
                    break;
                }
                tokio::time::sleep(LOOK_AGAIN).await;
                forms = Self::left_by(&own[0]);
            }
            if forms.is_empty() {
                return Err(format!("a call of replica {} leaves no artifact", replica + 1));
            }
            lock(&self.forms).extend(forms);
            return Ok(());
        }
        for other in 0..self.session.table.replicas_count() {
            let mut looks = 1;
            while !self.unread_at_last(other, &own).await?.is_empty() {
                if looks == LOOKS {
                    return Err(format!(
                        "replica {} does not find in the scope `{SCOPE}` what replica {} has stored",
                        other + 1,
                        replica + 1
                    ));
                }
                looks += 1;
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        }
        Ok(())
    }

    fn lost(&self, message: String) -> ChaosFinding {
        ChaosFinding { kind: ChaosKind::Lost, message, hint: self.effect.hint(), frames: Vec::new() }
    }

    /// A call whose effect is gone.
    fn gone(&self, own: &Succeeded, what: &str, frames: Vec<FrameExcerpt>) -> ChaosFinding {
        let (tool, number) = (&own.made.call.tool, own.replica + 1);
        let message = format!("a call of `{tool}` succeeded at replica {number}, and afterwards {what}");
        let called = own.scene.client.transcript.peek(|frames| {
            let pair = [answer::request(frames, own.made.id), answer::frame(frames, own.made.id)];
            pair.into_iter().flatten().map(Frame::excerpt).collect::<Vec<_>>()
        });
        ChaosFinding { frames: called.into_iter().chain(frames).collect(), ..self.lost(message) }
    }

    /// What was stored and a replica does not find, and each replica that cannot be asked.
    async fn lost_state(&self, all: &[Succeeded]) -> Vec<ChaosFinding> {
        let (mut findings, mut found) = (Vec::new(), BTreeSet::new());
        for replica in 0..self.session.table.replicas_count() {
            let number = replica + 1;
            match self.unread_at_last(replica, all).await {
                Ok(missing) => {
                    // Once for each call.
                    for (place, frames) in missing.into_iter().filter(|(place, _)| found.insert(*place)) {
                        let own = &all[place];
                        let what =
                            format!("replica {number} does not find what it stored under `{}`", own.key);
                        findings.push(self.gone(own, &what, frames));
                    }
                }
                Err(why) => findings.push(
                    self.lost(format!("after the disturbances replica {number} does not answer: {why}")),
                ),
            }
        }
        findings
    }

    /// Calls that left artifacts which are not there.
    fn lost_artifacts(&self, all: &[Succeeded]) -> Vec<ChaosFinding> {
        let wanted = lock(&self.forms).clone();
        let lacking = |own: &Succeeded| {
            let left = Self::left_by(own);
            let lacking: Vec<&str> = wanted.difference(&left).copied().collect();
            let what = format!("its artifact {} is not there, or not whole", lacking.join(" and "));
            (!lacking.is_empty()).then(|| self.gone(own, &what, Vec::new()))
        };
        all.iter().filter_map(lacking).collect()
    }

    async fn judge(&self, called: Vec<Called>) -> (Vec<ChaosFinding>, Option<String>) {
        tokio::time::sleep(self.scaled_time(AFTERMATH)).await;
        let all = std::mem::take(&mut *lock(&self.succeeded));
        let unanswered = called.iter().filter(|own| own.succeeded.is_none());
        let mut findings: Vec<ChaosFinding> = unanswered
            .map(|own| {
                let (number, times) = (own.index + 1, own.times);
                self.lost(format!(
                    "call {number} was sent to one replica after the other and never answered (times: {times})"
                ))
            })
            .collect();
        findings.extend(match self.effect {
            Effect::State => self.lost_state(&all).await,
            Effect::Artifacts => self.lost_artifacts(&all),
        });
        let (most, succeeded) = (called.len(), all.len());
        let why = format!("of {most} calls {succeeded} succeeded, which shows too little");
        let shows_nothing = findings.is_empty() && succeeded * 2 < most;
        (findings, shows_nothing.then_some(why))
    }

    fn with_processes<T>(&self, act: impl FnOnce(Processes<'_>) -> T) -> T {
        let nobody = crate::engine::target::SharedProcess::default();
        let started = self.started.get();
        let set_link = |number: Replica, link| {
            let place = (number as usize).checked_sub(1);
            if let Some(relay) = place.and_then(|place| started?.relays.get(place)) {
                relay.set(link);
            }
        };
        let replicas = started.map_or(&nobody, |started| &started.processes);
        act(Processes { replicas, broker_nodes: None, set_link: &set_link })
    }
}

impl Fleet for ToolbusFleet {
    fn profile(&self) -> &'static str {
        match (self.effect, self.session.era) {
            (Effect::State, Era::Legacy) => "toolbus.server",
            (Effect::State, Era::Modern) => "toolbus.server@2026-07-28",
            (Effect::Artifacts, Era::Legacy) => "toolbus.artifacts",
            (Effect::Artifacts, Era::Modern) => "toolbus.artifacts@2026-07-28",
        }
    }

    fn replicas(&self) -> Replica {
        Replica::try_from(self.session.table.replicas_count()).unwrap_or(Replica::MAX)
    }

    fn scaled(&self, time: Duration) -> Duration {
        self.scaled_time(time)
    }

    fn begin(&self) -> BoxFuture<'_, Result<(), String>> {
        async {
            let started = self.session.start_fleet().await?;
            // It is begun once.
            let _ = self.started.set(started);
            for replica in 0..self.session.table.replicas_count() {
                self.try_out(replica).await?;
            }
            Ok(())
        }
        .boxed()
    }

    fn call(self: Arc<Self>, deadline: Instant) -> BoxFuture<'static, Called> {
        async move {
            let index = self.calls.fetch_add(1, Ordering::Relaxed);
            self.make(index, deadline).await
        }
        .boxed()
    }

    fn disturb(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.with_processes(|processes| processes.disturb(party, fault))
    }

    fn restore(&self, party: Party, fault: Fault) -> Result<(), String> {
        self.with_processes(|processes| processes.restore(party, fault))
    }

    fn findings(&self, called: Vec<Called>) -> BoxFuture<'_, (Vec<ChaosFinding>, Option<String>)> {
        self.judge(called).boxed()
    }
}
