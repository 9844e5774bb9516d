//! An OpenAPI executor: its tools, the upstream behind it, what it asks and what it keeps to itself.

use std::str::FromStr;

use callmark_reports::record::Direction;
use cucumber::{Parameter, given, then};
use serde_json::{Value, json};

use crate::engine::judge::{Cause, CheckFailure};
use crate::engine::world::{Abort, FamilyWorld as _, Step};
use crate::families::utp::judge::late::LateCheck;
use crate::families::utp::judge::{card, credential, request_argument, upstream};
use crate::families::utp::upstream::{AnswerForm, Key, ResponseMode, Variable, joined};
use crate::families::utp::world::World;
use crate::net::wire::{CALL, SCENARIO};
use crate::transcript::{Kind, Message};

/// One of the variables that hold keys.
#[derive(Clone, Copy, Debug, Parameter)]
#[param(name = "variable", regex = "JINA_API_KEY|CALLMARK_ALT_KEY|CALLMARK_PARAM_KEY|CALLMARK_SERVICE_KEY")]
struct KeyVariable(Variable);

impl FromStr for KeyVariable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Variable::ALL.into_iter().find(|variable| variable.name() == text);
        found.map(Self).ok_or_else(|| format!("`{text}` holds no key"))
    }
}

/// What the upstream does.
#[derive(Clone, Debug, Parameter)]
#[param(
    name = "manner",
    regex = r"(?:answers with status \d+|redirects with status \d+ to \S+(?: and from there to \S+)?|never answers|closes the connection)(?: at first)?|answers in chunks|answers with nothing|answers with half a JSON|breaks off its answer|stops in the middle of its answer|answers after a while"
)]
struct UpstreamMode(ResponseMode);

impl FromStr for UpstreamMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(mode) = text.strip_suffix(" at first") {
            return Ok(Self(ResponseMode::AtFirst(Box::new(Self::from_str(mode)?.0))));
        }
        let number = |word: &str| word.parse().map_err(|_| format!("`{word}` is no status"));
        Ok(Self(match text.split(' ').collect::<Vec<_>>().as_slice() {
            ["answers", "in", "chunks"] => ResponseMode::AnswersAs(AnswerForm::Pieces),
            ["answers", "with", "nothing"] => ResponseMode::AnswersAs(AnswerForm::Nothing),
            ["answers", .., "JSON"] => ResponseMode::AnswersAs(AnswerForm::HalfJson),
            ["stops", ..] => ResponseMode::AnswersAs(AnswerForm::Stopped),
            ["answers", "after", ..] => ResponseMode::AnswersAs(AnswerForm::Late),
            ["breaks", ..] => ResponseMode::AnswersAs(AnswerForm::BrokenOff),
            ["answers", .., "200"] => ResponseMode::Answers,
            ["answers", .., status] => ResponseMode::Refuses(number(status)?),
            ["redirects", "with", "status", status, "to", url] => {
                ResponseMode::Redirects(number(status)?, (*url).to_owned())
            }
            ["redirects", "with", "status", status, "to", url, "and", "from", "there", "to", on] => {
                ResponseMode::RedirectsOn(number(status)?, (*url).to_owned(), (*on).to_owned())
            }
            ["never", "answers"] => ResponseMode::Hangs,
            ["closes", ..] => ResponseMode::Closes,
            _ => return Err(format!("an upstream cannot do `{text}`")),
        }))
    }
}

/// A literal that looks like a key; no environment holds it.
const LITERAL: &str = "literal-key";

/// Sets an option of the row of the call.
pub(super) fn set_row_option(world: &mut World, pointer: &str, value: Value) -> Step {
    let value = match value {
        Value::String(text) => Value::from(filled(world, &text)?),
        other => other,
    };
    if pointer == "/jina/base_url"
        && let Some(host) =
            value.as_str().and_then(|text| url::Url::parse(text).ok()?.host_str().map(str::to_owned))
    {
        world.scene()?.project.upstream.watch(&host);
    }
    let scene = world.scene()?;
    let mut joined = Vec::new();
    scene.configure(|options| {
        put(options, pointer, value);
        joined = joined::hosts(options);
    });
    for host in joined {
        scene.project.upstream.watch(&host);
    }
    Ok(())
}

/// Takes an option out of the row of the call.
pub(super) fn remove_row_option(world: &mut World, pointer: &str) -> Step {
    let (parent, member) = pointer.rsplit_once('/').unwrap_or_default();
    world.scene()?.configure(|options| {
        if let Some(members) = options.pointer_mut(parent).and_then(Value::as_object_mut) {
            members.remove(member);
        }
    });
    Ok(())
}

#[given(expr = "the upstream {manner}")]
fn upstream_does(world: &mut World, mode: UpstreamMode) -> Step {
    let session = world.session()?;
    let mode = mode.0.with_urls(&mut |url| watched(world, url))?;
    if mode.hangs()
        && let Some(timeout) = session.upstream().and_then(|upstream| upstream.plan.timeout)
    {
        world.scene()?.allow(timeout);
    }
    let call = world.call()?;
    call.obstructed = !mode.is_a_result();
    let token = call.token.clone();
    world.scene()?.project.upstream.answer(&token, &mode);
    Ok(())
}

/// A URL that a redirect names, whose host is asked in this project only.
fn watched(world: &mut World, url: &str) -> Result<String, Abort> {
    let url = filled(world, url)?;
    if let Some(host) = url.split('/').nth(2) {
        world.scene()?.project.upstream.watch(host);
    }
    Ok(url)
}

#[then(regex = r#"^"([^"]*)" is asked for it(, if any host is)?$"#)]
async fn is_asked(world: &mut World, host: String, if_any: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| upstream::asks(frames, calls, &host, if_any.is_empty()))
}

#[then(expr = "the call reaches {string} and succeeds")]
async fn reaches(world: &mut World, host: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| upstream::reaches(frames, calls, &host))
}

#[then("the result shows what the upstream says to the card's arguments")]
async fn brings_answer(world: &mut World) -> Step {
    world.answered().await?;
    world.judge_call(card::shows_work)
}

#[then(expr = "the request asks for the card's {string}")]
async fn argument_is_sent(world: &mut World, name: String) -> Step {
    world.answered().await?;
    world.judge_call(|frames, calls| request_argument::is_sent(frames, calls, &name))
}

#[then("the call is answered, and not as a success")]
async fn fails(world: &mut World) -> Step {
    world.answered_anyway().await?;
    world.judge_call(upstream::fails)
}

#[then(expr = "the request's {word} is {string}")]
async fn is_made_as(world: &mut World, part: String, expected: String) -> Step {
    world.answered().await?;
    let expected = filled(world, &expected)?;
    world.judge_call(|frames, calls| upstream::is_made_as(frames, calls, &part, &expected))
}

#[then(regex = "^every request for it is made (as its row says|with the key of its row)$")]
fn made_as_its_row_says(world: &mut World, how: String) -> Step {
    let known = world.keys_of_the_executor();
    world.judge_each_call(move |frames, calls| match how.as_str() {
        "as its row says" => upstream::is_made_as_its_row_says(frames, calls),
        _ => upstream::has_the_key_of_its_row(frames, calls, &known),
    })
}

#[given(regex = "^its row (names a key|names no key)$")]
fn row_names_a_key(world: &mut World, what: String) -> Step {
    let names_one = what == "names a key";
    world.judge_each_call(move |frames, calls| {
        let row = upstream::row(frames, calls)?;
        if row.get("auth_env").is_some() == names_one {
            return Ok(());
        }
        Err(CheckFailure::NotObserved("the row is another one".to_owned()))
    })
}

#[then(expr = "the request is made with the key in {variable}")]
async fn authenticates(world: &mut World, variable: KeyVariable) -> Step {
    world.answered().await?;
    let (key, known) = (key(world, variable.0)?, keys(world)?);
    world.judge_call(|frames, calls| upstream::authenticates(frames, calls, &key, &known))
}

#[then(expr = "the request's {word}, if one is made, is {string}")]
async fn is_made_as_if_at_all(world: &mut World, part: String, expected: String) -> Step {
    world.wait_grace_period().await?;
    let expected = filled(world, &expected)?;
    world.judge_call(|frames, calls| upstream::is_not_made_otherwise(frames, calls, &part, &expected))
}

#[then(expr = "no request is made with the key in {variable}")]
async fn uses_no_other_key(world: &mut World, variable: KeyVariable) -> Step {
    world.wait_grace_period().await?;
    let key = key(world, variable.0)?;
    world.judge_call(|frames, calls| credential::uses_no_such_key(frames, calls, &key))
}

#[then("no request is made with the literal key")]
async fn uses_no_literal(world: &mut World) -> Step {
    // A target may refuse such a call, with or without an answer.
    world.wait_grace_period().await?;
    let literal = filled(world, "{literal}")?;
    world.judge_call(|frames, calls| credential::uses_no_literal(frames, calls, &literal))
}

#[then(expr = "the request's parameter {string} is the value of {variable}")]
async fn passes(world: &mut World, parameter: String, variable: KeyVariable) -> Step {
    world.answered().await?;
    let key = key(world, variable.0)?;
    world.judge_call(|frames, calls| upstream::passes(frames, calls, &parameter, &key))
}

#[then(expr = "nothing that the executor sends holds the value of {variable}")]
async fn is_kept_secret(world: &mut World, variable: KeyVariable) -> Step {
    if world.judges_every() {
        let known = world.keys_of_the_executor();
        let key = known.into_iter().find(|key| key.variable == variable.0);
        return world.judge_each_call(move |frames, _| match &key {
            Some(key) => upstream::is_kept_secret(frames, key),
            None => Err(CheckFailure::NotObserved("the executor has no such key".to_owned())),
        });
    }
    world.answered().await?;
    world.settled().await?;
    let key = key(world, variable.0)?;
    let frames = world.frames();
    world.judge(upstream::is_kept_secret(&frames, &key))?;
    world.judge_later(LateCheck::KeepsSecret(key))
}

#[then(expr = "the log does not hold the value of {variable}")]
async fn is_not_logged(world: &mut World, variable: KeyVariable) -> Step {
    world.answered().await?;
    world.settled().await?;
    let key = key(world, variable.0)?;
    let is_empty = read_log(world, &key).await?;
    let frames = world.frames();
    world.judge(upstream::is_not_logged(&frames, &key, is_empty))
}

#[then("no host is asked that is not allowed")]
async fn stays_allowed(world: &mut World) -> Step {
    world.wait_grace_period().await?;
    world.judge_call(upstream::stays_allowed)?;
    world.judge_call(upstream::has_no_foreign_success)?;
    world.judge_later(LateCheck::StaysAllowed)
}

#[then("the redirect is not followed")]
async fn follows_nothing(world: &mut World) -> Step {
    world.wait_grace_period().await?;
    let landing = filled(world, "{landing}")?;
    world.judge_call(|frames, calls| upstream::follows_nothing(frames, calls, &landing))?;
    world.judge_later(LateCheck::FollowsNothing(landing))
}

/// Notes what a rule leaves open.
pub(super) async fn note_service_configuration(world: &mut World) -> Step {
    world.answered().await?;
    let session = world.session()?;
    let service = session.upstream().and_then(|upstream| upstream.plan.keys.of(Variable::Service).cloned());
    let mut found = None;
    world.judge_call(|frames, calls| {
        found = upstream::overrides(frames, calls, "api_key", service.as_ref());
        Ok(())
    })?;
    world.note(match found {
        Some(_) => "the service's own configuration takes part",
        None => "no configuration of the service's own takes part",
    });
    Ok(())
}

/// Fills in what differs from call to call.
pub(super) fn filled(world: &mut World, text: &str) -> Result<String, Abort> {
    let token = world.call()?.token.clone();
    let text = text
        .replace("{landing}", &format!("landed-{token}"))
        .replace("{literal}", &format!("{LITERAL}-{token}"))
        .replace("{quote}", "\"")
        .replace("{token}", &token);
    Ok(if text.contains(LONG) { text.replace(LONG, &long_text()) } else { text })
}

/// What stands for a text of more than 10000 characters.
const LONG: &str = "{long}";

/// A text of more than 10000 characters, which shows where it was cut.
fn long_text() -> String {
    (1..=1050).fold(String::new(), |text, number| text + &number.to_string() + " mølle, ")
}

/// Sets a member; objects on the way there are made.
fn put(value: &mut Value, pointer: &str, to: Value) {
    let mut place = value;
    for member in pointer.split('/').skip(1) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[member];
    }
    *place = to;
}

/// The key in a variable.
fn key(world: &mut World, variable: Variable) -> Result<Key, Abort> {
    let known = keys(world)?;
    match known.into_iter().find(|key| key.variable == variable) {
        Some(key) => Ok(key),
        None => Err(world.suite_fault("the scenario uses a key that it does not ask for with `@cap:`")),
    }
}

fn keys(world: &mut World) -> Result<Vec<Key>, Abort> {
    let session = world.session()?;
    Ok(session.upstream().map(|upstream| upstream.plan.keys.iter().cloned().collect()).unwrap_or_default())
}

/// Takes the lines of the log that hold a key into the transcript; all others are the target's own affair.
/// Gives back whether there was no line at all.
async fn read_log(world: &mut World, key: &Key) -> Result<bool, Abort> {
    let session = world.session()?;
    let project = std::sync::Arc::clone(&world.scene()?.project);
    let log = session.test_environment.log().await;
    let is_empty =
        project.transcript.record_external("log", || log.as_ref().map(|log| log.trim().is_empty()));
    let Some(is_empty) = is_empty else {
        let message = "the target's log cannot be read".to_owned();
        return Err(world.could_not_run(Cause::Config, message));
    };
    let log = log.unwrap_or_default();
    let headers = [(SCENARIO.to_owned(), project.id.clone()), (CALL.to_owned(), String::new())];
    let forms = key.traces();
    for line in log.lines() {
        let message = Message {
            direction: Direction::FromTarget,
            kind: Kind::Log,
            channel: "log".to_owned(),
            headers: headers.clone().into(),
            body: Value::from(line),
        };
        for message in session.test_environment.platform_service.wire().incoming(message) {
            let text = message.body.as_str().unwrap_or_default();
            if forms.iter().any(|form| text.contains(form)) {
                project.transcript.record(message);
            }
        }
    }
    Ok(is_empty)
}
