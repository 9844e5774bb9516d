//! What an OpenAPI executor asks of its upstream (Guide §4): which host, in what way, with which key.

use memchr::memmem::Finder;
use serde_json::Value;

use super::seen;
use super::seen::Calls;
use crate::engine::judge::{Cause, CheckFailure, Finding, Judgement};
use crate::families::utp::message;
use crate::families::utp::reason::Alternative;
use crate::families::utp::upstream::{ALLOWED, Key, Variable};
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind};

/// Hosts by which a request that names none shows itself: the upstream's own.
const OWN: [&str; 2] = ["127.0.0.1", "localhost"];

/// All requests to the upstream.
fn all(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|frame| frame.kind == Kind::Upstream)
}

/// The requests of the call.
pub(super) fn requests<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<Vec<&'a Frame>, CheckFailure> {
    let id = &calls.subject.tool_call_id;
    let own: Vec<&Frame> = all(frames).filter(|frame| frame.headers.get(CALL) == Some(id)).collect();
    if own.iter().all(|frame| OWN.contains(&host(frame))) && !own.is_empty() {
        return Err(CheckFailure::CouldNotRun {
            cause: Cause::Fixture,
            message: "the requests to `CALLMARK_UPSTREAM_URL` do not say in `Host` which host they are for"
                .to_owned(),
        });
    }
    Ok(own)
}

fn host(frame: &Frame) -> &str {
    frame.text("/host").unwrap_or_default()
}

/// The requests of the call, at least one.
pub(super) fn some<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<Vec<&'a Frame>, CheckFailure> {
    let own = requests(frames, calls)?;
    if own.is_empty() {
        return Err(CheckFailure::NotObserved("no request was made for the call".to_owned()));
    }
    Ok(own)
}

fn succeeded(frames: &[Frame], calls: &Calls<'_>) -> bool {
    let said = |frame: &Frame| matches!(frame.text("/payload/status"), Some("success" | "partial"));
    seen::reports(frames, calls).into_iter().any(said)
}

/// The host is asked for the call, or only a refusal came where the tool's row leaves something out.
pub fn asks(frames: &[Frame], calls: &Calls<'_>, expected: &str, complete: bool) -> Judgement {
    let own = requests(frames, calls)?;
    if own.iter().any(|frame| host(frame) == expected) {
        return Ok(());
    }
    if own.is_empty() && !complete && !succeeded(frames, calls) {
        return Err(Alternative::NoRequest.seen_in(seen::reports(frames, calls)));
    }
    let hint = "`search` goes to `s.jina.ai`, `reader` to `r.jina.ai`";
    let Some(frame) = own.first() else {
        return Err(Finding::new("no request was made for the call", hint).expected(expected).into());
    };
    Err(Finding::new("the request went to another host than the tool's mode says", hint)
        .expected(expected)
        .actual(frame.member("/host"))
        .at("/host")
        .frame(frame)
        .into())
}

/// A call that goes to this host succeeds; one that goes elsewhere shows nothing.
pub fn reaches(frames: &[Frame], calls: &Calls<'_>, expected: &str) -> Judgement {
    let own = requests(frames, calls)?;
    let is_asked = own.iter().any(|frame| host(frame) == expected);
    if !own.is_empty() && !is_asked {
        return Err(CheckFailure::NotObserved(format!("the call did not go to `{expected}`")));
    }
    if succeeded(frames, calls) {
        return brings_answer(frames, calls);
    }
    let finding = Finding::new(
        format!("a call that goes to `{expected}` does not succeed"),
        format!("allow `{expected}`, and give back what it answers with status 200"),
    )
    .expected("success");
    Err(match seen::report(frames, calls) {
        Some(report) => finding.actual(report.member("/payload/status")).at("/payload/status").frame(report),
        None => finding,
    }
    .into())
}

/// The result holds what the upstream answered.
fn brings_answer(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let card = seen::result_card(frames, calls);
    if card.is_some_and(|(_, card)| calls.subject.proof.is_in_card(card)) {
        return Ok(());
    }
    let finding = Finding::new(
        "the result does not hold what the upstream answered",
        "store the upstream's answer as the result of the call",
    )
    .expected(calls.subject.proof.shown());
    Err(match card {
        Some((frame, card)) => finding.actual(card.pointer("/content/result")).frame(frame),
        None => finding,
    }
    .into())
}

/// A call that the upstream refuses is not reported as a success.
pub fn fails(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let report = seen::reports(frames, calls)
        .into_iter()
        .find(|report| matches!(report.text("/payload/status"), Some("success" | "partial")));
    match report {
        None => Ok(()),
        Some(report) => Err(Finding::new(
            "a call that the upstream did not answer with a result is reported as a success",
            "look at the upstream's status, and report a failed result with an error code",
        )
        .expected("failed")
        .actual(report.member("/payload/status"))
        .at("/payload/status")
        .frame(report)
        .into()),
    }
}

/// A command that is not valid led to no request.
pub fn was_not_asked(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let id = &calls.subject.tool_call_id;
    match all(frames).find(|frame| frame.headers.get(CALL) == Some(id)) {
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            "the upstream was asked although the command is not valid",
            "validate the command and read its card before anything else, and ask nobody where one is not as it must be",
        )
        .expected("no request")
        .frame(frame)
        .into()),
    }
}

/// What a command carried inline is in no request.
pub fn was_not_given(frames: &[Frame], inline: &str) -> Judgement {
    match all(frames).find(|frame| holds(frame, inline)) {
        None => Ok(()),
        Some(frame) => Err(super::inline_arguments::inline_used().frame(frame).into()),
    }
}

/// A part of the request is as the row says: `method`, or the beginning of `path`.
pub fn is_made_as(frames: &[Frame], calls: &Calls<'_>, part: &str, expected: &str) -> Judgement {
    let own = requests(frames, calls)?;
    let pointer = format!("/{part}");
    let fits = |frame: &&Frame| {
        let value = frame.text(&pointer).unwrap_or_default();
        let below = value.strip_prefix(expected).is_some_and(|rest| rest.starts_with(['/', '?']));
        value.eq_ignore_ascii_case(expected) || (part == "path" && below)
    };
    if own.iter().any(fits) {
        return Ok(());
    }
    let finding = Finding::new(
        format!("no request was made with the `{part}` that the row's `options.jina` says"),
        format!("make the request with `options.jina.{part}`"),
    )
    .expected(expected)
    .at(pointer.clone());
    Err(match own.first() {
        Some(frame) => finding.actual(frame.member(&pointer)).frame(frame),
        None => finding,
    }
    .into())
}

/// No request of the call is made in another way, where one is made.
pub fn is_not_made_otherwise(frames: &[Frame], calls: &Calls<'_>, part: &str, expected: &str) -> Judgement {
    if requests(frames, calls)?.is_empty() { Ok(()) } else { is_made_as(frames, calls, part, expected) }
}

/// Whether a message holds a text, wherever it stands.
pub(super) fn holds(frame: &Frame, text: &str) -> bool {
    holds_one(frame, &[Finder::new(text)])
}

/// Whether a message holds one of these texts.
pub(super) fn holds_one(frame: &Frame, texts: &[Finder<'_>]) -> bool {
    texts.iter().any(|text| {
        let is_in = |own: &String| text.find(own.as_bytes()).is_some();
        message::occurs(text, &frame.body) || is_in(&frame.channel) || frame.headers.values().any(is_in)
    })
}

/// What looks for each of these texts.
pub(super) fn finders(texts: &[String]) -> Vec<Finder<'_>> {
    texts.iter().map(Finder::new).collect()
}

/// A request of the call is made with this key.
pub fn authenticates(frames: &[Frame], calls: &Calls<'_>, key: &Key, known: &[Key]) -> Judgement {
    let own = requests(frames, calls)?;
    let with = |key: &Key| {
        let forms = key.forms();
        let forms = finders(&forms);
        own.iter().find(|frame| holds_one(frame, &forms))
    };
    if with(key).is_some() {
        return Ok(());
    }
    let name = key.variable.name();
    let finding = Finding::new(
        format!("the request is not made with the key in `{name}`"),
        format!("read the key from the variable `{name}` and send it with the request"),
    )
    .expected(format!("the key in `{name}`"));
    let other = known.iter().find(|other| with(other).is_some());
    let actual =
        other.map_or_else(|| "no key".to_owned(), |other| format!("the key in `{}`", other.variable.name()));
    let finding = finding.actual(Some(&Value::from(actual)));
    Err(match own.first() {
        Some(frame) => finding.frame(frame),
        None => finding,
    }
    .into())
}

/// `options.jina` of the row of the call's tool, as it was shown to the target.
pub fn row<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<&'a Value, CheckFailure> {
    let name = Some(calls.subject.tool_name.as_str());
    let shown = frames.iter().filter(|frame| frame.kind == Kind::ToolsReply);
    let mut rows = shown.filter(|frame| frame.text("/tool/tool_name") == name);
    let options =
        rows.next().and_then(|frame| frame.member("/tool/options/jina")).filter(|own| own.is_object());
    options.ok_or_else(|| CheckFailure::NotObserved("the tool's row was not shown".to_owned()))
}

/// A request of the call has the method and the path of the tool's row.
pub fn is_made_as_its_row_says(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    some(frames, calls)?;
    let row = row(frames, calls)?;
    let said = ["method", "path"].into_iter().filter_map(|part| Some((part, row.get(part)?.as_str()?)));
    let said: Vec<_> = said.filter(|(_, text)| !text.contains(['{', '?'])).collect();
    if said.is_empty() {
        return Err(CheckFailure::NotObserved("the row leaves method and path open".to_owned()));
    }
    said.into_iter().try_for_each(|(part, expected)| is_made_as(frames, calls, part, expected))
}

/// A request of the call is made with the key that the tool's row names, or with the default one.
pub fn has_the_key_of_its_row(frames: &[Frame], calls: &Calls<'_>, known: &[Key]) -> Judgement {
    some(frames, calls)?;
    let named = row(frames, calls)?.get("auth_env").map_or(Some(Variable::Default.name()), Value::as_str);
    match known.iter().find(|key| Some(key.variable.name()) == named) {
        Some(key) => authenticates(frames, calls, key, known),
        None => Err(CheckFailure::NotObserved("the executor has no such key".to_owned())),
    }
}

/// A parameter of the request has the value of a variable.
pub fn passes(frames: &[Frame], calls: &Calls<'_>, parameter: &str, key: &Key) -> Judgement {
    let own = requests(frames, calls)?;
    let values: Vec<&Value> = own.iter().flat_map(|frame| members(&frame.body, parameter)).collect();
    if values.iter().any(|value| value.as_str() == Some(key.expose())) {
        return Ok(());
    }
    let name = key.variable.name();
    let finding = Finding::new(
        format!("the request's parameter `{parameter}` is not the value of `{name}`"),
        format!("read `{name}` from the environment when the call runs, and send its value as `{parameter}`"),
    )
    .expected(format!("the value of `{name}`"))
    .actual(values.first().copied())
    .at(format!("/parameters/{parameter}"));
    Err(match own.first() {
        Some(frame) => finding.frame(frame),
        None => finding,
    }
    .into())
}

/// Every member of this name, at any depth.
fn members<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    match value {
        Value::Object(object) => {
            let own = object.get(name);
            own.into_iter().chain(object.values().flat_map(|member| members(member, name))).collect()
        }
        Value::Array(items) => items.iter().flat_map(|item| members(item, name)).collect(),
        _ => Vec::new(),
    }
}

/// The key was used, so that it could have been written down.
fn was_used(frames: &[Frame], traces: &[Finder<'_>]) -> Judgement {
    if all(frames).any(|frame| holds_one(frame, traces)) {
        return Ok(());
    }
    Err(Alternative::KeyNotSent.seen_in(all(frames)))
}

/// Nothing that the target sent anywhere but to the upstream holds the key.
///
/// That it is in no card and no callback is a must; anything else on the bus is no card, and only advised against.
pub fn is_kept_secret(frames: &[Frame], key: &Key) -> Judgement {
    let forms = key.traces();
    let traces = finders(&forms);
    was_used(frames, &traces)?;
    let sent = |frame: &&Frame| {
        frame.direction == callmark_reports::record::Direction::FromTarget
            && !matches!(frame.kind, Kind::Upstream | Kind::Log)
            && holds_one(frame, &traces)
    };
    // What must not be comes before what should not be.
    let is_kept = |frame: &&Frame| matches!(frame.kind, Kind::CardSave | Kind::Report);
    let found = frames.iter().filter(sent).find(is_kept).or_else(|| frames.iter().find(sent));
    let Some(frame) = found else { return Ok(()) };
    let name = key.variable.name();
    let what = match frame.kind {
        Kind::CardSave => "a card",
        Kind::Report => "a callback",
        _ => "a message",
    };
    let finding = Finding::new(
        format!("{what} holds the value of `{name}`"),
        "keep the request and its headers out of results and errors; name the variable where something must be said",
    )
    .expected("no value of a key")
    .frame(frame);
    let finding = match place(&frame.body, &forms) {
        Some((pointer, value)) => finding.actual(Some(value)).at(pointer),
        None => finding.actual(Some(&Value::from("in the headers or the channel of the message"))),
    };
    Err(if is_kept(&frame) {
        finding
    } else {
        finding.recommended("the guide names cards and callbacks, and no other message")
    }
    .into())
}

/// Where a value holds one of these texts.
fn place<'a>(value: &'a Value, forms: &[String]) -> Option<(String, &'a Value)> {
    let below = |name: &str, member: &'a Value| {
        let (pointer, value) = place(member, forms)?;
        Some((format!("/{}{pointer}", name.replace('~', "~0").replace('/', "~1")), value))
    };
    match value {
        Value::Object(members) => members.iter().find_map(|(name, member)| below(name, member)),
        Value::Array(items) => {
            items.iter().zip(0_usize..).find_map(|(item, index)| below(&index.to_string(), item))
        }
        text => forms.iter().any(|form| message::mentions(text, form)).then(|| (String::new(), text)),
    }
}

/// No line of the log holds the key. A log that is empty shows nothing.
pub fn is_not_logged(frames: &[Frame], key: &Key, is_empty: bool) -> Judgement {
    let forms = key.traces();
    let traces = finders(&forms);
    was_used(frames, &traces)?;
    let logged = |frame: &&Frame| traces.iter().any(|trace| message::occurs(trace, &frame.body));
    let line = frames.iter().filter(|frame| frame.kind == Kind::Log).find(logged);
    match line {
        None if is_empty => Err(Alternative::LogsNothing.seen_in(all(frames))),
        None => Ok(()),
        Some(frame) => Err(Finding::new(
            format!("the log holds the value of `{}`", key.variable.name()),
            "log neither the headers nor the address of a request, nor what the HTTP client says about it",
        )
        .expected("no value of a key")
        .actual(Some(&frame.body))
        .frame(frame)
        .into()),
    }
}

/// No host but the two was asked, by whatever call of the project.
pub fn stays_allowed(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let foreign = all(frames).find(|frame| {
        let host = host(frame);
        !ALLOWED.contains(&host) && !OWN.contains(&host)
    });
    if let Some(frame) = foreign {
        return Err(Finding::new(
            "a host was asked that is neither `s.jina.ai` nor `r.jina.ai`",
            "parse the address, compare its host with the two as a whole, and do not send the request otherwise",
        )
        .expected(ALLOWED.to_vec())
        .actual(frame.member("/host"))
        .at("/host")
        .frame(frame)
        .into());
    }
    requests(frames, calls).map(|_| ())
}

/// A call whose row names a foreign host succeeds only if an allowed one was asked in its place.
pub fn has_no_foreign_success(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    if succeeded(frames, calls) && requests(frames, calls)?.is_empty() {
        return Err(Finding::new(
            "a call whose row names a host that is not allowed is reported as a success",
            "let such a call fail",
        )
        .expected("failed")
        .actual(seen::report(frames, calls).and_then(|report| report.member("/payload/status")))
        .at("/payload/status")
        .into());
    }
    Ok(())
}

/// No request went where a redirect pointed.
pub fn follows_nothing(frames: &[Frame], calls: &Calls<'_>, landing: &str) -> Judgement {
    let landed = all(frames).find(|frame| frame.text("/path").is_some_and(|path| path.contains(landing)));
    if let Some(frame) = landed {
        return Err(Finding::new(
            "a redirect to a host that is not allowed was followed",
            "switch redirects off in the HTTP client, or check the host of each address before it is asked",
        )
        .expected("no further request")
        .actual(frame.member("/host"))
        .at("/host")
        .frame(frame)
        .into());
    }
    stays_allowed(frames, calls)?;
    let redirected = |frame: &Frame| {
        frame.kind == Kind::UpstreamReply
            && frame.headers.get(CALL) == Some(&calls.subject.tool_call_id)
            && frame.member("/location").is_some()
    };
    some(frames, calls)?;
    if frames.iter().any(redirected) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved("the call was not redirected".to_owned()))
}

/// Which of the two values a parameter has, for a note.
pub fn overrides(
    frames: &[Frame],
    calls: &Calls<'_>,
    parameter: &str,
    service: Option<&Key>,
) -> Option<Variable> {
    let own = requests(frames, calls).ok()?;
    let key = service?;
    let values = own.iter().flat_map(|frame| members(&frame.body, parameter));
    values.filter_map(Value::as_str).any(|value| value == key.expose()).then_some(key.variable)
}
