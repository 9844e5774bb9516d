//! What any answer of a Hub must be like.

use cucumber::then;

use super::Code;
use crate::engine::judge::CheckFailure;
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::hub::contract::{EXTERNAL_API_ERROR, TOOL_NOT_FOUND};
use crate::families::hub::reason::Alternative;
use crate::families::hub::server::judge::envelope::Empty;
use crate::families::hub::server::judge::shape::Shape;
use crate::families::hub::server::judge::{envelope, token};
use crate::families::hub::server::world::World;
use crate::transcript::Kind;

vocabulary! {
    /// A property of one answer.
    enum AnswerPredicate "property" {
        "shows that the path is served" => Served,
        "takes the secret" => TakesSecret,
        "is a success over HTTP" => Success,
        "repeats the tool" => RepeatsTool,
        "is JSON" => Json,
        "has a code that fits its status" => CodeFits,
        "names the integration" => NamesIntegration,
    }
}

#[then("the Hub executes it")]
fn executes(world: &mut World) -> Step {
    world.judge_replies(|replies| replies.iter().try_for_each(envelope::is_executed))
}

#[then("the Hub refreshes it and executes the request")]
fn refreshes(world: &mut World) -> Step {
    let refreshed = world.scene()?.refreshed;
    world.judge_refusal(|reply, after| token::is_refreshed(reply, after, refreshed))
}

#[then(regex = "^the Hub answers with (a result|an error)$")]
fn answers(world: &mut World, with: String) -> Step {
    world.judge_reply(if with == "a result" { envelope::has_result } else { envelope::has_error })
}

#[then(expr = "the answer {property}")]
fn has_property(world: &mut World, property: AnswerPredicate) -> Step {
    let session = world.session()?;
    world.judge_each_reply(move |reply| match property {
        AnswerPredicate::Served => envelope::is_served(reply),
        AnswerPredicate::TakesSecret => envelope::takes_the_secret(reply),
        AnswerPredicate::Success => envelope::is_success_over_http(reply),
        AnswerPredicate::RepeatsTool => envelope::repeats_the_tool(reply),
        AnswerPredicate::Json => envelope::is_json(reply),
        AnswerPredicate::CodeFits => envelope::code_fits_status(reply),
        AnswerPredicate::NamesIntegration => {
            envelope::names_integration(reply, session.integration(reply.tool()))
        }
    })
}

#[then(expr = "the answer is the error {code}")]
fn is_error(world: &mut World, code: Code) -> Step {
    if world.judges_every() {
        let session = world.session()?;
        return world.judge_each_reply(move |reply| {
            if session.lacks(reply) && code.0 != TOOL_NOT_FOUND {
                return Err(CheckFailure::NotObserved("the Hub does not know the tool".to_owned()));
            }
            envelope::is_error(reply, code.0)
        });
    }
    if code.0 == EXTERNAL_API_ERROR && world.scene()?.refused_with.is_some() {
        // A Hub that has kept what it read before asks nothing, and nothing is refused.
        let is_refused = world.scene()?.agent.transcript.with(|frames| {
            frames.iter().any(|frame| frame.kind == Kind::Provider && frame.body.get("refused").is_some())
        });
        return world.judge_reply(|reply| {
            let reads = ["email_read", "email_search", "email_check_replies"].contains(&reply.tool());
            if reads && reply.is_executed() && !is_refused {
                return Err(Alternative::KeepsContents.seen_in(reply.answer));
            }
            envelope::is_error(reply, EXTERNAL_API_ERROR)
        });
    }
    let may_be_forgotten = code.0 == "INTEGRATION_EXPIRED" && world.session()?.has_reported_expiry();
    world.judge_reply(|reply| {
        let is_forgotten = may_be_forgotten && reply.code() == Some("INTEGRATION_NOT_CONNECTED");
        envelope::is_error(reply, if is_forgotten { "INTEGRATION_NOT_CONNECTED" } else { code.0 })
    })
}

#[then(expr = "the answer is the error {code} or {code}")]
fn is_one_of_errors(world: &mut World, code: Code, other: Code) -> Step {
    world.judge_reply(|reply| {
        envelope::is_error(reply, if reply.code() == Some(other.0) { other.0 } else { code.0 })
    })
}

#[then(expr = "the answer is not {code}")]
fn is_not_error(world: &mut World, code: Code) -> Step {
    if world.judges_every() {
        let session = world.session()?;
        return world.judge_each_reply(move |reply| {
            let missing: Vec<&str> = session.missing().iter().map(String::as_str).collect();
            envelope::is_not_error(reply, code.0, &missing)
        });
    }
    world.judge_presence(code.0)
}

#[then(expr = "the customer is served, and the other one gets {code}")]
fn served_and_error(world: &mut World, code: Code) -> Step {
    world.judge_replies(|replies| {
        // Whoever is asked for again is served again.
        replies.iter().step_by(2).try_for_each(envelope::is_executed)?;
        replies.get(1).map_or(Ok(()), |other| envelope::is_error(other, code.0))
    })
}

#[then("the other customer is served")]
fn other_is_served(world: &mut World) -> Step {
    world.judge_replies(|replies| match replies {
        [.., before, last] => {
            envelope::is_error(before, "RATE_LIMITED").map_err(super::refusal::unseen)?;
            let served = envelope::is_executed(last);
            // A failure that is not about limits, such as a provider that is given a rest, says nothing here.
            if last.is_limited() {
                served
            } else {
                last.is_no_breakdown()?;
                served.map_err(|trouble| match trouble {
                    CheckFailure::Broken(_) => Alternative::NotServed.seen_in(last.answer),
                    other => other,
                })
            }
        }
        _ => Ok(()),
    })
}

#[then(expr = "{string} is {shape}")]
fn member_is(world: &mut World, path: String, shape: Shape) -> Step {
    world.judge_each_reply(move |reply| envelope::member_is(reply, &path, shape))
}

#[then(expr = "each of {string} has {string}, {shape}")]
fn each_has(world: &mut World, list: String, name: String, shape: Shape) -> Step {
    let empty = Empty::at(world.session()?.table.stub);
    world.judge_each_reply(move |reply| envelope::each_has(reply, &list, &name, shape, empty))
}

#[then("whether the Hub is a stub is noted")]
fn stub_is_noted(world: &mut World) -> Step {
    let stub = world.session()?.table.stub;
    world.judge_reply(envelope::has_result)?;
    world.note(if stub { "the Hub answers with stub data" } else { "the Hub answers with data of its own" });
    Ok(())
}
