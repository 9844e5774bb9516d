//! What is sent to the model: instructions, and one function for each tool.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::knowledge::{Known, Offered};
use crate::breadcrumb::tool::shorten;

/// In our own words what the Standard says to agents: "Return-to-LLM decision tree", "Error handling", patterns.
const INSTRUCTIONS: &str = "You help a user, and you have tools. Call the ones that you need; calls that do not \
depend on each other belong into one answer, and run at the same time. Put the parameters of a tool into `input`. \
The answer to a call has a `status`: with `error` the tool gave no result, whatever you may have expected; then try \
again, try another tool, or tell the user. Never present something as the result of a tool that failed. Each answer \
belongs to the call whose id it carries. When nothing more is to be called, answer the user in plain text.";

const RETURN_TO_LLM: &str = "Who gets the result. `true`: you do, because you need it to go on: to reason over it, \
to handle a failure, to decide what comes next, or as one step of several. `false`: the user does, at once and \
without you, because nothing is left to do with it, as with a plain calculation or a thing that is only to be done.";

/// The first message of every question.
pub(super) fn instructions(known: &Known) -> Value {
    let mut text = INSTRUCTIONS.to_owned();
    if !known.configs.is_empty() {
        text.push_str("\n\nConfigurations that a call may name by `config_id`, each for its own tool:");
        for (id, config) in &known.configs {
            let tool =
                config.tool.as_deref().map_or_else(|| "any tool".to_owned(), |tool| format!("`{tool}`"));
            let _ = write!(text, "\n- {id}: for {tool}, {}", shorten(&config.title));
        }
    }
    json!({"role": "system", "content": text})
}

/// The functions, in the form of an OpenAI-compatible API.
pub(super) fn functions(known: &Known) -> Vec<Value> {
    known.tools.iter().map(function).collect()
}

fn function(offered: &Offered) -> Value {
    let tool = &offered.tool;
    let mut description = tool.description.clone();
    if offered.function != tool.name {
        let _ = write!(description, " This is the tool `{}`.", tool.name);
    }
    if let Some(output) = &tool.output_schema {
        let _ = write!(description, " Its output: {output}");
    }
    json!({"type": "function", "function": {
        "name": offered.function,
        "description": description.trim(),
        "parameters": {
            "type": "object",
            "properties": {
                "input": tool.input_schema,
                "return_to_llm": {"type": "boolean", "description": RETURN_TO_LLM},
                "message": {"type": "string", "description": "What the user reads meanwhile, in a few words."},
                "config_id": {"type": "string", "description": "Id of a configuration, where one is needed."}
            },
            "required": ["input", "return_to_llm"]
        }
    }})
}

#[cfg(test)]
mod tests {
    use super::super::knowledge::tests::{CONFIG_ID, knowledge};
    use super::{functions, instructions};

    #[test]
    fn a_tool_is_a_function_around_its_input() {
        let known = knowledge().known();
        let functions = functions(&known);
        let parameters = &functions[0]["function"]["parameters"];
        assert_eq!(parameters["properties"]["input"], known.tools[0].tool.input_schema);
        assert_eq!(parameters["properties"]["return_to_llm"]["type"], "boolean");
        let second = functions[1]["function"]["description"].as_str().expect("a description");
        assert!(second.contains("`web.notes`"), "{second}");
    }

    #[test]
    fn configurations_are_named_and_never_shown() {
        let text = instructions(&knowledge().known()).to_string();
        assert!(text.contains(CONFIG_ID) && text.contains("`calculator`"), "{text}");
        assert!(!text.contains("s3cr3t"), "{text}");
    }
}
