//! The World of one UTP scenario: the sessions that all scenarios share, its scene, the messages it examines.

mod liveness;

use std::sync::Arc;
use std::time::Instant;

use cucumber::World as CucumberWorld;

use super::call::Call;
use super::capture::{Capture, Entry};
use super::judge::late::{DeferredCheck, LateCheck};
use super::judge::route;
use super::judge::seen;
use super::judge::seen::Calls;
use super::judge::tasks;
use super::observed::{EveryCall, ObservedCall};
use super::scene::Scene;
use super::services::Services;
use super::session::{Liveness, UtpSession};
use super::tool::{Role, Tool};
use super::upstream::Key;
use crate::engine::judge::{Cause, CheckFailure, Finding, Judgement};
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::utp::reason::Alternative;
use crate::transcript::{Frame, lock};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    role: Option<Role>,
    scene: Option<Scene>,
    entries: Option<Vec<Entry>>,
    late: Vec<DeferredCheck>,
    /// Whether every replica of the target has received the command under test.
    pub(super) reached_replicas: bool,
}

has_core!(World);

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let project = self.scene.as_ref().map(|scene| &scene.project);
        ScenarioArtifacts {
            transcript: project.map(|project| Arc::clone(&project.transcript)),
            names: Vec::new(),
            nonce: project.map(|project| project.name.nonce().to_owned()),
            is_rechecked: !self.late.is_empty(),
            subject: self.command(),
            reproduce: self.scene.as_ref().map(Scene::by_hand),
        }
    }

    fn on_end(&mut self) {
        if let Some(services) = self.services() {
            let attempt = (self.core.scenario.clone(), self.core.transcript.attempt());
            lock(&services.late).insert(attempt, std::mem::take(&mut self.late));
        }
        if let Some(scene) = &self.scene {
            scene.project.retire();
        }
    }
}

impl World {
    /// What is under test, in the revision of the scenario's family.
    fn services(&self) -> Option<Arc<Services>> {
        self.core.sessions.of_type::<Services>(self.core.family)
    }

    /// The keys of the executor under test.
    pub(super) fn keys_of_the_executor(&self) -> Vec<Key> {
        let services = self.services();
        let session = services.and_then(|services| services.roles.get(&Role::OpenApi).cloned());
        let plan = session.as_ref().and_then(|session| session.upstream());
        plan.map(|upstream| upstream.plan.keys.iter().cloned().collect()).unwrap_or_default()
    }

    /// Has a judgement made again when the run is over.
    pub fn judge_later(&mut self, check: LateCheck) -> Step {
        let platform_service = Arc::clone(&self.session()?.test_environment.platform_service);
        let subject = self.call()?.clone();
        let scene = self.scene()?;
        let (others, project) = (scene.others.clone(), Arc::clone(&scene.project));
        self.late.push(DeferredCheck::new(check, subject, others, project, platform_service));
        Ok(())
    }

    /// Everything that was sent and received.
    pub fn frames(&self) -> Vec<Frame> {
        self.scene.as_ref().map(|scene| scene.project.transcript.frames()).unwrap_or_default()
    }

    /// The command under test, as it was or would be sent.
    fn command(&self) -> Option<serde_json::Value> {
        let call = self.scene.as_ref()?.call.as_ref()?;
        Some(serde_json::Value::Object(call.encoded().1))
    }

    /// Judges the call under test over the transcript.
    pub fn judge_call(&mut self, judgement: impl FnOnce(&[Frame], &Calls<'_>) -> Judgement) -> Step {
        self.call()?;
        let scene = self.scene()?;
        let Some(subject) = &scene.call else { return Err(Abort) };
        let calls = Calls::new(subject, &scene.others);
        let judgement = scene.project.transcript.with(|frames| judgement(frames, &calls));
        self.judge(judgement)
    }

    /// As [`World::judge_call`], and in an `@always` scenario has every call of the run judged.
    pub fn judge_each_call(
        &mut self,
        judgement: impl Fn(&[Frame], &Calls<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryCall>() {
            Some(every) => {
                every.check(move |own: &ObservedCall<'_>| judgement(own.frames, &own.calls()));
                Ok(())
            }
            None => self.judge_call(judgement),
        }
    }

    /// As [`World::judge_each_call`], where a judgement is about the tool.result card: of an `@always` scenario only the
    /// calls are judged whose card is known.
    pub fn judge_each_card(
        &mut self,
        judgement: impl Fn(&[Frame], &Calls<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryCall>() {
            Some(every) => {
                every.check(move |own: &ObservedCall<'_>| {
                    if own.has_own_card() {
                        return judgement(own.frames, &own.calls());
                    }
                    Err(CheckFailure::NotObserved("no tool.result card names the call".to_owned()))
                });
                Ok(())
            }
            None => self.judge_call(judgement),
        }
    }

    /// The session with the role under test. Once the broker is lost, nothing more is tried.
    pub fn session(&mut self) -> Result<Arc<UtpSession>, Abort> {
        let session = self.role.zip(self.services());
        let session = session.and_then(|(role, services)| services.roles.get(&role).cloned());
        let Some(session) = session else {
            return Err(self.suite_fault("the scenario needs a target that the run does not have"));
        };
        if let Some(why) = session.test_environment.broker_trouble(self.core.transcript.began()) {
            return Err(self.abort(broker_trouble(why)));
        }
        Ok(session)
    }

    /// Opens the scenario's own project.
    pub fn open_scene(&mut self, role: Role) -> Step {
        self.role = Some(role);
        let session = self.session()?;
        self.scene = Some(Scene::bare(
            &session,
            session.test_environment.project_of(&self.core.scenario, "", self.core.written()),
        ));
        Ok(())
    }

    /// The scene that the first step opened.
    pub fn scene(&mut self) -> Result<&mut Scene, Abort> {
        if self.scene.is_none() {
            return Err(self.suite_fault("no step opened the scene (`Given a Tool Service`)"));
        }
        self.scene.as_mut().ok_or(Abort)
    }

    /// The call that a step prepared.
    pub fn call(&mut self) -> Result<&mut Call, Abort> {
        if self.scene()?.call.is_none() {
            return Err(self.suite_fault("no step prepared a call (`Given a command for the … probe`)"));
        }
        self.scene()?.call.as_mut().ok_or(Abort)
    }

    /// Prepares the call under test.
    pub async fn prepare(&mut self, tool: Tool) -> Step {
        let session = self.session()?;
        if !session.declares(tool) {
            return Err(self.suite_fault("the scenario uses a tool that it does not ask for with `@cap:`"));
        }
        let scene = self.scene()?;
        if tool == Tool::Count && !scene.begin_count(&session).await {
            return Err(self
                .unusable("there was no answer, or one that holds no number at `result_pointer`")
                .await);
        }
        let scene = self.scene()?;
        let call = scene.prepare(tool);
        scene.put_under_test(call);
        Ok(())
    }

    /// Prepares the call under test, with a row of its own.
    pub fn prepare_own(&mut self, tool: Tool) -> Step {
        if !self.session()?.declares(tool) {
            return Err(self.suite_fault("the scenario uses a tool that it does not ask for with `@cap:`"));
        }
        let scene = self.scene()?;
        let call = scene.prepare_own(tool);
        scene.put_under_test(call);
        Ok(())
    }

    /// Sends the call under test.
    pub async fn send(&mut self) -> Step {
        let session = self.session()?;
        let call = self.call()?.clone();
        self.scene()?.send(&session, &call).await;
        Ok(())
    }

    /// Waits for the report of the call under test. A live target owes one to every valid command.
    ///
    /// That a call which cannot succeed is answered is a recommendation with a rule of its own; the other rules
    /// have nothing to look at when it is not.
    pub async fn answered(&mut self) -> Step {
        if self.judges_every() {
            return Ok(());
        }
        let fails = self.call()?.is_bound_to_fail();
        match self.unanswered().await? {
            None => Ok(()),
            Some(CheckFailure::Broken(_) | CheckFailure::NotObserved(_)) if fails => {
                self.settled().await?;
                self.judge_call(|frames, calls| {
                    Err(Alternative::UnansweredFailure.seen_in(seen::life_after(frames, calls)))
                })
            }
            Some(trouble) => Err(self.abort(trouble)),
        }
    }

    /// As [`World::answered`], and gives work that comes after its answer the chance to show.
    pub async fn wait_for_effect(&mut self) -> Step {
        if self.judges_every() {
            return Ok(());
        }
        self.answered().await?;
        let session = self.session()?;
        let call = self.call()?.clone();
        let others = self.scene()?.others.clone();
        let calls = Calls::new(&call, &others);
        // Of a built-in all that its card asks for.
        let shown = |frames: &[Frame]| {
            let is_shown = if call.tool.is_builtin() {
                tasks::shows_work(frames, &calls).is_ok()
            } else {
                seen::reflects(frames, &call)
            };
            is_shown.then_some(())
        };
        // That none came is for the judgement to report.
        let _ = self.scene()?.project.transcript.wait(session.timeouts.late, shown).await;
        Ok(())
    }

    /// Waits for the report of the call under test, whatever the probe.
    pub async fn answered_anyway(&mut self) -> Step {
        if self.judges_every() {
            return Ok(());
        }
        match self.unanswered().await? {
            None => Ok(()),
            Some(trouble) => Err(self.abort(trouble)),
        }
    }

    /// As [`World::answered`], for the rules that are about the answer itself: a target that never answers
    /// breaks them, where all others have nothing to look at.
    pub async fn reported(&mut self) -> Step {
        if self.judges_every() {
            return Ok(());
        }
        match self.unanswered().await? {
            None | Some(CheckFailure::NotObserved(_)) => self.judge_call(route::is_reported),
            Some(trouble) => Err(self.abort(trouble)),
        }
    }

    async fn unanswered(&mut self) -> Result<Option<CheckFailure>, Abort> {
        let session = self.session()?;
        let call = self.call()?.clone();
        let scene = self.scene()?;
        if scene.answer(&session, &call).await {
            return Ok(None);
        }
        let frames = scene.project.transcript.frames();
        let others = scene.others.clone();
        if let Some(ended) = session.test_environment.target_ended().await {
            return Ok(Some(stopped(ended)));
        }
        let finding = route::unanswered(&frames, &Calls::new(&call, &others));
        Ok(Some(missing(&session, self.core.transcript.began(), finding)))
    }

    /// After everything has settled, gives a late answer to a refused command the chance to come.
    pub async fn wait_grace_period(&mut self) -> Step {
        if self.judges_every() {
            return Ok(());
        }
        self.settled().await?;
        let session = self.session()?;
        let call = self.call()?.clone();
        // None need come, so that none came is not judged here.
        self.scene()?.late_answer(&session, &call).await;
        Ok(())
    }

    /// Waits for the report of the call's turn.
    pub async fn answered_in_turn(&mut self) -> Step {
        let session = self.session()?;
        let turn = self.call()?.command.get("agent_turn_id").cloned().unwrap_or_default();
        // What does not come is for the judgement to report.
        let _ = self.scene()?.answer_in_turn(&session, &turn).await;
        Ok(())
    }

    /// Runs of the counting call, after everything has settled; `None` when the call does not count.
    pub async fn runs(&mut self) -> Result<Option<i64>, Abort> {
        let session = self.session()?;
        let scene = self.scene()?;
        if scene.counted.is_none() {
            return Ok(None);
        }
        match scene.runs_counted(&session).await {
            Some(runs) => Ok(Some(runs)),
            None => Err(self.unusable("it stopped giving a number").await),
        }
    }

    /// The count probe cannot be used.
    async fn unusable(&mut self, why: &str) -> Abort {
        let Ok(session) = self.session() else { return Abort };
        let message = format!("the `count` probe cannot be used: {why}");
        let trouble = match session.test_environment.target_ended().await {
            Some(ended) => stopped(ended),
            None if session.liveness != Liveness::Answers => CheckFailure::NotObserved(message),
            None => CheckFailure::CouldNotRun { cause: Cause::Fixture, message },
        };
        self.abort(trouble)
    }

    /// The captured messages.
    pub fn capture(&mut self) -> Result<Arc<Capture>, Abort> {
        let capture = self.services().and_then(|services| services.capture.clone());
        capture.ok_or_else(|| self.suite_fault("the scenario needs captured messages, and the run has none"))
    }

    /// Takes a selection of the captured messages under test.
    pub fn examine(&mut self, entries: Vec<Entry>) {
        self.entries = Some(entries);
    }

    /// The captured messages under test.
    pub fn entries(&mut self) -> Result<Vec<Entry>, Abort> {
        let entries = self.entries.clone();
        entries.ok_or_else(|| self.suite_fault("no step selected messages of the capture"))
    }
}

/// A missing answer breaks the rule where the target is known to answer; else there was nothing to see.
fn missing(session: &UtpSession, began: Instant, finding: Finding) -> CheckFailure {
    if let Some(why) = session.test_environment.broker_trouble(began) {
        return broker_trouble(why);
    }
    match session.liveness {
        Liveness::Answers => finding.into(),
        Liveness::Works | Liveness::Responsive => CheckFailure::NotObserved(finding.message),
    }
}

fn broker_trouble(message: String) -> CheckFailure {
    CheckFailure::CouldNotRun { cause: Cause::Reachability, message }
}

fn stopped(ended: String) -> CheckFailure {
    CheckFailure::CouldNotRun { cause: Cause::Implementation, message: ended }
}

/// What helps a target that is only late because others come before.
const IN_TURN: &str = "if it works on one command at a time, say `serial = true` under `[utp]`";
