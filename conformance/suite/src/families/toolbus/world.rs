//! The World of one tool bus scenario: the sessions that all scenarios share, and its scene.

use std::sync::Arc;
use std::time::Duration;

use cucumber::World as CucumberWorld;
use serde_json::Value;

use super::answer;
use super::answer::Answer;
use super::artifacts;
use super::artifacts::Form;
use super::call::Probe;
use super::evidence;
use super::judge::Reply;
use super::manifest::Transport;
use super::modern;
use super::observed::{EveryCall, ObservedCall};
use super::scene::{Call, Made, Scene};
use super::server::Opening;
use super::session::{Lease, RootKind, ToolbusSession};
use crate::engine::by_hand::{ByHand, quoted};
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::transcript;
use crate::transcript::Frame;

/// How often the artifacts of a call that succeeded are looked for again while one is missing.
const ARTIFACT_LOOKS: usize = 6;
/// The least pause before the second of these looks; each further one is twice as long.
const ARTIFACT_PAUSE: Duration = Duration::from_millis(100);

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
    /// Artifacts as they were when a step remembered them.
    pub(super) remembered: Vec<Frame>,
    /// The argument that a step left out.
    pub(super) missing_argument: String,
}

has_core!(World, pub(super) Scene, "Given an MCP server");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let Some(scene) = &self.scene else { return ScenarioArtifacts::default() };
        let request = scene.made.last().and_then(|made| answer::request(&scene.frames(), made.id).cloned());
        let subject = request.map(|frame| frame.body);
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.client.transcript)),
            names: vec![
                (format!("-{}", scene.unique), String::new()),
                (scene.unique.clone(), "<unique>".to_owned()),
                (scene.number(), "<number>".to_owned()),
                (scene.session.outside().display().to_string(), "<roots>".to_owned()),
            ],
            nonce: None,
            is_rechecked: false,
            reproduce: subject.is_some().then(|| {
                let (before, after) =
                    scene.client.transcript.record_external("by hand", || scene.server.by_hand());
                ByHand::new(move |_, frame| {
                    let request = quoted(&evidence::normalized_body(&frame.body).to_string());
                    let headers = modern::sent_headers(&frame.headers).into_iter();
                    let headers =
                        headers.map(|(name, value)| format!(" -H {}", quoted(&format!("{name}: {value}"))));
                    format!("{before}{request}{}{after}", headers.collect::<String>())
                })
            }),
            subject,
        }
    }

    fn borrowed(&self) -> bool {
        let lease = self.scene.as_ref().and_then(|scene| scene.lease.as_ref());
        lease.is_some_and(Lease::is_used)
    }

    fn exited(&self) -> Option<String> {
        let scene = self.scene.as_ref()?;
        // A server that others have as well may have ended after all that this scenario is about.
        let is_concerned = scene.lease.is_some() || self.core.trouble.is_some();
        scene.server.exited().filter(|_| is_concerned && !scene.may_end)
    }

    fn on_end(&mut self) {
        let has_failed = self.core.trouble.is_some();
        if let Some(scene) = &mut self.scene {
            if let (Some(lease), true) = (&mut scene.lease, has_failed) {
                lease.is_not_to_be_lent_again();
            }
            scene.lease = None;
            scene.turn = None;
        }
    }
}

impl World {
    /// The session with the server.
    pub(super) fn session(&mut self) -> Result<Arc<ToolbusSession>, Abort> {
        self.session_with::<ToolbusSession>("an MCP server")
    }

    /// Opens the scene with the server that scenarios share.
    pub(super) async fn open(&mut self, kind: RootKind) -> Step {
        let session = self.session()?;
        let server = session.server(kind, self.core.transcript.attempt()).await;
        self.enter_scene(&session, server, kind)
    }

    /// Opens the scene with the server that scenarios share over a transport, which need not be the run's.
    pub(super) async fn open_over(&mut self, transport: Transport) -> Step {
        let session = self.session()?;
        let attempt = self.core.transcript.attempt();
        let server = session.server_over(transport, RootKind::First, attempt).await;
        self.enter_scene(&session, server, RootKind::First)
    }

    /// Opens the scene with a new server that nobody has sent anything yet but a greeting, or not even that.
    pub(super) async fn open_new(&mut self, transport: Transport, opening: Opening) -> Step {
        let session = self.session()?;
        let lease = session.new_server(transport, opening).await;
        self.enter_with(&session, lease)
    }

    /// Opens the scene with a server of its own.
    pub(super) async fn open_own(&mut self) -> Step {
        let session = self.session()?;
        let lease = session.own_server(self.core.transcript.attempt()).await;
        self.enter_with(&session, lease)
    }

    fn enter_with(&mut self, session: &Arc<ToolbusSession>, lease: Result<Lease, String>) -> Step {
        let server = lease.as_ref().map(|lease| Arc::clone(&lease.server)).map_err(Clone::clone);
        self.enter_scene(session, server, RootKind::First)?;
        self.scene()?.lease = lease.ok();
        Ok(())
    }

    /// As [`World::open_own`], for a scenario that moves much data. It waits for its turn first, so that it does not
    /// keep a server from others meanwhile.
    pub(super) async fn open_own_in_turn(&mut self) -> Step {
        let turn = self.session()?.turn().await;
        self.open_own().await?;
        let scene = self.scene()?;
        (scene.turn, scene.is_large) = (turn, true);
        Ok(())
    }

    fn enter_scene(
        &mut self,
        session: &Arc<ToolbusSession>,
        server: Result<Arc<super::server::Server>, String>,
        kind: RootKind,
    ) -> Step {
        match server {
            Ok(server) => {
                self.scene =
                    Some(Scene::new(session, server, kind, &self.core.identity(), self.core.written()));
                Ok(())
            }
            Err(message) => Err(self.could_not_run(Cause::Reachability, message)),
        }
    }

    /// Prepares the next call. A probe that does not work without any semantic argument is a fault of the manifest.
    pub(super) fn prepare(&mut self, probe: Probe, value: Value) -> Step {
        let session = self.session()?;
        if let Some(Err(why)) = session.baseline(probe) {
            let message = format!("a plain call of `{}` does not work: {why}", probe.key());
            return Err(self.could_not_run(Cause::Fixture, message));
        }
        let scene = self.scene()?;
        let Some(call) = scene.prepare(probe, value) else {
            return Err(self.suite_fault("the scenario uses a probe that it does not ask for with `@cap:`"));
        };
        self.scene()?.call = Some(call);
        Ok(())
    }

    /// The call that is being prepared.
    pub(super) fn call(&mut self) -> Result<&mut Call, Abort> {
        if self.scene()?.call.is_none() {
            return Err(self.suite_fault("no step prepared a call (`Given a call of the … probe`)"));
        }
        self.scene()?.call.as_mut().ok_or(Abort)
    }

    /// Makes the prepared call.
    pub(super) async fn make(&mut self) -> Result<Made, Abort> {
        self.call()?;
        let scene = self.scene()?;
        // A large call is made once; a small one may be made again.
        let call = if scene.is_large { scene.call.take() } else { scene.call.clone() };
        let Some(call) = call else { return Err(Abort) };
        let made = scene.make(call).await;
        match scene.unprepared.take() {
            Some(why) => Err(self.could_not_run(Cause::Fixture, why)),
            None => Ok(made),
        }
    }

    /// Makes the prepared call so many times at once.
    pub(super) async fn make_at_once(&mut self, times: usize) -> Step {
        let call = self.call()?.clone();
        let scene = self.scene()?;
        scene.make_at_once(&call, times).await;
        match scene.unprepared.take() {
            Some(why) => Err(self.could_not_run(Cause::Fixture, why)),
            None => Ok(()),
        }
    }

    /// The calls that were made, the last one being under test.
    pub(super) fn made(&mut self) -> Result<Vec<Made>, Abort> {
        let made = self.scene()?.made.clone();
        if made.is_empty() {
            return Err(self.suite_fault("no step made a call (`When the client makes the call`)"));
        }
        Ok(made)
    }

    /// Has only those calls of the run judged that have this argument, a string.
    pub(super) fn only_calls_with(&mut self, argument: String) -> Step {
        self.judge_each_call(move |reply| match reply.made.call.arguments.get(&argument) {
            Some(Value::String(_)) => Ok(()),
            _ => Err(CheckFailure::NotObserved(format!("the call has no `{argument}`"))),
        })
    }

    /// Has only those calls of the run judged whose arguments are such.
    pub(super) fn only_calls(&mut self, which: fn(&serde_json::Map<String, Value>) -> bool) -> Step {
        self.judge_each_call(move |reply| {
            if which(&reply.made.call.arguments) {
                return Ok(());
            }
            Err(CheckFailure::NotObserved("the call is another one".to_owned()))
        })
    }

    /// As [`World::judge_call`], and in an `@always` scenario has every call of the run judged.
    pub(super) fn judge_each_call(
        &mut self,
        judgement: impl Fn(&Reply<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let session = self.session()?;
        match self.every::<EveryCall>() {
            Some(every) => {
                every.check(move |own: &ObservedCall<'_>| judgement(&own.reply(&session)));
                Ok(())
            }
            None => self.judge_call(judgement),
        }
    }

    /// Judges the call under test.
    pub(super) fn judge_call(&mut self, judgement: impl FnOnce(&Reply<'_>) -> Judgement) -> Step {
        let made = self.made()?;
        self.judge_calls(&made[made.len() - 1..], |replies| judgement(&replies[0]))
    }

    /// Judges all calls of the scenario.
    pub(super) fn judge_all(&mut self, judgement: impl FnOnce(&[Reply<'_>]) -> Judgement) -> Step {
        let made = self.made()?;
        self.judge_calls(&made, judgement)
    }

    /// Judges the first and the last call.
    pub(super) fn judge_pair(&mut self, judgement: impl FnOnce(&Reply<'_>, &Reply<'_>) -> Judgement) -> Step {
        let made = self.made()?;
        let pair = [made[0].clone(), made[made.len() - 1].clone()];
        self.judge_calls(&pair, |replies| judgement(&replies[0], &replies[1]))
    }

    fn judge_calls(&mut self, made: &[Made], judgement: impl FnOnce(&[Reply<'_>]) -> Judgement) -> Step {
        let session = self.session()?;
        let frames = self.scene()?.frames();
        let replies: Vec<Reply<'_>> = made.iter().map(|made| Reply::of(&frames, made, &session)).collect();
        let silent = !session.works() && replies.iter().any(|reply| *reply.answer == Answer::Missing);
        let judgement = judgement(&replies);
        self.judge_unless_idle(
            judgement,
            silent.then_some("the server did not answer this call, and did the work of no other"),
        )
    }

    /// Writes down the artifacts of a call. A store may be a moment behind its server.
    pub(super) async fn look_for_artifacts(&mut self, made: &Made) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        let mut found = artifacts::record(scene, made, session.wire());
        let is_failure = scene.client.transcript.with(|frames| answer::of(frames, made.id).is_failure());
        // A call that fails need not leave any.
        let looks = if is_failure { 1 } else { ARTIFACT_LOOKS };
        let mut pause = session.timeouts.settle_window;
        for _ in 0..looks {
            let has = |form: Form| found.iter().any(|frame| form.is(&frame.channel));
            if has(Form::Context) && has(Form::Json) {
                break;
            }
            // Who waits moves nothing: all calls were made, and where artifacts never come, scenarios wait beside each other.
            scene.turn = None;
            transcript::sleep_unless_replaying(pause).await;
            found.extend(artifacts::record(scene, made, session.wire()));
            pause = (pause * 2).max(ARTIFACT_PAUSE);
        }
        Ok(())
    }
}
