//! The `tool.call` card: the only place that arguments and lineage come from (Guide §1 and §2.3).
//!
//! Pure; `call` fetches the card. Text and arbitrary objects are not accepted as its content.

use serde_json::{Map, Value, json};

use super::failure::ToolFailure;
use super::tool::Arguments;
use crate::utp::message::{ErrorCode, text_member};
use crate::utp::subject::ProjectId;

/// What the `tool.call` card has to say: its lineage, and the arguments or why there are none.
pub(crate) struct CallCard {
    /// The call that it names, if it does.
    pub(crate) tool_call_id: Option<String>,
    pub(crate) metadata: Map<String, Value>,
    pub(crate) arguments: Result<Arguments, ToolFailure>,
}

impl CallCard {
    /// A card that could not be read.
    pub(crate) fn unread(failure: ToolFailure) -> Self {
        Self { tool_call_id: None, metadata: Map::new(), arguments: Err(failure) }
    }

    /// The turn that it names, if it does.
    pub(crate) fn agent_turn_id(&self) -> Option<String> {
        let turn = self.metadata.get("agent_turn_id").and_then(Value::as_str);
        turn.filter(|turn| !turn.trim().is_empty()).map(str::to_owned)
    }
}

/// Whether a card is this project's; a card that does not say is what the store says it is.
pub(crate) fn belongs_to(card: &Value, project_id: &ProjectId) -> bool {
    card.get("project_id").is_none_or(|project| project == project_id.as_str())
}

/// Takes lineage and arguments from a `tool.call` card.
///
/// Its content must be a `ToolCallContent`: text and arbitrary objects are not accepted (Guide §1).
pub(crate) fn read_call_card(mut card: Value) -> CallCard {
    let named = |place: &Value| text_member(place, "tool_call_id").map(str::to_owned);
    let tool_call_id = named(&card).or_else(|| named(&card["metadata"]));
    let metadata = match card.get_mut("metadata").map(Value::take) {
        Some(Value::Object(metadata)) => metadata,
        _ => Map::new(),
    };
    let content = &mut card["content"];
    let tagged_otherwise = content.get("__type__").is_some_and(|tag| tag.as_str() != Some("ToolCallContent"));
    let named = text_member(content, "tool_name").is_some();
    let arguments = content.get_mut("arguments").map(Value::take);
    let of_another_type = card.get("type").is_some_and(|kind| kind != "tool.call");
    let arguments = match arguments {
        Some(Value::Object(arguments)) if named && !tagged_otherwise && !of_another_type => Ok(arguments),
        _ => Err(ToolFailure::new(
            ErrorCode::BadRequest,
            "the tool.call card's content is not a ToolCallContent",
        )
        .with_detail(json!({"expected": ["tool_name", "arguments"]}))),
    };
    CallCard { tool_call_id, metadata, arguments }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{belongs_to, read_call_card};
    use crate::utp::subject::ProjectId;

    #[test]
    fn only_a_tool_call_content_yields_arguments() {
        fn check(content: &Value, expect: Option<&Value>) {
            let card = read_call_card(json!({
                "card_id": "c", "type": "tool.call", "content": content, "metadata": {"step_id": "st"}
            }));
            assert_eq!(card.arguments.ok().map(Value::Object).as_ref(), expect, "{content}");
            assert_eq!(card.metadata["step_id"], "st");
        }
        let arguments = json!({"k": 1});
        check(&json!({"tool_name": "t", "arguments": {"k": 1}}), Some(&arguments));
        check(
            &json!({"__type__": "ToolCallContent", "tool_name": "t", "arguments": {"k": 1}, "x": 2}),
            Some(&arguments),
        );
        check(&json!({"tool_name": "t", "arguments": {}}), Some(&json!({})));
        check(&json!({"__type__": "JsonContent", "tool_name": "t", "arguments": {}}), None);
        check(&json!("{\"tool_name\": \"t\", \"arguments\": {}}"), None);
        check(&json!({"k": 1}), None);
        check(&json!({"tool_name": "t"}), None);
        check(&json!({"arguments": {}}), None);
        check(&json!({"tool_name": "", "arguments": {}}), None);
        check(&json!({"tool_name": "t", "arguments": "{}"}), None);
        check(&Value::Null, None);
    }

    #[test]
    fn a_card_of_another_type_or_no_card_at_all_yields_none() {
        let content = json!({"tool_name": "t", "arguments": {}});
        assert!(read_call_card(json!({"type": "tool.result", "content": content})).arguments.is_err());
        assert!(read_call_card(json!({})).arguments.is_err());
    }

    #[test]
    fn a_card_may_name_call_and_turn() {
        fn check(card: Value, call: Option<&str>, turn: Option<&str>) {
            let card = read_call_card(card);
            assert_eq!((card.tool_call_id.as_deref(), card.agent_turn_id().as_deref()), (call, turn));
        }
        check(json!({"tool_call_id": "c", "metadata": {"agent_turn_id": "t"}}), Some("c"), Some("t"));
        check(json!({"metadata": {"tool_call_id": "c"}}), Some("c"), None);
        check(json!({"tool_call_id": "", "metadata": {"agent_turn_id": 7}}), None, None);
        check(json!({}), None, None);
    }

    #[test]
    fn a_card_of_another_project_is_not_ours() {
        let project = ProjectId::new("prj").expect("a token");
        assert!(belongs_to(&json!({"project_id": "prj"}), &project));
        assert!(belongs_to(&json!({}), &project));
        assert!(!belongs_to(&json!({"project_id": "other"}), &project));
    }
}
