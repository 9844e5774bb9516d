//! What arrives at the calendar and mail provider.

use cucumber::then;
use serde_json::Value;

use super::Code;
use crate::engine::judge::CheckFailure;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::client::Request;
use crate::families::hub::server::judge::{choice, provider};
use crate::families::hub::server::reply::Reply;
use crate::families::hub::server::scene::inputs;
use crate::families::hub::server::world::World;
use crate::transcript::Frame;

#[then(expr = "the provider gets its {string}")]
async fn gets(world: &mut World, name: String) -> Step {
    if world.judges_every() {
        return world
            .judge_effects(move |reply, seen| provider::gets(&reply.request.body, reply, seen, &name));
    }
    world.judge_provider(true, |draft, reply, seen| provider::gets(&draft.body, reply, seen, &name)).await
}

#[then("the mail goes to nobody whom the inputs do not name")]
async fn goes_to_nobody_else(world: &mut World) -> Step {
    let judge = |draft: &Request, reply: &Reply<'_>, seen: &[&Frame]| {
        provider::goes_to_nobody_else(&draft.body, reply, seen)
    };
    world.judge_provider(true, judge).await
}

#[then(regex = "^the attendees are (not )?notified$")]
async fn notified(world: &mut World, not: String) -> Step {
    let is_notified = not.is_empty();
    world.judge_provider(true, |_, reply, seen| provider::is_asked_to_notify(reply, seen, is_notified)).await
}

#[then(expr = "the event keeps its {string}")]
async fn keeps(world: &mut World, name: String) -> Step {
    let subjects = world.scene()?.subjects.clone();
    let made = crate::families::hub::contract::full_inputs("calendar_create_event", &subjects);
    let expected = made.get(&name).cloned().unwrap_or(Value::Null);
    world.judge_provider(true, |_, reply, seen| provider::keeps(reply, seen, &name, &expected)).await
}

#[then("the provider receives what the request says")]
fn is_notified(world: &mut World) -> Step {
    world.judge_effects(|reply, seen| {
        let asked =
            |name: &str| reply.request.body.pointer(&format!("/inputs/{name}")).and_then(Value::as_bool);
        match (reply.tool(), asked("send_notifications"), asked("mark_as_read")) {
            ("email_read", _, Some(false)) => provider::is_marked_as_read(reply, seen, false),
            (tool, Some(notifies), _) if tool.starts_with("calendar_") => {
                provider::is_asked_to_notify(reply, seen, notifies)
            }
            _ => Err(CheckFailure::NotObserved("the request says nothing of it".to_owned())),
        }
    })
}

#[then("the event gets everything that is new")]
fn is_updated(world: &mut World) -> Step {
    world.judge_effects(provider::gets_updates)
}

#[then(regex = "^the message (becomes read|stays unread)$")]
async fn message_is(world: &mut World, what: String) -> Step {
    if what == "becomes read" { read(world).await } else { unread(world).await }
}

async fn read(world: &mut World) -> Step {
    world.judge_provider(true, |_, reply, seen| provider::is_marked_as_read(reply, seen, true)).await
}

async fn unread(world: &mut World) -> Step {
    world.judge_provider(false, |_, reply, seen| provider::is_marked_as_read(reply, seen, false)).await?;
    let mut request = world.draft()?.clone();
    if let Some(inputs) = inputs(&mut request) {
        inputs.insert("mark_as_read".to_owned(), Value::Bool(true));
    }
    world.scene()?.send(&request).await;
    // That it would become read is this rule's business as well.
    world.judge_provider(true, |_, reply, seen| provider::is_marked_as_read(reply, seen, true)).await
}

#[then("the reply is sent in the thread")]
async fn reply_is_sent_in_thread(world: &mut World) -> Step {
    world.judge_provider(true, |_, reply, seen| provider::goes_out_as_an_answer(reply, seen)).await
}

#[then("nothing arrives at the provider")]
async fn no_effect(world: &mut World) -> Step {
    world.judge_provider(false, |_, reply, seen| provider::has_no_effect(reply, seen)).await?;
    let authorization = Some(world.session()?.authorization());
    let request = Request { authorization, ..world.draft()?.clone() };
    world.scene()?.exchange(&request).await;
    world.judge_provider(true, |_, _, seen| provider::is_reached(seen)).await
}

#[then("it arrives at the provider once")]
async fn once(world: &mut World) -> Step {
    world.judge_provider(false, |_, reply, seen| provider::arrives_once(reply, seen)).await
}

#[then(expr = "the event gets its new {string}")]
async fn changes(world: &mut World, name: String) -> Step {
    let draft = world.draft()?.clone();
    let pointer = format!("/inputs/updates/{name}");
    let expected = draft.body.pointer(&pointer).cloned().unwrap_or(Value::Null);
    world.judge_provider(true, |_, reply, seen| provider::changes(reply, seen, &name, &expected)).await
}

#[then(expr = "the event gets its new {string}, if the Hub takes it")]
async fn changes_what_is_taken(world: &mut World, name: String) -> Step {
    world.judge_reply(|reply| choice::is_taken(reply, Alternative::RefusesUpdate))?;
    changes(world, name).await
}

#[then("it reaches the customer's own account")]
async fn own_account(world: &mut World) -> Step {
    world.judge_provider(true, |_, reply, seen| provider::is_in_the_account(reply, seen)).await
}

#[then(expr = "what the provider refuses is the error {code}")]
async fn refusal_is(world: &mut World, code: Code) -> Step {
    world.judge_provider(false, |_, reply, seen| provider::refusal_is(reply, seen, code.0)).await
}

#[then(regex = "^nothing (?:else )?of the message (changes|changes but whether it is unread)$")]
async fn labels_stay(world: &mut World, what: String) -> Step {
    let may_mark = what != "changes";
    world.judge_provider(false, |_, reply, seen| provider::changes_no_label(reply, seen, may_mark)).await
}
