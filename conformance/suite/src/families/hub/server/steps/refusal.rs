//! What must not be executed.

use cucumber::then;

use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::hub::server::judge::refusal;
use crate::families::hub::server::world::World;

vocabulary! {
    /// How a request ends that should not be executed.
    enum RefusalPredicate "refusal" {
        "is refused for its secret" => ForItsSecret,
        "is refused" => Refused,
        "does not succeed at all" => NoSuccessAtAll,
        "does not succeed" => NoSuccess,
        "is not answered 2xx" => Not2xx,
    }
}

#[then(expr = "the request {refusal}")]
fn request_is_refused(world: &mut World, end: RefusalPredicate) -> Step {
    world.judge_refusal(|reply, after| match end {
        RefusalPredicate::ForItsSecret => refusal::is_refused_for_its_secret(reply, after),
        RefusalPredicate::Refused => refusal::is_refused(reply, after),
        RefusalPredicate::NoSuccess => refusal::is_refused_somehow(reply, after),
        RefusalPredicate::NoSuccessAtAll => refusal::is_survived(reply, after),
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
