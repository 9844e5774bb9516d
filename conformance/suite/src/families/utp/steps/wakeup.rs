//! Then: Inbox and wakeup.

use cucumber::then;

use crate::engine::world::Step;
use crate::families::utp::judge::route;
use crate::families::utp::world::World;

#[then("the caller's Inbox holds the callback")]
async fn inbox_holds_callback(world: &mut World) -> Step {
    world.reported().await?;
    world.judge_each_call(route::is_callback)
}

#[then(regex = "^the Inbox record is (a tool_result|addressed to the caller)$")]
async fn record_is(world: &mut World, what: String) -> Step {
    world.answered().await?;
    world.judge_each_call(match what.as_str() {
        "a tool_result" => route::is_tool_result,
        _ => route::is_addressed_to_caller,
    })
}

#[then(expr = "the answer stays in channel {string}")]
async fn stays_in_channel(world: &mut World, channel: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| route::stays_in_channel(frames, calls, &channel))
}

#[then("the answer stays in the channel of the command")]
async fn stays_in_its_channel(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(route::stays_in_its_channel)
}

#[then(expr = "the caller is woken on {string} and no target of the service's own")]
async fn wakes_on(world: &mut World, worker_target: String) -> Step {
    world.answered().await?;
    world.settled().await?;
    world.judge_call(|frames, calls| route::wakes_on(frames, calls, &worker_target))?;
    world.judge_call(|frames, calls| route::wakes_nowhere_but(frames, calls, &worker_target))
}

#[then(expr = "the caller is never woken on {string}")]
async fn never_wakes_on(world: &mut World, worker_target: String) -> Step {
    world.answered().await?;
    world.settled().await?;
    world.judge_call(|frames, calls| route::never_wakes_on(frames, calls, &worker_target))
}

#[then(expr = "the caller is woken on {string} only")]
async fn wakes_only_on(world: &mut World, worker_target: String) -> Step {
    world.settled().await?;
    world.judge_call(|frames, calls| route::wakes_on(frames, calls, &worker_target))?;
    world.judge_call(|frames, calls| route::moved_to(frames, calls, &worker_target))
}
