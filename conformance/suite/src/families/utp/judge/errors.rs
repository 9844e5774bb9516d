//! Failures (UTP §5, Guide §3.1): the members of a failed tool.result card, and its error code.

use serde_json::Value;

use super::callback::quoted;
use super::seen;
use super::seen::Calls;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::utp::reason::Alternative;
use crate::families::utp::tool::Tool;
use crate::transcript::{Frame, member_at};

/// The common error codes (UTP §5). The list is extensible.
pub const COMMON_CODES: [&str; 5] =
    ["tool_timeout", "auth_failed", "bad_request", "upstream_unavailable", "internal_error"];
/// The members of a failed card that make up the error structure.
const STRUCTURE: [&str; 4] = ["result.error_code", "result.error_message", "error.code", "error.message"];
/// Where details end up that are not in `error.detail`.
const STRAY_DETAIL: [&str; 6] = [
    "/content/result/error_detail",
    "/content/result/error_details",
    "/content/result/detail",
    "/content/result/details",
    "/content/error/details",
    "/content/detail",
];

/// The failed result card of the call.
fn failed_card<'a>(frames: &'a [Frame], calls: &Calls<'_>) -> Result<(&'a Frame, &'a Value), CheckFailure> {
    let (frame, card) = seen::result_card(frames, calls).ok_or_else(|| {
        CheckFailure::NotObserved("the target saved no tool.result card for the call".to_owned())
    })?;
    let status = member_at(card, "/content/status").and_then(Value::as_str);
    match status {
        Some("success" | "partial") if calls.subject.tool == Tool::Fail => Err(CheckFailure::NotObserved(
            "the `fail` probe does not fail: name a tool that does in `utp.tool-service.probes.fail`"
                .to_owned(),
        )),
        Some("success" | "partial") => Err(Alternative::NotFailed.seen_in([frame])),
        _ => Ok((frame, card)),
    }
}

/// A failed card has a member of the error structure, for example `error.code`.
pub fn has_member(frames: &[Frame], calls: &Calls<'_>, member: &str) -> Judgement {
    let (frame, card) = failed_card(frames, calls)?;
    let pointer = format!("/content/{}", member.replace('.', "/"));
    let value = member_at(card, &pointer);
    if value.and_then(Value::as_str).is_some_and(|text| !text.is_empty()) {
        return Ok(());
    }
    Err(Finding::new(
        format!("the failed tool.result card has no `{member}`"),
        format!("fill `content.{member}` with a non-empty string whenever a call fails"),
    )
    .expected("a non-empty string")
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// Where a failed card gives details at all, `error.detail` has them.
pub fn has_detail_in_place(frames: &[Frame], calls: &Calls<'_>) -> Judgement {
    let (frame, card) = failed_card(frames, calls)?;
    if member_at(card, "/content/error/detail").is_some_and(|detail| !detail.is_null()) {
        return Ok(());
    }
    let stray = STRAY_DETAIL
        .iter()
        .find_map(|pointer| Some((*pointer, member_at(card, pointer).filter(|detail| !detail.is_null())?)));
    match stray {
        None => Ok(()),
        Some((pointer, detail)) => Err(Finding::new(
            "the failure's detail is not in `error.detail`",
            "put details of a failure into `content.error.detail`",
        )
        .expected("the detail in `error.detail`")
        .actual(Some(detail))
        .at(format!("/card{pointer}"))
        .frame(frame)
        .into()),
    }
}

/// The code of a failure is one of `expected`, or one of the target's own; another common code is misleading.
pub fn has_code(
    frames: &[Frame],
    calls: &Calls<'_>,
    expected: &[&str],
) -> Result<Option<String>, CheckFailure> {
    let (frame, card) = failed_card(frames, calls)?;
    let (pointer, value) = ["/content/error/code", "/content/result/error_code"]
        .into_iter()
        .map(|pointer| (pointer, member_at(card, pointer)))
        .find(|(_, value)| value.is_some_and(|value| !value.is_null()))
        .unwrap_or(("/content/error/code", None));
    let code = value.and_then(Value::as_str).unwrap_or_default();
    if expected.contains(&code) {
        return Ok(None);
    }
    if !code.is_empty() && !COMMON_CODES.contains(&code) {
        return Ok(Some(format!("the target uses its own code `{}`", crate::transcript::shorten_text(code))));
    }
    Err(Finding::new(
        format!("this failure should have the code {}", quoted(expected)),
        format!("use {}, or a code of your own that is none of {}", quoted(expected), quoted(&COMMON_CODES)),
    )
    .expected(expected.join(" or "))
    .actual(value)
    .at(format!("/card{pointer}"))
    .frame(frame)
    .into())
}

/// All failed cards of a project have the same members of the error structure.
pub fn is_uniform(frames: &[Frame]) -> Judgement {
    let failed: Vec<(&Frame, Vec<&str>)> = seen::result_cards(frames)
        .filter(|(_, card)| member_at(card, "/content/status").and_then(Value::as_str) == Some("failed"))
        .map(|(frame, card)| (frame, members(card)))
        .collect();
    let [(first, shape), rest @ ..] = failed.as_slice() else {
        return Err(CheckFailure::NotObserved("the target saved no failed tool.result card".to_owned()));
    };
    match rest.iter().find(|(_, other)| other != shape) {
        None => Ok(()),
        Some((frame, other)) => Err(Finding::new(
            "failures of different origin have different error structures",
            format!("fill {} on every failure, wherever it arises", quoted(&STRUCTURE)),
        )
        .expected(quoted(shape))
        .actual(Some(&Value::from(quoted(other))))
        .at("/card/content")
        .frame(first)
        .frame(frame)
        .into()),
    }
}

/// Number of failed cards that the target saved.
pub fn failed_cards(frames: &[Frame]) -> usize {
    seen::result_cards(frames)
        .filter(|(_, card)| member_at(card, "/content/status").and_then(Value::as_str) == Some("failed"))
        .count()
}

fn members(card: &Value) -> Vec<&'static str> {
    STRUCTURE
        .into_iter()
        .filter(|member| {
            let pointer = format!("/content/{}", member.replace('.', "/"));
            member_at(card, &pointer).is_some_and(|value| !value.is_null())
        })
        .collect()
}
