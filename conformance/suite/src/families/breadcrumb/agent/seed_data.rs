//! What the store holds from the start: the catalog with its tools, and a configuration of each language model.

use serde_json::{Value, json};

use crate::families::breadcrumb::crumb::{CATALOG, CONFIG};

/// The tools.
pub(super) const CALCULATOR: &str = "calculator";
pub(super) const NOTES: &str = "web-notes";
pub(super) const MEMO: &str = "memo-save";
pub(super) const LEVELS: &str = "level-list";
/// It takes no input, and its name has capitals.
pub(super) const TIDES: &str = "Tide-Ledger";
pub(super) const PRIMARY: &str = "openrouter";
pub(super) const FALLBACK: &str = "venice";
/// All of them.
pub(super) const TOOLS: [&str; 7] = [CALCULATOR, NOTES, MEMO, LEVELS, TIDES, PRIMARY, FALLBACK];

/// Id of the catalog.
const CATALOG_ID: &str = "5c1f0a72-93d4-4e6b-8a17-2f60b9c3d485";
/// Id of the configuration of the primary language model.
pub(super) const PRIMARY_CONFIG: &str = "3e9d7b14-6a28-4f5c-b0e1-84c27d95fa36";
/// Id of that of the fallback.
const FALLBACK_CONFIG: &str = "a84c6f02-1db7-4935-9e5a-c7036be8d21f";

/// The breadcrumbs, with their ids.
pub(super) fn breadcrumbs() -> Vec<(&'static str, Value)> {
    let configuration = |tool: &str, model: &str| {
        json!({
            "schema_name": CONFIG, "title": format!("Configuration of {tool}"), "tags": ["tool:config", "workspace:tools"],
            "context": {"toolName": tool, "config": {"defaultModel": model, "temperature": 0.2, "maxTokens": 400}},
        })
    };
    let tools: Vec<Value> = TOOLS.iter().map(|tool| entry(tool)).collect();
    let catalog = json!({
        "schema_name": CATALOG, "title": "Tools", "tags": ["tool:catalog", "workspace:tools"], "context": {"tools": tools},
    });
    vec![
        (CATALOG_ID, catalog),
        (PRIMARY_CONFIG, configuration(PRIMARY, "m-quartz")),
        (FALLBACK_CONFIG, configuration(FALLBACK, "m-basalt")),
    ]
}

/// A tool as the catalog has it.
fn entry(tool: &str) -> Value {
    let text = json!({"type": "string"});
    let (category, description, properties, output) = match tool {
        CALCULATOR => (
            "utility",
            "Works out an arithmetic expression.",
            json!({"expression": text}),
            json!({"result": {"type": "number"}}),
        ),
        NOTES => (
            "search",
            "Searches the notes that people left on the web.",
            json!({"query": text}),
            json!({"notes": {"type": "array", "items": text}}),
        ),
        MEMO => ("breadcrumb", "Saves a memo.", json!({"text": text}), json!({"saved": {"type": "boolean"}})),
        LEVELS => (
            "search",
            "Lists the levels of the wells around a place.",
            json!({
                "above": {"type": "integer"}, "step": {"type": "number"}, "dry": {"type": "boolean"},
                "owners": {"type": "array", "items": text}, "label": text, "code": text, "around": {
                    "type": "object", "properties": {"place": text, "metres": {"type": "integer"}},
                    "required": ["place", "metres"],
                },
            }),
            json!({"notes": {"type": "array", "items": text}}),
        ),
        TIDES => (
            "search",
            "Reads the tides of the day from the ledger.",
            json!({}),
            json!({"notes": {"type": "array", "items": text}}),
        ),
        _ => (
            "llm",
            "Asks a language model.",
            json!({"messages": {"type": "array", "items": {
                "type": "object", "properties": {"role": text, "content": text}, "required": ["role", "content"],
            }}}),
            json!({"content": text, "model": text}),
        ),
    };
    let object = |properties: &Value| {
        let names: Vec<&String> = properties.as_object().into_iter().flat_map(|all| all.keys()).collect();
        json!({"type": "object", "properties": properties, "required": names})
    };
    json!({
        "name": tool, "description": description, "category": category,
        "input_schema": object(&properties), "output_schema": object(&output),
    })
}

/// What is wrong with an input of a tool: where, and what belongs there.
pub(super) fn misfit(tool: &str, input: &Value) -> Option<(String, String)> {
    let is_message = |message: &Value| message["role"].is_string() && !message["content"].is_null();
    let schema = entry(tool)["input_schema"].take();
    let Some(messages) = schema.pointer("/properties/messages") else {
        return unfit(&schema, input).map(|(place, expected)| (place, expected.to_string()));
    };
    // Providers take content in several forms.
    let given = input["messages"].as_array();
    let fits = given.is_some_and(|all| !all.is_empty() && all.iter().all(is_message));
    (!fits).then(|| ("/messages".to_owned(), messages.to_string()))
}

/// The part of a value that is not as its schema has it, and the schema of that part.
fn unfit<'a>(schema: &'a Value, value: &Value) -> Option<(String, &'a Value)> {
    let is_whole = |number: f64| number.fract() == 0.0;
    let fits = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("integer") => value.as_f64().is_some_and(is_whole),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        _ => true,
    };
    if !fits {
        return Some((String::new(), schema));
    }
    let within = |name: &str, schema: &'a Value, value: &Value| {
        unfit(schema, value).map(|(place, schema)| (format!("/{name}{place}"), schema))
    };
    let mut items = value.as_array().into_iter().flatten().enumerate();
    if let Some(found) = items.find_map(|(number, item)| within(&number.to_string(), &schema["items"], item))
    {
        return Some(found);
    }
    let properties = schema["properties"].as_object();
    // All that there are in this catalog are required.
    properties.into_iter().flatten().find_map(|(name, schema)| within(name, schema, &value[name]))
}

/// The tool of the catalog that a name means, however it is spelt.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    TOOLS.into_iter().find(|tool| plain(tool) == plain(name))
}

/// A name without what may be lost of it: functions have no hyphens with some providers.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use callmark_schemas::{SchemaName, violations};

    use super::*;

    #[test]
    fn the_catalog_is_one() {
        let all = breadcrumbs();
        assert_eq!(violations(SchemaName::Catalog, &all[0].1), vec![]);
        assert_eq!(violations(SchemaName::ToolConfig, &all[1].1), vec![]);
    }

    #[test]
    fn an_input_lacks_what_the_catalog_asks_for() {
        let check = |tool: &str, input: Value, expect: Option<&str>| {
            let found = misfit(tool, &input).map(|(pointer, _)| pointer);
            assert_eq!(found.as_deref(), expect, "{tool} {input}");
        };
        check(CALCULATOR, json!({"expression": "1 + 1", "precision": 3}), None);
        check(CALCULATOR, json!({"expr": "1 + 1"}), Some("/expression"));
        check(NOTES, json!({"query": 7}), Some("/query"));
        check(PRIMARY, json!({"messages": [{"role": "user", "content": "hello"}]}), None);
        check(PRIMARY, json!({"messages": "hello"}), Some("/messages"));
        let list = |name: &str, value: Value| {
            let around = json!({"place": "quartz", "metres": 0});
            let mut input = json!({
                "above": 0, "step": 0.5, "dry": false, "owners": [], "label": "", "code": "042", "around": around,
            });
            match name.split_once('/') {
                Some((outer, inner)) => input[outer][inner] = value,
                None => input[name] = value,
            }
            input
        };
        check(TIDES, json!({}), None);
        check(TIDES, Value::Null, Some(""));
        check(LEVELS, list("above", json!(0.0)), None);
        check(LEVELS, list("above", json!("0")), Some("/above"));
        check(LEVELS, list("step", json!("0.5")), Some("/step"));
        check(LEVELS, list("code", json!(42)), Some("/code"));
        check(LEVELS, list("dry", Value::Null), Some("/dry"));
        check(LEVELS, list("owners", json!([7])), Some("/owners/0"));
        check(LEVELS, list("around/metres", json!(false)), Some("/around/metres"));
        check(LEVELS, json!({"place": "quartz", "metres": 0}), Some("/above"));
    }
}
