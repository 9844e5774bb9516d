//! The answers of a runner, as bodies of breadcrumbs to be stored (Standard, "Tool response" and "Error handling").

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::request::{Request, Route};
use crate::breadcrumb::tool::ToolFailure;

/// No answer may be longer: a store takes bodies of a mebibyte.
const LONGEST: usize = 960 * 1024;

/// What a request is answered with.
#[derive(Debug)]
pub(super) struct ToolResponse {
    /// The `tool.response.v1`.
    pub(super) response: Value,
    /// What the user sees.
    pub(super) shown: Option<Value>,
}

/// The answer to a request of a message with these tags.
pub(super) fn answer(
    request: &Request,
    outcome: Result<Value, ToolFailure>,
    took: Duration,
    tags: &[String],
    workspace: &str,
) -> ToolResponse {
    let sessions: Vec<&String> = tags.iter().filter(|tag| tag.starts_with("session:")).collect();
    let outcome = outcome.and_then(|output| {
        // The user's copy holds the value twice.
        let copies = if request.route == Route::User { 3 } else { 1 };
        if output.to_string().len() * copies > LONGEST {
            Err(ToolFailure::new("the output is too long for an answer"))
        } else {
            Ok(output)
        }
    });
    let mut context = json!({"request_id": request.id, "tool": request.tool});
    match &outcome {
        Ok(output) => {
            context["status"] = json!("success");
            context["output"] = output.clone();
        }
        Err(failure) => {
            context["status"] = json!("error");
            context["error"] = json!(failure.to_string());
        }
    }
    context["execution_time_ms"] = json!(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
    context["timestamp"] = json!(format!("{:.3}", Timestamp::now()));
    let mut tags = vec!["tool:response".to_owned(), format!("request:{}", request.id), workspace.to_owned()];
    tags.extend(sessions.iter().map(|tag| (*tag).clone()));
    let response = json!({
        "schema_name": "tool.response.v1",
        "title": format!("Response: {}", request.tool),
        "tags": tags,
        "context": context,
    });
    let shown = (request.route == Route::User).then(|| {
        let mut tags = vec!["agent:response".to_owned(), "tool:result".to_owned()];
        tags.extend(sessions.into_iter().cloned());
        let mut context = json!({"request_id": request.id, "tool": request.tool});
        match outcome {
            Ok(output) => {
                context["message"] = json!(readable(&output));
                context["result"] = output;
            }
            Err(failure) => context["message"] = json!(format!("{} failed: {failure}", named(&request.tool))),
        }
        json!({
            "schema_name": "agent.response.v1",
            "title": format!("Result: {}", request.tool),
            "tags": tags,
            "context": context,
        })
    });
    ToolResponse { response, shown }
}

fn named(tool: &str) -> String {
    if tool.is_empty() { "A tool".to_owned() } else { format!("The tool `{tool}`") }
}

/// The one value of an output as it is, several with their names.
fn readable(output: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match output.as_object() {
        Some(members) if members.len() == 1 => members.values().map(plain).collect(),
        Some(members) => members
            .iter()
            .map(|(name, value)| format!("{name}: {}", plain(value)))
            .collect::<Vec<_>>()
            .join("\n"),
        None => plain(output),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::readable;

    #[test]
    fn an_output_can_be_read() {
        #[expect(clippy::needless_pass_by_value, reason = "the table below reads better")]
        fn check(output: Value, expect: &str) {
            assert_eq!(readable(&output), expect);
        }
        check(json!({"result": 100}), "100");
        check(json!({"echo": "hej"}), "hej");
        check(json!({"numbers": [5, 8]}), "[5,8]");
        check(json!({"id": "x", "success": true}), "id: x\nsuccess: true");
        check(json!({}), "");
    }
}
