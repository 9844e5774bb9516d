//! Who is asked.

use cucumber::then;

use super::super::judge::traffic;
use super::super::world::World;
use crate::world::Step;

#[then("the Hub is asked to execute it")]
fn hub_is_asked(world: &mut World) -> Step {
    world.judge_call(traffic::the_hub_is_asked)
}

#[then("the Hub is not asked to execute it")]
fn hub_is_left_out(world: &mut World) -> Step {
    world.judge_all(|deeds, subject| {
        let sentinels: Vec<_> =
            deeds.iter().enumerate().filter(|(place, _)| *place != subject).map(|(_, deed)| *deed).collect();
        traffic::the_hub_is_left_out(&deeds[subject], &sentinels)
    })
}

#[then("the provider is not asked")]
fn provider_is_left_out(world: &mut World) -> Step {
    world.judge_call(traffic::the_provider_is_left_out)
}

#[then("the web is asked")]
fn web_is_asked(world: &mut World) -> Step {
    world.judge_call(traffic::the_web_is_asked)
}

#[then("it is executed once")]
fn is_made_once(world: &mut World) -> Step {
    world.judge_call(traffic::is_made_once)
}

#[then("it is sent at most three times")]
fn is_not_repeated(world: &mut World) -> Step {
    world.judge_call(traffic::is_not_repeated)
}
