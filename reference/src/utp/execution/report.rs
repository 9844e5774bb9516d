//! What a report must hold to be accepted (UTP §4.2). Pure; unknown members are left alone.
//!
//! In `v1r4` the identity comes from headers, and card and report must belong together.

use serde_json::Value;

use crate::utp::message::{AfterExecution, Report, ReportContext, Status, TOOL_RESULT, text_member};
use crate::utp::revision::{headers, report};

/// The members of a callback that must hold text.
const TEXTS: [&str; 4] = ["tool_call_id", "agent_turn_id", "agent_id", "tool_result_card_id"];

/// What the names of services begin with, which no roster lists.
const SERVICES: [&str; 2] = ["sys.", "tool."];

/// Whether a source is a service and no agent.
pub(crate) fn is_service(source_agent_id: &str) -> bool {
    SERVICES.into_iter().any(|prefix| source_agent_id.starts_with(prefix))
}

/// Reads a report of `v1r3`, or says what is wrong with it.
pub(crate) fn read(body: &[u8]) -> Result<Report, String> {
    let report = envelope(body)?;
    if let Some(missing) = TEXTS.into_iter().find(|name| text_member(&report.payload, name).is_none()) {
        return Err(format!("no `payload.{missing}`"));
    }
    if report.payload.get("turn_epoch").is_none_or(Value::is_null) {
        return Err("no `payload.turn_epoch`".to_owned());
    }
    check_vocabularies(&report.payload)?;
    if report.payload["tool_call_id"] != report.correlation_id.as_str() {
        return Err("`correlation_id` is not the callback's `tool_call_id`".to_owned());
    }
    Ok(report)
}

/// Reads a report of `v1r4` with its identity, or says what is wrong with it.
pub(crate) fn read_v1r4<'a>(
    place: (&str, &str),
    lookup: impl Fn(&str) -> Option<&'a str>,
    body: &[u8],
) -> Result<(Report, ReportContext), String> {
    let report = envelope(body)?;
    let member = report.payload.as_object().and_then(headers::control_member);
    if let Some(member) = member {
        return Err(format!("`payload.{member}` belongs into headers"));
    }
    if text_member(&report.payload, "tool_result_card_id").is_none() {
        return Err("no `payload.tool_result_card_id`".to_owned());
    }
    check_vocabularies(&report.payload)?;
    let context = report::context(place, lookup)?;
    if context.tool_call_id != report.correlation_id {
        return Err(format!("`correlation_id` is not the call of `{}`", headers::TOOL_CALL_ID));
    }
    Ok((report, context))
}

/// Checks that a card is the result that a report of `v1r4` is about, written by whoever reports it.
pub(crate) fn check_card(card: &Value, report: &Report) -> Result<(), String> {
    if card["type"] != "tool.result" {
        return Err("the card is no tool.result".to_owned());
    }
    let owners = [card.get("tool_call_id"), card.pointer("/metadata/tool_call_id")];
    let mut owners = owners.into_iter().flatten().filter(|owner| !owner.is_null()).peekable();
    if owners.peek().is_none() || owners.any(|owner| *owner != report.correlation_id.as_str()) {
        return Err("the card belongs to another call".to_owned());
    }
    if text_member(&card["metadata"], "function_name").is_none() {
        return Err("the card has no `metadata.function_name`".to_owned());
    }
    if card["author_id"] != report.source_agent_id.as_str() {
        return Err("the card's `author_id` is not `source_agent_id`".to_owned());
    }
    Ok(())
}

/// Reads what is around the callback, which is the same in both revisions.
fn envelope(body: &[u8]) -> Result<Report, String> {
    let body: Value =
        serde_json::from_slice(body).map_err(|error| format!("the report is not JSON: {error}"))?;
    let member =
        |name: &str| text_member(&body, name).map(str::to_owned).ok_or_else(|| format!("no `{name}`"));
    let report = Report {
        message_type: member("message_type")?,
        correlation_id: member("correlation_id")?,
        source_agent_id: member("source_agent_id")?,
        payload: body.get("payload").cloned().unwrap_or_default(),
    };
    if report.message_type != TOOL_RESULT {
        return Err(format!("`message_type` is not `{TOOL_RESULT}`"));
    }
    if !report.payload.is_object() {
        return Err("`payload` is not an object".to_owned());
    }
    Ok(report)
}

fn check_vocabularies(payload: &Value) -> Result<(), String> {
    // The vocabularies are closed: the wire types accept nothing else.
    if serde_json::from_value::<Status>(payload["status"].clone()).is_err() {
        return Err("`payload.status` is none of the five".to_owned());
    }
    if serde_json::from_value::<AfterExecution>(payload["after_execution"].clone()).is_err() {
        return Err("`payload.after_execution` is neither `suspend` nor `terminate`".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{check_card, is_service, read, read_v1r4};
    use crate::utp::revision::headers;

    fn report() -> Value {
        json!({
            "message_type": "tool_result", "correlation_id": "call", "source_agent_id": "tool.x",
            "payload": {
                "tool_call_id": "call", "agent_turn_id": "turn", "turn_epoch": 0, "agent_id": "ag",
                "tool_result_card_id": "card", "status": "success", "after_execution": "suspend", "x": 1
            }
        })
    }

    #[test]
    fn a_report_needs_every_required_member() {
        /// The report with the member at `pointer` replaced.
        fn check(pointer: &str, value: Value, accepted: bool) {
            let mut body = report();
            *body.pointer_mut(pointer).expect("a member") = value;
            assert_eq!(read(body.to_string().as_bytes()).is_ok(), accepted, "{body}");
        }
        check("/payload/x", json!(2), true);
        check("/payload/turn_epoch", json!("6"), true);
        for member in ["message_type", "correlation_id", "source_agent_id", "payload"] {
            check(&format!("/{member}"), Value::Null, false);
        }
        for member in [
            "tool_call_id",
            "agent_turn_id",
            "turn_epoch",
            "agent_id",
            "tool_result_card_id",
            "status",
            "after_execution",
        ] {
            check(&format!("/payload/{member}"), Value::Null, false);
        }
        check("/payload/tool_result_card_id", json!(" "), false);
        check("/payload/status", json!("ok"), false);
        check("/payload/after_execution", json!("pause"), false);
        check("/correlation_id", json!("other"), false);
        check("/message_type", json!("report"), false);
    }

    #[test]
    fn what_is_no_json_is_no_report() {
        assert!(read(b"<html>").is_err());
        assert!(read(b"[]").is_err());
    }

    #[test]
    fn a_report_of_v1r4_has_its_identity_in_headers() {
        let context = [
            (headers::AGENT_ID, "ag"),
            (headers::TURN_ID, "turn"),
            (headers::TURN_EPOCH, "0"),
            (headers::TOOL_CALL_ID, "call"),
        ];
        let check = |pointer: &str, value: Value, absent: &str, accepted: bool| {
            let mut body = report();
            body["payload"] = json!({"tool_result_card_id": "card", "status": "success", "after_execution": "suspend", "x": 1});
            *body.pointer_mut(pointer).expect("a member") = value;
            let lookup = |name: &str| {
                context.iter().find(|(known, _)| *known == name && *known != absent).map(|(_, value)| *value)
            };
            let read = read_v1r4(("prj", "ch"), lookup, body.to_string().as_bytes());
            assert_eq!(read.is_ok(), accepted, "{body} without `{absent}`");
        };
        let payload = |member: &str| {
            let mut payload = json!({
                "tool_result_card_id": "card", "status": "success", "after_execution": "suspend"
            });
            payload[member] = json!("x");
            payload
        };
        check("/payload/x", json!(2), "", true);
        for (header, _) in context {
            check("/payload/x", json!(1), header, false);
        }
        for member in ["agent_id", "tool_call_id", "step_id", "turn_epoch", "recursion_depth"] {
            check("/payload", payload(member), "", false);
        }
        check("/payload", payload("business"), "", true);
        for member in ["tool_result_card_id", "status", "after_execution"] {
            check(&format!("/payload/{member}"), Value::Null, "", false);
        }
        check("/correlation_id", json!("other"), "", false);
        check("/source_agent_id", Value::Null, "", false);
    }

    #[test]
    fn a_card_must_be_the_one_that_is_reported() {
        fn check(pointer: &str, value: Value, accepted: bool) {
            let mut card = json!({
                "type": "tool.result", "tool_call_id": "call", "author_id": "tool.x", "x": 1,
                "metadata": {"tool_call_id": "call", "function_name": "t"}
            });
            *card.pointer_mut(pointer).expect("a member") = value;
            let report = read(report().to_string().as_bytes()).expect("a report");
            assert_eq!(check_card(&card, &report).is_ok(), accepted, "{card}");
        }
        check("/x", json!(2), true);
        check("/tool_call_id", Value::Null, true);
        check("/metadata/tool_call_id", Value::Null, true);
        for pointer in ["/type", "/tool_call_id", "/author_id", "/metadata/tool_call_id"] {
            check(pointer, json!("other"), false);
        }
        for nothing in [Value::Null, json!(""), json!(7)] {
            check("/metadata/function_name", nothing.clone(), false);
            check("/author_id", nothing, false);
        }
        check("/metadata/function_name", json!("another"), true);
        check("/metadata", Value::Null, false);
    }

    #[test]
    fn services_have_names_of_their_own() {
        assert!(is_service("sys.pmo") && is_service("tool.tides"));
        assert!(!is_service("ag_pilot") && !is_service("toolbox"));
    }
}
