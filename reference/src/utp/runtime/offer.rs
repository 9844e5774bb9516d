//! What is sent to the model about the tools: the specifications of `resource.tools`, and the worker's own `submit_result`.
//!
//! Pure. Parameters that the model has no say in are not shown to it (Guide §4). Names are handed on as they are.

use serde_json::{Value, json};

use super::arguments::{environment_names, members};
use crate::utp::message::ToolRow;

/// The worker's built-in tool, which ends the turn and never travels (UTP §1).
pub(super) const SUBMIT_RESULT: &str = "submit_result";

/// The specifications of all tools, in the form of an OpenAI-compatible API.
pub(super) fn specifications(rows: &[ToolRow]) -> Vec<Value> {
    let mut specifications: Vec<Value> =
        rows.iter().filter(|row| row.tool_name != SUBMIT_RESULT).map(specification).collect();
    specifications.push(json!({"type": "function", "function": {
        "name": SUBMIT_RESULT,
        "description": "Ends the turn and hands over its result.",
        "parameters": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The result, for whoever asked."}},
            "required": ["text"],
        },
    }}));
    specifications
}

fn specification(row: &ToolRow) -> Value {
    let mut parameters = row.parameters.clone();
    if !parameters.is_object() {
        parameters = json!({});
    }
    if parameters.get("type").is_none() {
        parameters["type"] = json!("object");
    }
    if !parameters["properties"].is_object() {
        parameters["properties"] = json!({});
    }
    for (name, default) in members(&row.options, "/args/defaults") {
        if let Some(property) = parameters["properties"].get_mut(name).filter(|it| it.is_object()) {
            // Unexpanded: the values are not known before there is a call.
            property["default"] = default.clone();
        }
    }
    let envs = environment_names(&row.options);
    let hidden: Vec<&String> =
        members(&row.options, "/args/fixed").map(|(name, _)| name).chain(envs.keys()).collect();
    if let Some(properties) = parameters["properties"].as_object_mut() {
        properties.retain(|name, _| !hidden.contains(&name));
    }
    if let Some(required) = parameters.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !hidden.iter().any(|hidden| name == hidden.as_str()));
    }
    let mut function = json!({"name": row.tool_name, "parameters": parameters});
    if let Some(description) = &row.description {
        function["description"] = json!(description);
    }
    json!({"type": "function", "function": function})
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{SUBMIT_RESULT, specifications};
    use crate::utp::message::{AfterExecution, ToolRow};

    fn row(parameters: Value, options: Value) -> ToolRow {
        ToolRow {
            project_id: "prj".to_owned(),
            tool_name: "t".to_owned(),
            description: None,
            parameters,
            target_subject: String::new(),
            after_execution: AfterExecution::Suspend,
            options,
        }
    }

    #[test]
    fn fixed_and_env_parameters_are_hidden_and_defaults_shown() {
        let parameters = json!({
            "type": "object",
            "properties": {"q": {"type": "string"}, "n": {"type": "integer"}, "tenant": {"type": "string"},
                           "key": {"type": "string"}},
            "required": ["q", "tenant", "key"]
        });
        let options = json!({
            "args": {"defaults": {"n": 5, "q": "{step_id}", "absent": 1}, "fixed": {"tenant": "acme-9"}},
            "envs": {"key": "SEARCH_API_KEY"}
        });
        let offered = specifications(&[row(parameters, options)]);
        let function = &offered[0]["function"];
        assert_eq!(
            function["parameters"],
            json!({
                "type": "object",
                "properties": {"q": {"type": "string", "default": "{step_id}"},
                               "n": {"type": "integer", "default": 5}},
                "required": ["q"]
            })
        );
        assert!(!offered[0].to_string().contains("acme-9") && !offered[0].to_string().contains("SEARCH"));
        assert_eq!(offered[1]["function"]["name"], SUBMIT_RESULT);
    }

    #[test]
    fn a_tool_without_parameters_takes_an_object() {
        for parameters in [json!({}), Value::Null, json!([1])] {
            let offered = specifications(&[row(parameters, json!({}))]);
            assert_eq!(offered[0]["function"]["parameters"], json!({"type": "object", "properties": {}}));
        }
        let own = ToolRow { tool_name: SUBMIT_RESULT.to_owned(), ..row(json!({}), json!({})) };
        assert_eq!(specifications(&[own]).len(), 1);
    }
}
