//! What a callback is worth: the strict reading of callback and result card (UTP §3.1, §4.2, §4.3).
//!
//! Pure. The card is where status, error and result come from; the callback says which card, and nothing more.
//! An inline `result` of a callback is never looked at.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::utp::message::{AfterExecution, Callback, Status, text_member};

/// The key of the control object in a result.
const CONTROL: &str = "__cg_control";

/// A result that a turn can go on with.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ToolResult {
    pub(super) card_id: String,
    pub(super) status: Status,
    /// What the turn does now, overrides included.
    pub(super) after_execution: AfterExecution,
    pub(super) result: Value,
    pub(super) error: Option<Value>,
}

/// Takes the pointer out of a callback, or says why it is not consumed.
pub(super) fn pointer(callback: Callback) -> Result<String, String> {
    if callback.turn_epoch.is_null() {
        return Err("the callback has no `turn_epoch`".to_owned());
    }
    if callback.tool_result_card_id.trim().is_empty() {
        return Err("the callback's `tool_result_card_id` is empty".to_owned());
    }
    Ok(callback.tool_result_card_id)
}

/// Reads a result card, or says why it is not consumed as the result of this call.
pub(super) fn read_card(card: &Value, tool_call_id: &str) -> Result<ToolResult, String> {
    if card["type"] != "tool.result" {
        return Err("the card is no tool.result".to_owned());
    }
    let owners = [card.get("tool_call_id"), card.pointer("/metadata/tool_call_id")];
    let mut owners = owners.into_iter().flatten().filter(|owner| !owner.is_null()).peekable();
    if owners.peek().is_none() || owners.any(|owner| owner != tool_call_id) {
        return Err("the card belongs to another call".to_owned());
    }
    let content = &card["content"];
    let tagged_otherwise = content.get("__type__").is_some_and(|tag| tag != "ToolResultContent");
    if !content.is_object() || tagged_otherwise {
        return Err("the card's content is no ToolResultContent".to_owned());
    }
    let status = member(content, "status").ok_or("the card's `status` is none of the five")?;
    let base = member(content, "after_execution")
        .ok_or("the card's `after_execution` is neither `suspend` nor `terminate`")?;
    let result = content.get("result").cloned().unwrap_or_default();
    Ok(ToolResult {
        card_id: text_member(card, "card_id").unwrap_or_default().to_owned(),
        status,
        after_execution: overriding(&result).unwrap_or(base),
        error: content.get("error").filter(|error| !error.is_null()).cloned(),
        result,
    })
}

/// The override, if it is there and valid; anything else is as if it were not there (UTP §3.1).
fn overriding(result: &Value) -> Option<AfterExecution> {
    AfterExecution::parse(result.get(CONTROL)?.get("after_execution")?.as_str()?)
}

fn member<T: DeserializeOwned>(content: &Value, name: &str) -> Option<T> {
    T::deserialize(content.get(name)?).ok()
}

impl ToolResult {
    /// What is sent to the model.
    pub(super) fn message(&self) -> String {
        match self.status {
            Status::Success => self.result.to_string(),
            Status::Partial => {
                let mut message = json!({"status": Status::Partial, "result": self.result});
                if let Some(error) = &self.error {
                    message["error"] = error.clone();
                }
                message.to_string()
            }
            Status::Failed | Status::Canceled | Status::Timeout => {
                json!({"error": self.failure()}).to_string()
            }
        }
    }

    /// Why the call did not succeed; something is always said.
    pub(super) fn failure(&self) -> Option<Value> {
        if self.status == Status::Success {
            return None;
        }
        Some(self.error.clone().unwrap_or_else(|| {
            let text = |name: &str| text_member(&self.result, name).map(str::to_owned);
            let code = text("error_code").unwrap_or_else(|| {
                let code = match self.status {
                    Status::Timeout => "tool_timeout",
                    Status::Canceled => "canceled",
                    Status::Partial => "incomplete_result",
                    Status::Success | Status::Failed => "internal_error",
                };
                code.to_owned()
            });
            let message = text("error_message").unwrap_or_else(|| "the tool gave no reason".to_owned());
            json!({"code": code, "message": message})
        }))
    }
}

/// What is sent to the model about a call that has no result.
pub(super) fn failed_message(code: &str, message: &str) -> String {
    json!({"error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{pointer, read_card};
    use crate::utp::execution::inbox::tests::record;
    use crate::utp::message::{AfterExecution, Status};
    use crate::utp::revision::report;

    fn card(result: &Value) -> Value {
        json!({
            "card_id": "card", "type": "tool.result", "tool_call_id": "call",
            "content": {"__type__": "ToolResultContent", "status": "success", "after_execution": "suspend",
                        "result": result, "error": null},
            "metadata": {"tool_call_id": "call"}
        })
    }

    /// A document with the member at `pointer` replaced; nothing removes it.
    fn changed(mut document: Value, at: &str, value: Option<Value>) -> Value {
        let (parent, name) = at.rsplit_once('/').expect("a pointer");
        let parent = document.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        match value {
            Some(value) => parent.insert(name.to_owned(), value),
            None => parent.shift_remove(name),
        };
        document
    }

    #[test]
    fn only_a_result_card_of_the_call_is_consumed() {
        fn check(at: &str, value: Option<Value>, expect: bool) {
            let card = changed(card(&json!({"a": 1})), at, value);
            assert_eq!(read_card(&card, "call").is_ok(), expect, "{card}");
        }
        check("/x", Some(json!(1)), true);
        check("/content/x", Some(json!(1)), true);
        check("/content/__type__", None, true);
        check("/content/result", None, true);
        check("/tool_call_id", None, true);
        check("/metadata/tool_call_id", None, true);
        check("/type", Some(json!("task.instruction")), false);
        check("/type", None, false);
        check("/tool_call_id", Some(json!("other")), false);
        check("/metadata/tool_call_id", Some(json!("other")), false);
        check("/content", Some(json!("success")), false);
        check("/content", Some(json!({"a": 1})), false);
        check("/content", None, false);
        check("/content/__type__", Some(json!("JsonContent")), false);
        for odd in [json!("done"), json!("Success"), json!(1), Value::Null] {
            check("/content/status", Some(odd.clone()), false);
            check("/content/after_execution", Some(odd), false);
        }
        check("/content/status", None, false);
        check("/content/after_execution", None, false);
    }

    #[test]
    fn only_the_valid_override_at_its_place_counts() {
        fn check(result: &Value, base: &str, expect: AfterExecution) {
            let card = changed(card(result), "/content/after_execution", Some(json!(base)));
            let found = read_card(&card, "call").expect("a result");
            assert_eq!(found.after_execution, expect, "{card}");
        }
        let control = |value: Value| json!({"__cg_control": {"after_execution": value}});
        for (base, other) in [("suspend", "terminate"), ("terminate", "suspend")] {
            let (kept, overridden) =
                (AfterExecution::parse(base).expect("one"), AfterExecution::parse(other).expect("one"));
            check(&control(json!(other)), base, overridden);
            check(&control(json!(base)), base, kept);
            for odd in [json!("pause"), json!(""), Value::Null, json!(7), json!(true), json!([other])] {
                check(&control(odd), base, kept);
            }
            check(&control(json!({"after_execution": other})), base, kept);
            for odd in [json!(other), Value::Null, json!([]), json!(1), json!({}), json!({"note": 1})] {
                check(&json!({"__cg_control": odd}), base, kept);
            }
            for result in [json!({"after_execution": other}), json!([other]), json!(other), Value::Null] {
                check(&result, base, kept);
            }
        }
    }

    #[test]
    fn a_callback_needs_its_required_members_and_nothing_more() {
        fn check(at: &str, value: Option<Value>, expect: bool) {
            let callback = json!({
                "tool_call_id": "call", "agent_turn_id": "turn", "turn_epoch": 1, "agent_id": "ag",
                "tool_result_card_id": "card", "status": "success", "after_execution": "suspend",
                "step_id": "step"
            });
            let callback = changed(callback, at, value);
            let mut record = record("i", "turn", "call");
            record.payload = callback.clone();
            let found = report::callback(&record).and_then(pointer);
            assert_eq!(found.is_ok(), expect, "{callback}");
        }
        check("/step_id", None, true);
        check("/x_more", Some(json!([1])), true);
        for member in ["/tool_call_id", "/agent_turn_id", "/turn_epoch", "/agent_id", "/status"] {
            check(member, None, false);
        }
        for odd in [None, Some(Value::Null), Some(json!("")), Some(json!("  "))] {
            check("/tool_result_card_id", odd, false);
        }
        check("/status", Some(json!("done")), false);
        check("/after_execution", Some(json!("pause")), false);
    }

    #[test]
    fn the_model_receives_the_outcome_of_the_card() {
        let message = |status: &str, result: Value, error: Value| -> Value {
            let card = changed(card(&result), "/content/status", Some(json!(status)));
            let card = changed(card, "/content/error", Some(error));
            let found = read_card(&card, "call").expect("a result");
            assert_eq!(found.failure().is_none(), found.status == Status::Success);
            serde_json::from_str(&found.message()).expect("JSON")
        };
        assert_eq!(message("success", json!({"a": 1}), Value::Null), json!({"a": 1}));
        let quota = json!({"code": "quota", "message": "m-88"});
        assert_eq!(message("failed", json!({"a": 1}), quota.clone()), json!({"error": quota}));
        assert_eq!(message("timeout", Value::Null, Value::Null)["error"]["code"], "tool_timeout");
        let partial = message("partial", json!({"a": 1}), Value::Null);
        assert_eq!(partial, json!({"status": "partial", "result": {"a": 1}}));
    }
}
