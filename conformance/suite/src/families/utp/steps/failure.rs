//! Then: failed tool.result cards.

use cucumber::then;

use super::IfAny;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::judge::{errors, seen, upstream};
use crate::families::utp::reason::Alternative;
use crate::families::utp::world::World;
use crate::transcript::Frame;

#[then(expr = "the failed card{if_any} has {string}")]
async fn has_member(world: &mut World, if_any: IfAny, member: String) -> Step {
    failed_card_unless_optional(world, if_any).await?;
    world.judge_each_card(move |frames, calls| errors::has_member(frames, calls, &member))
}

#[then(expr = "the failed card{if_any} has its detail in place")]
async fn has_detail(world: &mut World, if_any: IfAny) -> Step {
    failed_card_unless_optional(world, if_any).await?;
    world.judge_each_card(errors::has_detail_in_place)
}

async fn failed_card_unless_optional(world: &mut World, if_any: IfAny) -> Step {
    match if_any {
        IfAny::MayBeMissing => any_failed_card(world).await,
        IfAny::MustBeThere => world.answered().await,
    }
}

/// The second code is empty where one is named.
#[then(regex = r#"^the call fails with code "([^"]*)"(?: or "([^"]*)")?$"#)]
async fn fails_with(world: &mut World, code: String, other: String) -> Step {
    let codes: Vec<&str> = [code.as_str(), &other].into_iter().filter(|code| !code.is_empty()).collect();
    // Who throws, or asks an upstream, was called validly, so its answer is waited for; a refusal may never come.
    let call = world.call()?;
    if call.obstructed && call.tool.asks_upstream() {
        world.answered_anyway().await?;
        world.judge_call(upstream::fails)?;
    } else if call.is_bound_to_fail() {
        world.answered().await?;
    } else {
        any_failed_card(world).await?;
    }
    let mut own = None;
    world.judge_call(|frames, calls| {
        own = errors::has_code(frames, calls, &codes)?;
        Ok(())
    })?;
    if let Some(note) = own {
        world.note(note);
    }
    Ok(())
}

#[then("all failed cards have the same structure")]
async fn is_uniform(world: &mut World) -> Step {
    world.settled().await?;
    all_refused(world).await?;
    world.judge_call(|frames, calls| match errors::failed_cards(frames) {
        0 | 1 => Err(Alternative::FewFailures.seen_in(seen::life_after(frames, calls))),
        _ => errors::is_uniform(frames),
    })
}

/// Gives the failed cards of two commands the chance to come.
async fn all_refused(world: &mut World) -> Step {
    let session = world.session()?;
    let both = |frames: &[Frame]| (errors::failed_cards(frames) >= 2).then_some(());
    // None need come, so that none came is not judged here.
    let _ = world.scene()?.project.transcript.linger(session.timeouts.late, both).await;
    Ok(())
}

/// Waits for what may come; a refused command need not be answered.
async fn any_failed_card(world: &mut World) -> Result<(), Abort> {
    world.wait_grace_period().await?;
    world.judge_call(|frames, calls| match seen::result_card(frames, calls) {
        Some(_) => Ok(()),
        None => Err(Alternative::NoRefusalCard.seen_in(seen::life_after(frames, calls))),
    })
}
