//! What the agent's invocations look like.

use cucumber::then;

use crate::engine::world::{HasCore as _, Step};
use crate::families::breadcrumb::agent::judge::form;
use crate::families::breadcrumb::agent::judge::form::Part;
use crate::families::breadcrumb::agent::judge::request;
use crate::families::breadcrumb::agent::judge::request::Member;
use crate::families::breadcrumb::agent::world::World;

#[then(expr = "every invocation has the right {part}")]
fn has_part(world: &mut World, part: Part) -> Step {
    world.judge_each(move |seen| form::has(seen, part))
}

#[then(expr = "every call has the right {member}")]
fn has_member(world: &mut World, member: Member) -> Step {
    world.judge_each(move |seen| request::has(seen, member))
}

#[then("every call names a tool of the catalog")]
fn catalog(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_each(move |seen| request::is_of_the_catalog(seen, &session.further_tools))
}

#[then("every input meets the requirements of its tool")]
fn fits(world: &mut World) -> Step {
    world.judge_each(request::fits)
}

#[then("no two calls of a message have the same id")]
fn ids_differ(world: &mut World) -> Step {
    world.judge_each(request::are_apart)
}

#[then("no id is used twice in the session")]
fn stay_apart(world: &mut World) -> Step {
    world.judge_each(request::stay_apart)
}

#[then("every configuration is named by a UUID")]
fn named(world: &mut World) -> Step {
    world.judge_each(request::configurations_are_named)
}

#[then("every configuration that is named is in the store")]
fn exists(world: &mut World) -> Step {
    let session = world.session()?;
    let transcript = world.core().written();
    let schema_of = |id: &str| transcript.record_external("schema", || session.schema_of(id));
    world.judge_all(|seen| request::configurations_exist(seen, schema_of))
}
