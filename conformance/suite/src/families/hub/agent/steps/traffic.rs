//! Who is asked.

use cucumber::then;

use super::AstraySort;
use crate::engine::world::{HasCore as _, Step};
use crate::families::hub::agent::judge::traffic;
use crate::families::hub::agent::judge::traffic::Astray;
use crate::families::hub::agent::world::World;

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
    let unique = world.scene()?.booth.unique.clone();
    world.judge_call(|deed| traffic::the_provider_is_left_out(deed, &unique))
}

#[then(expr = "by then {astray}")]
fn nothing_went_astray(world: &mut World, sort: AstraySort) -> Step {
    let session = std::sync::Arc::clone(&world.scene()?.session);
    let astray = world.core().transcript.told("astray", || session.room.astray());
    let table = &session.table;
    let direct = table.fetch_page.table().into_iter().chain(&table.web_search);
    let named: Vec<&str> = match sort.0 {
        Astray::Local => table.local.iter().map(|call| call.tool.as_str()).collect(),
        Astray::Direct => direct.map(|call| call.tool.as_str()).collect(),
        Astray::Provider => Vec::new(),
    };
    world.judge_call(|deed| traffic::nothing_went_astray(deed, &astray, sort.0, &named))
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
