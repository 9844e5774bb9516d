//! The World of one scenario with a tool runner under test.

use std::sync::Arc;

use cucumber::World as CucumberWorld;

use super::answer::Answer;
use super::call::Call;
use super::observed::{AnsweredCall, EveryAnsweredCall};
use super::scene::Scene;
use super::session::RunnerSession;
use crate::engine::by_hand::{ByHand, body_text, quoted};
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::naming::Naming as _;
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::transcript::{Frame, Kind};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
}

has_core!(World, pub(super) Scene, "Given a tool runner");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let Some(scene) = &self.scene else { return ScenarioArtifacts::default() };
        let frames = scene.frames();
        let subject = frames.iter().find(|frame| frame.kind == Kind::Put);
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.scenario_channel.transcript)),
            names: scene.names(),
            nonce: None,
            is_rechecked: false,
            subject: subject.map(|frame| frame.body.clone()),
            reproduce: Some(ByHand::new(|_, frame| by_hand(frame))),
        }
    }
}

impl World {
    /// The session with the runner.
    pub(in crate::families::breadcrumb) fn session(&mut self) -> Result<Arc<RunnerSession>, Abort> {
        let session = self.session_with::<RunnerSession>("a tool runner")?;
        self.ensure_running(session.ended())?;
        Ok(session)
    }

    /// Opens the scene.
    pub(in crate::families::breadcrumb) fn open(&mut self) -> Step {
        let session = self.session()?;
        self.scene = Some(Scene::new(&session, &self.core.identity(), self.core.written()));
        Ok(())
    }

    /// Ends the scenario where something did not get to the runner.
    pub(in crate::families::breadcrumb) fn reached<T>(
        &mut self,
        sent: Result<T, String>,
    ) -> Result<T, Abort> {
        sent.map_err(|message| self.could_not_run(Cause::Reachability, message))
    }

    /// Adds a judgement of every answered call of the run.
    pub(in crate::families::breadcrumb) fn judge_observed(
        &mut self,
        judgement: impl Fn(&AnsweredCall<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let missing = "no step says which answers (`Given every answered call …`)";
        self.check_every::<EveryAnsweredCall>(missing, judgement)
    }

    /// As [`World::judge_answers`], and in an `@always` scenario has every answer of the run judged.
    pub(in crate::families::breadcrumb) fn judge_each_answer(
        &mut self,
        judgement: impl Fn(&Call, &Answer<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryAnsweredCall>() {
            Some(every) => {
                every.check(move |own: &AnsweredCall<'_>| judgement(&own.call, &own.answer));
                Ok(())
            }
            None => self.judge_answers(judgement),
        }
    }

    /// Judges the first answer to each call.
    pub(in crate::families::breadcrumb) fn judge_answers(
        &mut self,
        judgement: impl Fn(&Call, &Answer<'_>) -> Judgement,
    ) -> Step {
        self.judge_calls(|frames, call| match Answer::of(frames, call) {
            Some(answer) => judgement(call, &answer),
            None => Err(super::judge::answer::missing(frames, call)),
        })
    }

    /// Judges by all frames, and by what the scene knows.
    pub(in crate::families::breadcrumb) fn judge_scene(
        &mut self,
        judgement: impl Fn(&[Frame], &Scene) -> Judgement,
    ) -> Step {
        let scene = self.scene()?;
        let judgement = judgement(&scene.frames(), scene);
        self.judge(judgement)
    }

    /// Judges the first call by all frames.
    pub(in crate::families::breadcrumb) fn judge_first(
        &mut self,
        judgement: impl Fn(&[Frame], &Call) -> Judgement,
    ) -> Step {
        let first = self.scene()?.calls.first().map(|call| call.id().to_owned()).unwrap_or_default();
        self.judge_calls(|frames, call| if call.id() == first { judgement(frames, call) } else { Ok(()) })
    }

    /// Judges each call by all frames.
    pub(in crate::families::breadcrumb) fn judge_calls(
        &mut self,
        judgement: impl Fn(&[Frame], &Call) -> Judgement,
    ) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        let (frames, calls) = (scene.frames(), scene.calls.clone());
        if calls.iter().all(|call| call.sent_at.is_none()) {
            return Err(self.suite_fault("no step made a call (`When the agent …`)"));
        }
        let transcript = Arc::clone(&scene.scenario_channel.transcript);
        let unplayed = || transcript.record_external("unplayed", || session.router.unplayed());
        let judgement = calls.iter().try_for_each(|call| {
            judgement(&frames, call).map_err(|trouble| {
                let is_extra = session.table.extra.contains_key(call.tool());
                let fails = is_extra && Answer::of(&frames, call).is_some_and(|answer| !answer.succeeded());
                // A tool of the runner's own may need what the suite does not play.
                match (trouble, fails.then(unplayed).flatten()) {
                    (CheckFailure::Broken(_), Some(request)) => CheckFailure::NotObserved(format!(
                        "the call of `{}` fails, and the suite plays nothing at `{request}`, which it may need",
                        call.tool()
                    )),
                    (trouble, _) => trouble,
                }
            })
        });
        let is_idle = !session.works() && Answer::of(&frames, &calls[0]).is_none();
        self.judge_unless_idle(
            judgement,
            is_idle.then_some("the runner did not answer this call, and did the work of no other"),
        )
    }
}

/// A command line that stores a breadcrumb by hand.
pub(in crate::families::breadcrumb) fn by_hand(frame: &Frame) -> String {
    let body = quoted(&body_text(&crate::families::breadcrumb::evidence::NAMING.normalized(&frame.body)));
    format!(
        "curl -X POST \"${{CALLMARK_STORE_URL}}/breadcrumbs\" -H 'content-type: application/json' --data-raw {body}"
    )
}
