//! Artifacts: that they are written, where, and what must not be in them (Tool bus v1 L4, L28-33).

use std::path::Path;

use callmark_reports::record::Direction;
use serde_json::Value;

use super::Reply;
use super::envelope::{BEYOND_READING, bounded, expected_bound};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::toolbus::answer;
use crate::families::toolbus::artifacts;
use crate::families::toolbus::artifacts::Form;
use crate::families::toolbus::call::Probe;
use crate::families::toolbus::reason::Alternative;
use crate::families::toolbus::wire_format::BYTES;
use crate::net::wire::CALL;
use crate::transcript::{Frame, Kind};

const URI: &str = "artifact_uri_json";
/// Printable text may hold these control characters.
const WHITE: [char; 4] = ['\n', '\r', '\t', '\u{c}'];

/// The artifacts of one form that a call left.
pub fn of<'a>(reply: &'a Reply<'_>, form: Form) -> Vec<&'a Frame> {
    let call = reply.made.id.to_string();
    reply
        .frames
        .iter()
        .filter(|frame| {
            frame.kind == Kind::Artifact
                && frame.direction == Direction::FromTarget
                && frame.headers.get(CALL) == Some(&call)
                && form.is(&frame.channel)
        })
        .collect()
}

/// Where to begin to show a marker: at the member or the line that holds it, so that no id is cut in two.
pub(super) fn around(text: &str, marker: &str) -> usize {
    let at = text.find(marker).unwrap_or_default();
    text[..at].rfind(['{', ',', '\n']).filter(|from| at - from < 400).unwrap_or(at)
}

fn missing(reply: &Reply<'_>, form: Form) -> Finding {
    reply
        .finding(
            format!(
                "the call of `{}` leaves no {} artifact below the context root",
                reply.tool(),
                form.name()
            ),
            "with a context root configured, write both artifacts of each call before answering it",
        )
        .expected(match form {
            Form::Context => "a file `…/<span>.context`",
            Form::Json => "a file `…/<span>/result.json`",
        })
        .actual(Some(&Value::from("no such file")))
}

/// The call left an artifact of the form. The text artifact of a call without a span is found by the span that the
/// envelope has for it, which need not be in the names of files.
pub fn is_stored(reply: &Reply<'_>, form: Form) -> Judgement {
    let has_a_span = reply.made.call.arguments.get("span_id").is_some_and(Value::is_string);
    let is_unnamed = form == Form::Context && !has_a_span && !names_its_files(reply);
    if is_unnamed && of(reply, form).is_empty() {
        return Err(CheckFailure::NotObserved(
            "the call has no span, and the trace of its envelope has none that is in the names of its files"
                .to_owned(),
        ));
    }
    one(reply, form).map(|_| ())
}

/// Whether the ids of the envelope's trace name the JSON artifact of the call, and so its other one.
fn names_its_files(reply: &Reply<'_>) -> bool {
    let ids = [reply.id("span_id"), reply.id("trace_id")];
    let named = |frame: &&Frame| {
        ids.iter().all(|id| id.as_ref().is_some_and(|id| artifacts::has_part(&frame.channel, id)))
    };
    of(reply, Form::Json).iter().any(named)
}

/// The artifact of the form, where a store keeps more files: the one in the contract's place, else the one that the
/// envelope names, else the first.
pub(super) fn one<'a>(reply: &'a Reply<'_>, form: Form) -> Result<&'a Frame, CheckFailure> {
    let all = of(reply, form);
    let tail = tail(reply, form);
    let envelope = reply.answer.readable().unwrap_or_default();
    let uris: Vec<&str> = envelope
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(_, member)| member.as_str()?.strip_prefix("artifact://"))
        // What stands first may be the name of the store.
        .flat_map(|uri| {
            [Some(uri), uri.split_once('/').map(|(_, path)| path).filter(|path| path.contains('/'))]
        })
        .flatten()
        .collect();
    let placed = all.iter().find(|frame| frame.channel.ends_with(&tail));
    let named = || all.iter().find(|frame| uris.iter().any(|uri| frame.channel.ends_with(uri)));
    placed.or_else(named).or(all.first()).copied().ok_or_else(|| missing(reply, form).into())
}

/// An artifact of the form was read, and kept whole in what was written down.
pub fn was_read(reply: &Reply<'_>, form: Form) -> Judgement {
    let files = of(reply, form);
    let is_whole = |file: &&Frame| {
        let length = file.headers.get(BYTES).and_then(|bytes| bytes.parse().ok());
        file.body.as_str().map(str::len) == length
    };
    if !files.is_empty() && files.iter().all(is_whole) {
        return Ok(());
    }
    Err(CheckFailure::NotObserved(format!("the {} artifact of the call was not read", form.name())))
}

/// Where the contract's uri form puts the artifact of a call.
fn tail(reply: &Reply<'_>, form: Form) -> String {
    let id = |name: &str| reply.id(name).unwrap_or_default();
    form.tail(&id("trace_id"), &id("span_id"))
}

/// `artifact_uri_json` is an `artifact://` uri of a `result.json`.
pub fn names_uri(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    let uri = envelope.get(URI);
    let sound = uri
        .and_then(Value::as_str)
        .is_some_and(|uri| uri.starts_with("artifact://") && uri.ends_with("result.json"));
    if sound {
        return Ok(());
    }
    Err(reply
        .finding(
            "the envelope does not point at the call's `result.json`",
            "with a context root configured, put the uri of the JSON artifact into `artifact_uri_json`",
        )
        .expected("artifact://…/result.json")
        .actual(uri.or(Some(&Value::from("absent"))))
        .at(format!("/{URI}"))
        .into())
}

/// Without a context root there is no uri.
pub fn names_no_uri(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    match envelope.get(URI) {
        None | Some(Value::Null) => Ok(()),
        Some(uri) => Err(reply
            .finding(
                "without a context root the envelope still points at an artifact",
                "leave `artifact_uri_json` out, or make it null, where nothing is written",
            )
            .expected("null or absent")
            .actual(Some(uri))
            .at(format!("/{URI}"))
            .into()),
    }
}

/// The uri leads to a file that parses.
pub fn uri_resolves(reply: &Reply<'_>) -> Judgement {
    names_uri(reply)?;
    let envelope = reply.envelope()?;
    let uri = envelope.get(URI).and_then(Value::as_str).unwrap_or_default();
    let tail = uri.trim_start_matches("artifact://");
    // What stands first may be the name of the store, as the authority of a URI.
    let path = tail.split_once('/').map_or(tail, |(_, path)| path);
    let files = of(reply, Form::Json);
    let ends = |tail: &str| files.iter().copied().find(|frame| frame.channel.ends_with(tail));
    let file = ends(tail).or_else(|| ends(path).filter(|_| path.contains('/')));
    let Some(file) = file else {
        return Err(reply
            .finding(
                "`artifact_uri_json` leads to no file below the context root",
                "write `result.json` before the call is answered, at the place that the uri names",
            )
            .expected(format!("a file below the context root whose path ends with `{tail}`"))
            .actual(Some(&Value::from("no such file")))
            .at(format!("/{URI}"))
            .into());
    };
    let span = reply.made.call.arguments.get("span_id").and_then(Value::as_str);
    let names = |span: &str| {
        file.channel.contains(span) || file.body.as_str().is_some_and(|text| text.contains(span))
    };
    // A store may name its files by what it makes of the ids; then only another call's are known.
    let is_another = |own: &str| {
        let requests = reply.frames.iter().filter_map(|frame| frame.text("/params/arguments/span_id"));
        let mut others =
            requests.chain(reply.made.call.arguments.get("parent_span_id").and_then(Value::as_str));
        others.any(|other| other != own && !own.contains(other) && names(other))
    };
    if span.is_some_and(|span| !names(span) && is_another(span)) {
        return Err(reply
            .finding(
                "`artifact_uri_json` leads to the artifact of another call",
                "name the file that was written for this call",
            )
            .expected("a file whose path or content names the call's span")
            .actual(Some(&Value::from(file.channel.clone())))
            .frame(file)
            .at(format!("/{URI}"))
            .into());
    }
    parses(reply, file)
}

/// `result.json` is one JSON document, an object.
pub fn is_json(reply: &Reply<'_>) -> Judgement {
    parses(reply, one(reply, Form::Json)?)
}

fn parses(reply: &Reply<'_>, file: &Frame) -> Judgement {
    let text = file.body.as_str().unwrap_or_default();
    let fault = match answer::strict(text) {
        Ok(Value::Object(_)) => return Ok(()),
        Ok(_) => "it is no object".to_owned(),
        Err(why) if answer::is_beyond_reading(text) => {
            return Err(CheckFailure::NotObserved(format!("{BEYOND_READING}: {why}")));
        }
        Err(why) => why,
    };
    Err(reply
        .finding(
            format!("`result.json` is not one JSON document: {fault}"),
            "write one JSON object and nothing else",
        )
        .expected("a JSON object")
        .actual(Some(&Value::from(text)))
        .frame(file)
        .into())
}

/// The `.context` artifact is text that a person can read.
pub fn is_readable(reply: &Reply<'_>) -> Judgement {
    if reply.made.call.is_long && reply.answer.is_refusal() && of(reply, Form::Context).is_empty() {
        return Err(Alternative::RefusesLarge.seen_in(answer::frame(reply.frames, reply.made.id)));
    }
    let file = one(reply, Form::Context)?;
    let hint = "write UTF-8 text without control characters";
    let text = match &file.body {
        Value::String(text) => text,
        other => {
            let finding =
                reply.finding("the `.context` artifact is no UTF-8 text", hint).expected("UTF-8 text");
            return Err(finding.actual(Some(other)).frame(file).into());
        }
    };
    let odd =
        text.chars().find(|letter| letter.is_control() && !WHITE.contains(letter) && *letter != '\u{1b}');
    if text.trim().is_empty() || odd.is_some() {
        return Err(reply
            .finding("the `.context` artifact cannot be read by a person", hint)
            .expected("text that is not empty and printable")
            .actual(Some(&Value::from(text.as_str())))
            .frame(file)
            .into());
    }
    if text.contains(reply.tool()) {
        return Ok(());
    }
    Err(reply
        .finding(
            "the `.context` artifact does not say which tool was called",
            "name the tool in the text; if it names that of another call, that call wrote over it: give each a span of its own",
        )
        .expected(format!("text that names `{}`", reply.tool()))
        .actual(Some(&Value::from(text.as_str())))
        .frame(file)
        .recommended("what a text for people holds is not said (ambiguity A25)")
        .into())
}

/// The artifact has the uri form of the contract.
pub fn has_its_form(reply: &Reply<'_>, form: Form) -> Judgement {
    let file = one(reply, form)?;
    let tail = tail(reply, form);
    if file.channel == tail || file.channel.ends_with(&format!("/{tail}")) {
        return Ok(());
    }
    Err(reply
        .finding(
            format!("the {} artifact does not lie where the contract's uri form puts it", form.name()),
            "use `artifact://runs/<trace>/tool_calls/<span>` with the ids of the call",
        )
        .expected(format!("artifact://{tail}"))
        .actual(Some(&Value::from(file.channel.clone())))
        .frame(file)
        .recommended("the forms of uris are given as examples (ambiguity A10)")
        .into())
}

/// The uri of the JSON artifact has the form of the contract.
pub fn uri_has_its_form(reply: &Reply<'_>) -> Judgement {
    let envelope = reply.envelope()?;
    let Some(uri) = envelope.get(URI).filter(|uri| uri.is_string()) else {
        return Err(CheckFailure::NotObserved("the envelope points at no artifact".to_owned()));
    };
    let expected = format!("artifact://{}", tail(reply, Form::Json));
    if *uri == expected {
        return Ok(());
    }
    Err(reply
        .finding(
            "`artifact_uri_json` does not have the contract's form",
            "use `artifact://runs/<trace>/tool_calls/<span>/result.json` with the ids of the call",
        )
        .expected(expected)
        .actual(Some(uri))
        .at(format!("/{URI}"))
        .recommended("the forms of uris are given as examples (ambiguity A10)")
        .into())
}

/// Each call names an artifact that no other one names. Of several at once a server may refuse all but two.
pub fn have_uris_of_their_own(replies: &[Reply<'_>]) -> Judgement {
    let taken: Vec<&Reply<'_>> = replies.iter().filter(|reply| !reply.answer.is_failure()).collect();
    let judged: Vec<&Reply<'_>> = if taken.len() < 2 { replies.iter().collect() } else { taken };
    let mut named = Vec::new();
    for reply in judged {
        super::call::keeps_its_ids(reply, true)?;
        let uri = reply.envelope()?.get(URI).filter(|uri| uri.is_string()).cloned();
        super::call::keeps_its_ids(reply, uri.is_some())?;
        let Some(uri) = uri else {
            // With a context root each envelope names one, by another rule.
            let message = "the calls name no artifacts to tell them apart by";
            return Err(CheckFailure::NotObserved(message.to_owned()));
        };
        if named.contains(&uri) {
            let hint = "name artifacts by the whole ids of a call, and give each call without ids a span id of its own: the \
                        time alone is the same for calls of one moment";
            let finding = reply.finding("two calls share their artifact", hint);
            return Err(finding.expected("another one for each call").actual(Some(&uri)).into());
        }
        named.push(uri);
    }
    Ok(())
}

/// The id in which two calls differ.
pub(super) fn differing_id(first: &Reply<'_>, second: &Reply<'_>) -> &'static str {
    let [one, other] = [first, second].map(|reply| reply.made.call.arguments.get("span_id"));
    if one == other { "trace" } else { "span" }
}

/// Two calls have artifacts of their own.
pub fn are_apart(first: &Reply<'_>, second: &Reply<'_>) -> Judgement {
    for reply in [first, second] {
        super::call::keeps_its_ids(reply, !of(reply, Form::Json).is_empty())?;
    }
    for form in [Form::Context, Form::Json] {
        let (left, right) = (one(first, form)?, one(second, form)?);
        if left.channel == right.channel {
            let id = differing_id(first, second);
            return Err(second
                .finding(
                    format!("two calls with different {id}s share their {} artifact", form.name()),
                    format!("make the {id} part of the artifact's path"),
                )
                .expected(format!("a file for each {id}"))
                .actual(Some(&Value::from(right.channel.clone())))
                .frame(right)
                .into());
        }
    }
    Ok(())
}

/// The artifact is still what it was.
pub fn is_unchanged(reply: &Reply<'_>, before: &[Frame], after: &[Frame]) -> Judgement {
    for old in before {
        let now = after.iter().find(|new| new.channel == old.channel);
        if now.is_none_or(|new| new.body != old.body || new.headers.get(BYTES) != old.headers.get(BYTES)) {
            return Err(reply
                .finding(
                    "an artifact is no longer what it was when the call was answered",
                    "keep artifacts: a reference must lead to the same bytes after further calls and a restart",
                )
                .expected(old.body.as_str().unwrap_or_default())
                .actual(Some(&now.map_or_else(|| Value::from("no such file"), |new| new.body.clone())))
                .frame(old)
                .into());
        }
    }
    if before.is_empty() { Err(missing(reply, Form::Json).into()) } else { Ok(()) }
}

/// The artifact does not grow with the result, or with the arguments of a call that fails. One that fails need not leave
/// any.
pub fn is_bounded(small: &Reply<'_>, large: &Reply<'_>, form: Form, limit: Option<usize>) -> Judgement {
    let size = |file: &Frame| file.headers.get(BYTES).and_then(|bytes| bytes.parse().ok()).unwrap_or(0usize);
    let largest = |reply, form| of(reply, form).into_iter().max_by_key(|file| size(file));
    let is_to_fail = matches!(small.made.call.probe, Some(Probe::Invalid | Probe::Fail));
    if is_to_fail && [small, large].iter().any(|reply| of(reply, form).is_empty()) {
        if let Some(reply) = [small, large].into_iter().find(|reply| !reply.answer.is_refusal()) {
            return super::call::fails(reply);
        }
        let frames = [small, large].into_iter();
        let frames = frames.filter_map(|reply| answer::frame(reply.frames, reply.made.id));
        return Err(Alternative::NoArtifacts.seen_in(frames));
    }
    let Some(first) = largest(small, form) else {
        return if small.answer.is_refusal() { Ok(()) } else { Err(missing(small, form).into()) };
    };
    // A server that refuses the larger one has bounded it too.
    let Some(second) = largest(large, form) else {
        return if large.answer.is_refusal() { Ok(()) } else { Err(missing(large, form).into()) };
    };
    bounded(size(first), size(second), limit).map_err(|text| {
        large
            .finding(
                format!("the {} artifact is not bounded: {text}", form.name()),
                "cut strings, lists and objects alike before they are written",
            )
            .expected(expected_bound(limit))
            .actual(Some(&Value::from(format!("{} and {} KiB", size(first) / 1024, size(second) / 1024))))
            .frame(second)
            .into()
    })
}

/// The artifact does not hold the marker.
pub fn holds_no_secret(reply: &Reply<'_>, form: Form, marker: &str) -> Judgement {
    one(reply, form)?;
    let holds = |file: &&Frame| file.body.as_str().is_some_and(|text| text.contains(marker));
    let Some(file) = of(reply, form).into_iter().find(holds) else { return Ok(()) };
    let text = file.body.as_str().unwrap_or_default();
    let from = around(text, marker);
    Err(reply
        .finding(
            format!("the {} artifact holds a secret", form.name()),
            "redact results, and the arguments that are shown, before they are shaped and written",
        )
        .expected("no value that stood under the key of a secret")
        .actual(Some(&Value::from(&text[from..])))
        .frame(file)
        .into())
}

/// Nothing was written outside the root. That counts only where the server writes artifacts at all.
pub fn stays_inside(reply: &Reply<'_>, outside: &[String], leaves_artifacts: bool) -> Judgement {
    match outside.first() {
        None if leaves_artifacts => Ok(()),
        None => Err(CheckFailure::NotObserved(
            "a plain call leaves no artifact below the context root, so that none lies outside it shows nothing"
                .to_owned(),
        )),
        Some(path) => Err(reply
            .finding(
                "an artifact was written outside the context root",
                "refuse ids that are no plain names, or escape them, before they become part of a path",
            )
            .expected("no file outside the context root")
            .actual(Some(&Value::from(Path::new(path).display().to_string())))
            .into()),
    }
}
