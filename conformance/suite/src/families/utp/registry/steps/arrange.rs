//! What is uploaded.

use cucumber::given;

use super::Writing;
use crate::engine::parameters::Json;
use crate::engine::world::Step;
use crate::families::utp::registry::world::World;

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

#[given(expr = "the definition is for the subject {string}")]
fn is_for(world: &mut World, rest: String) -> Step {
    world.scene()?.retarget(&rest);
    Ok(())
}

#[given(expr = "the definition is named {string}")]
fn is_named(world: &mut World, name: String) -> Step {
    world.scene()?.rename(&name);
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
