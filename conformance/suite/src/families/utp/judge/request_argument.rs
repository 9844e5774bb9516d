//! An argument of the tool.call card within the request to the upstream (Guide §1, §4): the same text, encoded once.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::seen::Calls;
use super::upstream;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::token::tokens;
use crate::transcript::Frame;

/// A request of the call holds the argument of this name, whole and unchanged, wherever in the request it stands.
pub fn is_sent(frames: &[Frame], calls: &Calls<'_>, name: &str) -> Judgement {
    let own = upstream::some(frames, calls)?;
    let place = format!("/content/arguments/{name}");
    let Some(expected) = calls.subject.card.pointer(&place).and_then(Value::as_str) else {
        return Err(CheckFailure::NotObserved(format!("the card has no text as `{name}`")));
    };
    // Some HTTP clients make one slash of two.
    let merged = expected.replacen("://", ":/", 1);
    let holds = |text: &String| text.contains(expected) || text.contains(&merged);
    if own.iter().any(|frame| texts(frame).iter().any(holds)) {
        return Ok(());
    }
    let sent = own.iter().find_map(|frame| {
        let text = texts(frame).into_iter().find(|text| tokens(text).next().is_some())?;
        Some((frame, text))
    });
    let finding = Finding::new(
        format!("the request does not hold the card's argument `{name}` as it stands there"),
        "encode the argument once, in UTF-8, with the encoder of the place where it is sent, and leave nothing of it out",
    )
    .expected(expected);
    Err(match sent {
        Some((frame, text)) => finding.actual(Some(&Value::from(text))).frame(frame),
        None => finding.frame(own[0]),
    }
    .into())
}

/// What a request says, decoded: parameters and body, the path with plus signs for blanks and without, the headers. An
/// address in the path may also stand there as it is.
fn texts(frame: &Frame) -> Vec<String> {
    let mut found = Vec::new();
    for member in ["/parameters", "/body"] {
        frame.member(member).into_iter().for_each(|value| gather(value, &mut found));
    }
    let path = frame.text("/path").unwrap_or_default();
    found.push(decoded(path));
    found.push(decoded(&path.replace('+', " ")));
    found.push(format!("{path}?{}", frame.text("/query").unwrap_or_default()));
    for value in frame.headers.values() {
        found.extend([value.clone(), decoded(value)]);
    }
    found
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// All texts, at any depth.
fn gather(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| gather(item, found)),
        Value::Object(members) => members.values().for_each(|member| gather(member, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::transcript::{Kind, Message, Transcript};

    fn sent(body: Value) -> Vec<String> {
        let transcript = Transcript::default();
        let (direction, kind, headers) = (Direction::FromTarget, Kind::Upstream, BTreeMap::new());
        transcript.record(Message { direction, kind, channel: String::new(), headers, body });
        texts(&transcript.frames()[0])
    }

    #[test]
    fn an_argument_is_found_where_it_was_encoded_once() {
        let check = |body: Value, argument: &str, expect: bool| {
            let found = sent(body.clone()).iter().any(|text| text.contains(argument));
            assert_eq!(found, expect, "{argument} in {body}");
        };
        check(json!({"path": "/search", "parameters": {"q": "a+b 50%"}}), "a+b 50%", true);
        check(json!({"path": "/search", "parameters": {"q": "a%2Bb 50%25"}}), "a+b 50%", false);
        check(json!({"path": "/a%2Bb%2050%25"}), "a+b 50%", true);
        check(json!({"path": "/a%2Bb+50%25"}), "a+b 50%", true);
        check(json!({"path": "/a%252Bb%252050%2525"}), "a+b 50%", false);
        check(json!({"path": "/search", "parameters": {"in": [{"q": "a+b"}]}}), "a+b", true);
        check(
            json!({"path": "/https://a.test/x%20y", "query": "q=1%2B2"}),
            "https://a.test/x%20y?q=1%2B2",
            true,
        );
        check(json!({"path": "/https%3A%2F%2Fa.test%2Fx%2520y"}), "https://a.test/x%20y", true);
    }
}
