//! What must not be executed.

use std::str::FromStr;

use cucumber::{Parameter, then};

use crate::engine::judge::CheckFailure;
use crate::engine::world::Step;
use crate::families::hub::server::judge::refusal;
use crate::families::hub::server::world::World;

/// How a request ends that should not be executed.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "refusal",
    regex = "is refused for its secret|is refused|does not succeed at all|does not succeed|is not answered 2xx"
)]
enum RefusalPredicate {
    ForItsSecret,
    Refused,
    NoSuccess,
    NoSuccessAtAll,
    Not2xx,
}

impl FromStr for RefusalPredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "is refused for its secret" => Self::ForItsSecret,
            "is refused" => Self::Refused,
            "does not succeed" => Self::NoSuccess,
            "does not succeed at all" => Self::NoSuccessAtAll,
            "is not answered 2xx" => Self::Not2xx,
            other => return Err(format!("`{other}` is no end of a request")),
        })
    }
}

#[then(expr = "the request {refusal}")]
fn request_is_refused(world: &mut World, end: RefusalPredicate) -> Step {
    world.judge_refusal(|reply, after| match end {
        RefusalPredicate::ForItsSecret => refusal::is_refused_for_its_secret(reply, after),
        RefusalPredicate::Refused => refusal::is_refused(reply, after),
        RefusalPredicate::NoSuccess => refusal::is_refused_somehow(reply, after),
        RefusalPredicate::NoSuccessAtAll => refusal::does_not_succeed(reply, after),
        RefusalPredicate::Not2xx => refusal::is_not_2xx(reply, after),
    })
}

#[then("the refusal cannot be taken for an expired integration")]
fn not_expired(world: &mut World) -> Step {
    world.judge_reply(refusal::is_no_expired_integration)
}

#[then("it shows no integrations")]
fn shows_nothing(world: &mut World) -> Step {
    world.judge_reply(refusal::shows_no_integrations)
}

/// What another rule judges is nothing to look at here.
pub(super) fn unseen(trouble: CheckFailure) -> CheckFailure {
    match trouble {
        CheckFailure::Broken(finding) => CheckFailure::NotObserved(finding.message),
        other => other,
    }
}
