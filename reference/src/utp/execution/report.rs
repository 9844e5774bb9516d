//! What a report must hold to be accepted (UTP §4.2). Pure; unknown members are left alone.

use serde_json::Value;

use crate::utp::message::{AfterExecution, Report, Status, TOOL_RESULT, text_member};

/// The members of a callback that must hold text.
const TEXTS: [&str; 4] = ["tool_call_id", "agent_turn_id", "agent_id", "tool_result_card_id"];

/// Reads a report, or says what is wrong with it.
pub(crate) fn read(body: &[u8]) -> Result<Report, String> {
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
    check_callback(&report.payload)?;
    if report.payload["tool_call_id"] != report.correlation_id.as_str() {
        return Err("`correlation_id` is not the callback's `tool_call_id`".to_owned());
    }
    Ok(report)
}

fn check_callback(payload: &Value) -> Result<(), String> {
    if !payload.is_object() {
        return Err("`payload` is not an object".to_owned());
    }
    if let Some(missing) = TEXTS.into_iter().find(|name| text_member(payload, name).is_none()) {
        return Err(format!("no `payload.{missing}`"));
    }
    if payload.get("turn_epoch").is_none_or(Value::is_null) {
        return Err("no `payload.turn_epoch`".to_owned());
    }
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

    use super::read;

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
}
