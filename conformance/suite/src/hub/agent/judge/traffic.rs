//! Who was asked, and how often (Tool Execution Contract L5-13).

use serde_json::Value;

use super::{Deed, request::Route};
use crate::judge::{Finding, Judgement, Trouble};
use crate::transcript::{Frame, Kind};

/// Requests that are taken for one call which cannot succeed (resolution A26).
const MAX_TRIES: usize = 3;

/// The Hub is asked to execute the call.
pub fn the_hub_is_asked(deed: &Deed<'_>) -> Judgement {
    if !deed.executions().is_empty() {
        return Ok(());
    }
    Err(deed
        .finding(
            format!("the Hub is not asked to execute `{}`", deed.tool()),
            "send calls of `calendar_*` and `email_*` tools to the Hub",
        )
        .expected("an execute request")
        .actual(Some(&Value::from("none")))
        .into())
}

/// The Hub is not asked to execute the call under test. Calls that it must execute arrive, before and after it.
pub fn the_hub_is_left_out(deed: &Deed<'_>, sentinels: &[Deed<'_>]) -> Judgement {
    if let Some(silent) = sentinels.iter().find(|sentinel| sentinel.executions().is_empty()) {
        let message =
            format!("a call of `{}` does not reach the Hub, so nothing shows what would", silent.tool());
        return Err(Trouble::NotObserved(message));
    }
    // A request that comes late belongs to the call whose tool or inputs it names.
    let names_it = |frame: &&Frame| {
        frame.kind == Kind::HubRequest
            && Route::of(frame) == Route::Execute
            && (frame.text("/tool") == Some(deed.tool())
                || frame.body.get("inputs") == Some(&deed.made.call.inputs))
    };
    let found = deed.executions().into_iter().next().or_else(|| deed.frames.iter().find(names_it));
    let Some(frame) = found else { return Ok(()) };
    Err(deed
        .finding(
            format!("the Hub is asked to execute `{}`, which is not its own", deed.tool()),
            "run `mission_*` and `document_*` in the agent, and let `research_*` call the web by itself",
        )
        .expected("no execute request")
        .actual(Some(&frame.body))
        .frame(frame)
        .into())
}

/// The provider behind the Hub sees nothing.
pub fn the_provider_is_left_out(deed: &Deed<'_>) -> Judgement {
    let Some(frame) = deed.frames.iter().find(|frame| frame.kind == Kind::Provider) else { return Ok(()) };
    Err(deed
        .finding(
            format!("the agent calls the provider behind `{}` itself", deed.tool()),
            "leave calendar and mail to the Hub, which holds the customer's credentials",
        )
        .expected("no request to the provider")
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into())
}

/// The agent itself asks the web.
pub fn the_web_is_asked(deed: &Deed<'_>) -> Judgement {
    if deed.own(Kind::Web).next().is_some() {
        return Ok(());
    }
    Err(deed
        .finding(
            format!("`{}` does not call the web", deed.tool()),
            "let the agent itself send the request to the address that it is given",
        )
        .expected("a request to the page or the search")
        .actual(Some(&Value::from("none")))
        .into())
}

/// A call that cannot succeed is not made again and again.
pub fn is_not_repeated(deed: &Deed<'_>) -> Judgement {
    let asked = deed.asked()?;
    if asked.len() <= MAX_TRIES {
        return Ok(());
    }
    let finding = deed
        .finding(
            format!("a call that the Hub refuses is sent {} times", asked.len()),
            format!(
                "give up after {MAX_TRIES} requests at the latest: this error does not go away by itself"
            ),
        )
        .expected(format!("at most {MAX_TRIES} requests"))
        .actual(Some(&Value::from(asked.len())));
    Err(asked.into_iter().take(MAX_TRIES + 1).fold(finding, Finding::frame).recommended().into())
}

/// A call that the Hub has executed is not sent once more. Where it is, that is a warning.
pub fn is_made_once(deed: &Deed<'_>) -> Judgement {
    let is_execution = |frame: &&Frame| Route::of(frame) == Route::Execute;
    let is_done =
        |frame: &&Frame| is_execution(frame) && frame.body.get("success") == Some(&Value::Bool(true));
    let Some(done) = deed.own(Kind::HubResponse).find(is_done) else { return Ok(()) };
    let again = deed
        .own(Kind::HubRequest)
        .filter(is_execution)
        .find(|frame| frame.n > done.n && frame.text("/tool").is_some_and(|tool| tool == deed.tool()));
    let Some(again) = again else { return Ok(()) };
    Err(deed
        .finding(
            format!("a call of `{}` is sent again after the Hub has executed it", deed.tool()),
            "send a call that succeeded once only: each request sends the mail, or makes the event, anew",
        )
        .expected("one request")
        .actual(Some(&Value::from("another one after the success")))
        .frame(again)
        .recommended()
        .into())
}

/// What a MAY rule records about the status.
pub fn note_on_status(deed: &Deed<'_>) -> &'static str {
    if questions(deed.frames).next().is_some() {
        "the agent asks for the status of integrations before it calls a tool"
    } else {
        "the agent calls tools without asking for the status of integrations"
    }
}

/// What a MAY rule records about the context.
///
/// # Errors
/// Not observed without a request.
pub fn note_on_context(deed: &Deed<'_>) -> Result<&'static str, Trouble> {
    let asked = deed.asked()?;
    let has_context =
        asked.iter().any(|frame| frame.body.get("context").is_some_and(|context| !context.is_null()));
    Ok(if has_context { "the agent sends a `context`" } else { "the agent sends no `context`" })
}

/// Questions about the status of integrations.
pub fn questions(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|frame| frame.kind == Kind::HubRequest && Route::of(frame) == Route::Status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::hub::agent::call::Call;
    use crate::hub::agent::judge::Made;
    use crate::wire::CALL;

    #[test]
    fn only_a_success_makes_a_second_request_too_many() {
        let call = Call { tool: "email_send".to_owned(), inputs: json!({}), user_id: None };
        let made = Made { call, customer_id: String::new(), number: 1 };
        let frame = |n: u64, kind: Kind, body: Value| {
            let mut frame = super::super::request_frame(body);
            (frame.n, frame.kind) = (n.try_into().expect("a small number"), kind);
            frame.headers.insert(CALL.to_owned(), "1".to_owned());
            frame
        };
        let check = |success: bool, expect: bool| {
            let request = json!({"tool": "email_send", "inputs": {}});
            let frames = [
                frame(1, Kind::HubRequest, request.clone()),
                frame(2, Kind::HubResponse, json!({"success": success})),
                frame(3, Kind::HubRequest, request),
            ];
            assert_eq!(is_made_once(&Deed { made: &made, frames: &frames }).is_ok(), expect, "{success}");
            assert_eq!(is_made_once(&Deed { made: &made, frames: &frames[..2] }), Ok(()));
        };
        check(true, false);
        check(false, true);
    }
}
