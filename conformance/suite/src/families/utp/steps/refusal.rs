//! Then: what must not have happened. Each waits for a sign of life on the same path first.

use cucumber::then;

use super::arrange::inline_token;
use crate::engine::judge::CheckFailure;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::judge::late::LateCheck;
use crate::families::utp::judge::{refusal, seen};
use crate::families::utp::reason::Alternative;
use crate::families::utp::world::World;

#[then("the tool does not run")]
async fn does_not_run(world: &mut World) -> Step {
    world.settled().await?;
    let runs = world.runs().await?;
    world.judge_call(|frames, calls| refusal::did_not_run(frames, calls, runs))?;
    world.judge_later(LateCheck::DidNotRun)
}

#[then("the refused command is answered, or the scenario does not apply")]
async fn answered_if_at_all(world: &mut World) -> Step {
    any_callback(world).await
}

#[then("the inline value is not used")]
async fn inline_not_used(world: &mut World) -> Step {
    world.settled().await?;
    let inline = inline_token(world.call()?);
    world.judge_call(|frames, calls| refusal::ignores_inline(frames, calls, &inline))?;
    world.judge_later(LateCheck::IgnoresInline(inline))
}

#[then("the service answers the next command")]
async fn survives(world: &mut World) -> Step {
    world.survived().await
}

#[then("nothing is written to state")]
async fn leaves_state_alone(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_each_call(|frames, calls| {
            if seen::report(frames, calls).is_none() {
                return Err(CheckFailure::NotObserved("the call is not answered".to_owned()));
            }
            refusal::leaves_state_alone(frames)
        });
    }
    world.settled().await?;
    let frames = world.frames();
    world.judge(refusal::leaves_state_alone(&frames))?;
    world.judge_later(LateCheck::LeavesStateAlone)
}

/// Notes what a rule leaves open.
pub(super) async fn note_run(world: &mut World) -> Step {
    world.settled().await?;
    let mut ran = false;
    world.judge_call(|frames, calls| {
        ran = refusal::did_not_run(frames, calls, None).is_err();
        Ok(())
    })?;
    world.note(if ran { "the tool ran" } else { "the command was refused" });
    Ok(())
}

/// Waits for what may come; where nothing comes there is nothing to look at, which is permitted.
pub(super) async fn any_callback(world: &mut World) -> Step {
    world.wait_grace_period().await?;
    world.judge_call(|frames, calls| match seen::report(frames, calls) {
        Some(_) => Ok(()),
        None => Err(Alternative::UnansweredRefusal.seen_in(seen::life_after(frames, calls))),
    })
}
