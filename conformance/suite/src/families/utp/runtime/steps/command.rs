//! Then: what the worker sent, and the card that it points to.

use cucumber::then;

use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::reason::Alternative;
use crate::families::utp::runtime::judge::command::Known;
use crate::families::utp::runtime::judge::{arguments, command, header, turn};
use crate::families::utp::runtime::model::SUBMIT;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::view::View;
use crate::families::utp::runtime::world::World;
use crate::transcript::Frame;

vocabulary! {
    /// Where a turn runs.
    enum TurnPlace "turn_place" {
        "project" => Project,
        "channel" => Channel,
    }
}

#[then(expr = "the command carries {string}")]
fn carries(world: &mut World, member: String) -> Step {
    if world.judges_every() {
        let prefix = world.session()?.test_environment.prefix().to_owned();
        return world.judge_each_command(move |frames, frame, revision| {
            command::has(frames, frame, &member, Known { revision, token: None, prefix: &prefix })
        });
    }
    world.judge_calls(|frames, view| command::carries(frames, view, &member))
}

#[then(expr = "the command of each built-in carries {string}")]
fn builtins_carry(world: &mut World, member: String) -> Step {
    let calls = world.scene()?.calls.iter().enumerate();
    let builtins: Vec<usize> =
        calls.filter(|(_, call)| call.row.is_builtin()).map(|(index, _)| index).collect();
    if builtins.is_empty() {
        return Err(world.suite_fault("the scenario calls no built-in"));
    }
    let judge = |frames: &[Frame], view: View<'_>| command::carries(frames, view, &member);
    builtins.into_iter().try_for_each(|index| world.judge_call(index, judge))
}

#[then("the command goes out on the tool's subject")]
fn on_subject(world: &mut World) -> Step {
    world.judge_calls(command::is_on_target_subject)
}

#[then("nothing of the call goes anywhere else")]
async fn nowhere_else(world: &mut World) -> Step {
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    let calls = world.scene()?.calls.clone();
    world.judge_calls(|frames, view| command::is_nowhere_else(frames, view, &calls))
}

#[then("its subject has the usual form")]
fn usual_form(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_tool_commands(|own, place| command::is_usual(own.command, place));
    }
    world.judge_calls(command::has_usual_form)
}

#[then(expr = "the subject names the turn's {turn_place}")]
fn names_place(world: &mut World, place: TurnPlace) -> Step {
    if world.judges_every() {
        return world.judge_tool_commands(move |own, (project, channel)| match place {
            TurnPlace::Project => command::token_is(own.command, 2, project),
            TurnPlace::Channel => command::token_is(own.command, 3, channel),
        });
    }
    world.judge_calls(move |frames, view| match place {
        TurnPlace::Project => command::has_token(frames, view, 2, view.project),
        TurnPlace::Channel => command::has_token(frames, view, 3, &view.turn.channel),
    })
}

#[then("a built-in is called on the PMO's subject for it")]
fn on_subject_of_builtin(world: &mut World) -> Step {
    world.judge_observed_commands(|own, place| {
        command::is_on_subject_of_builtin(own.frames, own.command, place)
    })
}

#[then("the card holds what the model gave")]
fn conveys(world: &mut World) -> Step {
    world.judge_each_command(arguments::conveys)
}

#[then("the command's after_execution is the registered one")]
fn registered(world: &mut World) -> Step {
    world.judge_calls(command::follows_registration)
}

#[then("the command holds no parameters")]
fn inlines_nothing(world: &mut World) -> Step {
    world.judge_each_command(|_, frame, _| command::inlines_nothing(frame))
}

#[then("the command holds no control member")]
fn repeats_nothing(world: &mut World) -> Step {
    world.judge_each_command(|_, frame, _| header::repeats_nothing(frame))
}

#[then("nothing is published on subjects of another version")]
async fn keeps_its_version(world: &mut World) -> Step {
    let session = world.session()?;
    world.scene()?.wait_settle_window(&session).await;
    let version = session.test_environment.version.clone();
    let frames = world.scene()?.project.transcript.frames();
    world.judge(header::keeps_its_version(&frames, &version))
}

#[then("the tool.call card was there before the command")]
fn card_first(world: &mut World) -> Step {
    world.judge_each_command(command::card_is_readable)
}

#[then("the tool.call card holds a ToolCallContent")]
fn typed(world: &mut World) -> Step {
    world.judge_each_command(|frames, frame, _| command::card_is_typed(frames, frame))
}

#[then(expr = "the card's argument {string} is {json}")]
fn argument(world: &mut World, name: String, value: Json) -> Step {
    world.judge_call(0, |frames, view| arguments::is(frames, view, &name, &value.0))
}

#[then("each card holds the arguments of its own call")]
fn own_arguments(world: &mut World) -> Step {
    world.judge_calls(arguments::are_its_own)
}

#[then(expr = "the card's argument {string} holds the call's {string}")]
fn filled(world: &mut World, name: String, variable: String) -> Step {
    world.judge_call(0, |frames, view| arguments::is_filled(frames, view, &name, &variable))
}

#[then(expr = "each card's argument {string} holds its own call's {string}")]
fn filled_each(world: &mut World, name: String, variable: String) -> Step {
    let turns = world.scene()?.turns.clone();
    world.judge_calls(|frames, view| {
        arguments::is_not_of_another_turn(frames, view, (&name, &variable), &turns)?;
        arguments::is_filled(frames, view, &name, &variable)
    })
}

#[then(expr = "each card's argument {string} is {json}")]
fn argument_of_each(world: &mut World, name: String, value: Json) -> Step {
    world.judge_calls(|frames, view| arguments::is(frames, view, &name, &value.0))
}

#[then(expr = "the second card's argument {string} is {json}")]
fn argument_of_second(world: &mut World, name: String, value: Json) -> Step {
    world.judge_call(1, |frames, view| arguments::is(frames, view, &name, &value.0))
}

#[then("each command points to a card of its own")]
async fn own_cards(world: &mut World) -> Step {
    let session = world.session()?;
    let scene = world.scene()?;
    let (turns, calls) = (scene.turns.clone(), scene.calls.len());
    let count =
        |frames: &[Frame]| turns.iter().map(|turn| seen::commands(frames, turn).count()).sum::<usize>();
    // A worker with ids of its own tells the two apart by nothing that the suite knows.
    scene.wait(&session, |frames| count(frames) >= calls).await;
    let frames = scene.project.transcript.frames();
    world.judge(command::point_to_own_cards(&frames, &turns))
}

#[then(expr = "the model is shown neither {string} nor {string}")]
fn hidden(world: &mut World, name: String, value: String) -> Step {
    world.judge_call(0, |frames, view| arguments::is_hidden(frames, view, &name, Some(&value)))
}

#[then(expr = "the model is not shown {string}")]
fn name_hidden(world: &mut World, name: String) -> Step {
    world.judge_call(0, |frames, view| arguments::is_hidden(frames, view, &name, None))
}

#[then(expr = "the card says that {string} comes from {string}")]
fn names_variable(world: &mut World, name: String, variable: String) -> Step {
    world.judge_call(0, |frames, view| arguments::names_variable(frames, view, &name, &variable))
}

#[then(expr = "each card says that {string} comes from {string}")]
fn names_variable_each(world: &mut World, name: String, variable: String) -> Step {
    world.judge_calls(|frames, view| arguments::names_variable(frames, view, &name, &variable))
}

#[then("no card holds the variable's value")]
async fn secret_in_no_card(world: &mut World) -> Step {
    let session = world.session()?;
    let secret = session.secret.clone().unwrap_or_default();
    if world.judges_every() {
        return world.judge_each_command(move |frames, command, _| {
            arguments::is_in_no_card_of(frames, command, &secret)
        });
    }
    world.scene()?.wait_settle_window(&session).await;
    world.judge_call(0, |frames, view| arguments::is_in_no_card(frames, view, &secret))
}

#[then(expr = "the card's argument {string} brings no value of the environment or of the tool")]
fn brings_nothing(world: &mut World, name: String) -> Step {
    let secret = world.session()?.secret.clone().unwrap_or_else(|| "no secret".to_owned());
    world.judge_call(0, |frames, view| {
        arguments::brings_nothing(frames, view, &name, &[&secret, &view.call.row.tool_name])
    })
}

#[then("submit_result goes to nobody")]
fn submits_nothing(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_each_command(|frames, frame, _| command::is_no_submission(frames, frame));
    }
    submitted(world)?;
    let scene = world.scene()?;
    let frames = scene.project.transcript.frames();
    let judgement = command::submits_nothing(&frames, &scene.project.id, &scene.turns[0], &scene.calls);
    world.judge(judgement)
}

#[then("the turn ends with what was submitted")]
async fn ends_submitted(world: &mut World) -> Step {
    submitted(world)?;
    super::turn::ended_for_good(world).await?;
    let scene = world.scene()?;
    let (turn_of_scene, frames) = (scene.turns[0].clone(), scene.project.transcript.frames());
    world.judge(turn::is_submitted(&frames, &turn_of_scene))
}

#[then(expr = "it is noted whether the command carries {string}")]
fn note_member(world: &mut World, member: String) -> Step {
    let command = world.call(0)?.command.clone().unwrap_or_default();
    let there = command.get(&member).is_some_and(|value| !value.is_null());
    world.note(format!("the command {} `{member}`", if there { "carries" } else { "leaves out" }));
    Ok(())
}

/// Nothing can be seen of a built-in that the worker does not offer.
fn submitted(world: &mut World) -> Step {
    let scene = world.scene()?;
    let (turn, frames) = (scene.turns[0].clone(), scene.project.transcript.frames());
    if arguments::is_offered(&frames, &turn, SUBMIT) {
        return Ok(());
    }
    Err(world.abort(Alternative::NoSubmit.seen_in(seen::requests(&frames, &turn))))
}
