//! What an agent does.

use cucumber::when;
use jiff::tz::Offset;
use serde_json::{Value, json};

use super::{Customer, Secret};
use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::hub::contract;
use crate::families::hub::manifest;
use crate::families::hub::reason::Undeclared;
use crate::families::hub::server::client::Request;
use crate::families::hub::server::judge::{mail, message};
use crate::families::hub::server::reply::Reply;
use crate::families::hub::server::scene::inputs;
use crate::families::hub::server::session::absent;
use crate::families::hub::server::world::World;

vocabulary! {
    /// What follows a question about the status.
    enum AndThen "and_then" {
        " and sends the request" => Sends,
        " and calls both integrations" => CallsBoth,
        "" => Nothing,
    }
}

vocabulary! {
    /// What the moment comes after for which replies are asked.
    enum Since "since" {
        "the last reply" => Last,
        "the earlier replies" => Earlier,
        "the earlier replies, by a clock in the west" => EarlierInTheWest,
        "the earlier replies, by a clock in the east" => EarlierInTheEast,
    }
}

/// The Marquesas Islands and the Chatham Islands, in minutes: neither offset has whole hours.
const WEST: i32 = -(9 * 60 + 30);
const EAST: i32 = 12 * 60 + 45;

impl Since {
    /// The moment, as it is written in the request.
    fn of(self, reply: &Reply<'_>) -> Option<String> {
        let earlier = || mail::after_the_earlier(reply);
        let by_a_clock = |minutes: i32| {
            let offset = Offset::from_seconds(minutes * 60).ok()?;
            Some(earlier()?.display_with_offset(offset).to_string())
        };
        match self {
            Self::Last => mail::after_the_last(reply).map(|at| at.to_string()),
            Self::Earlier => earlier().map(|at| at.to_string()),
            Self::EarlierInTheWest => by_a_clock(WEST),
            Self::EarlierInTheEast => by_a_clock(EAST),
        }
    }
}

fn drafted(world: &mut World) -> Result<Request, Abort> {
    world.draft().cloned()
}

#[when("the agent sends the request")]
async fn sends(world: &mut World) -> Step {
    let request = drafted(world)?;
    world.scene()?.send(&request).await;
    Ok(())
}

#[when("the agent sends the request with an access token that has just expired")]
async fn sends_expired(world: &mut World) -> Step {
    let request = drafted(world)?;
    let session = world.session()?;
    let Some(provider) = &session.provider else {
        return Err(world.abort(Undeclared::HubProvider.into()));
    };
    world.scene()?.send_expired(provider, &request).await;
    Ok(())
}

/// Reads what is listed, one message after the other, each under the id that is listed beside it.
#[when("the agent sends the request, and reads each message that is listed")]
async fn sends_and_reads(world: &mut World) -> Step {
    let request = drafted(world)?;
    let call = world.scene()?.send(&request).await;
    let frames = world.scene()?.frames();
    let ids = Reply::of(&frames, call).as_ref().map(message::listed_ids).unwrap_or_default();
    let session = world.session()?;
    for id in ids {
        let scene = world.scene()?;
        let inputs = json!({"message_id": id, "mark_as_read": false});
        let read = session.request("email_read", scene.customer, &inputs);
        scene.send(&read).await;
    }
    Ok(())
}

#[when("the agent sends the bad request")]
async fn sends_bad(world: &mut World) -> Step {
    let request = drafted(world)?;
    world.scene()?.send_bad(&request).await;
    Ok(())
}

#[when("the agent sends the request, and then one for a mail that is there")]
async fn searches_both(world: &mut World) -> Step {
    let request = drafted(world)?;
    world.scene()?.search_both(&request).await;
    Ok(())
}

#[when(expr = "the agent sends the request {secret}")]
async fn sends_with(world: &mut World, secret: Secret) -> Step {
    let right = world.session()?.secret().to_owned();
    let request = Request { authorization: secret.authorization(&right), ..drafted(world)? };
    world.scene()?.send_bad(&request).await;
    Ok(())
}

#[when(expr = "the agent sends the request {secret}, on the connection of one with the right secret")]
async fn sends_on_a_connection(world: &mut World, secret: Secret) -> Step {
    let right = world.session()?.secret().to_owned();
    let request = drafted(world)?;
    let bad = Request { authorization: secret.authorization(&right), ..request.clone() };
    world.scene()?.send_on_one_connection([&request, &bad]).await;
    Ok(())
}

#[when("the agent sends an empty body")]
async fn sends_nothing(world: &mut World) -> Step {
    let request = Request { body: Value::from(""), ..drafted(world)? };
    world.scene()?.send_bad(&request).await;
    Ok(())
}

/// The other customer comes first, so that what is asked for is still there; its own customer shows that it was.
#[when(expr = "the agent sends the request for {customer}, and then for its customer")]
async fn sends_for_another_first(world: &mut World, customer: Customer) -> Step {
    let session = world.session()?;
    let own = drafted(world)?;
    let inputs = own.body.get("inputs").cloned().unwrap_or_default();
    let other = session.request(&own.tool, customer.0, &inputs);
    let scene = world.scene()?;
    let call = session.exchange(&scene.agent, &other).await;
    scene.made.push(call);
    scene.sentinel = Some(session.exchange(&scene.agent, &own).await);
    Ok(())
}

#[when(expr = "the agent sends the request as {word}")]
async fn sends_as(world: &mut World, method: String) -> Step {
    let request = Request { method, ..drafted(world)? };
    world.scene()?.send_bad(&request).await;
    Ok(())
}

#[when("the agent sends a body that is cut off")]
async fn sends_cut_off(world: &mut World) -> Step {
    let request = drafted(world)?;
    let request = Request { body: Value::from(r#"{"tool":"#), ..request };
    world.scene()?.send_bad(&request).await;
    Ok(())
}

#[when("the agent sends the request with something behind it")]
async fn sends_followed(world: &mut World) -> Step {
    let request = drafted(world)?;
    let body = Value::from(format!("{} }}}}", request.body));
    world.scene()?.send_bad(&Request { body, ..request }).await;
    Ok(())
}

/// In this order, so that what is listed late is missing from the request that names everything.
#[when(expr = "the agent sends the request with {string} and without it")]
async fn sends_with_and_without(world: &mut World, name: String) -> Step {
    let with = drafted(world)?;
    let mut without = with.clone();
    if let Some(own) = inputs(&mut without) {
        own.shift_remove(&name);
    }
    world.scene()?.send(&with).await;
    world.scene()?.send(&without).await;
    Ok(())
}

#[when(expr = "the agent sends the request for its customer and for {customer}, and again for the first")]
async fn sends_for_both_in_turn(world: &mut World, customer: Customer) -> Step {
    let first = world.scene()?.customer;
    sends_for_both(world, customer).await?;
    world.scene()?.customer = first;
    sends(world).await
}

#[when(expr = "the agent sends the request for its customer and for {customer}")]
async fn sends_for_both(world: &mut World, customer: Customer) -> Step {
    let session = world.session()?;
    let request = drafted(world)?;
    let inputs = request.body.get("inputs").cloned().unwrap_or_default();
    let other = session.request(&request.tool, customer.0, &inputs);
    let is_about_limits = world.scene()?.customer == manifest::Customer::Limited;
    if is_about_limits {
        // The other one may have used up a limit of its own; that is waited out before.
        let scene = world.scene()?;
        session.exchange(&scene.agent, &other).await;
    }
    sends(world).await?;
    let scene = world.scene()?;
    scene.customer = customer.0;
    let call = if is_about_limits {
        session.client.send(&scene.agent, &other, session.timeouts.answer).await
    } else {
        session.exchange(&scene.agent, &other).await
    };
    scene.made.push(call);
    Ok(())
}

#[when("the agent sends a mail and an answer to it")]
async fn sends_mail_and_answer(world: &mut World) -> Step {
    let request = drafted(world)?;
    let call = world.scene()?.send(&request).await;
    answers(world, request, call).await?;
    Ok(())
}

/// What answers an answer does not answer the message that began the thread.
#[when("the agent sends a mail, an answer to it, and an answer to that")]
async fn sends_mail_and_answers(world: &mut World) -> Step {
    let request = drafted(world)?;
    let call = world.scene()?.send(&request).await;
    let call = answers(world, request.clone(), call).await?;
    answers(world, request, call).await?;
    Ok(())
}

/// Sends an answer to what was sent before.
async fn answers(world: &mut World, mut request: Request, call: u64) -> Result<u64, Abort> {
    let frames = world.scene()?.frames();
    let id = Reply::of(&frames, call)
        .and_then(|reply| reply.result().ok()?.get("message_id").filter(|id| id.is_string()).cloned());
    let Some(id) = id else {
        let is_missing = world.session()?.missing().contains("email_send");
        let unsent = || "the mail to be answered was not sent".to_owned();
        let why = if is_missing { absent("email_send") } else { unsent() };
        return Err(world.abort(CheckFailure::NotObserved(why)));
    };
    if let Some(own) = inputs(&mut request) {
        own.insert("reply_to_message_id".to_owned(), id);
    }
    Ok(world.scene()?.send(&request).await)
}

#[when(expr = "the agent sends the request again for what came after {since}")]
async fn sends_for_what_came_after(world: &mut World, since: Since) -> Step {
    let mut request = drafted(world)?;
    let call = world.scene()?.send(&request).await;
    let frames = world.scene()?.frames();
    let after = Reply::of(&frames, call).as_ref().and_then(|reply| since.of(reply));
    let Some(after) = after else {
        return Err(
            world.abort(CheckFailure::NotObserved("the thread shows no reply with a date".to_owned()))
        );
    };
    if let Some(own) = inputs(&mut request) {
        own.insert("since".to_owned(), Value::from(after));
    }
    world.scene()?.send(&request).await;
    Ok(())
}

#[when("the agent sends the request for both threads of the mailbox")]
async fn sends_for_both_threads(world: &mut World) -> Step {
    let fixtures = world.session()?.fixtures.clone();
    let mut request = drafted(world)?;
    for id in [fixtures.thread_id, fixtures.other_thread_id].into_iter().flatten() {
        if let Some(own) = inputs(&mut request) {
            own.insert("thread_id".to_owned(), Value::from(id));
        }
        world.scene()?.send(&request).await;
    }
    Ok(())
}

#[when(expr = "the agent asks for the status {secret}")]
async fn asks_with(world: &mut World, secret: Secret) -> Step {
    let session = world.session()?;
    let right = session.secret().to_owned();
    let scene = world.scene()?;
    let status = session.status_request(scene.customer);
    let bad = Request { authorization: secret.authorization(&right), ..status.clone() };
    let call = session.client.send(&scene.agent, &bad, session.timeouts.answer).await;
    scene.made.push(call);
    scene.sentinel = Some(session.exchange(&scene.agent, &status).await);
    Ok(())
}

#[when("the agent asks for the status of a customer that nobody knows")]
async fn asks_for_nobody(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let status = session.status_request(scene.customer);
    let path = format!("{}{}/", contract::STATUS_BASE, contract::NOBODY);
    let of_nobody = Request { path, customer: "nobody".to_owned(), ..status.clone() };
    let call = session.exchange(&scene.agent, &of_nobody).await;
    scene.made.push(call);
    scene.sentinel = Some(session.exchange(&scene.agent, &status).await);
    Ok(())
}

#[when(expr = "the agent asks for the status{and_then}")]
async fn asks_and(world: &mut World, and_then: AndThen) -> Step {
    asks(world).await?;
    match and_then {
        AndThen::Nothing => Ok(()),
        AndThen::Sends => sends(world).await,
        AndThen::CallsBoth => calls_both(world).await,
    }
}

async fn asks(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let request = session.status_request(scene.customer);
    let call = session.exchange(&scene.agent, &request).await;
    scene.made.push(call);
    Ok(())
}

async fn calls_both(world: &mut World) -> Step {
    for tool in ["calendar_get_availability", "email_search"] {
        let scene = world.scene()?;
        let inputs = contract::full_inputs(tool, &scene.subjects);
        let request = scene.session.request(tool, scene.customer, &inputs);
        scene.send(&request).await;
    }
    Ok(())
}
