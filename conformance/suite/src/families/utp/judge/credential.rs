//! Credentials that no request of an executor may carry: what stands in a card or a row, and keys that the row does not name.

use memchr::memmem::Finder;
use serde_json::json;

use super::seen::Calls;
use super::upstream::{finders, holds, holds_one, requests};
use crate::engine::judge::{Finding, Judgement};
use crate::families::utp::message;
use crate::families::utp::upstream::Key;
use crate::transcript::Frame;

/// No request of the call has a key that its row does not name.
pub fn uses_no_such_key(frames: &[Frame], calls: &Calls<'_>, key: &Key) -> Judgement {
    let forms = key.traces();
    let traces = finders(&forms);
    let Some(frame) = requests(frames, calls)?.into_iter().find(|frame| holds_one(frame, &traces)) else {
        return Ok(());
    };
    let name = key.variable.name();
    Err(Finding::new(
        format!("a request was made with the key in `{name}`, which the tool's row does not name"),
        "take the name of a key's variable from the row of the tool that is called; neither the card's arguments nor \
         another tool's row chooses one",
    )
    .expected(format!("no value of `{name}`"))
    .actual(Some(&json!(format!("a value of `{name}` {}", place(frame, &traces)))))
    .frame(frame)
    .into())
}

/// Where a request holds one of these texts.
fn place(frame: &Frame, texts: &[Finder<'_>]) -> String {
    let holds = |own: &str| texts.iter().any(|text| text.find(own.as_bytes()).is_some());
    match frame.headers.iter().find(|(_, value)| holds(value)) {
        Some((name, _)) => format!("in the header `{name}`"),
        None if holds(&frame.channel) => "in the address".to_owned(),
        None => "among the parameters or in the body".to_owned(),
    }
}

/// No request of the call has the literal in a header.
///
/// As a parameter it may go out: arguments are what a tool sends.
pub fn uses_no_literal(frames: &[Frame], calls: &Calls<'_>, literal: &str) -> Judgement {
    // Arguments are what a tool sends, so there only a header makes one a credential; nothing else of a row is sent.
    let is_argument = message::mentions(&calls.subject.card["content"]["arguments"], literal);
    let using = requests(frames, calls)?.into_iter().find_map(|frame| {
        let header = frame.headers.iter().find(|(_, value)| value.contains(literal));
        let header = header.map(|(name, value)| json!({name: value}));
        let anywhere = || (!is_argument && holds(frame, literal)).then(|| json!(literal));
        Some((frame, header.or_else(anywhere)?))
    });
    match using {
        None => Ok(()),
        Some((frame, used)) => Err(Finding::new(
            "a key that stands in the card or in the tool's row was used as a credential",
            "take keys from environment variables alone; without one, ask without a key or fail",
        )
        .expected("no credential, or one from the environment")
        .actual(Some(&used))
        .frame(frame)
        .into()),
    }
}
