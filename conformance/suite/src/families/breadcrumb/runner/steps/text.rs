//! Inputs that are easily altered on their way.

use cucumber::{given, then};
use serde_json::{Value, json};

use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::reason::Undeclared;
use crate::families::breadcrumb::runner::call::{Call, filled};
use crate::families::breadcrumb::runner::fixtures;
use crate::families::breadcrumb::runner::judge::outcome;
use crate::families::breadcrumb::runner::scene::Scene;
use crate::families::breadcrumb::runner::world::World;
use crate::transcript::Frame;

vocabulary! {
    /// A text that is easily altered.
    pub(super) enum Text "text" {
        "many scripts" => Scripts,
        "two normal forms" => NormalForms,
        "quotes and backslashes" => Quotes,
        "a variable" => Variable,
        "digits" => Digits,
        "a zero" => Zero,
        "a truth value" => Truth,
        "JSON" => Json,
        "blanks around it" => Blanks,
        "blank lines" => Lines,
        "control characters" => Controls,
        "markup" => Markup,
        "20 kB" => Long,
    }
}

impl Text {
    fn text(self) -> String {
        match self {
            Self::Scripts => "Zażółć gęślą jaźń — 水と火 — שלום — 👩\u{200d}🚀𝄞".to_owned(),
            Self::NormalForms => "e\u{301}te\u{301} and \u{e9}t\u{e9}, \u{fb01}n and fin".to_owned(),
            Self::Quotes => r#"He said "C:\new\table" and 'it''s' `so` \u0041 \\ /"#.to_owned(),
            Self::Variable => "${not.a.var} {{neither}} %s $1 {0} <this>".to_owned(),
            Self::Digits => "0042.10".to_owned(),
            Self::Zero => "0".to_owned(),
            Self::Truth => "true".to_owned(),
            Self::Json => r#"{"a": 1}"#.to_owned(),
            Self::Blanks => "  \tthree words  here\t ".to_owned(),
            Self::Lines => "\nfirst\r\n\n  second\n\n".to_owned(),
            Self::Controls => "bell \u{7} escape \u{1b}[31m delete \u{7f} mark \u{feff} end".to_owned(),
            Self::Markup => "<b>5 &lt; 6</b> & <script>no()</script> **bold** %20+".to_owned(),
            Self::Long => (1..=1_820).fold(String::new(), |text, number| format!("{text}line {number}; ")),
        }
    }
}

#[given(expr = "a call of echo with {text}")]
async fn echo(world: &mut World, text: Text) -> Step {
    let mut call = super::arrange::usual(world, "echo").await?;
    let scene = world.scene()?;
    let template = scene.session.table.inputs.template("echo", None);
    call.input = Some(filled(&template, &[("message", Value::from(text.text()))]));
    scene.calls.push(call);
    Ok(())
}

#[then(expr = "the tool has received {text} as it was")]
fn received(world: &mut World, text: Text) -> Step {
    world.judge_answers(|call, answer| outcome::text_unaltered(call, &text.text(), answer))
}

vocabulary! {
    /// A context that is easily altered.
    enum Context "context_content" {
        "nested values and numbers" => Values,
        "names that are easily altered" => Names,
    }
}

impl Context {
    fn value(self) -> Value {
        match self {
            Self::Values => values(),
            Self::Names => names(),
        }
    }
}

vocabulary! {
    /// What stores a breadcrumb.
    enum Maker "crumb_maker" {
        "a call" => Call,
        "a workflow whose step is a call" => Workflow,
    }
}

#[given(expr = "{crumb_maker} of breadcrumb-create with {context_content}")]
fn nested(world: &mut World, maker: Maker, context: Context) -> Step {
    let scene = world.scene()?;
    let mut context = context.value();
    if matches!(maker, Maker::Workflow) && context.get("text").is_some() {
        // What looks like a reference stands for the output of another step there.
        context["text"] = json!("Zażółć");
    }
    scene.fixtures.context.clone_from(&context);
    let words = [
        ("schema_name", json!("memo.v1")),
        ("title", Value::from(title(scene))),
        ("tags", json!(["memo"])),
        ("context", context),
    ];
    let input = filled(&scene.session.table.inputs.template("breadcrumb-create", None), &words);
    let call = match maker {
        Maker::Call => Call { input: Some(input), ..scene.usual_call("breadcrumb-create") },
        Maker::Workflow => {
            let keep = fixtures::Step { input, ..scene.step("keep", "breadcrumb-create", "", "") };
            scene.workflow(vec![keep])
        }
    };
    scene.calls.push(call);
    Ok(())
}

#[then("the breadcrumb that it stores holds them as they were")]
async fn stored(world: &mut World) -> Step {
    let scene = world.scene()?;
    let (title, context) = (title(scene), scene.fixtures.context.clone());
    // A store may report the answer ahead of it.
    let is_there = |frames: &[Frame]| outcome::stored_as(frames, &title).map(drop);
    scene.scenario_channel.transcript.wait(scene.session.window(), is_there).await;
    let is_made = world.session()?.table.catalog.contains("breadcrumb-create");
    if !is_made {
        return Err(world.abort(Undeclared::CatalogTool.of("breadcrumb-create")));
    }
    world.judge_calls(|frames, _| outcome::context_unaltered(frames, &title, &context))
}

fn title(scene: &Scene) -> String {
    scene.session.named(&format!("Nested {}", scene.unique))
}

/// Names of members that are easily altered, or taken for something else.
fn names() -> Value {
    json!({
        "": "no name",
        " ": "a blank",
        "two words": 1,
        " around ": 2,
        "a.b.c": 3,
        "ключ": 4,
        "e\u{301}": 5,
        "camelCase": 6,
        "snake_case": 7,
        "kebab-case": 8,
        "UPPER": 9,
        "7": 10,
        "deep": {"": [{"": {" ": true}}], "Many Names.of_a-kind": [{"水 Level": "x"}]},
    })
}

/// Values that are easily altered.
fn values() -> Value {
    json!({
        "text": "Zażółć ${not.a.var}",
        "whole": 9_007_199_254_740_991_u64,
        "large": 12_345_678_901_234_567_890_u64,
        "negative": -17,
        "fraction": 0.1,
        "small": 1.5e-7,
        "quarter": -0.25,
        "digits": "0042",
        "none": null,
        "no": false,
        "zero": 0,
        "nothing": "",
        "empty": {},
        "nobody": [],
        "list": [[1, [2.5, "three"]], [], {"a.b": {"c d": [null, true, {"é": "水"}]}}],
    })
}
