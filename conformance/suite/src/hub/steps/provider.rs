//! What arrives at the calendar and mail provider.

use cucumber::then;
use serde_json::Value;

use super::super::judge::provider;
use super::super::world::World;
use crate::world::Step;

#[then(expr = "the provider gets its {string}")]
fn gets(world: &mut World, name: String) -> Step {
    world.judge_provider(|draft, reply, seen| provider::gets(draft, reply, seen, &name))
}

#[then("the attendees are notified")]
fn notified(world: &mut World) -> Step {
    world.judge_provider(|_, reply, seen| provider::is_told_to_notify(reply, seen, true))
}

#[then("the attendees are not notified")]
fn not_notified(world: &mut World) -> Step {
    world.judge_provider(|_, reply, seen| provider::is_told_to_notify(reply, seen, false))
}

#[then(expr = "the event keeps its {string}")]
fn keeps(world: &mut World, name: String) -> Step {
    let subjects = world.scene()?.subjects.clone();
    let made = super::super::contract::full_inputs("calendar_create_event", &subjects);
    let expected = made.get(&name).cloned().unwrap_or(Value::Null);
    world.judge_provider(|_, reply, seen| provider::keeps(reply, seen, &name, &expected))
}

#[then("the message becomes read")]
fn read(world: &mut World) -> Step {
    world.judge_provider(|_, reply, seen| provider::is_marked_as_read(reply, seen, true))
}

#[then("the message stays unread")]
fn unread(world: &mut World) -> Step {
    world.judge_provider(|_, reply, seen| provider::is_marked_as_read(reply, seen, false))
}

#[then("nothing arrives at the provider")]
fn no_effect(world: &mut World) -> Step {
    world.judge_provider(|_, reply, seen| provider::has_no_effect(reply, seen))
}
