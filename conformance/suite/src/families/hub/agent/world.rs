//! The World of one scenario with an agent under test.

use std::sync::Arc;

use callmark_reports::record::Direction;
use cucumber::World as CucumberWorld;

use super::call::{Call, Choice};
use super::judge::LOST;
use super::judge::{CallRecord, Made};
use super::observed::{EveryHubCall, ObservedCall};
use super::scene::Scene;
use super::session::AgentSession;
use crate::engine::judge::{Cause, CheckFailure, Judgement};
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::hub::reason::Undeclared;
use crate::net::wire::STATUS;
use crate::transcript::{Frame, Kind};

/// In reports, in place of the address of the suite's Hub.
const SHOWN_HUB: &str = "127.0.0.1:9200";
/// In place of that of its model.
const SHOWN_MODEL: &str = "127.0.0.1:9201";

/// Characters of an answer, and of what is said about it, that a reason shows.
const SHOWN_ANSWER: usize = 130;

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
        let other = AgentSession::other_customer(&scene.scenario_channel.unique);
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.scenario_channel.transcript)),
            names: vec![
                (other.clone(), "<other customer>".to_owned()),
                (scene.customer_id.clone(), "<customer>".to_owned()),
                (other.to_uppercase(), "<other customer>".to_owned()),
                (scene.customer_id.to_uppercase(), "<customer>".to_owned()),
                (scene.scenario_channel.mark.clone(), "<mark>".to_owned()),
                (scene.scenario_channel.unique.clone(), "<unique>".to_owned()),
                (scene.scenario_channel.unique.to_uppercase(), "<unique>".to_owned()),
                (scene.session.address(), SHOWN_HUB.to_owned()),
                (scene.session.model_address(), SHOWN_MODEL.to_owned()),
            ],
            nonce: None,
            is_rechecked: false,
            subject: None,
            reproduce: scene.by_hand(),
        }
    }

    fn on_end(&mut self) {
        if let Some(scene) = &mut self.scene {
            scene.rest();
        }
    }
}

impl World {
    /// The session with the agent.
    pub(super) fn session(&mut self) -> Result<Arc<AgentSession>, Abort> {
        self.session_with::<AgentSession>("an agent")
    }

    /// Opens the scene when no other scenario has its turn.
    pub(super) async fn open(&mut self) -> Step {
        let session = self.session()?;
        let scene = Scene::enter(&session, &self.core.identity(), self.core.written()).await;
        if let Some(message) = session.ended() {
            // What it breaks by that was reported by the scenario in which it ended.
            return Err(self.could_not_run(Cause::Implementation, message));
        }
        self.scene = Some(scene);
        Ok(())
    }

    /// Prepares the call under test.
    pub(super) fn prepare(&mut self, choice: Choice) -> Step {
        let scene = self.scene()?;
        let Some(call) = scene.prepare(choice) else {
            return Err(self.suite_fault("the scenario uses a tool that it does not ask for with `@cap:`"));
        };
        let has = scene.session.table.tools.contains(&call.tool);
        if matches!(choice, Choice::Tool(_)) && !has {
            return Err(self.abort(Undeclared::AgentTool.of(&call.tool)));
        }
        scene.call = Some(call);
        Ok(())
    }

    /// Makes the prepared call; it is the one under test.
    pub(super) async fn make(&mut self) -> Step {
        let scene = self.scene()?;
        let Some(call) = scene.call.clone() else {
            return Err(self.suite_fault("no step prepared a call (`Given a call of …`)"));
        };
        scene.subject = scene.made.len();
        scene.make(call, None).await;
        self.was_there().await
    }

    /// An agent that ended before it took anything of the scenario did so for what came before.
    async fn was_there(&mut self) -> Step {
        let scene = self.scene()?;
        let frames = scene.frames();
        let is_lost = |frame: &Frame| {
            frame.kind == Kind::Outcome && frame.headers.get(STATUS).is_some_and(|status| status == LOST)
        };
        let took = |frame: &Frame| frame.direction == Direction::FromTarget && frame.kind != Kind::Outcome;
        if !frames.last().is_some_and(is_lost) || frames.iter().any(took) {
            return Ok(());
        }
        match scene.ended().await {
            Some(message) => Err(self.could_not_run(Cause::Implementation, message)),
            None => Ok(()),
        }
    }

    /// Makes a call of a Hub tool, for a customer if one is named.
    pub(super) async fn make_a_hub_call(&mut self, customer_id: Option<&str>) -> Step {
        let scene = self.scene()?;
        if let Some(call) = scene.prepare(Choice::AnyHubTool) {
            let call = scene.unlike_others(call);
            scene.make(call, customer_id).await;
        }
        self.was_there().await
    }

    /// As [`World::make_a_hub_call`], for no end user.
    pub(super) async fn make_a_hub_call_for_no_user(&mut self) -> Step {
        let scene = self.scene()?;
        if let Some(call) = scene.prepare(Choice::AnyHubTool) {
            let call = scene.unlike_others(call);
            scene.make(Call { user_id: None, ..call }, None).await;
        }
        self.was_there().await
    }

    /// Makes the prepared call once more, without one of its inputs.
    pub(super) async fn make_without(&mut self, name: &str) -> Step {
        let scene = self.scene()?;
        if let Some(mut call) = scene.call.clone() {
            if let Some(inputs) = call.inputs.as_object_mut() {
                inputs.shift_remove(name);
            }
            scene.make(call, None).await;
        }
        self.was_there().await
    }

    /// Has what follows judged of every call of the run, in place of those of one scenario.
    pub(super) fn judge_every_call(&mut self) -> Step {
        let customer_id = self.session()?.table.customer_id.clone();
        self.judge_every(EveryHubCall { customer_id });
        Ok(())
    }

    /// Judges each call of the scenario; in an `@always` scenario, every call of the run.
    pub(super) fn judge_each_call(
        &mut self,
        judgement: impl Fn(&CallRecord<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        match self.every::<EveryHubCall>() {
            Some(every) => {
                every.check(move |own: &ObservedCall<'_>| judgement(&own.record()));
                Ok(())
            }
            None => self.judge_all(|call_records, _| call_records.iter().try_for_each(judgement)),
        }
    }

    /// Judges the call under test.
    pub(super) fn judge_call(&mut self, judgement: impl FnOnce(&CallRecord<'_>) -> Judgement) -> Step {
        self.judge_all(|call_records, subject| judgement(&call_records[subject]))
    }

    /// Judges all calls of the scenario; the second argument is the place of the one under test.
    pub(super) fn judge_all(
        &mut self,
        judgement: impl FnOnce(&[CallRecord<'_>], usize) -> Judgement,
    ) -> Step {
        let scene = self.scene()?;
        let (frames, made, subject): (Vec<Frame>, Vec<Made>, usize) =
            (scene.frames(), scene.made.clone(), scene.subject);
        let is_responsive = scene.session.is_responsive();
        if made.is_empty() {
            return Err(self.suite_fault("no step made a call (`When the agent makes the call`)"));
        }
        let call_records: Vec<CallRecord<'_>> =
            made.iter().map(|made| CallRecord { made, frames: &frames }).collect();
        let judgement = judgement(&call_records, subject);
        if !is_responsive && matches!(judgement, Err(CheckFailure::Broken(_))) {
            let summary = call_records[subject.min(call_records.len() - 1)].summary();
            let summary = self
                .artifacts()
                .names
                .iter()
                .fold(summary, |summary, (name, shown)| summary.replace(name, shown));
            let summary = match summary.char_indices().nth(SHOWN_ANSWER) {
                Some((end, _)) => format!("{}…", &summary[..end]),
                None => summary,
            };
            let message = format!("the agent never asked the Hub for anything; {summary}");
            return Err(self.abort(CheckFailure::NotObserved(message)));
        }
        self.judge(judgement)
    }
}
