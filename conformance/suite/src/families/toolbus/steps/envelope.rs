//! The form of the response, and what stands in the envelope.

use cucumber::{Parameter, then};

use crate::engine::judge::CheckFailure;
use crate::engine::world::Step;
use crate::families::toolbus::answer;
use crate::families::toolbus::judge::{artifact, call, envelope, shape};
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::world::World;

/// A property of one response.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "form",
    regex = "has one content block|is a text block|is strict JSON|names the tool|has its action|has its trace|has the stable keys"
)]
enum EnvelopePredicate {
    OneBlock,
    Text,
    StrictJson,
    Tool,
    Action,
    Trace,
    StableKeys,
}

impl std::str::FromStr for EnvelopePredicate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "has one content block" => Self::OneBlock,
            "is a text block" => Self::Text,
            "is strict JSON" => Self::StrictJson,
            "names the tool" => Self::Tool,
            "has its action" => Self::Action,
            "has its trace" => Self::Trace,
            "has the stable keys" => Self::StableKeys,
            other => return Err(format!("`{other}` is no property of a response")),
        })
    }
}

#[then(expr = "the response {form}")]
fn response(world: &mut World, property: EnvelopePredicate) -> Step {
    let session = world.session()?;
    world.judge_call(call::gives_what_is_large)?;
    world.judge_call(|reply| match property {
        EnvelopePredicate::OneBlock => envelope::has_one_block(reply),
        EnvelopePredicate::Text => envelope::is_text(reply),
        EnvelopePredicate::StrictJson => envelope::is_strict_json(reply),
        EnvelopePredicate::Tool => {
            let aliases = session.table.tool_aliases.get(reply.tool()).cloned().unwrap_or_default();
            envelope::names_its_tool(reply, &aliases)
        }
        EnvelopePredicate::Action => envelope::has_its_action(reply),
        EnvelopePredicate::Trace => envelope::has_its_trace(reply),
        EnvelopePredicate::StableKeys => envelope::has_the_stable_keys(reply),
    })
}

#[then(expr = "the trace has the call's {string}")]
fn trace_has(world: &mut World, name: String) -> Step {
    world.judge_call(|reply| envelope::returns_the_id(reply, &name))
}

#[then("the envelope carries the value")]
fn carries_value(world: &mut World) -> Step {
    world.judge_call(envelope::carries_the_result)
}

#[then("the envelopes have the same keys")]
fn same_keys(world: &mut World) -> Step {
    world.judge_pair(envelope::have_the_same_keys)
}

#[then("the envelopes are alike")]
fn alike(world: &mut World) -> Step {
    world.judge_pair(|first, second| {
        envelope::are_alike(
            first,
            second,
            "without `response_mode` answer as with `ai`, whatever was asked before",
        )
    })
}

#[then("the second envelope is not trimmed")]
fn not_trimmed(world: &mut World) -> Step {
    world.judge_pair(envelope::is_not_trimmed)
}

#[then("the result is still the value")]
fn still_the_value(world: &mut World) -> Step {
    let base = world.session()?.value_base.clone();
    world.judge_call(|reply| match reply.result()? {
        Some(_) => shape::is_echoed(reply, &base),
        // Trimming is reserved, so that nothing is there is the business of another rule.
        None => Err(Alternative::LeavesResultOut.seen_in(answer::frame(reply.frames, reply.made.id))),
    })
}

#[then("the answer is an error or strict JSON")]
fn error_or_json(world: &mut World) -> Step {
    world.judge_call(envelope::knows_no_other_form)
}

#[then("the texts are bounded")]
fn bounded(world: &mut World) -> Step {
    let limit = world.session()?.table.bounded_limit;
    world.judge_pair(|small, large| envelope::is_bounded(small, large, limit))
}

#[then("the calls have different artifacts")]
fn different_artifacts(world: &mut World) -> Step {
    world.judge_pair(|first, second| {
        let uri = |reply: &crate::families::toolbus::judge::Reply<'_>| {
            Ok::<_, CheckFailure>(
                reply.envelope()?.get("artifact_uri_json").filter(|uri| uri.is_string()).cloned(),
            )
        };
        let (Some(left), Some(right)) = (uri(first)?, uri(second)?) else {
            // With a context root each envelope names one, by another rule.
            let message = "the calls name no artifacts to tell them apart by";
            return Err(CheckFailure::NotObserved(message.to_owned()));
        };
        let hint = "give each call without ids a span id of its own";
        envelope::differ(second.finding("two calls without ids share their artifact", hint), &left, &right)
    })
}

#[then("the envelope points at a JSON artifact")]
fn points_at_json(world: &mut World) -> Step {
    world.judge_call(artifact::uri_is_told)
}

#[then("the envelope points at no artifact")]
fn points_at_nothing(world: &mut World) -> Step {
    world.judge_call(artifact::uri_is_not_told)
}

#[then("the envelope says what comes next")]
fn says_next(world: &mut World) -> Step {
    let pointer = hint_pointer(world)?;
    world.judge_call(|reply| envelope::hints(reply, &pointer).map(|_| ()))
}

#[then("both envelopes say it in the same form")]
fn says_next_alike(world: &mut World) -> Step {
    let pointer = hint_pointer(world)?;
    world.judge_pair(|first, second| envelope::hints_alike(first, second, &pointer))
}

fn hint_pointer(world: &mut World) -> Result<String, crate::engine::world::Abort> {
    let session = world.session()?;
    Ok(session.table.probes.partial.as_ref().map(|own| own.hint_pointer.clone()).unwrap_or_default())
}
