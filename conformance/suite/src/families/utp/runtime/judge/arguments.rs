//! What a worker makes of the model's arguments: defaults, fixed values, environment variables, templates (Guide §4).

use serde_json::Value;

use super::command;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::judge::seen::saved_cards;
use crate::families::utp::message::{Likeness, ROUNDED, likeness, mentions};
use crate::families::utp::reason::Alternative;
use crate::families::utp::revision::Revision;
use crate::families::utp::runtime::seen;
use crate::families::utp::runtime::turn::Turn;
use crate::families::utp::runtime::view::View;
use crate::families::utp::trace::Traceparent;
use crate::transcript::{Frame, Kind};

/// Arguments that the model gives of itself; no scenario replaces them.
const USUAL: [&str; 2] = ["harbour", "token"];

/// The tool.call card of the call, with the frame that saved it.
fn card<'a>(frames: &'a [Frame], view: View<'_>) -> Result<(&'a Frame, &'a Value), CheckFailure> {
    card_of(frames, command(frames, view)?)
}

/// The tool.call card of a command, with the frame that saved it.
fn card_of<'a>(frames: &'a [Frame], command: &Frame) -> Result<(&'a Frame, &'a Value), CheckFailure> {
    let id = command.text("/tool_call_card_id").unwrap_or_default();
    saved_cards(frames)
        .filter(|(_, card)| card.get("card_id").and_then(Value::as_str) == Some(id))
        .last()
        .ok_or_else(|| CheckFailure::NotObserved("the command points to no saved card".to_owned()))
}

/// Members of the arguments that the model gives unprompted, and no row replaces, are in the card of a
/// command.
pub fn conveys(frames: &[Frame], command: &Frame, revision: Revision) -> Judgement {
    let id = revision.sent(command, "tool_call_id");
    let replies = frames.iter().filter(|frame| frame.kind == Kind::ModelReply);
    let calls = replies.flat_map(|reply| reply.body["tool_calls"].as_array().into_iter().flatten());
    let calls = calls.filter(|call| call["id"].as_str() == id && id.is_some());
    let mut given: Vec<&str> =
        calls.filter_map(|call| call.pointer("/function/arguments")?.as_str()).collect();
    given.dedup();
    let [given] = given.as_slice() else {
        return Err(CheckFailure::NotObserved("no call of the model, or several, have its id".to_owned()));
    };
    let given: Value = serde_json::from_str(given).unwrap_or_default();
    let usual = USUAL.into_iter().filter_map(|name| Some((name, given.get(name)?))).collect::<Vec<_>>();
    if usual.is_empty() {
        return Err(CheckFailure::NotObserved("it is not known what the model gave".to_owned()));
    }
    let found = card_of(frames, command)?;
    if !found.1["content"]["arguments"].is_object() {
        return Err(CheckFailure::NotObserved("the card holds no arguments".to_owned()));
    }
    usual.into_iter().try_for_each(|(name, value)| holds(found, name, value))
}

/// An argument of the card has a value.
pub fn is(frames: &[Frame], view: View<'_>, name: &str, expected: &Value) -> Judgement {
    holds(card(frames, view)?, name, expected)
}

fn holds((frame, card): (&Frame, &Value), name: &str, expected: &Value) -> Judgement {
    let value = card.pointer("/content/arguments").and_then(|arguments| arguments.get(name));
    let likeness = value.map_or(Likeness::Different, |value| likeness(expected, value));
    if likeness == Likeness::Same {
        return Ok(());
    }
    let finding = Finding::new(
        format!("the argument `{name}` in the tool.call card is not what it should be"),
        "defaults count where the model leaves a parameter out (null is a value), fixed values always; \
         everything else is what the model gave",
    )
    .expected(expected.clone())
    .actual(value)
    .at(format!("/card/content/arguments/{name}"))
    .frame(frame);
    Err(if likeness == Likeness::Rounded { finding.recommended(ROUNDED) } else { finding }.into())
}

/// The card holds what the model gave in this call, where the registration adds nothing.
pub fn are_its_own(frames: &[Frame], view: View<'_>) -> Judgement {
    let members = view.call.arguments.as_object();
    members.into_iter().flatten().try_for_each(|(name, expected)| is(frames, view, name, expected))
}

/// A template variable in an argument was filled in.
pub fn is_filled(frames: &[Frame], view: View<'_>, name: &str, variable: &str) -> Judgement {
    let (frame, card) = card(frames, view)?;
    let values = values(frames, view, card, variable)?;
    let value = card.pointer("/content/arguments").and_then(|arguments| arguments.get(name));
    let filled = |own: &String| value.and_then(Value::as_str) == Some(format!("({own}) ({own})").as_str());
    if values.iter().any(filled) {
        return Ok(());
    }
    let Some(first) = values.first() else {
        return Err(Alternative::NoSuchVariable.seen_in([frame]));
    };
    let is_left = value.is_some_and(|value| value.to_string().contains(&format!("{{{variable}}}")));
    let what = if is_left { "was not filled in" } else { "was not filled in with the call's value" };
    Err(Finding::new(
        format!("`{{{variable}}}` {what}"),
        format!(
            "replace `{{{variable}}}` in strings of defaults and fixed values by the call's value, as text"
        ),
    )
    .expected(format!("({first}) ({first})"))
    .actual(value)
    .at(format!("/card/content/arguments/{name}"))
    .frame(frame)
    .into())
}

/// What a template variable stands for in every call of a turn, as the turn was asked for.
fn of_turn(turn: &Turn, variable: &str) -> Option<String> {
    let own = match variable {
        "channel_id" => &turn.channel,
        "agent_id" => &turn.agent_id,
        "agent_turn_id" => &turn.id,
        "parent_step_id" => &turn.parent_step_id,
        "context_box_id" => &turn.context_box_id,
        "trace_id" => &turn.trace.trace_id,
        _ => return None,
    };
    Some(own.clone())
}

/// A template variable was not filled in with what another turn was asked for with, wherever else the worker shows that.
pub fn is_not_of_another_turn(
    frames: &[Frame],
    view: View<'_>,
    (name, variable): (&str, &str),
    turns: &[Turn],
) -> Judgement {
    let (frame, card) = card(frames, view)?;
    let value = card.pointer("/content/arguments").and_then(|arguments| arguments.get(name));
    let own = of_turn(view.turn, variable);
    let others =
        turns.iter().filter_map(|turn| of_turn(turn, variable)).filter(|other| own.as_ref() != Some(other));
    let is_it =
        |other: &String| value.and_then(Value::as_str) == Some(format!("({other}) ({other})").as_str());
    let Some(_) = others.into_iter().find(is_it) else { return Ok(()) };
    let own = own.unwrap_or_default();
    Err(Finding::new(
        format!("`{{{variable}}}` was filled in with the value of another turn"),
        "take the ids of a call from its own turn, as it was asked for; keep none of an agent's earlier turn",
    )
    .expected(format!("({own}) ({own})"))
    .actual(value)
    .at(format!("/card/content/arguments/{name}"))
    .frame(frame)
    .into())
}

/// What a template variable may stand for: the call's value, wherever the worker shows it.
fn values(
    frames: &[Frame],
    view: View<'_>,
    card: &Value,
    variable: &str,
) -> Result<Vec<String>, CheckFailure> {
    let sent = command(frames, view)?;
    let of = |value: Option<&Value>| -> Option<String> {
        let value = value.filter(|value| !value.is_null())?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let own = match variable {
        "project_id" => Some(view.project.to_owned()),
        "turn_epoch" => of(Some(&view.turn.epoch)),
        "tool_call_id" => Some(view.call.model_id.clone()),
        _ => of_turn(view.turn, variable),
    };
    let traced = sent.headers.get("traceparent").and_then(|text| Traceparent::parse(text));
    let traced = traced.filter(|_| variable == "trace_id").map(|trace| trace.trace_id);
    let shown = [of(sent.body.get(variable)), of(card["metadata"].get(variable)), own, traced];
    let mut values: Vec<String> = shown.into_iter().flatten().collect();
    values.dedup();
    Ok(values)
}

/// The specifications that the model was shown of the tool, one for each request of whatever turn.
fn specifications<'a>(
    frames: &'a [Frame],
    view: View<'a>,
) -> Result<Vec<(&'a Frame, &'a Value)>, CheckFailure> {
    let tool = |frame: &'a Frame| {
        let tools = frame.body.get("tools")?.as_array()?;
        let named = tools.iter().find(|tool| {
            tool.pointer("/function/name") == Some(&Value::from(view.call.row.tool_name.clone()))
        });
        Some((frame, named.or_else(|| tools.iter().find(|tool| mentions(tool, "harbour")))?))
    };
    let requests = frames.iter().filter(|frame| frame.kind == Kind::Model);
    let shown: Vec<_> = requests.filter_map(tool).collect();
    if shown.is_empty() {
        return Err(CheckFailure::NotObserved("the model was offered no such tool".to_owned()));
    }
    Ok(shown)
}

/// The model is shown neither a parameter nor its value.
pub fn is_hidden(frames: &[Frame], view: View<'_>, name: &str, value: Option<&str>) -> Judgement {
    specifications(frames, view)?.into_iter().try_for_each(|shown| hides(shown, name, value))
}

fn hides((frame, tool): (&Frame, &Value), name: &str, value: Option<&str>) -> Judgement {
    let finding = |message: &str, actual: Option<&Value>, at: &str| {
        Finding::new(
            message,
            "leave fixed parameters out of `properties` and `required` of what the model is offered",
        )
        .expected(format!("nothing about `{name}`"))
        .actual(actual)
        .at(format!("/tools/…{at}"))
        .frame(frame)
    };
    let properties = tool.pointer("/function/parameters/properties");
    if properties.and_then(|all| all.get(name)).is_some() {
        let at = "/function/parameters/properties";
        return Err(finding("the model is offered a fixed parameter", properties, at).into());
    }
    let required = tool.pointer("/function/parameters/required");
    if required.and_then(Value::as_array).is_some_and(|all| all.iter().any(|own| own == name)) {
        let at = "/function/parameters/required";
        return Err(finding("the model is offered a fixed parameter as required", required, at).into());
    }
    if value.is_some_and(|value| mentions(tool, value)) {
        return Err(finding("the model is shown the value of a fixed parameter", Some(tool), "").into());
    }
    Ok(())
}

/// The card names the variable that a parameter comes from.
pub fn names_variable(frames: &[Frame], view: View<'_>, name: &str, variable: &str) -> Judgement {
    let (frame, card) = card(frames, view)?;
    if mentions(card, variable) && mentions(card, name) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the tool.call card does not say that `{name}` comes from `{variable}`"),
        "record the name of the variable for the parameter in the card, for example in `metadata.tool_args_envs`",
    )
    .expected(serde_json::json!({name: variable}))
    .actual(card.get("metadata"))
    .at("/card/metadata")
    .frame(frame)
    .into())
}

/// A secret stands in no card.
pub fn is_in_no_card(frames: &[Frame], view: View<'_>, secret: &str) -> Judgement {
    is_in_no_card_of(frames, command(frames, view)?, secret)
}

/// A secret stands in no card of a scenario in which this command was sent.
pub fn is_in_no_card_of(frames: &[Frame], command: &Frame, secret: &str) -> Judgement {
    // A worker that saves no card where the suite can see it shows nothing.
    card_of(frames, command)?;
    match saved_cards(frames).find(|(_, card)| mentions(card, secret)) {
        None => Ok(()),
        Some((frame, _)) => Err(Finding::new(
            "the value of an environment variable stands in a card",
            "write the name of the variable only; the executor reads its value when it runs the tool",
        )
        .expected("the variable's name alone")
        .at("/card")
        .frame(frame)
        .into()),
    }
}

/// An argument holds none of these texts.
pub fn brings_nothing(frames: &[Frame], view: View<'_>, name: &str, texts: &[&str]) -> Judgement {
    let (frame, card) = card(frames, view)?;
    let value = card.pointer("/content/arguments").and_then(|arguments| arguments.get(name));
    let brought = |own: &Value| texts.iter().any(|text| mentions(own, text));
    if value.is_none_or(|own| !brought(own)) {
        return Ok(());
    }
    Err(Finding::new(
        "a placeholder that is none of the ten ID fields was filled in",
        "fill in the ten ID fields of the Guide (§4) and no other name, least of all environment variables",
    )
    .expected("the text as it is, or nothing")
    .actual(value)
    .at(format!("/card/content/arguments/{name}"))
    .frame(frame)
    .into())
}

/// The model was offered this tool in a turn.
pub fn is_offered(frames: &[Frame], turn: &Turn, tool: &str) -> bool {
    let offers = |frame: &Frame| {
        let tools = frame.body.get("tools").and_then(Value::as_array);
        tools.is_some_and(|tools| {
            tools.iter().any(|own| own.pointer("/function/name") == Some(&Value::from(tool)))
        })
    };
    seen::requests_with_tools(frames, turn).any(offers)
}
