//! Judges a value by a schema.
//!
//! Schemas are compiled once each, on first use, against a registry of all of them.
//! `message` words what is found. Nothing here reads files or the network.

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use jsonschema::{PatternOptions, Registry, RegistryBuilder, ValidationError, Validator};
use serde_json::Value;

use crate::SchemaName;
use crate::message;

/// How many violations [`violations`] returns at most.
pub const MAX_VIOLATIONS: usize = 20;

/// Cap of [`Violation::message`], in characters.
pub const MAX_MESSAGE_CHARS: usize = 300;

/// Cap of [`Violation::pointer`], in bytes.
pub const MAX_POINTER_BYTES: usize = 1000;

/// Values with more nodes than this are judged up to their first violation only.
///
/// The validator collects every error before it yields one, so a hostile map of a million wrong entries
/// would otherwise cost a million errors to show twenty.
const MAX_NODES_FOR_ALL: usize = 50_000;

/// One way in which a value breaks its schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// JSON Pointer into the value, at most [`MAX_POINTER_BYTES`] long.
    ///
    /// A missing or an unknown member is reported at the object that should or should not have it.
    /// Where a hostile member name makes the pointer too long it points at the nearest ancestor.
    pub pointer: String,
    /// What is wrong, as a fragment about the value at `pointer`, at most [`MAX_MESSAGE_CHARS`] long.
    ///
    /// Text of the value is cut, and its control characters are escaped.
    pub message: String,
    /// Keywords from the root of the schema to the one that is broken, `$ref` steps included.
    pub schema_pointer: String,
}

/// All violations, ordered by pointer and schema pointer, at most [`MAX_VIOLATIONS`]; empty when valid.
///
/// Safe on hostile input of any size: messages and pointers are capped, patterns run in linear time, and a
/// value of more than 50,000 nodes yields its first violation only.
pub fn violations(schema: SchemaName, value: &Value) -> Vec<Violation> {
    let validator = compiled(schema);
    if !has_at_most(value, MAX_NODES_FOR_ALL) {
        return validator.validate(value).err().iter().map(violation).collect();
    }
    let mut errors: Vec<_> = validator.iter_errors(value).collect();
    errors.sort_by(|left, right| place(left).cmp(&place(right)));
    errors.iter().take(MAX_VIOLATIONS).map(violation).collect()
}

fn place<'a>(error: &'a ValidationError<'_>) -> (&'a str, &'a str) {
    (error.instance_path().as_str(), error.evaluation_path().as_str())
}

fn violation(error: &ValidationError<'_>) -> Violation {
    Violation {
        pointer: nearest(error.instance_path().as_str()).to_owned(),
        message: message::of(error, MAX_MESSAGE_CHARS),
        schema_pointer: error.evaluation_path().as_str().to_owned(),
    }
}

/// The longest ancestor of a pointer that fits the cap.
fn nearest(pointer: &str) -> &str {
    let mut fitting = pointer;
    while fitting.len() > MAX_POINTER_BYTES {
        fitting = fitting.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
    fitting
}

/// Whether a value has at most `limit` nodes. Stops counting there.
fn has_at_most(value: &Value, limit: usize) -> bool {
    let mut open = vec![value];
    let mut seen = 0_usize;
    while let Some(node) = open.pop() {
        seen += 1;
        match node {
            Value::Array(items) if items.len() <= limit => open.extend(items),
            Value::Object(members) if members.len() <= limit => open.extend(members.values()),
            Value::Array(_) | Value::Object(_) => return false,
            _ => {}
        }
        if seen + open.len() > limit {
            return false;
        }
    }
    true
}

fn compiled(schema: SchemaName) -> &'static Validator {
    static COMPILED: [OnceLock<Validator>; SchemaName::ALL.len()] =
        [const { OnceLock::new() }; SchemaName::ALL.len()];
    COMPILED[schema.index()].get_or_init(|| compile(schema))
}

/// Compiles a schema that is embedded in the binary.
///
/// It panics where that fails, which would be a bug of ours that the crate's tests find for every schema.
fn compile(schema: SchemaName) -> Validator {
    static PARSED: LazyLock<BTreeMap<SchemaName, Value>> = LazyLock::new(|| {
        let parse = |name: SchemaName| serde_json::from_str(name.source()).map(|value| (name, value));
        let parsed: Result<_, _> = SchemaName::ALL.into_iter().map(parse).collect();
        parsed.expect("embedded schemas are JSON")
    });
    static REGISTRY: LazyLock<Registry<'static>> = LazyLock::new(|| {
        let all = PARSED.iter().map(|(name, value)| (name.id(), value));
        let built = Registry::new().extend(all).and_then(RegistryBuilder::prepare);
        built.expect("embedded schemas refer to one another only")
    });
    jsonschema::options()
        .with_registry(&REGISTRY)
        .offline()
        .with_pattern_options(PatternOptions::regex())
        .build(&PARSED[&schema])
        .expect("embedded schemas are valid")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MAX_POINTER_BYTES, SchemaName, Violation, has_at_most, nearest, violations};

    fn check(schema: SchemaName, value: &Value, expect: &[(&str, &str, &str)]) {
        let expect: Vec<_> = expect
            .iter()
            .map(|(pointer, message, schema_pointer)| Violation {
                pointer: (*pointer).to_owned(),
                message: (*message).to_owned(),
                schema_pointer: (*schema_pointer).to_owned(),
            })
            .collect();
        assert_eq!(violations(schema, value), expect);
    }

    #[test]
    fn missing_members_are_reported_at_their_object() {
        check(SchemaName::Wakeup, &json!({}), &[("", "`agent_id` is missing", "/required")]);
    }

    #[test]
    fn violations_behind_a_reference_keep_the_whole_way() {
        let callback = json!({"tool_call_id": "", "agent_turn_id": "t", "turn_epoch": null, "agent_id": 7,
            "tool_result_card_id": "card", "status": "done", "after_execution": "suspend"});
        let report = json!({"message_type": "tool_result", "correlation_id": "c", "payload": callback});
        check(
            SchemaName::Report,
            &report,
            &[
                (
                    "/payload/agent_id",
                    "is a number, not a string",
                    "/properties/payload/$ref/properties/agent_id/type",
                ),
                (
                    "/payload/status",
                    "`done` is none of `success`, `failed`, `canceled`, `timeout`, `partial`",
                    "/properties/payload/$ref/properties/status/enum",
                ),
                (
                    "/payload/tool_call_id",
                    "is empty",
                    "/properties/payload/$ref/properties/tool_call_id/minLength",
                ),
                (
                    "/payload/turn_epoch",
                    "is null, not a number or a string",
                    "/properties/payload/$ref/properties/turn_epoch/type",
                ),
            ],
        );
    }

    #[test]
    fn unknown_keys_of_our_own_files_are_named() {
        let manifest = json!({"target": {"name": "acme", "vendor": 1, "sort": 2}, "utp": {"start": []}});
        check(
            SchemaName::Manifest,
            &manifest,
            &[
                ("/target", "`vendor`, `sort` are not known here", "/properties/target/additionalProperties"),
                ("/utp/start", "has fewer than 1 items", "/properties/utp/properties/start/minItems"),
            ],
        );
    }

    #[test]
    fn reserved_names_are_named() {
        let upload = json!({"tool_name": "fork_join", "target_subject": "cg.v.p.c.cmd.tool.x", "after_execution": "suspend"});
        check(
            SchemaName::ToolUpload,
            &upload,
            &[(
                "/tool_name",
                "`fork_join` is not allowed here: excluded is \
                 `{\"enum\":[\"delegate_async\",\"launch_principal\",\"ask_expert\",\"fork_join\",\"provision_agent\"]}`",
                "/properties/tool_name/not",
            )],
        );
    }

    #[test]
    fn long_pointers_end_at_an_ancestor_that_fits() {
        let long = "k".repeat(MAX_POINTER_BYTES);
        assert_eq!(nearest(&format!("/headers/{long}/deeper")), "/headers");
        assert_eq!(nearest(&format!("/{long}")), "");
        assert_eq!(nearest("/headers/short"), "/headers/short");
    }

    #[test]
    fn nodes_are_counted_up_to_the_limit() {
        let value = json!({"a": [1, 2], "b": null});
        assert!(has_at_most(&value, 5));
        assert!(!has_at_most(&value, 4));
        assert!(!has_at_most(&json!([1, 2, 3]), 2));
    }
}
