//! What a call leaves below the context root.

use cucumber::then;
use serde_json::{Value, json};

use super::Artifact;
use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::toolbus::answer;
use crate::families::toolbus::artifacts;
use crate::families::toolbus::artifacts::Form;
use crate::families::toolbus::call::{BESIDE, Probe, SECRET_PLACES};
use crate::families::toolbus::judge::{Reply, artifact, call, provenance, secret, store};
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::world::World;
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind};

/// Whether a frame is a file of the store.
pub(super) fn is_artifact(frame: &Frame) -> bool {
    frame.kind == Kind::Artifact
}

/// Looks for the artifacts of every call of the scenario.
async fn look(world: &mut World) -> Step {
    for made in world.made()? {
        world.look_for_artifacts(&made).await?;
    }
    Ok(())
}

#[then(expr = "the call leaves a {artifact} artifact")]
async fn leaves(world: &mut World, form: Artifact) -> Step {
    if world.judges_every() {
        return world.judge_each_call(move |reply| artifact::is_stored(reply, form.0));
    }
    look(world).await?;
    world.judge_call(|reply| {
        call::succeeds(reply)?;
        artifact::is_stored(reply, form.0)
    })
}

#[then("the failed call leaves artifacts")]
async fn failed_leaves(world: &mut World) -> Step {
    look(world).await?;
    world.judge_call(|reply| {
        if !reply.answer.is_failure() {
            return call::fails(reply);
        }
        artifact::is_stored(reply, Form::Context)?;
        artifact::is_stored(reply, Form::Json)
    })
}

#[then("the uri leads to a JSON document below the context root")]
async fn uri_resolves(world: &mut World) -> Step {
    look(world).await?;
    world.judge_call(artifact::uri_resolves)
}

#[then(expr = "the {artifact} artifact lies where its ids say")]
async fn has_form(world: &mut World, form: Artifact) -> Step {
    if world.judges_every() {
        world.only_calls_with("trace_id".to_owned())?;
        world.only_calls_with("span_id".to_owned())?;
        return judge_each_artifact(world, form.0, move |reply| artifact::has_its_form(reply, form.0));
    }
    look(world).await?;
    world.judge_call(|reply| artifact::has_its_form(reply, form.0))
}

#[then("the text artifact can be read by a person")]
async fn readable(world: &mut World) -> Step {
    judge_artifact(world, Form::Context, artifact::is_readable).await
}

#[then("the JSON artifact is one JSON document")]
async fn is_json(world: &mut World) -> Step {
    if world.judges_every() {
        return judge_each_artifact(world, Form::Json, artifact::is_json);
    }
    world.judge_call(call::gives_what_is_large)?;
    look(world).await?;
    world.judge_call(artifact::is_json)
}

#[then("each call has its own artifacts")]
async fn artifacts_differ(world: &mut World) -> Step {
    look(world).await?;
    world.judge_pair(artifact::are_apart)
}

#[then("its artifacts are unchanged")]
async fn unchanged(world: &mut World) -> Step {
    let before = std::mem::take(&mut world.remembered);
    let seen = world.scene()?.frames().len();
    look(world).await?;
    let after: Vec<Frame> = world.scene()?.frames().into_iter().skip(seen).filter(is_artifact).collect();
    world.judge_call(|reply| artifact::is_unchanged(reply, &before, &after))
}

#[then(expr = "the {artifact} artifacts are bounded")]
async fn bounded(world: &mut World, form: Artifact) -> Step {
    look(world).await?;
    let limit = world.session()?.table.bounded_limit;
    world.judge_pair(|small, large| artifact::is_bounded(small, large, form.0, limit))
}

#[then(expr = "the {artifact} artifact does not hold the secret under {string}")]
async fn holds_no_secret(world: &mut World, form: Artifact, place: String) -> Step {
    look(world).await?;
    let markers = world.scene()?.markers.clone();
    let session = world.session()?;
    let call = Probe::Secret.table(&session.table);
    world.judge_call(|reply| {
        store::gives_what_was_kept(reply, session.table.value_pointer())?;
        [place.as_str(), "marker"]
            .into_iter()
            .try_for_each(|place| artifact::holds_no_secret(reply, form.0, &markers.at(place)))?;
        secret::is_handled(reply, call.as_ref())
    })
}

#[then(expr = "the {artifact} artifact holds no secret of the call's arguments")]
fn holds_no_secret_of_its_arguments(world: &mut World, form: Artifact) -> Step {
    judge_secrets(world, move |reply, marker| {
        artifact::was_read(reply, form.0)?;
        artifact::holds_no_secret(reply, form.0, marker)
    })
}

/// Has every artifact of a form judged that a call of the run left. That one is missing is a rule of its own.
fn judge_each_artifact(
    world: &mut World,
    form: Form,
    judgement: impl Fn(&Reply<'_>) -> Judgement + Send + Sync + 'static,
) -> Step {
    world.judge_each_call(move |reply| artifact::was_read(reply, form).and_then(|()| judgement(reply)))
}

/// Has the artifact of the call judged, or that of each call of the run.
async fn judge_artifact(world: &mut World, form: Form, judgement: fn(&Reply<'_>) -> Judgement) -> Step {
    if world.judges_every() {
        return judge_each_artifact(world, form, judgement);
    }
    look(world).await?;
    world.judge_call(judgement)
}

/// Has every secret that a call of the run was given judged, unless its caller breaks the glass.
fn judge_secrets(
    world: &mut World,
    judgement: impl Fn(&Reply<'_>, &str) -> Judgement + Send + Sync + 'static,
) -> Step {
    let session = world.session()?;
    let flag = session.table.probes.break_glass.as_ref().map(|own| own.flag.clone()).unwrap_or_default();
    world.judge_each_call(move |reply| {
        let arguments = &reply.made.call.arguments;
        if arguments.get(&flag).is_some_and(|set| set == true) {
            return Err(CheckFailure::NotObserved("the caller asks for secrets".to_owned()));
        }
        secret::of_arguments(arguments)?.into_iter().try_for_each(|marker| judgement(reply, &marker))
    })
}

#[then("the response shows no secret of the call's arguments")]
fn shows_no_secret_of_its_arguments(world: &mut World) -> Step {
    judge_secrets(world, |reply, marker| {
        call::succeeds(reply)?;
        secret::is_not_in_the_response(reply, marker, "the response")
    })
}

#[then("the JSON artifact is of the call")]
async fn is_of_the_call(world: &mut World) -> Step {
    judge_artifact(world, Form::Json, provenance::is_of_its_call).await
}

#[then("each JSON artifact is of its own call")]
async fn are_of_their_calls(world: &mut World) -> Step {
    look(world).await?;
    world.judge_pair(provenance::are_of_their_calls)
}

#[then("its uri has the contract's form")]
fn uri_has_form(world: &mut World) -> Step {
    judge_each_artifact(world, Form::Json, artifact::uri_has_its_form)
}

#[then("neither the response nor an artifact holds a secret")]
async fn nowhere(world: &mut World) -> Step {
    if world.judges_every() {
        return judge_secrets(world, |reply, marker| {
            secret::is_not_in_the_response(reply, marker, "the response")?;
            let forms = [Form::Context, Form::Json].into_iter();
            let mut kept = forms.filter(|form| !artifact::of(reply, *form).is_empty());
            kept.try_for_each(|form| artifact::holds_no_secret(reply, form, marker))
        });
    }
    look(world).await?;
    let session = world.session()?;
    let markers = world.scene()?.markers.clone();
    let tried = ask_for_what_is_beside(world).await?;
    world.judge_call(|reply| {
        let mut places = SECRET_PLACES.to_vec();
        places.push("marker");
        for marker in places.into_iter().map(|place| markers.at(place)) {
            secret::is_not_in_the_response(reply, &marker, "the response")?;
            for form in [Form::Context, Form::Json] {
                // A call that was refused may leave nothing.
                if !artifact::of(reply, form).is_empty() {
                    artifact::holds_no_secret(reply, form, &marker)?;
                }
            }
        }
        if let Some(tried) = tried {
            return secret::is_reached(reply, tried);
        }
        let probe = reply.made.call.probe.and_then(|probe| probe.table(&session.table));
        secret::is_handled(reply, probe.as_ref())
    })
}

/// Asks by `output` for what stands beside the secret in its place; nothing where the call has no `output`.
async fn ask_for_what_is_beside(world: &mut World) -> Result<Option<i64>, Abort> {
    let made = world.made()?;
    let mut call = made[made.len() - 1].call.clone();
    let Some(output) = call.arguments.get("output") else { return Ok(None) };
    let beside = SECRET_PLACES.iter().fold(output.to_string(), |text, place| text.replace(place, BESIDE.0));
    call.arguments.insert("output".to_owned(), serde_json::from_str(&beside).unwrap_or_default());
    Ok(Some(world.scene()?.try_out(call).await.id))
}

#[then("no artifact holds the secret of its arguments")]
async fn no_argument(world: &mut World) -> Step {
    look(world).await?;
    let marker = world.scene()?.markers.at("password");
    world.judge_call(|reply| {
        let forms = [Form::Context, Form::Json];
        let kept: Vec<Form> =
            forms.into_iter().filter(|form| !artifact::of(reply, *form).is_empty()).collect();
        if kept.is_empty() {
            return Err(Alternative::NoArtifacts.seen_in(answer::frame(reply.frames, reply.made.id)));
        }
        kept.into_iter().try_for_each(|form| artifact::holds_no_secret(reply, form, &marker))
    })
}

#[then("whether secrets are shown is noted")]
fn secrets_are_noted(world: &mut World) -> Step {
    let marker = world.scene()?.markers.at("marker");
    let made = world.made()?;
    let frames = world.scene()?.frames();
    let answer = crate::families::toolbus::answer::of(&frames, made[made.len() - 1].id);
    let shown = answer.shown().to_string().contains(&marker);
    world.note(if shown { "the flag shows secrets" } else { "the flag shows nothing more" });
    Ok(())
}

#[then("nothing is written outside the context root")]
async fn stays_inside(world: &mut World) -> Step {
    let session = world.session()?;
    let made = world.made()?;
    let outside = artifacts::escaped(world.scene()?, &made[made.len() - 1], session.wire());
    let leaves = leaves_artifacts(world).await?;
    world.judge_call(|reply| {
        if !reply.answer.is_failure() {
            call::succeeds(reply)?;
        }
        artifact::stays_inside(reply, &outside, leaves)
    })
}

/// Whether a plain call of the same server leaves an artifact below the root.
async fn leaves_artifacts(world: &mut World) -> Result<bool, Abort> {
    let scene = world.scene()?;
    let Some(mut call) = scene.prepare(Probe::Echo, json!({"note": "afterwards"})) else { return Ok(false) };
    for name in ["trace_id", "span_id"] {
        let id = scene.id("plain");
        call.arguments.insert(name.to_owned(), Value::from(id));
    }
    let made = scene.try_out(call).await;
    world.look_for_artifacts(&made).await?;
    let found = made.id.to_string();
    let frames = world.scene()?.frames();
    Ok(frames.iter().any(|frame| is_artifact(frame) && frame.headers.get(CALL) == Some(&found)))
}
