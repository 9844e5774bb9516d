//! What is given.

use cucumber::given;
use serde_json::{Value, json};

use crate::engine::parameters::{Json, vocabulary};
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::breadcrumb::reason::Undeclared;
use crate::families::breadcrumb::runner::call::{Call, filled};
use crate::families::breadcrumb::runner::observed::EveryAnsweredCall;
use crate::families::breadcrumb::runner::world::World;

vocabulary! {
    /// A call that cannot succeed.
    pub(super) enum Failing "failing" {
        "an expression that breaks off" => BreaksOff,
        "an open bracket" => OpenBracket,
        "words for an expression" => Words,
        "a word behind a number" => Apples,
        "a bracket too many" => ClosingBracket,
        "a word for seconds" => Seconds,
        "an update of nothing" => Update,
        "a tool that nobody has" => Unknown,
        "no expression" => NoExpression,
        "another name for the expression" => OtherName,
    }
}

vocabulary! {
    /// What a `requestId` looks like.
    pub(super) enum CallForm "form" {
        "llm-001" => Llm,
        "calc-1" => Calc,
        "search-abc" => Search,
        "s1" => Short,
        "a UUID" => Uuid,
        "one with a colon" => Colon,
        "one in capitals" => Capitals,
        "one with other letters" => Letters,
        "one of 120 signs" => Long,
        "one like a path" => Path,
        "one of digits" => Digits,
    }
}

impl CallForm {
    /// An id of the form. A target may remember ids, so each has the scenario's mark.
    fn id(self, mark: &str) -> String {
        match self {
            Self::Llm => format!("llm-001{mark}"),
            Self::Calc => format!("calc-1{mark}"),
            Self::Search => format!("search-abc-{mark}"),
            Self::Short => format!("s1{mark}"),
            Self::Uuid => format!("7d9f2c10-5b3e-4a61-8c0f-{mark}"),
            Self::Colon => format!("call:{mark}:1"),
            Self::Capitals => format!("CALC-One-{mark}-X"),
            Self::Letters => format!("запрос-é-{mark}"),
            Self::Long => format!("cal{}-{mark}", "call".repeat(26)),
            Self::Path => format!("a/b.c#d?e=f&g+h%20{mark}"),
            Self::Digits => u64::from_str_radix(mark, 16).unwrap_or_default().to_string(),
        }
    }
}

vocabulary! {
    /// Whom the result is for.
    pub(super) enum ForTheUser "for_the_user" {
        " for the user" => Yes,
        "" => No,
    }
}

impl ForTheUser {
    pub(super) fn aim(self, call: Call) -> Call {
        match self {
            Self::Yes => Call { return_to_llm: Some(false), ..call },
            Self::No => call,
        }
    }
}

#[given("every answered call of the run")]
fn every_answered_call(world: &mut World) {
    world.judge_every(EveryAnsweredCall);
}

#[given("a tool runner")]
fn runner(world: &mut World) -> Step {
    world.open()
}

#[given(expr = "a call of {word}{for_the_user}")]
async fn call(world: &mut World, tool: String, for_the_user: ForTheUser) -> Step {
    let call = usual(world, &tool).await?;
    world.scene()?.calls.push(for_the_user.aim(call));
    Ok(())
}

#[given("a call")]
fn harmless(world: &mut World) -> Step {
    let scene = world.scene()?;
    let call = scene.harmless();
    scene.calls.push(call);
    Ok(())
}

#[given(expr = "{int} calls")]
fn several(world: &mut World, number: usize) -> Step {
    for _ in 0..number {
        harmless(world)?;
    }
    Ok(())
}

#[given("a call with a configuration")]
async fn configured(world: &mut World) -> Step {
    let mut call = world.scene()?.harmless();
    let kept = world.scene()?.keep_plain_config(call.tool()).await;
    call.config_id = Some(world.reached(kept)?);
    world.scene()?.calls.push(call);
    Ok(())
}

#[given("calls of all further tools")]
async fn further(world: &mut World) -> Step {
    let tools: Vec<String> = world.session()?.table.extra.keys().cloned().collect();
    for tool in tools {
        let call = usual(world, &tool).await?;
        world.scene()?.calls.push(call);
    }
    Ok(())
}

#[given(expr = "a call with {failing}{for_the_user}")]
async fn bad_call(world: &mut World, failing: Failing, for_the_user: ForTheUser) -> Step {
    let call = failing_call(world, failing).await?;
    world.scene()?.calls.push(for_the_user.aim(call));
    Ok(())
}

#[given(expr = "{int} calls with {failing}")]
async fn bad_calls(world: &mut World, number: usize, failing: Failing) -> Step {
    for _ in 0..number {
        let call = failing_call(world, failing).await?;
        world.scene()?.calls.push(call);
    }
    Ok(())
}

#[given(expr = "its {word} is {json}")]
fn member(world: &mut World, name: String, value: Json) -> Step {
    let call = last(world)?;
    match (name.as_str(), value.0) {
        ("tool", Value::String(tool)) => call.tool = Some(tool),
        (_, value) => call.odd.push((name, Some(value))),
    }
    Ok(())
}

#[given(expr = "it has no {word}")]
fn no_member(world: &mut World, name: String) -> Step {
    last(world)?.odd.push((name, None));
    Ok(())
}

#[given(expr = "its id is {form}")]
fn id_of_a_form(world: &mut World, form: CallForm) -> Step {
    let scene = world.scene()?;
    let id = form.id(&scene.unique);
    if matches!(form, CallForm::Digits) {
        scene.session.router.know_by(id.clone(), &scene.scenario_channel);
        scene.fixtures.number = Some(id.clone());
    }
    last(world)?.request_id = Some(id);
    Ok(())
}

#[given("it is made in another session")]
fn in_another_session(world: &mut World) -> Step {
    last(world)?.is_in_another_session = true;
    Ok(())
}

#[given("the message says nothing to the user")]
fn says_nothing(world: &mut World) -> Step {
    world.scene()?.fixtures.is_wordless = true;
    Ok(())
}

/// A usual call of a tool that the target has, with what it needs beforehand.
pub(super) async fn usual(world: &mut World, tool: &str) -> Result<Call, Abort> {
    let table = &world.session()?.table;
    if !table.catalog.contains(tool) && !table.extra.contains_key(tool) {
        return Err(world.abort(Undeclared::CatalogTool.of(tool)));
    }
    let call = world.scene()?.usual_call(tool);
    if tool != "breadcrumb-update" {
        return Ok(call);
    }
    let kept = world.scene()?.keep_memo().await;
    let id = world.reached(kept)?;
    update(world, call, &id)
}

fn update(world: &mut World, call: Call, id: &str) -> Result<Call, Abort> {
    let scene = world.scene()?;
    let title = scene.session.named(&format!("Pump log two {}", scene.unique));
    let words = [("id", Value::from(id)), ("title", Value::from(title)), ("version", json!(1))];
    let input = filled(&scene.session.table.inputs.template("breadcrumb-update", None), &words);
    Ok(Call { input: Some(input), ..call })
}

async fn failing_call(world: &mut World, failing: Failing) -> Result<Call, Abort> {
    let tool = match failing {
        Failing::Seconds => "timer",
        Failing::Update => "breadcrumb-update",
        Failing::Unknown => {
            let scene = world.scene()?;
            return Ok(Call::new("no-such-tool", json!({}), scene.request_id("no-such-tool")));
        }
        _ => "calculator",
    };
    let call = usual(world, tool).await?;
    let input = match failing {
        Failing::BreaksOff => json!({"expression": "31 +"}),
        Failing::OpenBracket => json!({"expression": "(31 + 11"}),
        Failing::Words => json!({"expression": "no arithmetic here"}),
        Failing::Apples => json!({"expression": "31 apples"}),
        Failing::ClosingBracket => json!({"expression": "31 + 11)"}),
        Failing::NoExpression => json!({}),
        Failing::OtherName => json!({"expr": "31 + 11"}),
        Failing::Seconds => {
            let template = world.session()?.table.inputs.template("timer", None);
            filled(&template, &[("seconds", json!("soon"))])
        }
        Failing::Update | Failing::Unknown => {
            return update(world, call, "6b1f0d2e-0000-4000-8000-9c4e57a1b3d8");
        }
    };
    Ok(Call { input: Some(input), sign: None, ..call })
}

/// The call that was prepared last.
fn last(world: &mut World) -> Result<&mut Call, Abort> {
    if world.scene()?.calls.is_empty() {
        return Err(world.suite_fault("no step prepared a call (`Given a call …`)"));
    }
    world.scene()?.calls.last_mut().ok_or(Abort)
}
