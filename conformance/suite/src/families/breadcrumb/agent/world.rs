//! The World of one scenario with an agent under test that writes invocations.

use std::sync::Arc;

use cucumber::World as CucumberWorld;

use super::judge::Seen;
use super::observed::{Conversation, EveryConversation};
use super::scene::Scene;
use super::session::CrumbAgentSession;
use super::task::Task;
use crate::engine::by_hand::ByHand;
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::breadcrumb::runner::world::by_hand;
use crate::transcript::{Frame, Kind};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
}

has_core!(World, pub(super) Scene, "Given an agent");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let Some(scene) = &self.scene else { return ScenarioArtifacts::default() };
        let frames = scene.state.frames();
        let subject = frames.iter().find(|frame| frame.kind == Kind::Put);
        let mut names: Vec<(String, String)> = scene.state.tasks().iter().flat_map(Task::names).collect();
        // Which of two calls comes first differs from run to run.
        names.extend(scene.state.ledger(&scene.state.tasks()).names());
        names.push((scene.unique.clone(), "<unique>".to_owned()));
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.state.scenario_channel.transcript)),
            names,
            nonce: None,
            is_rechecked: false,
            subject: subject.map(|frame| frame.body.clone()),
            // What is sent to an agent with a `drive` is no breadcrumb.
            reproduce: scene.session.table.drive.is_none().then(|| ByHand::new(|_, frame| by_hand(frame))),
        }
    }
}

impl World {
    /// Opens the scene.
    pub(super) fn open(&mut self) -> Step {
        let session = self.session()?;
        self.ensure_running(session.ended())?;
        self.scene = Some(Scene::new(&session, &self.core.identity(), self.core.written()));
        Ok(())
    }

    /// The session, for judgements that look things up.
    pub(super) fn session(&mut self) -> Result<Arc<CrumbAgentSession>, Abort> {
        self.session_with::<CrumbAgentSession>("an agent")
    }

    /// Ends the scenario where something did not get to the agent.
    pub(super) fn reached(&mut self, sent: Result<(), String>) -> Step {
        sent.map_err(|message| self.could_not_run(Cause::Reachability, message))
    }

    /// Judges what was seen, once what is looked for is there or a moment has passed.
    ///
    /// An agent may say its last word in several messages.
    pub(super) async fn judge_settled(&mut self, judgement: fn(&Seen<'_>) -> Judgement) -> Step {
        let scene = self.scene()?;
        let (tasks, moment) = (scene.state.tasks(), scene.session.moment());
        let settled = |frames: &[Frame]| match judgement(&Seen::of(frames, &tasks)) {
            Ok(()) | Err(CheckFailure::NotApplicable(_) | CheckFailure::Permitted(_)) => Some(()),
            Err(_) => None,
        };
        scene.state.scenario_channel.transcript.wait(moment, settled).await;
        self.judge_all(judgement)
    }

    /// As [`World::judge_all`], and in an `@always` scenario has everything judged that was said in the run.
    pub(super) fn judge_each(
        &mut self,
        judgement: impl Fn(&Seen<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryConversation>() {
            Some(every) => {
                every.check(move |own: &Conversation<'_>| judgement(&own.seen));
                Ok(())
            }
            None => self.judge_all(judgement),
        }
    }

    /// Judges what was seen.
    pub(super) fn judge_all(&mut self, judgement: impl FnOnce(&Seen<'_>) -> Judgement) -> Step {
        let scene = self.scene()?;
        let (frames, tasks) = (scene.state.frames(), scene.state.tasks());
        let works = scene.session.works();
        let trouble = scene
            .state
            .scenario_channel
            .transcript
            .record_external("trouble", || scene.session.around.driver.trouble());
        if tasks.is_empty() {
            return Err(self.suite_fault("no step said anything (`When the user asks`)"));
        }
        let seen = Seen::of(&frames, &tasks);
        let judgement = judgement(&seen);
        let is_silent = seen.utterances.is_empty();
        if let (true, Err(CheckFailure::Broken(_)), Some(message)) = (is_silent, &judgement, trouble) {
            return Err(self.could_not_run(Cause::Reachability, message));
        }
        let is_idle = is_silent && !works;
        self.judge_unless_idle(
            judgement,
            is_idle.then_some("the agent called no tool here, and did the work of no other request"),
        )
    }
}
