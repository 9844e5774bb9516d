//! Every schema against the meta-schema, its own annotations and its example files.

use std::fs;
use std::path::{Path, PathBuf};

use callmark_schemas::{MAX_MESSAGE_CHARS, MAX_POINTER_BYTES, MAX_VIOLATIONS, SchemaName, violations};
use serde_json::{Map, Value, json};

/// Collects what is wrong with each schema, so that one run shows everything.
fn check(mut inspect: impl FnMut(SchemaName, &Value, &mut Vec<String>)) {
    let mut findings = Vec::new();
    for name in SchemaName::ALL {
        let schema = serde_json::from_str(name.source()).expect("schemas are JSON");
        inspect(name, &schema, &mut findings);
    }
    assert!(findings.is_empty(), "\n{}", findings.join("\n"));
}

fn crate_dir() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let listing = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = listing.map(|entry| entry.expect("entries are readable").path()).collect();
    paths.sort();
    paths
}

/// Calls `visit` with every subschema that describes the value, with its place.
///
/// Conditions (`if`, `not` and their like) are left out: they repeat members that are described elsewhere.
fn each_subschema(schema: &Value, place: &str, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    let Some(members) = schema.as_object() else {
        return;
    };
    visit(place, members);
    for group in ["properties", "$defs"] {
        for (name, inner) in members.get(group).and_then(Value::as_object).into_iter().flatten() {
            each_subschema(inner, &format!("{place}/{group}/{name}"), visit);
        }
    }
    for one in ["items", "additionalProperties"] {
        if let Some(inner) = members.get(one) {
            each_subschema(inner, &format!("{place}/{one}"), visit);
        }
    }
}

fn is_own_closed_file(name: SchemaName) -> bool {
    matches!(
        name,
        SchemaName::Manifest
            | SchemaName::Run
            | SchemaName::Sabotage
            | SchemaName::Diff
            | SchemaName::Doctor
            | SchemaName::Baseline
            | SchemaName::Statement
            | SchemaName::Load
            | SchemaName::Recording
    )
}

#[test]
fn schemas_are_valid_against_the_meta_schema() {
    check(|name, schema, findings| {
        if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
            findings.push(format!("{}: {error} at {}", name.path(), error.instance_path()));
        }
    });
}

#[test]
fn schemas_carry_their_annotations() {
    check(|name, schema, findings| {
        let mut expect = |held: bool, what: &str| {
            if !held {
                findings.push(format!("{}: {what}", name.path()));
            }
        };
        expect(schema["$schema"] == "https://json-schema.org/draft/2020-12/schema", "wrong `$schema`");
        expect(schema["$id"] == name.id().as_str(), "wrong `$id`");
        expect(schema["title"].as_str().is_some_and(|title| !title.is_empty()), "no title");
        let description = schema["description"].as_str().unwrap_or_default();
        expect(description.contains('§') || description.contains("docs/"), "description cites no section");
        expect(schema["examples"].as_array().is_some_and(|all| !all.is_empty()), "no examples");
    });
}

#[test]
fn every_property_is_described() {
    check(|name, schema, findings| {
        each_subschema(schema, "", &mut |place, members| {
            for (property, inner) in
                members.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                if inner["description"].as_str().is_none_or(str::is_empty) {
                    findings
                        .push(format!("{}: {place}/properties/{property} has no description", name.path()));
                }
            }
        });
    });
}

#[test]
fn own_files_are_closed_and_peers_messages_are_open() {
    check(|name, schema, findings| {
        each_subschema(schema, "", &mut |place, members| {
            let closed = members.get("additionalProperties") == Some(&Value::Bool(false));
            if members.contains_key("properties") && closed != is_own_closed_file(name) {
                findings.push(format!("{}: {place}/additionalProperties", name.path()));
            }
        });
    });
}

#[test]
fn required_members_are_declared() {
    check(|name, schema, findings| {
        each_subschema(schema, "", &mut |place, members| {
            for member in members.get("required").and_then(Value::as_array).into_iter().flatten() {
                let member = member.as_str().unwrap_or_default();
                if members.get("properties").is_none_or(|all| all.get(member).is_none()) {
                    findings.push(format!("{}: {place} requires undeclared `{member}`", name.path()));
                }
            }
        });
    });
}

#[test]
fn examples_within_the_schemas_are_valid() {
    check(|name, schema, findings| {
        for example in schema["examples"].as_array().into_iter().flatten() {
            for found in violations(name, example) {
                findings.push(format!("{}: {found:?}", name.path()));
            }
        }
    });
}

#[test]
fn example_files_are_judged_as_their_names_say() {
    check(|name, _, findings| {
        let (mut valid, mut invalid) = (0, 0);
        for path in entries(&crate_dir().join("examples").join(name.path())) {
            let file = path.file_name().and_then(|file| file.to_str()).expect("names are UTF-8");
            let text = fs::read_to_string(&path).expect("examples are readable");
            let value: Value = serde_json::from_str(&text).expect("examples are JSON");
            let found = violations(name, &value);
            if file.starts_with("valid-") {
                valid += 1;
                findings.extend(found.iter().map(|one| format!("{}/{file}: {one:?}", name.path())));
            } else if file.starts_with("invalid-") {
                invalid += 1;
                if found.is_empty() {
                    findings.push(format!("{}/{file}: is valid", name.path()));
                }
                if found.iter().any(|one| one.message.starts_with("breaks `")) {
                    findings.push(format!("{}/{file}: has no wording: {found:?}", name.path()));
                }
            } else {
                findings.push(format!("{}/{file}: neither valid nor invalid", name.path()));
            }
        }
        if valid < 1 || invalid < 2 {
            findings.push(format!("{}: {valid} valid and {invalid} invalid examples", name.path()));
        }
    });
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    entries(folder).into_iter().flat_map(below).collect()
}

#[test]
fn no_schema_and_no_example_is_left_over() {
    let known: Vec<_> = SchemaName::ALL.into_iter().map(SchemaName::path).collect();
    for folder in ["utp", "toolbus", "hub", "breadcrumb", "callmark"] {
        for path in files(&crate_dir().join(folder)) {
            let name = path.strip_prefix(crate_dir()).expect("is below the crate").to_str();
            let name = name.expect("names are UTF-8").trim_end_matches(".schema.json");
            assert!(known.contains(&name), "`{name}` is no schema");
        }
    }
    for path in files(&crate_dir().join("examples")) {
        let name = path.strip_prefix(crate_dir().join("examples")).expect("is below the examples").parent();
        let name = name.and_then(Path::to_str).expect("names are UTF-8");
        assert!(known.contains(&name), "unused `{}`", path.display());
    }
}

/// Whatever a peer sends, what is kept of it is small.
fn check_small(name: SchemaName, value: &Value) {
    let found = violations(name, value);
    assert!(!found.is_empty() && found.len() <= MAX_VIOLATIONS, "{} violations", found.len());
    for one in &found {
        assert!(one.message.chars().count() <= MAX_MESSAGE_CHARS, "{}", one.message);
        assert!(one.pointer.len() <= MAX_POINTER_BYTES, "{}", one.pointer);
    }
}

/// Whether nothing is asked for, so that strange members alone are no violation.
fn takes_any_member(name: SchemaName) -> bool {
    matches!(
        name,
        SchemaName::V1r4Wakeup
            | SchemaName::CaptureLine
            | SchemaName::Baseline
            | SchemaName::ResultDocument
            | SchemaName::RandomInput
            | SchemaName::BreadcrumbSearchInput
    )
}

#[test]
fn five_hostile_megabytes_yield_small_violations() {
    let big = "é\u{1b}]".repeat(5_000_000 / 4);
    for name in SchemaName::ALL {
        if !takes_any_member(name) {
            check_small(name, &json!({"x": big}));
        }
        check_small(name, &Value::String(big.clone()));
        check_small(name, &json!([big]));
    }
    check_small(
        SchemaName::Callback,
        &json!({"status": big, "after_execution": {"a": big}, "agent_id": [big]}),
    );
    check_small(SchemaName::CallError, &json!({"jsonrpc": big, "id": [big], "error": {"code": big}}));
    check_small(SchemaName::CallResult, &json!({"result": {"content": [{"type": big, "text": big}]}}));
    check_small(SchemaName::ExecuteRequest, &json!({"tool": "email_send", "inputs": {"to": [big]}}));
    check_small(
        SchemaName::ExecuteSuccess,
        &json!({"tool": "email_read", "result": {"date": big}, "error": big}),
    );
    check_small(SchemaName::ExecuteError, &json!({"success": big, "error": {"details": big}}));
    check_small(
        SchemaName::IntegrationStatus,
        &json!({"customer_id": big, "integrations": {&*big: {"connected": big}}}),
    );
    check_small(
        SchemaName::Invocation,
        &json!({"action": big, "breadcrumb": {"tags": [big], "title": [big]}}),
    );
    check_small(
        SchemaName::ToolResponse,
        &json!({"schema_name": big, "context": {"status": "error", "error": {&*big: big}, "tool": [big]}}),
    );
    check_small(SchemaName::WorkflowOutput, &json!({"results": big, "executionOrder": [big, big]}));
    check_small(SchemaName::ToolUpload, &json!({"target_subject": big, "tool_name": big}));
    check_small(SchemaName::CaptureLine, &json!({"kind": big, "headers": {&*big: 1}, "body": big}));
    check_small(SchemaName::Manifest, &json!({"target": {"name": "x", &*big: 1}, &*big: 2}));
    check_small(
        SchemaName::Manifest,
        &json!({"target": {"name": "x"}, "utp": {"env": {&*big: 1, "=": "x"}}}),
    );
}

#[test]
fn a_flood_of_wrong_members_yields_few_violations() {
    let many: Map<String, Value> = (0..200_000).map(|n| (format!("k{n}"), Value::from(n))).collect();
    check_small(SchemaName::CaptureLine, &json!({"kind": "other", "headers": many.clone(), "body": null}));
    check_small(SchemaName::Manifest, &Value::Object(many));
    let integrations: Map<_, _> =
        (0..200_000).map(|n| (format!("k{n}"), json!({"connected": true}))).collect();
    check_small(SchemaName::IntegrationStatus, &json!({"customer_id": null, "integrations": integrations}));
    let nested = (0..1_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
    check_small(SchemaName::Callback, &nested);
}

#[test]
fn violations_come_in_a_stable_order() {
    let value =
        json!({"target": {"b": 1}, "utp": {"start": [], "serial": 1, "platform": "x"}, "zz": 1, "aa": 2});
    let first = violations(SchemaName::Manifest, &value);
    assert_eq!(first, violations(SchemaName::Manifest, &value));
    let mut sorted = first.clone();
    sorted.sort_by(|left, right| {
        (&left.pointer, &left.schema_pointer).cmp(&(&right.pointer, &right.schema_pointer))
    });
    assert_eq!(first, sorted);
}
