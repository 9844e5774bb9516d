//! Who is asked.

use cucumber::then;

use super::TrafficKind;
use crate::engine::world::{HasCore as _, Step};
use crate::families::hub::agent::judge::traffic;
use crate::families::hub::agent::judge::traffic::UnexpectedTraffic;
use crate::families::hub::agent::world::World;

#[then(regex = "^the Hub is (not )?asked to execute it$")]
fn hub_is_asked_or_not(world: &mut World, not: String) -> Step {
    if not.is_empty() { hub_is_asked(world) } else { hub_is_left_out(world) }
}

fn hub_is_asked(world: &mut World) -> Step {
    world.judge_call(traffic::the_hub_is_asked)
}

fn hub_is_left_out(world: &mut World) -> Step {
    world.judge_all(|call_records, subject| {
        let sentinels: Vec<_> = call_records
            .iter()
            .enumerate()
            .filter(|(place, _)| *place != subject)
            .map(|(_, call_record)| *call_record)
            .collect();
        traffic::the_hub_is_left_out(&call_records[subject], &sentinels)
    })
}

#[then("the provider is not asked")]
fn provider_is_left_out(world: &mut World) -> Step {
    let unique = world.scene()?.scenario_channel.unique.clone();
    world.judge_call(|call_record| traffic::the_provider_is_left_out(call_record, &unique))
}

#[then("no request goes to the provider")]
fn provider_is_always_left_out(world: &mut World) -> Step {
    world.judge_each_call(traffic::no_request_goes_to_the_provider)
}

#[then(expr = "{unexpected_traffic}")]
fn nothing_went_astray(world: &mut World, sort: TrafficKind) -> Step {
    let session = std::sync::Arc::clone(&world.scene()?.session);
    let unexpected_traffic =
        world.core().transcript.record_external("astray", || session.router.unexpected_traffic());
    let table = &session.table;
    let direct = table.fetch_page.table().into_iter().chain(&table.web_search);
    let named: Vec<&str> = match sort.0 {
        UnexpectedTraffic::Local => table.local.iter().map(|call| call.tool.as_str()).collect(),
        UnexpectedTraffic::Direct => direct.map(|call| call.tool.as_str()).collect(),
        UnexpectedTraffic::Provider => Vec::new(),
    };
    world.judge_call(|call_record| {
        traffic::nothing_went_astray(call_record, &unexpected_traffic, sort.0, &named)
    })
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
