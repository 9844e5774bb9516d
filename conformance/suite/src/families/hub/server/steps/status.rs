//! What the status of integrations is like.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::hub::server::judge::shape::Shape;
use crate::families::hub::server::judge::status;
use crate::families::hub::server::observed::customer_asked_about;
use crate::families::hub::server::world::World;

vocabulary! {
    /// One of the two integrations.
    enum Integration "integration" {
        "calendar" => Calendar,
        "email" => Email,
    }
}

vocabulary! {
    /// An integration, by its connection.
    enum Connection "connection" {
        "connected integration" => Connected,
        "integration that is not connected" => NotConnected,
    }
}

#[then("the status is given")]
fn given(world: &mut World) -> Step {
    world.judge_each_reply(status::is_given)
}

#[then("the status is that of the customer")]
fn of_customer(world: &mut World) -> Step {
    world.judge_each_reply(|reply| {
        let customer = customer_asked_about(reply).unwrap_or_default();
        status::is_of(reply, customer)
    })
}

#[then(expr = "the status shows whether the {integration} integration is connected")]
fn connection_is_shown(world: &mut World, integration: Integration) -> Step {
    let slugs = world.session()?.table.integrations.clone();
    let slug = match integration {
        Integration::Calendar => slugs.calendar,
        Integration::Email => slugs.email,
    };
    world.judge_each_reply(move |reply| status::has_integration(reply, &slug))
}

#[then(expr = "each {connection} has {string}, {shape}")]
fn each_has(world: &mut World, connection: Connection, name: String, shape: Shape) -> Step {
    let slugs = world.session()?.table.integrations.clone();
    let is_connected = connection == Connection::Connected;
    world.judge_each_reply(move |reply| {
        status::each_has(reply, [&slugs.calendar, &slugs.email], is_connected, &name, shape)
    })
}

#[then("status and execution agree")]
fn agree(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_replies(|replies| {
        let Some((first, executions)) = replies.split_first() else { return Ok(()) };
        executions
            .iter()
            .try_for_each(|reply| status::agrees_with(first, reply, session.integration(reply.tool())))
    })
}

#[then("nothing is shown as connected")]
fn nothing_is_connected(world: &mut World) -> Step {
    world.judge_refusal(status::shows_nothing_connected)
}

#[then("both give the same setup link")]
fn same_link(world: &mut World) -> Step {
    let session = world.session()?;
    world.judge_pair(|first, last| status::has_the_same_link(first, last, session.integration(last.tool())))
}
