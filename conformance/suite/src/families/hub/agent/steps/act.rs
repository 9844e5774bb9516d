//! What the agent is driven to do.

use cucumber::when;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::hub::agent::session::AgentSession;
use crate::families::hub::agent::steps::HubAnswer;
use crate::families::hub::agent::world::World;

vocabulary! {
    /// The call that follows.
    enum NextCall "next_call" {
        "another for a second customer" => ForAnother,
        "another for no end user" => ForNoUser,
        "others for a second customer and again for the first" => ForAnotherAndAgain,
        "another when the Hub answers as it should" => Recovered,
        "later another when the Hub answers as it should" => RecoveredLater,
    }
}

#[when("the agent makes the call")]
async fn make(world: &mut World) -> Step {
    world.make().await?;
    world.scene()?.rest();
    Ok(())
}

#[when("the agent makes the call between two calls of Hub tools")]
async fn make_between(world: &mut World) -> Step {
    world.make_a_hub_call(None).await?;
    world.make().await?;
    world.make_a_hub_call(None).await?;
    world.scene()?.listen().await;
    Ok(())
}

#[when(regex = "^the agent makes the call and (a long )?time passes$")]
async fn make_and_listen(world: &mut World, long: String) -> Step {
    world.make().await?;
    let scene = world.scene()?;
    if long.is_empty() {
        scene.listen().await;
    } else {
        scene.listen_long().await;
    }
    Ok(())
}

#[when(expr = "the agent makes the call, and another like it that the Hub answers with {hub_answer}")]
async fn make_and_another(world: &mut World, answer: HubAnswer) -> Step {
    world.make().await?;
    let scene = world.scene()?;
    let another = scene.call.take().map(|call| scene.unlike_others(call));
    if let Some(call) = &another {
        scene.hub_answers(Some(&call.tool), answer.0);
    }
    scene.call = another;
    world.make().await?;
    world.scene()?.rest();
    Ok(())
}

#[when(expr = "the agent makes the call, and another without its {string}")]
async fn make_without(world: &mut World, name: String) -> Step {
    world.make().await?;
    world.make_without(&name).await?;
    world.scene()?.rest();
    Ok(())
}

#[when(expr = "the agent makes the call, and {next_call}")]
async fn make_and_go_on(world: &mut World, next: NextCall) -> Step {
    world.make().await?;
    let scene = world.scene()?;
    let customer = match next {
        NextCall::ForAnother | NextCall::ForAnotherAndAgain => {
            Some(AgentSession::other_customer(&scene.scenario_channel.unique))
        }
        NextCall::Recovered => {
            scene.hub_recovers();
            None
        }
        NextCall::ForNoUser => None,
        NextCall::RecoveredLater => {
            scene.hub_recovers();
            scene.pause().await;
            None
        }
    };
    if next == NextCall::ForNoUser {
        world.make_a_hub_call_for_no_user().await?;
    } else {
        world.make_a_hub_call(customer.as_deref()).await?;
    }
    if next == NextCall::ForAnotherAndAgain {
        world.make_a_hub_call(None).await?;
    }
    world.scene()?.rest();
    Ok(())
}
