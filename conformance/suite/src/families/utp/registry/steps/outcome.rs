//! What comes of an upload.

use cucumber::then;

use crate::engine::world::Step;
use crate::families::utp::registry::judge;
use crate::families::utp::registry::world::World;

#[then("the registry accepts it and can give it back")]
fn accepts(world: &mut World) -> Step {
    world.judge_upload(judge::is_accepted)
}

#[then("the registry has every member of it")]
fn has_all(world: &mut World) -> Step {
    world.judge_upload(judge::has_all)
}

#[then(expr = "the row's {string} is as uploaded")]
fn as_uploaded(world: &mut World, name: String) -> Step {
    world.judge_upload(|seen| judge::is_as_uploaded(seen, &name))
}

#[then("the row belongs to the project of the path")]
fn of_its_project(world: &mut World) -> Step {
    world.judge_upload(judge::is_of_its_project)
}

#[then("the registry rejects it and stores nothing")]
fn rejects(world: &mut World) -> Step {
    world.judge_upload(judge::is_rejected)
}

#[then("the registry rejects it, or stores the value that is meant")]
fn rejects_or_normalises(world: &mut World) -> Step {
    world.judge_upload(judge::is_rejected_or_normalised)
}

#[then("the registry keeps the old version")]
fn keeps(world: &mut World) -> Step {
    world.judge_upload(judge::is_kept)
}
