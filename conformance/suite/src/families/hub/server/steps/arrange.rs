//! What there is before the exchange under test.

use cucumber::given;
use jiff::ToSpan as _;
use jiff::civil::Date;
use serde_json::Value;

use super::{Code, Customer, Tool};
use crate::engine::judge::CheckFailure;
use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::hub::contract;
use crate::families::hub::manifest;
use crate::families::hub::reason::Undeclared;
use crate::families::hub::server::observed::EveryReply;
use crate::families::hub::server::provider::{Failing, ProviderFault};
use crate::families::hub::server::world::World;

vocabulary! {
    /// Something in the mailbox of the customer `connected`.
    enum Fixture "fixture" {
        "message with an attachment" => Attachment,
        "thread without replies" => Quiet,
        "other thread" => OtherThread,
        "thread" => Thread,
    }
}

vocabulary! {
    /// What a search is for.
    enum Search "search" {
        "mails of the sender" => Sender,
        "mails of who sent the attachment" => Attachment,
        "mails with the subject word" => Subject,
        "a mail that is there" => Known,
        "nothing" => Nothing,
    }
}

#[given("every result of the run")]
fn every_result(world: &mut World) {
    world.judge_every(EveryReply::Result(None));
}

#[given(expr = "every result of {tool}")]
fn every_result_of(world: &mut World, tool: Tool) {
    world.judge_every(EveryReply::Result(Some(tool.0)));
}

#[given(expr = "its request has {string}")]
fn request_has(world: &mut World, path: String) -> Step {
    world.only_requests_with(&path)
}

#[given("every documented error of the run")]
fn every_error(world: &mut World) {
    world.judge_every(EveryReply::Error);
}

#[given("every error of a customer who has not connected the integration")]
fn every_unconnected(world: &mut World) {
    world.judge_every(EveryReply::NotConnected);
}

#[given("every status of the run")]
fn every_status(world: &mut World) {
    world.judge_every(EveryReply::Status);
}

vocabulary! {
    /// What requests of the run ask for.
    enum Wanted "wanted" {
        "a status" => Status,
        "a tool for a customer who has connected all" => Connected,
        "a tool for a customer who has connected nothing" => Unconnected,
        "a tool that there is not" => UnknownTool,
        "a change" => Change,
    }
}

#[given(expr = "every request of the run for {wanted}")]
fn every_request(world: &mut World, wanted: Wanted) {
    world.judge_every(match wanted {
        Wanted::Status => EveryReply::StatusRequest,
        Wanted::Connected => EveryReply::Connected,
        Wanted::Unconnected => EveryReply::Unconnected,
        Wanted::UnknownTool => EveryReply::UnknownTool,
        Wanted::Change => EveryReply::Effect,
    });
}

#[given(expr = "its tool is {tool}")]
fn is_of(world: &mut World, tool: Tool) -> Step {
    world.judge_each_reply(move |reply| {
        if reply.tool() == tool.0 {
            return Ok(());
        }
        Err(CheckFailure::NotObserved("the request is for another tool".to_owned()))
    })
}

#[given("a Hub")]
fn hub(world: &mut World) -> Step {
    world.open(manifest::Customer::Connected)
}

#[given(expr = "a Hub and its customer {customer}")]
fn hub_and_customer(world: &mut World, customer: Customer) -> Step {
    world.open(customer.0)
}

#[given(expr = "a full request for {word}")]
async fn full_request(world: &mut World, tool: String) -> Step {
    world.prepare(&tool).await
}

#[given(expr = "a request that fails with {code}")]
async fn failing_request(world: &mut World, code: Code) -> Step {
    let session = world.session()?;
    let (customer, tool) = match code.0 {
        "INTEGRATION_NOT_CONNECTED" => (manifest::Customer::NotConnected, "calendar_get_availability"),
        "INTEGRATION_EXPIRED" => (manifest::Customer::Expired, "calendar_get_availability"),
        "INTEGRATION_PERMISSION_DENIED" => (manifest::Customer::ReadOnly, "calendar_create_event"),
        "RATE_LIMITED" => (manifest::Customer::Limited, "calendar_get_availability"),
        "EXTERNAL_API_ERROR" if session.table.customers.contains_key(&manifest::Customer::UpstreamDown) => {
            (manifest::Customer::UpstreamDown, "calendar_get_availability")
        }
        "EXTERNAL_API_ERROR" => (manifest::Customer::Connected, "calendar_create_event"),
        _ => (manifest::Customer::Connected, "no_such_tool"),
    };
    world.open(customer)?;
    if code.0 == "EXTERNAL_API_ERROR" && customer == manifest::Customer::Connected {
        provider_fails(world, Failing::Every, ProviderFault::Status(500))?;
    }
    world.prepare(tool).await
}

#[given(expr = "its {string} is {json}")]
fn member(world: &mut World, path: String, value: Json) -> Step {
    set(world, &path, value.0)
}

#[given(expr = "it has no {string}")]
fn no_member(world: &mut World, path: String) -> Step {
    let request = world.draft()?;
    let (parent, last) = split(&path);
    if let Some(members) = request.body.pointer_mut(&parent).and_then(Value::as_object_mut) {
        members.shift_remove(&last);
    }
    Ok(())
}

#[given(expr = "its {string} is the mailbox's {fixture}")]
fn member_of_the_mailbox(world: &mut World, path: String, fixture: Fixture) -> Step {
    let fixtures = world.session()?.fixtures.clone();
    let id = match fixture {
        Fixture::Attachment => fixtures.message_with_attachment_id,
        Fixture::Quiet => fixtures.thread_without_replies_id,
        Fixture::OtherThread => fixtures.other_thread_id,
        Fixture::Thread => fixtures.thread_id,
    };
    set(world, &path, id.map(Value::from).unwrap_or_default())
}

/// By the Hub's own id where its search finds the message, else by the provider's.
#[given(expr = "its {string} is that of the message about {string}")]
async fn member_of_the_message(world: &mut World, path: String, subject: String) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let own = session.find(&scene.agent, &subject).await;
    let seeded = || session.provider.as_ref().and_then(|provider| provider.seeded(&subject));
    let Some([message_id, thread_id]) = own.or_else(seeded) else {
        return Err(world.suite_fault("no seeded message has this subject"));
    };
    scene.subjects.thread_id = thread_id;
    set(world, &path, Value::from(message_id))
}

#[given(expr = "it searches for {search}")]
async fn searches(world: &mut World, search: Search) -> Step {
    let fixtures = world.session()?.fixtures.clone();
    let query = match search {
        Search::Sender => format!("from:{}", fixtures.sender.unwrap_or_default()),
        Search::Attachment => {
            let sender = world.scene()?.sender_of_the_attachment().await;
            let sender = sender.map_err(|trouble| world.abort(trouble))?;
            format!("from:{sender}")
        }
        Search::Subject => format!("subject:{}", fixtures.subject_word.unwrap_or_default()),
        Search::Known => {
            let known = world.scene()?.need_known_mail().await;
            world.judge(known)?;
            world.scene()?.known.query()
        }
        Search::Nothing => format!("zq{}", world.scene()?.unique),
    };
    set(world, "inputs.query", Value::from(query))
}

#[given("an event that the Hub has deleted")]
async fn deleted_event(world: &mut World) -> Step {
    let made = world.scene()?.need_event().await;
    world.judge(made)?;
    let deleted = world.scene()?.delete_event().await;
    world.judge(deleted)
}

#[given("a new message in the mailbox")]
async fn new_message(world: &mut World) -> Step {
    let text = format!("Something new for you: {}", world.scene()?.unique);
    deliver(world, &text).await
}

#[given("a long message in the mailbox")]
async fn long_message(world: &mut World) -> Step {
    let text = long_mail(&world.scene()?.unique);
    deliver(world, &text).await
}

/// The text of a long mail of a scenario.
pub(super) fn long_mail(unique: &str) -> String {
    format!("Something new for you: {unique}\n\n{}", contract::long_text(3_000))
}

async fn deliver(world: &mut World, text: &str) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    if let Some(provider) = &session.provider {
        let transcript = &scene.agent.transcript;
        let delivered = transcript.record_external("delivered", || provider.deliver(&scene.unique, text));
        // A Hub may have ids of its own, and may see a moment later what has come.
        let own = session.find_soon(&scene.agent, &scene.unique).await;
        [scene.subjects.message_id, scene.subjects.thread_id] =
            own.unwrap_or([delivered.message_id, delivered.thread_id]);
        scene.has_message = true;
    }
    Ok(())
}

#[given(expr = "an event on {string}")]
async fn event_on(world: &mut World, day: String) -> Step {
    world.scene()?.subjects.day = day;
    let made = world.scene()?.need_event().await;
    world.judge(made)
}

/// The range ends a day later, since a Hub may leave out the last day.
#[given("it asks about the days around the event")]
fn around_the_event(world: &mut World) -> Step {
    let day = world.scene()?.subjects.day.parse::<Date>().unwrap_or_default();
    for (name, days) in [("start_date", -1), ("end_date", 2)] {
        let limit = day.checked_add(days.days()).unwrap_or(day);
        set(world, &format!("inputs.{name}"), Value::from(limit.to_string()))?;
    }
    Ok(())
}

vocabulary! {
    /// Which requests to the provider fail.
    enum Asked "asked" {
        "it" => Every,
        "every change" => Change,
        "every look at one message" => Look,
    }
}

#[given(expr = "the provider answers {asked} with status {int}")]
fn provider_answers(world: &mut World, asked: Asked, status: u16) -> Step {
    let failing = match asked {
        Asked::Every => Failing::Every,
        Asked::Change => Failing::Change,
        Asked::Look => Failing::Look,
    };
    provider_fails(world, failing, ProviderFault::Status(status))
}

vocabulary! {
    /// What an answer is instead of one of the provider's.
    enum Malformed "malformed" {
        "a page of HTML" => Page,
        "JSON that ends in the middle" => CutShort,
        "the end of the connection" => Unanswered,
    }
}

#[given(expr = "the provider answers it with {malformed}")]
fn provider_answers_malformed(world: &mut World, malformed: Malformed) -> Step {
    let fault = match malformed {
        Malformed::Page => ProviderFault::Page,
        Malformed::CutShort => ProviderFault::CutShort,
        Malformed::Unanswered => ProviderFault::Unanswered,
    };
    provider_fails(world, Failing::Every, fault)
}

#[given("an event in the customer's calendar")]
fn event_of_the_customer(world: &mut World) -> Step {
    let session = world.session()?;
    let Some(provider) = &session.provider else {
        return Err(world.abort(Undeclared::HubProvider.into()));
    };
    let scene = world.scene()?;
    let lend = || provider.lend_event(&scene.unique, scene.customer);
    scene.subjects.event_id = scene.agent.transcript.record_external("event", lend);
    scene.has_event = true;
    Ok(())
}

#[given("it searches for the new message")]
fn searches_the_new(world: &mut World) -> Step {
    let query = format!("subject:\"{}\"", world.scene()?.unique);
    set(world, "inputs.query", Value::from(query))
}

#[given(expr = "its {string} is a text of {int} characters")]
fn long_member(world: &mut World, path: String, characters: usize) -> Step {
    set(world, &path, Value::from(contract::long_text(characters)))
}

fn provider_fails(world: &mut World, failing: Failing, fault: ProviderFault) -> Step {
    let session = world.session()?;
    let unique = world.scene()?.unique.clone();
    let Some(provider) = &session.provider else {
        return Err(world.abort(Undeclared::HubProvider.into()));
    };
    provider.fail(&unique, failing, fault);
    world.scene()?.refused_with = Some(fault);
    Ok(())
}

fn set(world: &mut World, path: &str, value: Value) -> Step {
    let request = world.draft()?;
    let (parent, last) = split(path);
    if let Some(members) = request.body.pointer_mut(&parent).and_then(Value::as_object_mut) {
        members.insert(last, value);
    }
    Ok(())
}

/// A dotted path as a pointer to the parent, and the last name.
fn split(path: &str) -> (String, String) {
    match path.rsplit_once('.') {
        Some((parent, last)) => (format!("/{}", parent.replace('.', "/")), last.to_owned()),
        None => (String::new(), path.to_owned()),
    }
}
