//! From a call of the model to a request, or to the fault that is reported to the model.
//!
//! Nothing is repaired but what has one meaning: a tool that takes nothing may be called without `input`, and a
//! result comes back where nothing else was said.

use std::sync::Arc;

use serde_json::{Map, Value};
use uuid::Uuid;

use super::knowledge::{Known, KnownTool};
use crate::breadcrumb::tool::shorten;
use crate::completion::ModelCall;

/// How many faults of an input are reported at once.
const NAMED_FAULTS: usize = 5;

/// What the model asked for, checked.
#[derive(Debug, PartialEq)]
pub(super) struct Wanted {
    pub(super) tool: String,
    pub(super) input: Map<String, Value>,
    pub(super) return_to_llm: bool,
    pub(super) message: Option<String>,
    pub(super) config_id: Option<String>,
}

/// Checks a call.
pub(super) fn check(called: &ModelCall, known: &Known) -> Result<Wanted, String> {
    let tool = known.find(&called.name).ok_or_else(|| unknown(&called.name, known))?;
    let mut arguments = arguments(&called.arguments)?;
    let input = match arguments.remove("input") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(input)) => input,
        Some(_) => return Err("`input` must be an object with the parameters of the tool".to_owned()),
    };
    let input = satisfying(tool, input)?;
    let return_to_llm = match arguments.remove("return_to_llm") {
        None | Some(Value::Null) => true,
        Some(Value::Bool(flag)) => flag,
        Some(_) => return Err("`return_to_llm` must be true or false".to_owned()),
    };
    let message = match arguments.remove("message") {
        Some(Value::String(message)) if !message.trim().is_empty() => Some(message),
        None | Some(Value::Null | Value::String(_)) => None,
        Some(_) => return Err("`message` must be a text".to_owned()),
    };
    let config_id = match arguments.remove("config_id") {
        Some(Value::String(id)) if !id.is_empty() => Some(config(id, tool, known)?),
        None | Some(Value::Null | Value::String(_)) => None,
        Some(_) => return Err("`config_id` must be the id of a configuration".to_owned()),
    };
    Ok(Wanted { tool: tool.name.clone(), input, return_to_llm, message, config_id })
}

/// Models write nothing at all where a tool takes nothing.
fn arguments(text: &str) -> Result<Map<String, Value>, String> {
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err("the arguments must be an object".to_owned()),
        Err(error) => Err(format!("the arguments are no JSON: {error}")),
    }
}

fn satisfying(tool: &KnownTool, input: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let Some(validator) = &tool.input else { return Ok(input) };
    let instance = Value::Object(input);
    let fault = |error: jsonschema::ValidationError<'_>| {
        let place = error.instance_path().to_string();
        let text = shorten(&error.to_string());
        if place.is_empty() { text } else { format!("`{place}`: {text}") }
    };
    let faults: Vec<_> = validator.iter_errors(&instance).take(NAMED_FAULTS).map(fault).collect();
    match instance {
        Value::Object(input) if faults.is_empty() => Ok(input),
        _ => Err(format!("`input` is not what `{}` takes: {}", tool.name, faults.join("; "))),
    }
}

fn config(id: String, tool: &Arc<KnownTool>, known: &Known) -> Result<String, String> {
    let shown = shorten(&id);
    // The hyphenated form alone: that is how ids of breadcrumbs are written.
    if id.len() != 36 || Uuid::try_parse(&id).is_err() {
        return Err(format!("`config_id` must be a UUID, which `{shown}` is not"));
    }
    match known.configs.get(&id) {
        None => Err(format!("there is no configuration `{shown}`: name one that was given to you, or none")),
        Some(config) => match &config.tool {
            Some(other) if *other != tool.name => {
                Err(format!("the configuration `{shown}` is for `{other}`"))
            }
            _ => Ok(id),
        },
    }
}

fn unknown(name: &str, known: &Known) -> String {
    let distance = |other: &str| strsim::damerau_levenshtein(&other.to_lowercase(), &name.to_lowercase());
    let names = known.tools.iter().map(|offered| offered.tool.name.as_str());
    let nearest = names.map(|other| (distance(other), other)).min().filter(|(distance, _)| *distance <= 2);
    let shown = shorten(name);
    match nearest {
        Some((_, other)) => format!("there is no tool `{shown}`; did you mean `{other}`?"),
        None => format!("there is no tool `{shown}`"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::knowledge::tests::{CONFIG_ID, knowledge};
    use super::{Wanted, check};
    use crate::completion::ModelCall;

    fn checked(name: &str, arguments: &str) -> Result<Wanted, String> {
        let called =
            ModelCall { id: "call-1".to_owned(), name: name.to_owned(), arguments: arguments.to_owned() };
        check(&called, &knowledge().known())
    }

    #[test]
    fn a_call_becomes_a_request() {
        let arguments = json!({"input": {"expression": "6*7"}, "return_to_llm": false, "message": "One moment.",
                               "config_id": CONFIG_ID, "requestId": "ignored-1"});
        let wanted = checked("calculator", &arguments.to_string()).expect("a request");
        let input = json!({"expression": "6*7"});
        let expect = Wanted {
            tool: "calculator".to_owned(),
            input: input.as_object().expect("an object").clone(),
            return_to_llm: false,
            message: Some("One moment.".to_owned()),
            config_id: Some(CONFIG_ID.to_owned()),
        };
        assert_eq!(wanted, expect);
        let wanted = checked("web_notes", " ").expect("a request");
        assert_eq!((wanted.tool.as_str(), wanted.return_to_llm, wanted.config_id), ("web.notes", true, None));
        assert!(wanted.input.is_empty());
    }

    #[test]
    fn faults_are_reported() {
        fn check(name: &str, arguments: &Value, expect: &str) {
            let fault = checked(name, &arguments.to_string()).expect_err("a fault");
            assert!(fault.contains(expect), "{fault}");
        }
        let good = json!({"expression": "1"});
        check("Calculator", &json!({"input": good}), "did you mean `calculator`?");
        check("kite", &json!({"input": good}), "no tool `kite`");
        check("calculator", &json!({}), "expression");
        check("calculator", &json!({"input": "6*7"}), "`input` must be an object");
        check("calculator", &json!({"input": {"expression": 42}}), "/expression");
        check("calculator", &json!({"input": good, "return_to_llm": "true"}), "must be true or false");
        check("calculator", &json!({"input": good, "message": {}}), "`message` must be a text");
        check("calculator", &json!({"input": good, "config_id": "the fast one"}), "must be a UUID");
        let unknown = "00000000-5d1a-4c0e-9a58-0b6d2b1f7e11";
        check("calculator", &json!({"input": good, "config_id": unknown}), "no configuration");
        check("web_notes", &json!({"config_id": CONFIG_ID}), "is for `calculator`");
        check("calculator", &json!([1]), "must be an object");
        assert!(checked("calculator", "{\"input\": ").expect_err("a fault").contains("no JSON"));
    }
}
