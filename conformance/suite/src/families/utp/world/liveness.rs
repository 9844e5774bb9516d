//! Whether the target still serves calls: sentinels that follow what a scenario sends, and what is concluded from them.

use super::{IN_TURN, World, broker_trouble, missing, stopped};
use crate::engine::judge::{Cause, CheckFailure, Finding};
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::scene::Pulse;

impl World {
    /// Proves that the target is alive on the path of the call before anything is concluded from silence.
    pub async fn alive(&mut self) -> Step {
        self.alive_after(1).await
    }

    /// As [`World::alive`], with so many sentinels at once.
    pub async fn alive_after(&mut self, sentinels: usize) -> Step {
        let session = self.session()?;
        let scene = self.scene()?;
        let pulse = scene.sentinels(&session, sentinels).await;
        match scene.recovered(&session, pulse).await {
            Pulse::Steady(_) => return Ok(()),
            Pulse::MixedUp => return Err(self.abort(mixed_up())),
            Pulse::Refused(failure) => return Err(self.abort(refused(&failure))),
            Pulse::Silent => {}
        }
        if let Some(why) = session.test_environment.broker_trouble(self.core.transcript.began()) {
            return Err(self.abort(broker_trouble(why)));
        }
        let ended = session.test_environment.target_ended().await;
        let message = ended.unwrap_or_else(|| {
            format!("the target did not answer a valid command in this scenario ({IN_TURN})")
        });
        Err(self.could_not_run(Cause::Implementation, message))
    }

    /// Waits until nothing more can be expected. A target that no longer answers has not survived; one whose
    /// process has ended is another scenario's business.
    pub async fn settled(&mut self) -> Step {
        let pulse = self.pulse().await?;
        self.conclude(pulse).await
    }

    async fn conclude(&mut self, pulse: Pulse) -> Step {
        match pulse {
            Pulse::Steady(_) => Ok(()),
            Pulse::MixedUp => Err(self.abort(mixed_up())),
            Pulse::Refused(failure) => Err(self.abort(refused(&failure))),
            Pulse::Silent => {
                let session = self.session()?;
                let trouble = match session.test_environment.target_ended().await {
                    Some(ended) => stopped(ended),
                    None => missing(&session, self.core.transcript.began(), not_survived()),
                };
                Err(self.abort(trouble))
            }
        }
    }

    /// As [`World::settled`], for the rules that say that the target survives.
    pub async fn survived(&mut self) -> Step {
        match self.pulse().await? {
            Pulse::Steady(_) => Ok(()),
            Pulse::MixedUp => Err(self.abort(mixed_up())),
            Pulse::Refused(failure) => Err(self.abort(refused(&failure))),
            Pulse::Silent => {
                let session = self.session()?;
                let ended = session.test_environment.target_ended().await.map(serde_json::Value::from);
                Err(self.abort(missing(
                    &session,
                    self.core.transcript.began(),
                    not_survived().actual(ended.as_ref()),
                )))
            }
        }
    }

    /// As [`World::settled`], for the rules that say whose arguments a call has: the answer of one call to
    /// another breaks them.
    pub async fn settled_with_own_arguments(&mut self) -> Step {
        let session = self.session()?;
        let pulse = self.scene()?.settle(&session).await;
        if !matches!(pulse, Pulse::MixedUp | Pulse::Refused(_)) {
            return self.conclude(pulse).await;
        }
        let finding = Finding::new(
            MIXED_UP,
            "read arguments from the card that the command points to, for every call anew",
        )
        .expected("the arguments of its own card in every result");
        Err(self.abort(finding.into()))
    }

    async fn pulse(&mut self) -> Result<Pulse, Abort> {
        let session = self.session()?;
        let scene = self.scene()?;
        let pulse = scene.settle(&session).await;
        Ok(scene.recovered(&session, pulse).await)
    }
}

/// What is said where a call is answered with the work of another.
const MIXED_UP: &str = "the target answers a call without its own work, as with another call's result";

fn mixed_up() -> CheckFailure {
    CheckFailure::NotObserved(MIXED_UP.to_owned())
}

fn refused(failure: &str) -> CheckFailure {
    CheckFailure::NotObserved(format!(
        "the target answers a valid call as failed, {failure}: so nothing is known of what it does beside it; where it \
         takes few calls at a time, `in_flight` under `[target.manners]` says how many"
    ))
}

fn not_survived() -> Finding {
    Finding::new(
        "after this message the target no longer answers a valid command",
        format!("log what is wrong with a message and go on; one bad message must not stop the service ({IN_TURN})"),
    )
    .expected("an answer to a following valid command")
}
