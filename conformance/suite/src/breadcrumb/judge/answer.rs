//! Whether a call is answered as the standard says (Universal Tool Invocation L63-74).

use crate::breadcrumb::answer::Answer;
use crate::breadcrumb::call::Call;
use crate::breadcrumb::crumb::RESPONSE;
use crate::judge::{Finding, Judgement, Trouble};
use crate::transcript::{Frame, Kind};

/// A call without an answer.
pub fn missing(frames: &[Frame], call: &Call) -> Trouble {
    let mut finding = Finding::new(
        format!("the call of `{}` is not answered", call.tool()),
        "store a `tool.response.v1` whose `context.request_id` is the `requestId` of the request, for a success and for \
         a failure alike",
    )
    .expected(call.id());
    // What came in its place tells more than nothing.
    if let Some(frame) = frames.iter().rev().find(|frame| frame.kind == Kind::Crumb) {
        finding = finding.actual(Some(&frame.body)).frame(frame);
    }
    finding.into()
}

/// The answer is of the schema of answers.
pub fn schema(answer: &Answer<'_>) -> Judgement {
    let actual = answer.frame.member("/schema_name");
    if actual.and_then(serde_json::Value::as_str) == Some(RESPONSE) {
        return Ok(());
    }
    Err(Finding::new(
        "the answer is a breadcrumb of another schema",
        "store answers with `schema_name` `tool.response.v1`",
    )
    .expected(RESPONSE)
    .actual(actual)
    .at("/schema_name")
    .frame(answer.frame)
    .into())
}
