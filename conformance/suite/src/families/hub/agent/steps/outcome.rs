//! What the agent makes of an answer.

use cucumber::then;

use super::Code;
use crate::engine::world::Step;
use crate::families::hub::agent::judge::{outcome, values};
use crate::families::hub::agent::world::World;

#[then("the call succeeds")]
fn call_succeeds(world: &mut World) -> Step {
    let mark = world.scene()?.scenario_channel.mark.clone();
    world.judge_call(|call_record| outcome::is_a_success(call_record, &mark))
}

#[then("the outcome is the result")]
fn is_the_result(world: &mut World) -> Step {
    let mark = world.scene()?.scenario_channel.mark.clone();
    world.judge_call(|call_record| outcome::is_the_result(call_record, &mark))
}

#[then("the outcome has every value of the result")]
fn has_every_value(world: &mut World) -> Step {
    world.judge_call(values::are_all_there)
}

#[then("the call fails")]
fn fails(world: &mut World) -> Step {
    world.judge_call(outcome::is_a_failure)
}

#[then(expr = "the failure reports {code}")]
fn failure_is_reported(world: &mut World, code: Code) -> Step {
    world.judge_call(|call_record| outcome::gives_reason(call_record, &code.0))
}

#[then("the failure reports what the Hub answered")]
fn reports_the_answer(world: &mut World) -> Step {
    world.judge_each_call(outcome::reports_what_the_hub_answered)
}

#[then("the failure is the integration's")]
fn blames_the_integration(world: &mut World) -> Step {
    world.judge_call(outcome::blames_the_integration)
}

#[then("the failure passes the setup link on")]
fn passes_the_link_on(world: &mut World) -> Step {
    world.judge_call(outcome::passes_the_link_on)
}

#[then("the next call succeeds")]
fn next_succeeds(world: &mut World) -> Step {
    let mark = world.scene()?.scenario_channel.mark.clone();
    world.judge_all(|call_records, _| outcome::still_works(&call_records[call_records.len() - 1], &mark))
}
