//! Which configuration a tool runs with.

use cucumber::{given, then};

use crate::engine::judge::{Cause, Judgement};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::runner::fixtures::{Act, NOTHING};
use crate::families::breadcrumb::runner::judge::config;
use crate::families::breadcrumb::runner::judge::config::Known;
use crate::families::breadcrumb::runner::world::World;

vocabulary! {
    /// What stands where a configuration should.
    enum StandIn "stand_in" {
        "no breadcrumb" => Nothing,
        "a note" => Note,
    }
}

vocabulary! {
    /// What a provider gets of a configuration.
    enum ConfigurationPredicate "part" {
        "key" => Key,
        "model" => Model,
        "custom setting" => Custom,
    }
}

#[given(expr = "a call of {act} with a configuration of its own")]
async fn configured(world: &mut World, act: Act) -> Step {
    let id = world.scene()?.configure(&act.tool).await;
    let id = world.reached(id)?;
    let call = world.scene()?.model_call(&act.tool, id, None);
    let call = world.reached(call)?;
    world.scene()?.calls.push(call);
    Ok(())
}

#[given(expr = "a call of {act} with {stand_in} as its configuration")]
async fn unconfigured(world: &mut World, act: Act, stand_in: StandIn) -> Step {
    let id = match stand_in {
        StandIn::Nothing => Ok(NOTHING.to_owned()),
        StandIn::Note => world.scene()?.shelve_config(&act.tool, "note.v1").await,
    };
    let id = world.reached(id)?;
    let call = world.scene()?.model_call(&act.tool, Some(id), None);
    let call = world.reached(call)?;
    world.scene()?.calls.push(call);
    Ok(())
}

#[then(expr = "the provider gets the {part} of the configuration of each")]
fn gets(world: &mut World, part: ConfigurationPredicate) -> Step {
    judge(world, |frames, call, known| match part {
        ConfigurationPredicate::Key => config::has_key(frames, call, known),
        ConfigurationPredicate::Model => config::has_model(frames, call, known),
        ConfigurationPredicate::Custom => config::has_custom(frames, call, known),
    })
}

#[then("the last one runs with nothing of a configuration")]
fn gets_nothing(world: &mut World) -> Step {
    let last = world.scene()?.calls.last().map(|call| call.id().to_owned());
    judge(world, |frames, call, known| {
        if last.as_deref() == Some(call.id()) {
            crate::families::breadcrumb::runner::answer::Answer::of(frames, call)
                .ok_or_else(|| crate::families::breadcrumb::runner::judge::answer::missing(frames, call))?;
            return config::has_nothing_of_others(frames, call, known);
        }
        config::has_been_seen(frames, call, known)
    })
}

/// Judges each call by what the providers were asked.
fn judge(
    world: &mut World,
    judgement: impl Fn(
        &[crate::transcript::Frame],
        &crate::families::breadcrumb::runner::call::Call,
        &Known<'_>,
    ) -> Judgement,
) -> Step {
    let scene = world.scene()?;
    let (fixtures, session) = (scene.fixtures.clone(), scene.session.clone());
    if fixtures.configs.is_empty() {
        let message = "no configuration was stored".to_owned();
        return Err(world.could_not_run(Cause::Suite, message));
    }
    let table = &session.tools.config;
    world.judge_calls(|frames, call| {
        let known =
            Known { configs: &fixtures.configs, keys: &session.keys, pointer: table.pointer(call.tool()) };
        judgement(frames, call, &known)
    })
}
