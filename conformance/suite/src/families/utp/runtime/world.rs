//! The World of one scenario with a runtime: the sessions that all scenarios share, and its scene.

use std::sync::Arc;

use cucumber::World as CucumberWorld;
use serde_json::Value;

use super::judge::command;
use super::observed::{EveryCommand, EveryReport, ObservedCommand, ObservedReport};
use super::scene::{Scene, Stuck};
use super::session::RuntimeSession;
use super::turn::ToolCall;
use super::view::View;
use crate::engine::judge::{Cause, CheckFailure, Finding, Judgement};
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::utp::message::mentions;
use crate::families::utp::reason::Alternative;
use crate::families::utp::revision::Revision;
use crate::transcript::{Frame, Kind};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
}

has_core!(World, pub(super) Scene, "Given an agent runtime");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let project = self.scene.as_ref().map(|scene| &scene.project);
        ScenarioArtifacts {
            transcript: project.map(|project| Arc::clone(&project.transcript)),
            names: self.scene.as_ref().map(Scene::names).unwrap_or_default(),
            nonce: project.map(|project| project.name.nonce().to_owned()),
            subject: self.subject(),
            reproduce: self.scene.as_ref().map(Scene::by_hand),
            ..ScenarioArtifacts::default()
        }
    }

    fn on_end(&mut self) {
        if let Some(scene) = &self.scene {
            scene.project.retire();
        }
    }
}

impl World {
    /// The session with the runtime. Once the broker is lost, nothing more is tried.
    pub fn session(&mut self) -> Result<Arc<RuntimeSession>, Abort> {
        let session = self.session_with::<RuntimeSession>("an agent runtime")?;
        if let Some(why) = session.test_environment.broker_trouble(self.core.transcript.began()) {
            return Err(self.could_not_run(Cause::Reachability, why));
        }
        Ok(session)
    }

    /// Opens the scenario's own project.
    pub fn open_scene(&mut self, suffix: &str) -> Step {
        let session = self.session()?;
        let project = session.test_environment.project_of(&self.core.scenario, suffix, self.core.written());
        self.scene = Some(Scene::bare(&session, project));
        Ok(())
    }

    /// A call that a step planned.
    pub fn call(&mut self, index: usize) -> Result<&mut ToolCall, Abort> {
        if self.scene()?.calls.len() <= index {
            return Err(self.suite_fault("no step planned a call"));
        }
        Ok(&mut self.scene()?.calls[index])
    }

    /// Has the turns run up to the commands of their first answers; without a worker these are made up.
    pub async fn called(&mut self) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        if !session.resumes() && !session.calls() {
            (0..scene.calls.len()).for_each(|call| scene.make_up(call));
            return Ok(());
        }
        match scene.wait_for_commands(&session).await {
            Ok(()) => Ok(()),
            Err(stuck) => Err(self.stuck(&session, stuck).await),
        }
    }

    /// Has the first turn started, whatever its calls come to.
    pub async fn start_first_turn(&mut self) -> Step {
        let session = self.session()?;
        match self.scene()?.start_turn(&session, 0, session.timeouts.answer).await {
            Ok(()) => Ok(()),
            Err(stuck) => Err(self.stuck(&session, stuck).await),
        }
    }

    /// What a target that has ended does not do breaks no rule.
    pub async fn unless_ended(&mut self) -> Step {
        let session = self.session()?;
        let ended = session.test_environment.target_ended();
        let ended = self.core.transcript.record_external_async("end of the target", ended).await;
        match ended {
            Some(message) => Err(self.could_not_run(Cause::Implementation, message)),
            None => Ok(()),
        }
    }

    /// Why no command came.
    pub(super) async fn stuck(&mut self, session: &RuntimeSession, stuck: Stuck) -> Abort {
        if let Err(abort) = self.unless_ended().await {
            return abort;
        }
        let trouble = match stuck {
            Stuck::OneByOne => {
                let frames = self.scene.as_ref().map(|scene| scene.project.transcript.frames());
                let command = |frame: &&Frame| frame.kind == Kind::Command;
                Alternative::OneByOne.seen_in(frames.iter().flatten().filter(command))
            }
            Stuck::NotStarted(answer) => not_started(answer.as_ref()).into(),
            Stuck::NoCommand(_) => no_command().into(),
        };
        // A runtime that never made a call shows nothing; one that does owes every call.
        match trouble {
            CheckFailure::Broken(finding) if !session.works() => {
                let elsewhere = self
                    .core
                    .transcript
                    .record_external("elsewhere", || session.elsewhere())
                    .unwrap_or_default();
                self.abort(CheckFailure::NotObserved(format!("{}{elsewhere}", finding.message)))
            }
            trouble => self.abort(trouble),
        }
    }

    /// Judges the nth call over the transcript.
    pub fn judge_call(
        &mut self,
        index: usize,
        judgement: impl FnOnce(&[Frame], View<'_>) -> Judgement,
    ) -> Step {
        let session = self.session()?;
        self.call(index)?;
        let scene = self.scene()?;
        let call = &scene.calls[index];
        let view = View {
            project: &scene.project.id,
            version: &session.test_environment.version,
            turn: &scene.turns[call.turn],
            call,
        };
        let judgement = scene.project.transcript.with(|frames| judgement(frames, view));
        self.judge(judgement)
    }

    /// Judges every call of the scenario, one after another.
    pub fn judge_calls(&mut self, judgement: impl Fn(&[Frame], View<'_>) -> Judgement) -> Step {
        self.call(0)?;
        (0..self.scene()?.calls.len()).try_for_each(|index| self.judge_call(index, &judgement))
    }

    /// Has what follows judged of every valid callback of the run, in place of those of one scenario.
    pub(super) fn judge_every_report(&mut self) -> Step {
        let revision = self.session()?.revision();
        self.judge_every(EveryReport(revision));
        Ok(())
    }

    /// Adds a judgement of every command of the run and of project and channel of its turn.
    pub(super) fn judge_observed_commands(
        &mut self,
        judgement: impl Fn(&ObservedCommand<'_>, (&str, &str)) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let missing = "no step says which commands (`Given every command to …`)";
        self.check_every::<EveryCommand>(missing, move |own: &ObservedCommand<'_>| match own.place() {
            Some(place) => judgement(own, place),
            None => Err(CheckFailure::NotObserved("it is not known which turn the command is of".to_owned())),
        })
    }

    /// As [`World::judge_observed_commands`], of those commands that are not the PMO's.
    pub(super) fn judge_tool_commands(
        &mut self,
        judgement: impl Fn(&ObservedCommand<'_>, (&str, &str)) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        self.judge_observed_commands(move |own, place| {
            if command::is_of_the_pmo(own.frames, own.command) {
                return Err(CheckFailure::NotObserved("the command is for the PMO".to_owned()));
            }
            judgement(own, place)
        })
    }

    /// Adds a judgement of every valid callback of the run.
    pub(super) fn judge_observed_reports(
        &mut self,
        judgement: impl Fn(&ObservedReport<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let missing = "no step says which callbacks (`Given every valid callback …`)";
        self.check_every::<EveryReport>(missing, judgement)
    }

    /// Judges the command of every call of the scenario; in an `@always` scenario, every command of the run.
    pub(super) fn judge_each_command(
        &mut self,
        judgement: impl Fn(&[Frame], &Frame, Revision) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let revision = self.session()?.revision();
        match self.every::<EveryCommand>() {
            Some(every) => {
                every.check(move |own: &ObservedCommand<'_>| judgement(own.frames, own.command, revision));
                Ok(())
            }
            None => self.judge_calls(|frames, view| judgement(frames, command(frames, view)?, revision)),
        }
    }

    /// Nothing more can be expected; a runtime that no longer completes a valid turn has not survived.
    pub async fn settled(&mut self) -> Step {
        let session = self.session()?;
        if self.scene()?.settle(&session).await {
            return Ok(());
        }
        self.unless_ended().await?;
        let finding = Finding::new(
            "after this message the runtime no longer completes a valid turn",
            "fail the call that the message is about and go on; one bad message must not stop the runtime",
        )
        .expected("a following turn that goes on after its result");
        Err(self.abort(if session.works() {
            finding.into()
        } else {
            CheckFailure::NotObserved(finding.message)
        }))
    }

    fn subject(&self) -> Option<Value> {
        let scene = self.scene.as_ref()?;
        let call = scene.calls.first()?;
        let mark = &scene.turns.get(call.turn)?.mark;
        let revision = scene.turns.get(call.turn)?.revision;
        let (_, report) = call.report(revision);
        let is_reported = |frame: &Frame| frame.kind == Kind::Report && frame.body == report;
        let asks = |frame: &&Frame| frame.kind == Kind::TurnStart && mentions(&frame.body, mark);
        // A worker is judged by the turn that it is asked for, an execution service by what is reported to it. What a
        // tool would report is prepared for every call, and sent for some.
        scene.project.transcript.with(|frames| {
            if frames.iter().any(is_reported) {
                return Some(report.clone());
            }
            frames.iter().find(asks).map(|frame| frame.body.clone())
        })
    }
}

fn not_started(answer: Option<&Value>) -> Finding {
    Finding::new(
        "the runtime did not start a turn that it was asked for",
        "answer `turns.start` with the ids of the turn, and run it (docs/bindings.md)",
    )
    .expected("an answer with `agent_turn_id`")
    .actual(answer)
}

fn no_command() -> Finding {
    Finding::new(
        "the model called a tool, and no command came for it",
        "save a tool.call card and publish a command on the tool's `target_subject` for every call of the model",
    )
    .expected("a command for the call")
}
