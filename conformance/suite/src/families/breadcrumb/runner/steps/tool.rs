//! What tools are asked, and what they bring.

use std::str::FromStr;
use std::time::Duration;

use cucumber::{Parameter, given, then};
use serde_json::{Value, json};

use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::breadcrumb::manifest::LANGUAGE_MODELS;
use crate::families::breadcrumb::runner::call::Call;
use crate::families::breadcrumb::runner::fixtures;
use crate::families::breadcrumb::runner::fixtures::{Act, Conversation, MEMO_TITLE};
use crate::families::breadcrumb::runner::judge::{browser, crumbs, failure, model, outcome, tool, utility};
use crate::families::breadcrumb::runner::pages::Page;
use crate::families::breadcrumb::runner::steps::arrange::ForTheUser;
use crate::families::breadcrumb::runner::upstream::{Speech, UpstreamFault};
use crate::families::breadcrumb::runner::world::World;

vocabulary! {
    /// What a tool's output is.
    enum OutputPredicate "output_predicate" {
        "has the members of its schema" => Schema,
        "has the text of the reply" => Content,
        "names the model" => Model,
        "has the number of tokens" => Tokens,
        "has a cost that is an amount" => CostIsAmount,
        "has a cost" => Cost,
        "has a number" => Number,
        "is the message" => Message,
        "says how long it waited" => Waited,
        "comes when the time is over, where the tool takes a fraction" => OnTimeIfTaken,
        "comes when the time is over" => OnTime,
        "names a breadcrumb that the store holds" => Created,
        "names the only breadcrumb that was stored for the call" => CreatedOnce,
        "names a breadcrumb with nothing of another call" => CreatedApart,
        "is a success" => Success,
        "has the version of the store" => Version,
        "has all that was stored" => Found,
        "counts its results" => Counted,
        "is the page" => Page,
        "has the text of the page" => PageText,
        "says that it clicked" => Clicked,
        "names the file of an image" => Image,
        "has the title of the page" => PageTitle,
        "is the work of the tool that was named" => Named,
    }
}

#[given(expr = "a valid call of {act}{for_the_user}")]
async fn valid_call(world: &mut World, act: Act, for_the_user: ForTheUser) -> Step {
    let call = world.scene()?.valid_call(&act).await;
    let mut call = world.reached(call)?;
    if matches!(for_the_user, ForTheUser::Yes) {
        let scene = world.scene()?;
        call.sign = match act.tool.as_str() {
            _ if act.is_model() => Some(Value::from(Speech::of(&scene.unique).word())),
            // Whoever reads what was found may be shown ids or titles.
            "breadcrumb-search" => {
                let id = scene.fixtures.stored.first();
                id.map(|id| json!([id, format!("{MEMO_TITLE}1 of {}", scene.unique)]))
            }
            _ => call.sign,
        };
    }
    push(world, for_the_user.aim(call))
}

#[given(expr = "a valid call of {act} in which {conversation}")]
async fn call_with_conversation(world: &mut World, act: Act, conversation: Conversation) -> Step {
    let call = world.scene()?.valid_call(&act).await;
    let mut call = world.reached(call)?;
    let messages = conversation.messages(call.id());
    if let Some(input) = &mut call.input {
        fixtures::replace_messages(input, &messages);
    }
    push(world, call)
}

#[given(expr = "a call of {act} that fails")]
async fn failing(world: &mut World, act: Act) -> Step {
    let call = world.scene()?.failing_call(&act).await;
    let call = world.reached(call)?;
    push(world, call)
}

#[given(expr = "a call of calculator for {string}")]
fn calculation(world: &mut World, expression: String) -> Step {
    let call = world.scene()?.calculation(&expression);
    push(world, call)
}

#[given(expr = "a call of echo for {string}")]
fn echo(world: &mut World, message: String) -> Step {
    let call = world.scene()?.echo(&message);
    push(world, call)
}

#[given("a stored breadcrumb")]
async fn breadcrumb(world: &mut World) -> Step {
    let stored = world.scene()?.shelve_memo().await;
    world.reached(stored)?;
    Ok(())
}

#[given(expr = "a call of astral to run the script {string}")]
fn evaluation(world: &mut World, script: String) -> Step {
    let call = world.scene()?.script(&script);
    let call = world.reached(call)?;
    push(world, call)
}

#[given(expr = "a search for {int} stored breadcrumbs")]
async fn search(world: &mut World, number: usize) -> Step {
    let call = world.scene()?.search_of(number).await;
    let call = world.reached(call)?;
    push(world, call)
}

vocabulary! {
    /// How long a timer waits.
    enum Longer "longer" {
        "twice the time" => Twice,
        "half as long again" => Half,
    }
}

#[given(expr = "a call of timer for {longer}")]
fn long_timer(world: &mut World, longer: Longer) -> Step {
    let scene = world.scene()?;
    let call = match longer {
        Longer::Twice => scene.long_timer(),
        Longer::Half => scene.fractional_timer(),
    };
    push(world, call)
}

/// What a provider does, as features name it.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(
    name = "provider_answer",
    regex = "status [0-9]+|an error in place of a reply|a page of HTML|an empty body|a body that breaks off|a longer name of the model"
)]
struct ProviderAnswer(UpstreamFault);

impl FromStr for ProviderAnswer {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self(match text {
            "an error in place of a reply" => UpstreamFault::Error,
            "a page of HTML" => UpstreamFault::Page,
            "an empty body" => UpstreamFault::Empty,
            "a body that breaks off" => UpstreamFault::BreaksOff,
            "a longer name of the model" => UpstreamFault::LongName,
            status => {
                let number = status.trim_start_matches("status ").parse();
                UpstreamFault::Status(number.map_err(|_| format!("`{status}` is no status of HTTP"))?)
            }
        }))
    }
}

#[given(expr = "the provider answers with {provider_answer}")]
fn provider_fails(world: &mut World, answer: ProviderAnswer) -> Step {
    let scene = world.scene()?;
    if let Some(upstream) = &scene.session.upstream {
        upstream.fail(&scene.unique, answer.0);
    }
    Ok(())
}

fn push(world: &mut World, call: Call) -> Step {
    world.scene()?.calls.push(call);
    Ok(())
}

#[then(expr = "the output {output_predicate}")]
async fn output(world: &mut World, output_predicate: OutputPredicate) -> Step {
    if world.judges_every() {
        return each_output(world, output_predicate);
    }
    look(world, output_predicate).await?;
    let scene = world.scene()?;
    let frames = scene.frames();
    let (speech, page) = (Speech::of(&scene.unique), Page::of(&scene.unique));
    let (fixtures, session, calls) = (scene.fixtures.clone(), scene.session.clone(), scene.calls.clone());
    let url = session.pages.as_ref().map(|pages| pages.url(&scene.unique)).unwrap_or_default();
    world.judge_answers(|call, answer| match output_predicate {
        OutputPredicate::Schema => {
            let own = session.table.extra.get(call.tool()).and_then(|extra| extra.output_schema.as_ref());
            tool::fits_schema(call, answer, fixtures.action.as_deref(), own)
        }
        OutputPredicate::Content => model::has_content(call, answer, &speech),
        OutputPredicate::Model => model::has_model(&frames, call, answer),
        OutputPredicate::Tokens => model::has_tokens(call, answer, &speech),
        OutputPredicate::CostIsAmount => model::cost_is_an_amount(call, answer),
        OutputPredicate::Cost => model::has_cost(call, answer),
        OutputPredicate::Number => utility::draws(call, answer),
        OutputPredicate::Message => utility::echoes(call, answer),
        OutputPredicate::Waited => utility::reports_time(&frames, call, answer),
        OutputPredicate::OnTimeIfTaken => utility::waits_for_a_fraction(&frames, call, answer),
        OutputPredicate::OnTime => utility::waits(&frames, call, answer),
        OutputPredicate::Created => crumbs::is_created(&frames, call, answer),
        OutputPredicate::CreatedOnce => crumbs::is_created_once(&frames, call, answer),
        OutputPredicate::CreatedApart => crumbs::is_created_apart(&frames, call, answer, &calls),
        OutputPredicate::Success => crumbs::succeeds(call, answer),
        OutputPredicate::Version => {
            fixtures.stored.first().map_or(Ok(()), |id| crumbs::is_newer(&frames, call, answer, id))
        }
        OutputPredicate::Found => crumbs::finds(call, answer, &fixtures.stored),
        OutputPredicate::Counted => crumbs::counts(call, answer),
        OutputPredicate::Page => browser::arrives(call, answer, &url, &page),
        OutputPredicate::PageText => browser::reads(call, answer, &page),
        OutputPredicate::Clicked => browser::clicks(&frames, call, answer),
        OutputPredicate::Image => browser::shoots(&frames, call, answer),
        OutputPredicate::PageTitle => browser::evaluates(call, answer, &json!(page.title)),
        OutputPredicate::Named => model_or_page(&frames, call, answer, &speech),
    })
}

#[then("the versions rise to that of the store")]
async fn versions_rise(world: &mut World) -> Step {
    let scene = world.scene()?;
    scene.look_up_stored().await;
    let (frames, calls) = (scene.frames(), scene.calls.clone());
    let id = scene.fixtures.stored.first().cloned().unwrap_or_default();
    world.judge_answers(|call, answer| {
        let own = calls.iter().position(|other| other.id() == call.id()).unwrap_or_default();
        let earlier = own.checked_sub(1).map(|earlier| &calls[earlier]);
        crumbs::is_above(&frames, call, answer, earlier)?;
        if own + 1 < calls.len() { Ok(()) } else { crumbs::is_newer(&frames, call, answer, &id) }
    })
}

/// Has every output of the run judged of which the predicate says something, as far as its messages show that.
fn each_output(world: &mut World, predicate: OutputPredicate) -> Step {
    let session = world.session()?;
    world.judge_observed(move |own| {
        let (call, answer) = (&own.call, &own.answer);
        outcome::has_succeeded(answer)?;
        if outcome::is_denied(call, answer) {
            return Err(CheckFailure::NotObserved("the output says that the call failed".to_owned()));
        }
        let other = || Err(CheckFailure::NotObserved("the call is of another tool".to_owned()));
        let is_model = LANGUAGE_MODELS.contains(&call.tool());
        match (predicate, call.tool(), own.action()) {
            (OutputPredicate::Schema, "astral", None) => other(),
            (OutputPredicate::Schema, tool, action) => {
                let schema = session.table.extra.get(tool).and_then(|extra| extra.output_schema.as_ref());
                tool::fits_schema(call, answer, action.filter(|_| tool == "astral"), schema)
            }
            (OutputPredicate::CostIsAmount, ..) if is_model => model::cost_is_an_amount(call, answer),
            (
                OutputPredicate::Cost
                | OutputPredicate::Content
                | OutputPredicate::Tokens
                | OutputPredicate::Model,
                ..,
            ) if is_model => {
                let Some(speech) = own.speech() else {
                    return Err(CheckFailure::NotObserved("no model, or several, were asked".to_owned()));
                };
                match predicate {
                    OutputPredicate::Cost => model::has_cost(call, answer),
                    OutputPredicate::Content => model::has_content(call, answer, &speech),
                    OutputPredicate::Tokens => model::has_tokens(call, answer, &speech),
                    _ => model::has_model(own.frames, call, answer),
                }
            }
            (OutputPredicate::Number, "random", _) => utility::draws(call, answer),
            (OutputPredicate::Message, "echo", _) => {
                let message = own.only_text().map(Value::from);
                utility::echoes(&Call { sign: message, ..call.clone() }, answer)
            }
            (OutputPredicate::Waited, "timer", _) => utility::reports_time(own.frames, call, answer),
            (OutputPredicate::OnTime, "timer", _) => utility::waits(own.frames, call, answer),
            (OutputPredicate::Success, "breadcrumb-create" | "breadcrumb-update", _) => {
                crumbs::succeeds(call, answer)
            }
            (OutputPredicate::Version, "breadcrumb-update", _) => crumbs::gives_higher_version(call, answer),
            (OutputPredicate::Found, "breadcrumb-search", _) => crumbs::finds(call, answer, &[]),
            (OutputPredicate::Counted, "breadcrumb-search", _) => crumbs::counts(call, answer),
            (OutputPredicate::Page | OutputPredicate::PageText, "astral", Some(action)) => {
                let Some((mark, pages)) = own.mark().zip(session.pages.as_ref()) else { return other() };
                let (page, url) = (Page::of(mark), pages.url(mark));
                match (predicate, action) {
                    _ if !own.is_about(&url) => other(),
                    (OutputPredicate::Page, "navigate") => browser::arrives(call, answer, &url, &page),
                    (OutputPredicate::PageText, "extract") => browser::reads(call, answer, &page),
                    _ => other(),
                }
            }
            (OutputPredicate::Image, "astral", Some("screenshot")) => {
                browser::shoots(own.frames, call, answer)
            }
            (OutputPredicate::Clicked, "astral", Some("click")) => browser::says_true(call, answer),
            _ => other(),
        }
    })
}

/// A browser is known by the page, a language model by its provider.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "a judgement hands on the answer that it is given")]
fn model_or_page(
    frames: &[crate::transcript::Frame],
    call: &Call,
    answer: &crate::families::breadcrumb::runner::answer::Answer<'_>,
    speech: &Speech,
) -> Judgement {
    if call.tool() == "astral" {
        browser::visits(frames, call, answer)
    } else {
        model::is_the_one(frames, call, answer, speech)
    }
}

/// Has the suite look where a output_predicate is seen.
async fn look(world: &mut World, output_predicate: OutputPredicate) -> Step {
    let scene = world.scene()?;
    match output_predicate {
        OutputPredicate::Created | OutputPredicate::CreatedOnce | OutputPredicate::CreatedApart => {
            scene.look_up_created().await;
        }
        OutputPredicate::Version => scene.look_up_stored().await,
        OutputPredicate::Image => scene.look_at_image().await,
        OutputPredicate::Clicked => {
            // The tool may answer before the page has reported the click.
            let clicked =
                |frames: &[crate::transcript::Frame]| frames.iter().any(browser::is_click).then_some(());
            scene
                .scenario_channel
                .transcript
                .wait(Duration::from_secs(1).min(scene.session.timeouts.answer), clicked)
                .await;
        }
        _ => {}
    }
    Ok(())
}

#[then(expr = "the result is {float}")]
fn result(world: &mut World, value: f64) -> Step {
    world.judge_answers(|call, answer| utility::calculates(call, answer, value))
}

#[then(expr = "the value of the script is {int}")]
fn script_value(world: &mut World, value: i64) -> Step {
    world.judge_answers(|call, answer| browser::evaluates(call, answer, &Value::from(value)))
}

#[then("the failure has the form of the standard")]
fn standard(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_each_answer(|call, answer| {
            // A success that is none is reported by the rules that know that the call must fail.
            if answer.succeeded() {
                return Err(CheckFailure::NotObserved("the call succeeded".to_owned()));
            }
            failure::is_standard(call, answer)
        });
    }
    world.judge_answers(failure::is_standard)
}

#[then("a person can read the error")]
fn readable(world: &mut World) -> Step {
    world.judge_each_answer(failure::is_readable)
}

#[then("the model gets the messages of each call by themselves")]
fn messages_apart(world: &mut World) -> Step {
    let calls = world.scene()?.calls.clone();
    world.judge_calls(|frames, call| model::hands_on_nothing_else(frames, call, &calls))
}

#[then("the model gets all messages in their order")]
fn messages(world: &mut World) -> Step {
    if world.judges_every() {
        return world.judge_observed(|own| {
            if model::requests(own.frames, &own.call).is_empty() {
                return Err(CheckFailure::NotObserved("no model was asked".to_owned()));
            }
            model::hands_on(own.frames, &own.call)
        });
    }
    world.judge_calls(model::hands_on)
}
