//! What is uploaded.

use cucumber::given;

use super::Writing;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::registry::observed;
use crate::families::utp::registry::observed::{EveryUpload, Fault};
use crate::families::utp::registry::world::World;

vocabulary! {
    /// What a definition is given instead of its own.
    enum Aimed "aimed" {
        "for the subject" => Subject,
        "named" => Name,
    }
}

vocabulary! {
    /// Which definitions of the run are judged.
    enum Quality "definition_quality" {
        "sound" => Sound,
        "usual" => Usual,
        "faulty" => Faulty,
    }
}

vocabulary! {
    /// What a definition of the run is refused for.
    enum FaultOf "definition_fault" {
        "the after_execution" => AfterExecution,
        "a subject of the system" => SystemSubject,
        "a subject of no tool" => ForeignSubject,
    }
}

#[given(expr = "every {definition_quality} definition that was uploaded")]
fn every(world: &mut World, quality: Quality) {
    world.judge_every(match quality {
        Quality::Sound => EveryUpload::Sound,
        Quality::Usual => EveryUpload::Usual,
        Quality::Faulty => EveryUpload::Faulty,
    });
}

#[given(expr = "its fault is {definition_fault}")]
fn has_fault(world: &mut World, what: FaultOf) -> Step {
    let expected = match what {
        FaultOf::AfterExecution => Fault::AfterExecution,
        FaultOf::SystemSubject => Fault::SystemSubject,
        FaultOf::ForeignSubject => Fault::ForeignSubject,
    };
    world.judge_observed(move |own| has(observed::fault(own.definition()) == Some(expected)))
}

/// Whether an upload is one of those that are judged.
fn has(property: bool) -> Judgement {
    if property {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the definition is another one".to_owned()))
}

#[given("the definition of a tool")]
fn definition(world: &mut World) -> Step {
    world.open()
}

#[given(expr = "the definition's {string} is {json}")]
fn is(world: &mut World, name: String, value: Json) -> Step {
    world.draft()?.set(&name, value.0);
    Ok(())
}

#[given(expr = "the definition has no {string}")]
fn has_no(world: &mut World, name: String) -> Step {
    world.draft()?.remove(&name);
    Ok(())
}

#[given(expr = "the definition is {aimed} {string}")]
fn is_aimed(world: &mut World, aimed: Aimed, text: String) -> Step {
    let scene = world.scene()?;
    match aimed {
        Aimed::Subject => scene.retarget(&text),
        Aimed::Name => scene.rename(&text),
    }
    Ok(())
}

#[given(expr = "the definition is written {writing}")]
fn is_written(world: &mut World, writing: Writing) -> Step {
    let draft = world.draft()?;
    draft.writing = writing.0;
    writing.0.name().clone_into(&mut draft.form);
    Ok(())
}

#[given("a new version of a registered tool")]
async fn new_version(world: &mut World) -> Step {
    world.open()?;
    world.scene()?.register().await;
    Ok(())
}
