//! Captures of the `nats` command line: the text of `nats sub`, and the objects of `nats sub --dump`.
//!
//! In the text a message is a line `[#1] Received on "subject"`, headers and an empty line where it has headers, the body,
//! and an empty line. A body may have empty lines itself, so a message ends where the next one begins.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Cursor, Read as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::At;
use super::MAX_LINE;
use super::error::RecordingError;
use super::lines::{Line, Lines};
use super::observer::{BusMessage, Seen, Traffic};
use super::sink::Gathering;

/// A message as `nats sub --dump` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Dumped {
    subject: String,
    #[serde(default)]
    reply: Option<String>,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
    /// Base64.
    #[serde(default)]
    data: Option<String>,
}

/// Reads a dump: objects that end with NUL, as on standard output, or with a line.
pub(super) fn read_dump(
    mut from: impl BufRead,
    file: usize,
    gathering: &mut Gathering<'_, '_>,
) -> Result<(), RecordingError> {
    let failed = |error| RecordingError::Read { file, error };
    let (beginning, ends_with) = first(&mut from).map_err(failed)?;
    let mut lines = Lines::new(Cursor::new(beginning).chain(from), ends_with);
    let mut line = Vec::new();
    loop {
        let next = lines.next_text(&mut line, || gathering.too_long());
        let Some(next) = next.map_err(failed)? else { break };
        let at = At { file, line: lines.number };
        match dumped(&line, at) {
            Ok(message) => gathering.take(&Seen { at, traffic: Traffic::Bus(message) }, line.len()),
            Err(_) if next == Line::Last && ends_with == 0 => gathering.sink.cut_short(at),
            Err(error) => return Err(error),
        }
    }
    gathering.sink.bytes(lines.bytes);
    Ok(())
}

/// What is read until the end of the first message is known, and the byte that it is. Files of `--dump DIRECTORY` that were
/// joined have no NUL between them.
fn first(from: &mut impl BufRead) -> io::Result<(Vec<u8>, u8)> {
    let mut beginning = Vec::new();
    loop {
        let read = from.fill_buf()?;
        let is_over = read.is_empty();
        let is_found = memchr::memchr(0, read).is_some();
        let length = read.len();
        beginning.extend_from_slice(read);
        from.consume(length);
        if is_found {
            return Ok((beginning, 0));
        }
        if is_over || beginning.len() > MAX_LINE {
            return Ok((beginning, b'\n'));
        }
    }
}

fn dumped(line: &[u8], at: At) -> Result<BusMessage, RecordingError> {
    let own: Dumped = serde_json::from_slice(line).map_err(|error| RecordingError::parse(at, &error))?;
    let body = STANDARD
        .decode(own.data.unwrap_or_default())
        .map_err(|error| RecordingError::Parse { at, message: format!("`Data` is no Base64: {error}") })?;
    let headers = own.header.unwrap_or_default().into_iter();
    let headers =
        headers.filter_map(|(name, mut values)| Some((name.to_ascii_lowercase(), values.pop()?))).collect();
    let reply = own.reply.filter(|reply| !reply.is_empty());
    Ok(BusMessage { subject: own.subject, reply, headers, body, at_us: 0 })
}

/// A message whose lines are gathered.
struct Open {
    subject: String,
    reply: Option<String>,
    text: Vec<u8>,
    at: At,
    is_long: bool,
}

/// Reads the text.
pub(super) fn read_text(
    from: impl BufRead,
    file: usize,
    gathering: &mut Gathering<'_, '_>,
) -> Result<(), RecordingError> {
    let mut lines = Lines::new(from, b'\n');
    let mut line = Vec::new();
    let mut open: Option<Open> = None;
    loop {
        let next = lines.next(&mut line).map_err(|error| RecordingError::Read { file, error })?;
        let at = At { file, line: lines.number };
        if next == Line::End {
            break;
        }
        if next != Line::TooLong
            && let Some((subject, reply)) = received(&line)
        {
            close(open.take(), gathering);
            open = Some(Open { subject, reply, text: Vec::new(), at, is_long: false });
            continue;
        }
        // What stands before the first message is the command's own word.
        let Some(own) = &mut open else { continue };
        if next == Line::TooLong || own.text.len() + line.len() > MAX_LINE {
            own.is_long = true;
            own.text.clear();
        } else {
            own.text.extend_from_slice(&line);
            own.text.push(b'\n');
        }
    }
    close(open, gathering);
    gathering.sink.bytes(lines.bytes);
    Ok(())
}

fn close(open: Option<Open>, gathering: &mut Gathering<'_, '_>) {
    let Some(Open { subject, reply, text, at, is_long }) = open else { return };
    if is_long {
        return gathering.too_long();
    }
    let (headers, body) = parts(&text);
    let message = BusMessage { subject, reply, headers, body: body.to_vec(), at_us: 0 };
    gathering.take(&Seen { at, traffic: Traffic::Bus(message) }, text.len());
}

/// Subject and reply of a line that begins a message.
fn received(line: &[u8]) -> Option<(String, Option<String>)> {
    if !line.starts_with(b"[#") {
        return None;
    }
    let line = std::str::from_utf8(line).ok()?.trim_end();
    let (_, rest) = line.split_once(']')?;
    if let Some((_, rest)) = rest.split_once(" / subject: ")
        && rest.len() < line.len()
        && line.contains("] Received JetStream message: ")
    {
        return Some((rest.split(" / ").next()?.to_owned(), None));
    }
    let (_, rest) = rest.split_once("Received on \"")?;
    let (subject, rest) = rest.split_once('"')?;
    let reply = rest.strip_prefix(" with reply \"").and_then(|rest| rest.strip_suffix('"'));
    Some((subject.to_owned(), reply.map(str::to_owned)))
}

/// Headers and body. A body that is JSON is never taken for headers.
fn parts(text: &[u8]) -> (BTreeMap<String, String>, &[u8]) {
    let none = || (BTreeMap::new(), text.trim_ascii());
    let Some(end) = memchr::memmem::find(text, b"\n\n") else { return none() };
    let Ok(head) = std::str::from_utf8(&text[..end]) else { return none() };
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").or_else(|| Some((line.strip_suffix(':')?, "")))?;
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        (!name.is_empty() && name.bytes().all(is_token))
            .then(|| (name.to_ascii_lowercase(), value.to_owned()))
    };
    match head.lines().map(header).collect::<Option<BTreeMap<_, _>>>() {
        Some(headers) if !headers.is_empty() => (headers, text[end + 2..].trim_ascii()),
        _ => none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_begins_with_its_subject() {
        let check = |line: &str, expect: Option<(&str, Option<&str>)>| {
            let found = received(line.as_bytes());
            let found = found.as_ref().map(|(subject, reply)| (&**subject, reply.as_deref()));
            assert_eq!(found, expect, "{line}");
        };
        check("[#1] Received on \"cg.v1r3.p.c.cmd.tool.x\"", Some(("cg.v1r3.p.c.cmd.tool.x", None)));
        check(
            "[#12] Received on \"l0.v1.p.cards.get\" with reply \"_INBOX.a.b\"",
            Some(("l0.v1.p.cards.get", Some("_INBOX.a.b"))),
        );
        check("[#3] @ 1.2s Received on \"a\"", Some(("a", None)));
        check(
            "[#1] Received JetStream message: stream: S seq 4 / subject: cg.x / time: 2026-01-01T00:00:00Z",
            Some(("cg.x", None)),
        );
        check("{\"text\":\"[#1] Received on \\\"a\\\"\"}", None);
        check("12:00:00 Subscribing on >", None);
    }

    #[test]
    fn the_end_of_messages_is_known_however_long_the_first_one_is() {
        let long = "x".repeat(100_000);
        let check = |text: &str, expect: u8| {
            let mut from = io::BufReader::with_capacity(64, text.as_bytes());
            let (beginning, ends_with) = first(&mut from).expect("bytes in memory");
            let mut all = beginning;
            from.read_to_end(&mut all).expect("bytes in memory");
            assert_eq!((all == text.as_bytes(), ends_with), (true, expect), "{}", text.len());
        };
        check(&format!("{{\"Subject\":\"{long}\"}}\0{{}}\0"), 0);
        check(&format!("{{\"Subject\":\"{long}\"}}\n{{}}\n"), b'\n');
        check("{}", b'\n');
    }

    #[test]
    fn headers_stand_before_an_empty_line() {
        let check = |text: &str, names: &[&str], body: &str| {
            let (headers, rest) = parts(text.as_bytes());
            let own: Vec<&str> = headers.keys().map(String::as_str).collect();
            assert_eq!((own, rest), (names.to_vec(), body.as_bytes()), "{text}");
        };
        check("{\"a\": 1}\n\n", &[], "{\"a\": 1}");
        check("Traceparent: 00-ab\nCG-X: y\n\n{}\n\n", &["cg-x", "traceparent"], "{}");
        check("x~tenant!: a\ntraceparent: 00-ab\n\n{}\n\n", &["traceparent", "x~tenant!"], "{}");
        check("{\n\n\"a\": 1}\n\n", &[], "{\n\n\"a\": 1}");
        check("plain words\n\nmore\n\n", &[], "plain words\n\nmore");
    }
}
