//! Who was asked, and how often (Tool Execution Contract L5-13).

use serde_json::Value;

use super::inputs::ENVELOPE;
use super::request::{Expected, Route};
use super::{CallRecord, status};
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::hub::contract::TOOLS;
use crate::families::hub::reason::Alternative;
use crate::transcript::{Frame, Kind};

/// Requests that are taken for one call which cannot succeed (resolution A26).
const MAX_TRIES: usize = 3;

/// The Hub is asked to execute the call.
pub fn the_hub_is_asked(call_record: &CallRecord<'_>) -> Judgement {
    if !call_record.executions().is_empty() {
        return Ok(());
    }
    Err(call_record
        .finding(
            format!("the Hub is not asked to execute `{}`", call_record.tool()),
            "send calls of `calendar_*` and `email_*` tools to the Hub",
        )
        .expected("an execute request")
        .actual(Some(&Value::from("none")))
        .into())
}

/// The Hub is not asked to execute the call under test. Calls that it must execute arrive, before and after it.
pub fn the_hub_is_left_out(call_record: &CallRecord<'_>, sentinels: &[CallRecord<'_>]) -> Judgement {
    if let Some(silent) = sentinels.iter().find(|sentinel| sentinel.executions().is_empty()) {
        let message =
            format!("a call of `{}` does not reach the Hub, so nothing shows what would", silent.tool());
        return Err(CheckFailure::NotObserved(message));
    }
    // A request that comes late belongs to the call whose tool or inputs it names.
    let names_it = |frame: &&Frame| {
        frame.kind == Kind::HubRequest
            && match Route::of(frame) {
                Route::Execute => {
                    frame.text("/tool") == Some(call_record.tool())
                        || frame.body.get("inputs") == Some(&call_record.made.call.inputs)
                }
                Route::Other => is_the_call_itself(frame, &call_record.made.call.inputs),
                Route::Status | Route::Beside => false,
            }
    };
    let found =
        call_record.executions().into_iter().next().or_else(|| call_record.frames.iter().find(names_it));
    let Some(frame) = found else { return Ok(()) };
    Err(call_record
        .finding(
            format!("the Hub is asked to execute `{}`, which is not its own", call_record.tool()),
            "run `mission_*` and `document_*` in the agent, and let `research_*` call the web by itself",
        )
        .expected("no execute request")
        .actual(Some(&frame.body))
        .frame(frame)
        .into())
}

/// Whether a request to a path of the Hub's own is the call: its inputs, and nothing else but whom it is for. A report
/// on the call says more than that.
fn is_the_call_itself(frame: &Frame, inputs: &Value) -> bool {
    let (Some(sent), Some(inputs)) = (frame.body.as_object(), inputs.as_object()) else { return false };
    !inputs.is_empty()
        && inputs.iter().all(|(name, value)| sent.get(name) == Some(value))
        && sent.keys().all(|name| inputs.contains_key(name) || ENVELOPE.contains(&name.as_str()))
}

/// Tools and parties that are none of the Hub's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnexpectedTraffic {
    /// Local tools, at the Hub.
    Local,
    /// Direct tools, at the Hub.
    Direct,
    /// Anything, at the provider.
    Provider,
}

/// Whether a request should not have been sent, whatever the call: it asks the Hub for a tool that is none of the nine,
/// or it is for the provider.
pub fn is_astray(frame: &Frame) -> bool {
    match frame.kind {
        Kind::Provider => true,
        Kind::HubRequest => {
            Route::of(frame) == Route::Execute
                && frame.text("/tool").is_some_and(|tool| !TOOLS.contains(&tool))
        }
        _ => false,
    }
}

/// Of all that went astray in the run so far, nothing is of this sort. `named` are the manifest's tools of that sort.
pub fn nothing_went_astray(
    call_record: &CallRecord<'_>,
    unexpected_traffic: &[Frame],
    sort: UnexpectedTraffic,
    named: &[&str],
) -> Judgement {
    call_record.requests()?;
    let prefixes: &[&str] = match sort {
        UnexpectedTraffic::Local => &["mission_", "document_"],
        UnexpectedTraffic::Direct => &["research_"],
        UnexpectedTraffic::Provider => &[],
    };
    let shown = |frame: &Frame| match (sort, frame.kind, frame.text("/tool")) {
        (UnexpectedTraffic::Provider, Kind::Provider, _) => {
            // Further segments may be ids, which differ from run to run.
            let path = frame.channel.split('?').next().unwrap_or_default();
            Some(path.split('/').take(4).collect::<Vec<_>>().join("/"))
        }
        (UnexpectedTraffic::Local | UnexpectedTraffic::Direct, Kind::HubRequest, Some(tool)) => {
            let is_meant = named.contains(&tool) || prefixes.iter().any(|prefix| tool.starts_with(prefix));
            is_meant.then(|| format!("an execute request for `{tool}`"))
        }
        _ => None,
    };
    let Some(first) = unexpected_traffic.iter().filter_map(shown).min() else { return Ok(()) };
    let (message, hint) = match sort {
        UnexpectedTraffic::Local => (
            "a call of a local tool reaches the Hub, perhaps some time after it was made",
            "run `mission_*` and `document_*` in the agent, and hand nothing of them on to the Hub",
        ),
        UnexpectedTraffic::Direct => (
            "a call of a direct tool reaches the Hub, perhaps some time after it was made",
            "let `research_*` call the web by itself",
        ),
        UnexpectedTraffic::Provider => (
            "the agent calls the provider behind the Hub, perhaps some time after a call",
            "leave calendar and mail to the Hub, which holds the customer's credentials",
        ),
    };
    Err(Finding::new(message, hint).expected("no such request").actual(Some(&Value::from(first))).into())
}

/// The provider behind the Hub sees nothing. A request that does not hold the scenario's word `unique` may be another
/// call's that comes late.
pub fn the_provider_is_left_out(call_record: &CallRecord<'_>, unique: &str) -> Judgement {
    let Some(frame) = to_the_provider(call_record) else { return Ok(()) };
    let text = format!("{} {}", frame.channel, frame.body).to_lowercase();
    if text.contains(unique) {
        let message = format!("the agent calls the provider behind `{}` itself", call_record.tool());
        return Err(left_in(call_record, frame, message));
    }
    no_request_goes_to_the_provider(call_record)
}

/// The same of a call of which nothing else is known: whatever goes to the provider meanwhile.
pub fn no_request_goes_to_the_provider(call_record: &CallRecord<'_>) -> Judgement {
    let Some(frame) = to_the_provider(call_record) else { return Ok(()) };
    let message = format!(
        "the agent calls the provider itself, while or shortly before it calls `{}`",
        call_record.tool()
    );
    Err(left_in(call_record, frame, message))
}

fn to_the_provider<'a>(call_record: &CallRecord<'a>) -> Option<&'a Frame> {
    call_record.frames.iter().find(|frame| frame.kind == Kind::Provider)
}

fn left_in(call_record: &CallRecord<'_>, frame: &Frame, message: String) -> CheckFailure {
    call_record
        .finding(message, "leave calendar and mail to the Hub, which holds the customer's credentials")
        .expected("no request to the provider")
        .actual(Some(&Value::from(frame.channel.clone())))
        .frame(frame)
        .into()
}

/// The agent itself asks the web.
pub fn the_web_is_asked(call_record: &CallRecord<'_>) -> Judgement {
    if call_record.own(Kind::Web).next().is_some() {
        return Ok(());
    }
    Err(call_record
        .finding(
            format!("`{}` does not call the web", call_record.tool()),
            "let the agent itself send the request to the address that it is given",
        )
        .expected("a request to the page or the search")
        .actual(Some(&Value::from("none")))
        .into())
}

/// A call that cannot succeed is not made again and again.
pub fn is_not_repeated(call_record: &CallRecord<'_>) -> Judgement {
    let requests = call_record.requests()?;
    if requests.len() <= MAX_TRIES {
        return Ok(());
    }
    let finding = call_record
        .finding(
            format!("a call that the Hub refuses is sent {} times", requests.len()),
            format!(
                "give up after {MAX_TRIES} requests at the latest: this error does not go away by itself"
            ),
        )
        .expected(format!("at most {MAX_TRIES} requests"))
        .actual(Some(&Value::from(requests.len())));
    Err(requests
        .into_iter()
        .take(MAX_TRIES + 1)
        .fold(finding, Finding::frame)
        .recommended("how often an agent may try again is not said (ambiguity A26)")
        .into())
}

/// A call that the Hub has executed is not sent once more. Where it is, that is a warning.
pub fn is_made_once(call_record: &CallRecord<'_>) -> Judgement {
    let is_execution = |frame: &&Frame| Route::of(frame) == Route::Execute;
    let is_done =
        |frame: &&Frame| is_execution(frame) && frame.body.get("success") == Some(&Value::Bool(true));
    let Some(done) = call_record.own(Kind::HubResponse).find(is_done) else { return Ok(()) };
    let again = call_record
        .own(Kind::HubRequest)
        .filter(is_execution)
        .find(|frame| frame.n > done.n && frame.text("/tool").is_some_and(|tool| tool == call_record.tool()));
    let Some(again) = again else { return Ok(()) };
    Err(call_record
        .finding(
            format!("a call of `{}` is sent again after the Hub has executed it", call_record.tool()),
            "send a call that succeeded once only: each request sends the mail, or makes the event, anew",
        )
        .expected("one request")
        .actual(Some(&Value::from("another one after the success")))
        .frame(again)
        .recommended("whether a call that succeeded may be sent again is not said")
        .into())
}

/// What a MAY rule records about the status.
pub fn note_on_status(call_record: &CallRecord<'_>) -> &'static str {
    if questions(call_record.frames).next().is_some() {
        "the agent asks for the status of integrations before it calls a tool"
    } else {
        "the agent calls tools without asking for the status of integrations"
    }
}

/// What a MAY rule records about the context.
///
/// # Errors
/// Not observed without a request.
pub fn note_on_context(call_record: &CallRecord<'_>) -> Result<&'static str, CheckFailure> {
    let requests = call_record.requests()?;
    let has_context =
        requests.iter().any(|frame| frame.body.get("context").is_some_and(|context| !context.is_null()));
    Ok(if has_context { "the agent sends a `context`" } else { "the agent sends no `context`" })
}

/// Who asks for the status during a call asks for the customer of that call, and not for that of another one alone.
/// `expected` says what a question for a call's customer looks like.
///
/// # Errors
/// Not applicable where there is no question.
pub fn questions_are_for_their_customers(
    call_records: &[CallRecord<'_>],
    expected: impl Fn(&CallRecord<'_>) -> Expected,
) -> Judgement {
    let mut any = false;
    for call_record in call_records {
        call_record.requests()?;
        let own: Vec<&Frame> = questions_of(call_record).collect();
        any |= !own.is_empty();
        let is_for_it = |frame: &Frame| status::is_documented(frame, &expected(call_record)).is_ok();
        let Some(frame) = own.first().filter(|_| !questions(call_record.frames).any(is_for_it)) else {
            continue;
        };
        // Reported apart from whatever else may be wrong with the question, which is reported below.
        for other in call_records {
            if status::is_documented(frame, &expected(other)).is_ok() {
                return Err(call_record
                    .finding(
                        "the status is asked for another customer than the one whose call is made",
                        "ask for the status of the customer that the call names, and keep what you know of customers apart",
                    )
                    .expected(format!("a question for `{}`", call_record.made.customer_id))
                    .actual(Some(&Value::from(frame.channel.clone())))
                    .frame(frame)
                    .into());
            }
        }
        status::is_documented(frame, &expected(call_record))?;
    }
    if any {
        return Ok(());
    }
    Err(Alternative::NoStatusQuestion.seen_in(call_records.iter().flat_map(CallRecord::executions)))
}

/// Those that came during one call.
pub fn questions_of<'a>(call_record: &CallRecord<'a>) -> impl Iterator<Item = &'a Frame> {
    call_record.own(Kind::HubRequest).filter(|frame| Route::of(frame) == Route::Status)
}

/// Questions about the status of integrations.
pub fn questions(frames: &[Frame]) -> impl Iterator<Item = &Frame> {
    frames.iter().filter(|frame| frame.kind == Kind::HubRequest && Route::of(frame) == Route::Status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::families::hub::agent::call::Call;
    use crate::families::hub::agent::judge::Made;
    use crate::net::wire::CALL;

    #[test]
    fn only_a_success_makes_a_second_request_too_many() {
        let call = Call { tool: "email_send".to_owned(), inputs: json!({}), user_id: None };
        let made = Made { call, customer_id: String::new(), number: 1 };
        let frame = |n: u64, kind: Kind, body: Value| {
            let mut frame = crate::families::hub::agent::judge::request_frame(body);
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
            assert_eq!(
                is_made_once(&CallRecord { made: &made, frames: &frames }).is_ok(),
                expect,
                "{success}"
            );
            assert_eq!(is_made_once(&CallRecord { made: &made, frames: &frames[..2] }), Ok(()));
        };
        check(true, false);
        check(false, true);
    }
}
