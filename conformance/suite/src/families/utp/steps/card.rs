//! Then: the tool.result card.

use cucumber::then;

use super::IfAny;
use super::pmo::usual_turns;
use crate::engine::judge::CheckFailure;
use crate::engine::world::{Abort, FamilyWorld as _, HasCore as _, Step};
use crate::families::utp::judge::repeat::Repetition;
use crate::families::utp::judge::seen::Calls;
use crate::families::utp::judge::{callback, card, control, repeat, seen};
use crate::families::utp::reason::Alternative;
use crate::families::utp::world::World;
use crate::transcript::Frame;

#[then("a tool.result card is written for the call")]
fn is_written(world: &mut World) -> Step {
    world.judge_each_call(card::is_written)
}

#[then("the result shows the arguments of the card")]
async fn shows_work(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(card::shows_work)
}

#[then(expr = "the result holds the card's argument {string}")]
async fn holds_argument(world: &mut World, name: String) -> Step {
    hold_argument(world, &name, &name).await
}

/// The result holds an argument; a tool that returns none of the name `other` either need not.
async fn hold_argument(world: &mut World, name: &str, other: &str) -> Step {
    world.answered().await?;
    let Err(abort) = world.judge_call(|frames, calls| card::holds_argument(frames, calls, name)) else {
        return Ok(());
    };
    if !matches!(world.core().trouble, Some(CheckFailure::Broken(_))) || takes_arguments(world, other).await?
    {
        return Err(abort);
    }
    let frames = world.frames();
    Err(world.abort(Alternative::FixedArguments.seen_in(seen::result_cards(&frames).map(|(frame, _)| frame))))
}

#[then(expr = "the result holds the card's argument {string}, where the service takes it")]
async fn holds_argument_that_is_taken(world: &mut World, name: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| card::takes_long_argument(frames, calls, &name))?;
    holds_argument(world, name).await
}

/// A tool that takes an argument of this name takes one of any name: nobody has it in a schema.
const UNUSUAL_NAME: &str = "harbour_lantern";

#[then(expr = "the result holds the card's argument {string}, whatever its name")]
async fn holds_argument_of_any_name(world: &mut World, name: String) -> Step {
    hold_argument(world, &name, UNUSUAL_NAME).await
}

/// Whether the tool takes and returns a plain text as this argument.
async fn takes_arguments(world: &mut World, name: &str) -> Result<bool, Abort> {
    let session = world.session()?;
    let subject = world.call()?.clone();
    let scene = world.scene()?;
    let mut plain = scene.prepare_like(&subject);
    plain.card["content"]["arguments"][name] = "plain".into();
    scene.project.seed_card(&plain.card);
    scene.send(&session, &plain).await;
    // Until it is answered, the call under test is one of the others.
    let known = scene.others.len();
    scene.others.extend(subject.names());
    let answered = scene.answer(&session, &plain).await;
    let calls = Calls::new(&plain, &scene.others);
    let holds = |frames: &[Frame]| card::holds_argument(frames, &calls, name).is_ok();
    let takes = answered && scene.project.transcript.with(holds);
    scene.others.truncate(known);
    scene.others.extend(plain.names());
    Ok(takes)
}

#[then("the result shows nothing of the earlier arguments")]
async fn shows_nothing_earlier(world: &mut World) -> Step {
    // A tool that needs arguments may refuse the call, with or without an answer.
    world.settled_with_own_arguments().await?;
    // The call took over the token of the earlier one, whose arguments are the ones to look for.
    let token = world.call()?.token.clone();
    world.judge_call(|frames, calls| card::shows_nothing_of(frames, calls, &token))
}

#[then("the tool.result card has no error")]
fn has_no_error(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_each_card(|frames, calls| {
            let reported = seen::report(frames, calls).and_then(|report| report.text("/payload/status"));
            let kept = seen::result_card(frames, calls)
                .and_then(|(_, card)| card.pointer("/content/status")?.as_str());
            match (reported, kept) {
                (Some("success"), _) => {
                    card::has_status(frames, calls, "success")?;
                    card::has_no_error(frames, calls)
                }
                // Words that there are not break a rule of their own.
                (Some(other), Some("success")) if seen::STATUSES.contains(&other) => {
                    callback::has_status(frames, calls, "success")
                }
                _ => Err(CheckFailure::NotObserved("the call is no success".to_owned())),
            }
        });
    }
    world.judge_call(card::has_no_error)
}

#[then("the tool.result card was saved before the report")]
async fn precedes_report(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(card::precedes_report)
}

#[then("the callback points to the tool.result card of the call")]
async fn is_addressed(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_call(card::is_addressed)
}

#[then("the outcome is in the tool.result card only")]
async fn holds_outcome(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(card::holds_outcome)
}

#[then("the tool.result card is a ToolResultContent")]
async fn is_typed(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_card(card::is_typed)
}

#[then(expr = "the tool.result card{if_any} inherits {string}")]
async fn inherits(world: &mut World, if_any: IfAny, member: String) -> Step {
    match if_any {
        IfAny::MustBeThere => world.answered().await?,
        IfAny::MayBeMissing => world.wait_grace_period().await?,
    }
    world.judge_each_card(move |frames, calls| match seen::result_card(frames, calls) {
        None if if_any == IfAny::MayBeMissing => {
            Err(Alternative::NoRefusalCard.seen_in(seen::life_after(frames, calls)))
        }
        _ => card::inherits(frames, calls, &member),
    })
}

#[then(expr = "the tool.result card's {string} is not the command's")]
async fn is_not_backfilled(world: &mut World, member: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| card::is_not_backfilled(frames, calls, &member))
}

#[then(expr = "the result overrides with {string}")]
async fn overrides(world: &mut World, after_execution: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| control::keeps_control(frames, calls, &after_execution))
}

#[then("the result overrides with suspend or terminate, if it overrides")]
async fn overrides_with_known_value(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_each_card(control::is_known)
}

#[then("the result has no override of an earlier call")]
async fn has_own_override(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(control::is_its_own)
}

/// Notes what a rule leaves open.
pub(super) async fn note_override(world: &mut World) -> Step {
    world.answered().await?;
    let overrides = seen::saved_cards(&world.frames())
        .any(|(_, card)| card.pointer("/content/result/__cg_control/after_execution").is_some());
    world.note(if overrides { "the result holds an override" } else { "the result holds no override" });
    Ok(())
}

#[then("the tool has run once")]
async fn has_one_effect(world: &mut World) -> Step {
    let repetition = Repetition {
        runs: world.runs().await?,
        is_across: world.reached_replicas,
        usual_turns: usual_turns(world).await?,
    };
    world.judge_call(|frames, calls| repeat::has_one_effect(frames, calls, repetition))
}

#[then("all callbacks of the call report one status")]
fn has_one_status(world: &mut World) -> Step {
    let is_across = world.reached_replicas;
    world.judge_each_call(move |frames, calls| repeat::has_one_status(frames, calls, is_across))
}

#[then("the call has one tool.result card")]
fn has_one_card(world: &mut World) -> Step {
    let is_across = world.reached_replicas;
    world.judge_each_call(move |frames, calls| repeat::has_one_card(frames, calls, is_across))
}

#[then("the call of the other turn is answered on its own")]
async fn is_another_call(world: &mut World) -> Step {
    world.answered_in_turn().await?;
    world.judge_call(repeat::is_another_call)
}
