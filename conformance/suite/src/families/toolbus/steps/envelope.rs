//! The form of the response, and what stands in the envelope.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::toolbus::answer;
use crate::families::toolbus::judge::{artifact, call, envelope, shape};
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::world::World;

vocabulary! {
    /// A property of one response.
    enum EnvelopePredicate "form" {
        "has one content block" => OneBlock,
        "is a text block" => Text,
        "is strict JSON" => StrictJson,
        "names the tool" => Tool,
        "has its action" => Action,
        "has its trace" => Trace,
        "has the stable keys" => StableKeys,
    }
}

vocabulary! {
    /// What one envelope holds.
    enum EnvelopeContent "envelope_content" {
        "carries the value" => Value,
        "points at a JSON artifact" => Uri,
        "points at no artifact" => NoUri,
        "says what comes next" => Hint,
    }
}

vocabulary! {
    /// How two envelopes compare.
    enum EnvelopeLikeness "envelope_likeness" {
        "have the same keys" => SameKeys,
        "are alike" => Alike,
    }
}

#[then(expr = "the response {form}")]
fn response(world: &mut World, property: EnvelopePredicate) -> Step {
    let session = world.session()?;
    world.judge_each_call(call::gives_what_is_large)?;
    world.judge_each_call(move |reply| match property {
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
    world.judge_each_call(move |reply| envelope::returns_the_id(reply, &name))
}

#[then(expr = "the trace has the call's {string}, where the server takes it")]
fn trace_has_what_is_taken(world: &mut World, name: String) -> Step {
    world.judge_call(|reply| {
        call::keeps_its_ids(reply, true)?;
        envelope::returns_the_id(reply, &name)
    })
}

#[then(expr = "the envelope {envelope_content}")]
fn envelope_has(world: &mut World, content: EnvelopeContent) -> Step {
    let pointer = hint_pointer(world)?;
    world.judge_call(|reply| match content {
        EnvelopeContent::Value => envelope::carries_the_result(reply),
        EnvelopeContent::Uri => artifact::names_uri(reply),
        EnvelopeContent::NoUri => artifact::names_no_uri(reply),
        EnvelopeContent::Hint => envelope::hints(reply, &pointer).map(|_| ()),
    })
}

#[then(expr = "the envelopes {envelope_likeness}")]
fn envelopes_are(world: &mut World, likeness: EnvelopeLikeness) -> Step {
    world.judge_pair(|first, second| match likeness {
        EnvelopeLikeness::SameKeys => envelope::have_the_same_keys(first, second),
        EnvelopeLikeness::Alike => envelope::are_alike(
            first,
            second,
            "without `response_mode` answer as with `ai`, whatever was asked before",
        ),
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
    world.judge_all(artifact::have_uris_of_their_own)
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
