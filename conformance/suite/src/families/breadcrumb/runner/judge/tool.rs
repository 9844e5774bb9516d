//! Whether a tool did its work, and whether its output has the members of its schema (Universal Tool Invocation L71).

use callmark_schemas::SchemaName;
use serde_json::Value;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::runner::answer::Answer;
use crate::families::breadcrumb::runner::call::Call;

/// The output of a call that must succeed.
///
/// # Errors
/// It fails, or brings nothing.
pub fn output<'a>(call: &Call, answer: &Answer<'a>) -> Result<&'a Value, CheckFailure> {
    let tool = call.tool();
    if !answer.succeeded() {
        return Err(Finding::new(
            format!("the call of `{tool}` fails"),
            format!("let `{tool}` do its work with the input of this call"),
        )
        .expected(call.request())
        .actual(answer.error().or(Some(&answer.frame.body)))
        .frame(answer.frame)
        .into());
    }
    answer.output().ok_or_else(|| {
        Finding::new(
            format!("the answer to `{tool}` brings no output"),
            "put what the tool brings into `context.output`",
        )
        .actual(Some(&answer.frame.body))
        .at("/context/output")
        .frame(answer.frame)
        .into()
    })
}

/// The finding that a member of the output is not what it must be.
pub fn wrong(answer: &Answer<'_>, pointer: &str, expected: impl Into<Value>, what: &str) -> CheckFailure {
    let path = pointer.trim_start_matches('/').replace('/', ".");
    Finding::new(what.to_owned(), format!("give it in `output.{path}`, as the standard has it"))
        .expected(expected)
        .actual(answer.at(pointer).or_else(|| answer.output()))
        .at(format!("/context/output{pointer}"))
        .frame(answer.frame)
        .into()
}

/// Whether a value is this number, within what arithmetic with floats leaves.
pub fn is_number(value: Option<&Value>, expected: f64) -> bool {
    // Thirteen digits: of a whole number with that many, the last one counts.
    let near = |number: f64| {
        let margin = if expected == 0.0 { 1e-13 } else { 1e-13 * expected.abs() };
        (number - expected).abs() <= margin
    };
    value.and_then(Value::as_f64).is_some_and(near)
}

/// The output has the members that the schema of the standard, or of the manifest, declares.
///
/// # Errors
/// It lacks one, or one has another type.
pub fn fits_schema(call: &Call, answer: &Answer<'_>, action: Option<&str>, own: Option<&Value>) -> Judgement {
    let output = output(call, answer)?;
    let fault = match (SchemaName::tool_output(call.tool(), action), own) {
        (Some(name), _) => callmark_schemas::violations(name, output)
            .into_iter()
            .next()
            .map(|violation| (violation.pointer, violation.message)),
        (None, Some(schema)) => unfit(schema, output, String::new()),
        (None, None) => None,
    };
    let Some((pointer, message)) = fault else { return Ok(()) };
    Err(Finding::new(
        format!("the output of `{}` does not fit its schema: {message}", call.tool()),
        "give the output the members that the tool's `output_schema` declares, under these names and with these types",
    )
    .actual(Some(output))
    .at(format!("/context/output{pointer}"))
    .frame(answer.frame)
    .into())
}

/// Where a value lacks a member that a schema requires, or has one of another type.
fn unfit(schema: &Value, value: &Value, at: String) -> Option<(String, String)> {
    let named = schema.get("type");
    let types: Vec<&str> = match named {
        Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).collect(),
        one => one.and_then(Value::as_str).into_iter().collect(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(name, value)) {
        return Some((at, format!("it is not of type {}", types.join(" or "))));
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let missing = required.filter_map(Value::as_str).find(|name| value.get(name).is_none());
    if let (Some(name), true) = (missing, value.is_object()) {
        return Some((at, format!("it lacks `{name}`")));
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let members = properties.filter_map(|(name, schema)| {
        // An optional member may be null where a language has no other way to leave it out.
        let member = value.get(name).filter(|member| !member.is_null())?;
        unfit(schema, member, format!("{at}/{name}"))
    });
    let items = || {
        let schema = schema.get("items")?;
        let mut items = value.as_array()?.iter().enumerate();
        items.find_map(|(index, item)| unfit(schema, item, format!("{at}/{index}")))
    };
    members.into_iter().next().or_else(items)
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_is_the_expected_one_but_for_what_arithmetic_leaves() {
        let check = |value: f64, expected: f64, is_equal: bool| {
            assert_eq!(is_number(Some(&json!(value)), expected), is_equal, "{value} for {expected}");
        };
        check(0.1 + 0.2, 0.3, true);
        check(0.1 + 0.2 - 0.3, 0.0, true);
        check(1e12, 1e12 + 1.0, false);
        check(0.0, 3e-12, false);
        check(0.333_333_333_3, 1.0 / 3.0, false);
    }

    #[test]
    fn a_schema_of_the_manifest_is_looked_at_for_members_and_types() {
        let schema = json!({
            "type": "object", "required": ["level"],
            "properties": {"level": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}},
        });
        let check = |value: Value, expect: Option<&str>| {
            let found = unfit(&schema, &value, String::new()).map(|(pointer, _)| pointer);
            assert_eq!(found.as_deref(), expect, "{value}");
        };
        check(json!({"level": 3.0, "more": "x"}), None);
        check(json!({"level": "3"}), Some("/level"));
        check(json!({"names": []}), Some(""));
        check(json!({"level": 3, "names": ["a", 7]}), Some("/names/1"));
        check(json!([]), Some(""));
    }
}
