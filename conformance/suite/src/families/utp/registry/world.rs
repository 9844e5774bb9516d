//! The World of one scenario: the sessions that all scenarios share, and its scene.

use std::sync::Arc;

use cucumber::World as CucumberWorld;

use super::definition::Definition;
use super::exchange::Exchange;
use super::observed::{EveryUpload, ObservedUpload};
use super::scene::Scene;
use super::session::ManagementSession;
use super::upload::{Seen, Upload};
use crate::engine::by_hand::{ByHand, header_of_environment, quoted};
use crate::engine::judge::Judgement;
use crate::engine::world::{Abort, Core, FamilyWorld, ScenarioArtifacts, Step, has_core};
use crate::families::utp::manifest::RegistryEncoding;
use crate::net::wire::EXCHANGE;
use crate::transcript::{Frame, Kind};

/// The state of one scenario.
#[derive(CucumberWorld, Default)]
pub struct World {
    core: Core,
    scene: Option<Scene>,
}

has_core!(World, pub(super) Scene, "Given the definition of a tool");

impl FamilyWorld for World {
    fn artifacts(&self) -> ScenarioArtifacts {
        let Some(scene) = &self.scene else { return ScenarioArtifacts::default() };
        let number = scene.made.as_ref().map(|made| made.post.to_string());
        let frames = scene.caller.transcript.frames();
        let subject = frames.iter().find(|frame| {
            frame.kind == Kind::RegistryRequest && frame.headers.get(EXCHANGE) == number.as_ref()
        });
        ScenarioArtifacts {
            transcript: Some(Arc::clone(&scene.caller.transcript)),
            names: scene.names.clone(),
            nonce: None,
            is_rechecked: false,
            subject: subject.map(|frame| frame.body.clone()),
            reproduce: Some({
                let session = Arc::clone(&scene.session);
                ByHand::new(move |_, frame| by_hand(frame, &session))
            }),
        }
    }
}

impl World {
    /// The session with the registry.
    pub(super) fn session(&mut self) -> Result<Arc<ManagementSession>, Abort> {
        let session = self.session_with::<ManagementSession>("a registry")?;
        self.ensure_running(session.ended())?;
        Ok(session)
    }

    /// Opens the scene.
    pub(super) fn open(&mut self) -> Step {
        let session = self.session()?;
        self.scene = Some(Scene::new(&session, &self.core.identity(), self.core.written()));
        Ok(())
    }

    /// The definition that is being prepared.
    pub(super) fn draft(&mut self) -> Result<&mut Definition, Abort> {
        Ok(&mut self.scene()?.draft)
    }

    /// Adds a judgement of every upload of the run.
    pub(super) fn judge_observed(
        &mut self,
        judgement: impl Fn(&ObservedUpload<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        let missing = "no step says which uploads (`Given every sound definition …`)";
        self.check_every::<EveryUpload>(missing, judgement)
    }

    /// Judges the upload under test; in an `@always` scenario, every upload of the run.
    pub(super) fn judge_upload(
        &mut self,
        judgement: impl Fn(&Seen<'_>) -> Judgement + Send + Sync + 'static,
    ) -> Step {
        if self.judges_every() {
            return self.judge_observed(move |own| judgement(&own.seen()));
        }
        self.session()?;
        let scene = self.scene()?;
        let frames = scene.caller.transcript.frames();
        let (made, old, good) = (scene.made.clone(), scene.old.clone(), scene.good.clone());
        let (project, elsewhere) = (scene.project.clone(), scene.elsewhere);
        let seen = made.as_ref().and_then(|made| Upload::of(&frames, made)).map(|upload| Seen {
            upload,
            old: old.as_ref().and_then(|made| Upload::of(&frames, made)),
            good: good.iter().filter_map(|made| Upload::of(&frames, made)).collect(),
            elsewhere: elsewhere.and_then(|number| Exchange::of(&frames, number)),
            project: &project,
        });
        match seen {
            Some(seen) => self.judge(judgement(&seen)),
            None => Err(self.suite_fault("no step uploaded anything (`When the definition is uploaded`)")),
        }
    }
}

/// A command line that uploads by hand.
fn by_hand(frame: &Frame, session: &ManagementSession) -> String {
    let (method, path) = frame.channel.split_once(' ').unwrap_or(("POST", &frame.channel));
    // The values are secrets; the shell fills them in.
    let headers: Vec<String> =
        session.table.headers.keys().map(|name| header_of_environment("CALLMARK_HEADER", name)).collect();
    let url = quoted(&format!("{}{path}", session.shown_base()));
    let line = format!("curl -i -X {method} {url}{}{}", headers.concat(), session.by_hand());
    if method == "GET" {
        return line;
    }
    let text = quoted(frame.body.as_str().unwrap_or_default());
    match session.table.encoding {
        RegistryEncoding::Yaml => {
            format!("printf %s {text} | {line} -H 'content-type: application/yaml' --data-binary @-")
        }
        RegistryEncoding::Multipart => {
            format!("printf %s {text} | {line} -F 'file=@-;filename=tool.yaml;type=application/yaml'")
        }
    }
}
