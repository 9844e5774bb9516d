//! Two calls of one kind: how they are sent, and what holds for each of them.

use cucumber::{then, when};
use serde_json::Value;

use super::act::send_and_meanwhile;
use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::utp::judge::{card, children};
use crate::families::utp::world::World;

vocabulary! {
    /// What the second call has in common with the first.
    enum Kinship "kinship" {
        "like it" => Alike,
        "of the same turn" => SameTurn,
        "whose id has another last letter" => OtherEnd,
    }
}

vocabulary! {
    /// When the second call is sent.
    enum SecondTime "second_time" {
        "at once" => BeforeTheFirstAnswer,
        "when it is answered" => AfterTheFirstAnswer,
    }
}

vocabulary! {
    /// What is judged of each of two calls.
    enum PairProperty "pair_property" {
        "a callback is reported" => Reported,
        "the arguments of the card show in what the built-in does" => Works,
        "the outcome is in the tool.result card only" => HoldsOutcome,
        "the answer comes after the last child" => AnsweredLast,
        "the result shows the arguments of the card" => ShowsArguments,
        "the result shows what the upstream says to the card's arguments" => ShowsAnswer,
    }
}

#[when(expr = "the worker sends the command and another {kinship} {second_time}")]
async fn send_two(world: &mut World, kinship: Kinship, time: SecondTime) -> Step {
    if time == SecondTime::AfterTheFirstAnswer {
        world.send().await?;
        world.answered().await?;
        send_another(world, kinship).await?;
    } else {
        send_and_meanwhile(world, async |world| send_another(world, kinship).await).await?;
    }
    world.answered().await
}

/// Sends a second call, which is under test from then on.
async fn send_another(world: &mut World, kinship: Kinship) -> Step {
    let earlier = world.call()?.clone();
    let scene = world.scene()?;
    let mut another = scene.prepare_like(&earlier);
    if kinship != Kinship::Alike
        && let Some(turn) = earlier.command.get("agent_turn_id")
    {
        another.set("agent_turn_id", turn.clone());
    }
    if kinship == Kinship::OtherEnd {
        another.set("tool_call_id", Value::from(with_another_end(&earlier.tool_call_id)));
    }
    if kinship != Kinship::Alike {
        scene.project.seed_card(&another.card);
    }
    scene.put_beside(another);
    world.send().await
}

/// An id that is as long as another one, and differs from it in its last letter only.
fn with_another_end(id: &str) -> String {
    let mut letters: Vec<char> = id.chars().collect();
    let last = letters.pop();
    letters.push(if last == Some('y') { 'z' } else { 'y' });
    letters.into_iter().collect()
}

#[then(expr = "for each of the two calls {pair_property}")]
async fn holds_for_each(world: &mut World, property: PairProperty) -> Step {
    for _ in 0..2 {
        // The first comes first; after both, the second is under test again.
        world.scene()?.change_places();
        match property {
            PairProperty::Reported => world.reported().await?,
            PairProperty::Works => super::pmo::shows_work(world).await?,
            PairProperty::HoldsOutcome => {
                world.answered().await?;
                world.judge_call(card::holds_outcome)?;
            }
            PairProperty::ShowsArguments | PairProperty::ShowsAnswer => {
                world.answered().await?;
                world.judge_call(card::shows_work)?;
            }
            PairProperty::AnsweredLast => {
                world.answered().await?;
                world.judge_call(children::answered_last)?;
            }
        }
    }
    Ok(())
}
