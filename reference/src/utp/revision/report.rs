//! A report, written and read: its identity is in the callback in `v1r3`, in headers in `v1r4`.
//!
//! Pure. What a report must hold to be accepted is checked in `execution::report`.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Revision;
use super::command::{self, Identity, agrees};
use super::headers::{self, Headers, text, whole_number};
use crate::utp::message::{
    AfterExecution, Callback, InboxRecord, Report, ReportContext, Status, TOOL_RESULT,
};
use crate::utp::trace::TraceHeaders;

/// The business members of a callback; in `v1r4` a payload has no others.
#[derive(Debug, Deserialize)]
struct Business {
    status: Status,
    after_execution: AfterExecution,
    tool_result_card_id: String,
}

/// The body and the headers of a report.
pub(crate) fn written(
    revision: Revision,
    place: (&str, &str),
    source_agent_id: &str,
    callback: &Callback,
    trace: &TraceHeaders,
) -> (Report, Headers) {
    let (payload, headers) = match revision {
        Revision::V1r3 => (json!(callback), Headers::default()),
        Revision::V1r4 => {
            let identity = Identity {
                tool_call_id: callback.tool_call_id.clone(),
                agent_turn_id: callback.agent_turn_id.clone(),
                turn_epoch: callback.turn_epoch.clone(),
                agent_id: callback.agent_id.clone(),
                step_id: callback.step_id.as_ref().and_then(Value::as_str).map(str::to_owned),
            };
            let payload = json!({
                "status": callback.status,
                "after_execution": callback.after_execution,
                "tool_result_card_id": callback.tool_result_card_id,
            });
            (payload, identity.to_headers(place.0, place.1))
        }
    };
    let report = Report {
        message_type: TOOL_RESULT.to_owned(),
        correlation_id: callback.tool_call_id.clone(),
        source_agent_id: source_agent_id.to_owned(),
        payload,
    };
    (report, headers.with_trace(trace))
}

/// The identity of a report of `v1r4`, or what its headers lack.
pub(crate) fn context<'a>(
    (project_id, channel_id): (&str, &str),
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Result<ReportContext, String> {
    let needed = |name: &str| {
        text(&lookup, name).map(str::to_owned).ok_or_else(|| format!("`{name}` is missing or empty"))
    };
    agrees(&lookup, headers::PROJECT_ID, project_id)?;
    agrees(&lookup, headers::CHANNEL_ID, channel_id)?;
    let turn_epoch = whole_number(&needed(headers::TURN_EPOCH)?)
        .ok_or_else(|| format!("`{}` is no whole number", headers::TURN_EPOCH))?;
    Ok(ReportContext {
        project_id: project_id.to_owned(),
        channel_id: channel_id.to_owned(),
        agent_id: needed(headers::AGENT_ID)?,
        agent_turn_id: needed(headers::TURN_ID)?,
        turn_epoch,
        step_id: text(&lookup, headers::STEP_ID).map(str::to_owned),
        tool_call_id: needed(headers::TOOL_CALL_ID)?,
        recursion_depth: command::depth(&lookup)?,
    })
}

/// The callback that an Inbox record holds, in whichever revision it was reported.
pub(crate) fn callback(record: &InboxRecord) -> Result<Callback, String> {
    let incomplete = |error: serde_json::Error| format!("the callback is incomplete: {error}");
    let Some(context) = &record.context else {
        return Callback::deserialize(&record.payload).map_err(incomplete);
    };
    let business = Business::deserialize(&record.payload).map_err(incomplete)?;
    Ok(Callback {
        tool_call_id: context.tool_call_id.clone(),
        agent_turn_id: context.agent_turn_id.clone(),
        turn_epoch: json!(context.turn_epoch),
        agent_id: context.agent_id.clone(),
        tool_result_card_id: business.tool_result_card_id,
        status: business.status,
        after_execution: business.after_execution,
        step_id: context.step_id.as_ref().map(|step_id| json!(step_id)),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{callback, context, headers, written};
    use crate::utp::execution::inbox::tests::record;
    use crate::utp::message::{AfterExecution, Callback, Status};
    use crate::utp::revision::Revision;
    use crate::utp::trace::{RECURSION_DEPTH, TraceHeaders};

    fn sent() -> Callback {
        Callback {
            tool_call_id: "call".to_owned(),
            agent_turn_id: "turn".to_owned(),
            turn_epoch: json!(6),
            agent_id: "ag".to_owned(),
            tool_result_card_id: "card".to_owned(),
            status: Status::Partial,
            after_execution: AfterExecution::Terminate,
            step_id: Some(json!("step")),
        }
    }

    #[test]
    fn a_report_of_v1r4_holds_business_members_alone() {
        let trace = TraceHeaders { recursion_depth: Some("2".to_owned()), ..TraceHeaders::fresh() };
        let (report, headers) = written(Revision::V1r4, ("prj", "ch"), "tool.x", &sent(), &trace);
        assert_eq!(
            report.payload,
            json!({"status": "partial", "after_execution": "terminate", "tool_result_card_id": "card"})
        );
        assert_eq!(report.correlation_id, "call");
        for (name, value) in [
            (headers::PROJECT_ID, "prj"),
            (headers::CHANNEL_ID, "ch"),
            (headers::AGENT_ID, "ag"),
            (headers::TURN_ID, "turn"),
            (headers::TURN_EPOCH, "6"),
            (headers::STEP_ID, "step"),
            (headers::TOOL_CALL_ID, "call"),
            (RECURSION_DEPTH, "2"),
        ] {
            assert_eq!(headers.value(name), Some(value), "{name}");
        }
    }

    #[test]
    fn what_is_reported_is_found_in_the_record() {
        for revision in Revision::ALL {
            let trace = TraceHeaders::fresh();
            let (report, headers) = written(revision, ("prj", "ch"), "tool.x", &sent(), &trace);
            let mut record = record("i", "turn", "call");
            record.payload = report.payload;
            if revision == Revision::V1r4 {
                record.context = Some(context(("prj", "ch"), |name| headers.value(name)).expect("a context"));
            }
            assert_eq!(callback(&record), Ok(sent()), "{revision}");
        }
    }

    #[test]
    fn a_report_without_its_identity_is_none() {
        let trace = TraceHeaders { recursion_depth: Some("2".to_owned()), ..TraceHeaders::fresh() };
        let (_, headers) = written(Revision::V1r4, ("prj", "ch"), "tool.x", &sent(), &trace);
        let check = |name: &str, value: Option<&'static str>, expect: bool| {
            let lookup = |wanted: &str| if wanted == name { value } else { headers.value(wanted) };
            assert_eq!(context(("prj", "ch"), lookup).is_ok(), expect, "{name} {value:?}");
        };
        for name in [headers::AGENT_ID, headers::TURN_ID, headers::TURN_EPOCH, headers::TOOL_CALL_ID] {
            check(name, None, false);
        }
        for name in [headers::PROJECT_ID, headers::CHANNEL_ID] {
            check(name, None, true);
            check(name, Some("other"), false);
        }
        check(headers::STEP_ID, None, true);
        check(headers::TURN_EPOCH, Some("six"), false);
        check(RECURSION_DEPTH, None, true);
        check(RECURSION_DEPTH, Some("-1"), false);
    }
}
