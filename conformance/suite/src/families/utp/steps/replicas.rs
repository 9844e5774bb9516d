//! When: a command is sent until every replica of the target has received it.
//!
//! Who receives a command is the broker's choice, so it is sent again until the suite has seen each of them receive it.

use std::time::Duration;

use cucumber::when;

use super::act::send_and_meanwhile;
use crate::engine::judge::CheckFailure;
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::world::World;
use crate::transcript;

/// How often a command is sent at most for each replica. Where the broker chooses by chance, one of three is left out in
/// one of 10^16 scenarios, one of eight in one of 10^14.
const MOST: usize = 32;
/// For a command to get to a replica.
const ON_ITS_WAY: Duration = Duration::from_millis(20);

#[when("the worker sends the command until every replica has received it")]
async fn send_until_all_have_it(world: &mut World) -> Step {
    world.send().await?;
    world.answered().await?;
    for _ in 1..most(world)? {
        if all_have_it(world)? {
            break;
        }
        world.send().await?;
        world.settled().await?;
    }
    world.settled().await?;
    judge_reach(world)
}

#[when("the worker sends the command to every replica at once")]
async fn send_to_all_at_once(world: &mut World) -> Step {
    send_and_meanwhile(world, async |world| {
        for _ in 1..most(world)? {
            transcript::sleep_unless_replaying(ON_ITS_WAY).await;
            if all_have_it(world)? {
                break;
            }
            world.send().await?;
        }
        Ok(())
    })
    .await?;
    world.answered().await?;
    world.settled().await?;
    judge_reach(world)
}

fn most(world: &mut World) -> Result<usize, Abort> {
    Ok(world.session()?.test_environment.replicas_count * MOST)
}

/// How many replicas have received the command under test.
fn have_received(world: &mut World) -> Result<usize, Abort> {
    let session = world.session()?;
    let subject = world.call()?.subject.clone();
    let transcript = &world.scene()?.project.transcript;
    Ok(transcript.record_external("replicas", || session.test_environment.replicas_that_received(&subject)))
}

fn all_have_it(world: &mut World) -> Result<bool, Abort> {
    Ok(have_received(world)? >= world.session()?.test_environment.replicas_count)
}

fn judge_reach(world: &mut World) -> Step {
    let (received, count) = (have_received(world)?, world.session()?.test_environment.replicas_count);
    if received >= count {
        world.reached_replicas = true;
        return Ok(());
    }
    Err(world.abort(CheckFailure::NotObserved(format!(
        "{received} of {count} replicas received the command, which was sent up to {MOST} times for each: replicas that share \
         their work are members of one queue group, or of one consumer"
    ))))
}
