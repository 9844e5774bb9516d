//! The start of a turn and its end, as they are written and read.
//!
//! In `v1r4` the caller does not choose the turn's id: a `correlation_id` says which start is meant, and lineage is in
//! headers.

use serde_json::Value;

use super::Revision;
use super::command::{Identity, depth, epoch_text};
use super::headers::{self, Headers, text};
use crate::utp::message::{ReportContext, TaskEvent, TurnRequest, text_member};
use crate::utp::trace::{RECURSION_DEPTH, TraceHeaders};

/// No turn starts at this depth or above, unless configured otherwise.
pub(crate) const MAX_DEPTH: u64 = 20;

/// The depth of a turn of `v1r3` whose start does not say one.
const UNSAID_DEPTH: u64 = 1;

/// What a turn is started from: the call whose child it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Parent<'a> {
    pub(crate) project_id: &'a str,
    pub(crate) channel_id: &'a str,
    pub(crate) identity: &'a Identity,
    /// The depth of the child.
    pub(crate) depth: u64,
}

/// The body and the headers of `turns.start`, out of a request that has everything that either revision sends.
pub(crate) fn written(
    revision: Revision,
    parent: Parent<'_>,
    request: TurnRequest,
    trace: &TraceHeaders,
) -> (TurnRequest, Headers) {
    match revision {
        Revision::V1r3 => {
            (TurnRequest { correlation_id: None, ..request }, Headers::default().with_trace(trace))
        }
        Revision::V1r4 => {
            let mut headers = Headers::default();
            headers.set(headers::PROJECT_ID, parent.project_id);
            headers.set(headers::CHANNEL_ID, parent.channel_id);
            headers.set(headers::PARENT_AGENT_ID, &*parent.identity.agent_id);
            headers.set(headers::PARENT_TURN_ID, &*parent.identity.agent_turn_id);
            headers.set_some(headers::PARENT_STEP_ID, parent.identity.step_id.as_deref());
            let trace = TraceHeaders { recursion_depth: Some(parent.depth.to_string()), ..trace.clone() };
            let request = TurnRequest {
                context_box_id: request.context_box_id,
                correlation_id: request.correlation_id,
                ..TurnRequest::new(request.agent_id, request.instruction)
            };
            (request, headers.with_trace(&trace))
        }
    }
}

/// Reads a request with its lineage, wherever it stands, and the depth of its turn; ids that are blank count as absent.
///
/// # Errors
/// Which member is missing, or which header is malformed.
pub(crate) fn read<'a>(
    revision: Revision,
    body: &Value,
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Result<(TurnRequest, u64), String> {
    let member = |name: &str| text_member(body, name).map(str::to_owned);
    let needed = |name: &str| member(name).ok_or_else(|| format!("no `{name}`"));
    let mut request = TurnRequest {
        context_box_id: member("context_box_id"),
        ..TurnRequest::new(needed("agent_id")?, needed("instruction")?)
    };
    match revision {
        Revision::V1r3 => {
            request.agent_turn_id = member("agent_turn_id");
            request.parent_agent_turn_id = member("parent_agent_turn_id");
            request.parent_step_id = member("parent_step_id");
            request.trace_id = member("trace_id");
            Ok((request, UNSAID_DEPTH))
        }
        Revision::V1r4 => {
            let header = |name: &str| text(&lookup, name).map(str::to_owned);
            request.correlation_id = member("correlation_id");
            request.parent_agent_turn_id = header(headers::PARENT_TURN_ID);
            request.parent_step_id = header(headers::PARENT_STEP_ID);
            Ok((request, depth(&lookup)?))
        }
    }
}

/// The headers of the task event at the end of a turn; `v1r4` has its identity there as well.
pub(crate) fn ending(
    revision: Revision,
    (project_id, channel_id): (&str, &str),
    event: &TaskEvent,
    trace: &TraceHeaders,
) -> Headers {
    let mut headers = Headers::default();
    if revision == Revision::V1r4 {
        headers.set(headers::PROJECT_ID, project_id);
        headers.set(headers::CHANNEL_ID, channel_id);
        headers.set(headers::AGENT_ID, &*event.agent_id);
        headers.set(headers::TURN_ID, &*event.agent_turn_id);
        headers.set(headers::TURN_EPOCH, epoch_text(&event.turn_epoch));
    }
    headers.with_trace(trace)
}

/// Puts into a task event what only its headers say: in `v1r4` they count, and a payload may lack them.
pub(crate) fn complete_event<'a>(
    revision: Revision,
    event: &mut Value,
    lookup: impl Fn(&str) -> Option<&'a str>,
) {
    let Value::Object(members) = event else { return };
    if revision == Revision::V1r4 {
        for (header, member) in [(headers::AGENT_ID, "agent_id"), (headers::TURN_ID, "agent_turn_id")] {
            if let Some(value) = text(&lookup, header) {
                members.insert(member.to_owned(), Value::String(value.to_owned()));
            }
        }
    }
}

/// Whom a wakeup is for: `v1r4` says it in a header, and may say it in the payload as well.
pub(crate) fn woken<'a>(
    revision: Revision,
    payload: &Value,
    lookup: impl Fn(&str) -> Option<&'a str>,
) -> Option<String> {
    let header = text(lookup, headers::AGENT_ID).filter(|_| revision == Revision::V1r4);
    header.or_else(|| text_member(payload, "agent_id")).map(str::to_owned)
}

/// Headers of a wakeup: in `v1r4` whom it wakes and for which turn, and nothing of the call.
pub(crate) fn wakeup(revision: Revision, context: Option<&ReportContext>, trace: &TraceHeaders) -> Headers {
    let (Revision::V1r4, Some(context)) = (revision, context) else {
        return Headers::default().with_trace(trace);
    };
    let mut headers = Headers::default();
    headers.set(headers::PROJECT_ID, &*context.project_id);
    headers.set(headers::CHANNEL_ID, &*context.channel_id);
    headers.set(headers::AGENT_ID, &*context.agent_id);
    headers.set(headers::TURN_ID, &*context.agent_turn_id);
    headers.set(headers::TURN_EPOCH, context.turn_epoch.to_string());
    let mut headers = headers.with_trace(trace);
    headers.remove(RECURSION_DEPTH);
    headers
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Parent, complete_event, headers, read, written};
    use crate::utp::message::TurnRequest;
    use crate::utp::revision::Revision;
    use crate::utp::revision::command::Identity;
    use crate::utp::trace::{RECURSION_DEPTH, TraceHeaders};

    #[test]
    fn v1r4_starts_a_turn_below_its_parent_and_names_no_id() {
        let identity = Identity {
            tool_call_id: "call".to_owned(),
            agent_turn_id: "turn".to_owned(),
            turn_epoch: json!("1"),
            agent_id: "ag".to_owned(),
            step_id: Some("step".to_owned()),
        };
        let parent = Parent { project_id: "prj", channel_id: "ch", identity: &identity, depth: 3 };
        let request = TurnRequest {
            agent_turn_id: Some("chosen".to_owned()),
            correlation_id: Some("call-1".to_owned()),
            parent_agent_turn_id: Some("turn".to_owned()),
            parent_step_id: Some("step".to_owned()),
            trace_id: Some("trace".to_owned()),
            ..TurnRequest::new("ag_child", "do")
        };
        let trace = TraceHeaders { recursion_depth: Some("2".to_owned()), ..TraceHeaders::fresh() };

        let (body, sent) = written(Revision::V1r4, parent, request.clone(), &trace);
        assert_eq!(
            json!(body),
            json!({"agent_id": "ag_child", "instruction": "do", "correlation_id": "call-1"})
        );
        assert_eq!(sent.value(RECURSION_DEPTH), Some("3"));
        assert_eq!(sent.value(headers::PARENT_TURN_ID), Some("turn"));
        assert_eq!((sent.value(headers::AGENT_ID), sent.value(headers::TURN_ID)), (None, None));
        let (found, depth) = read(Revision::V1r4, &json!(body), |name| sent.value(name)).expect("a request");
        assert_eq!((found.parent_step_id.as_deref(), depth), (Some("step"), 3));
        assert_eq!((found.agent_turn_id, found.correlation_id.as_deref()), (None, Some("call-1")));

        let (body, sent) = written(Revision::V1r3, parent, request, &trace);
        assert_eq!((body.agent_turn_id.as_deref(), body.correlation_id), (Some("chosen"), None));
        assert_eq!(sent.pairs().len(), 2);
    }

    #[test]
    fn the_headers_of_an_event_count_in_v1r4() {
        let complete = |revision| {
            let mut event = json!({"agent_turn_id": "payload", "status": "success"});
            complete_event(revision, &mut event, |name| (name == headers::TURN_ID).then_some("header"));
            event["agent_turn_id"].clone()
        };
        assert_eq!(complete(Revision::V1r3), "payload");
        assert_eq!(complete(Revision::V1r4), "header");
    }
}
