//! What somebody finds by words: rules, scenarios, checks of the doctor.

use std::path::Path;

use serde_json::Value;

use crate::daily::callmark;

/// What is said on both streams, with this exit code.
fn said(arguments: &[&str], code: i32) -> String {
    let output = callmark(arguments, Path::new("."));
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {text}");
    // Messages are wrapped at the width of a terminal.
    text.lines().map(|line| line.trim_start_matches([' ', '│'])).collect::<Vec<_>>().join("\n")
}

#[test]
fn rules_are_found_by_words_and_by_what_means_the_same() {
    let found = |words: &[&str]| {
        let text = said(&[&["rules", "--search"], words].concat(), 0);
        let rules = text.lines().filter(|line| line.contains(" must ") || line.contains(" should "));
        rules.map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found(&["HUB-52"]), ["HUB-52"]);
    assert!(found(&["TOOL_NOT_FOUND"]).contains(&"HUB-52".to_owned()));
    let [idempotent, idempotency] = [found(&["idempotent"]), found(&["idempotency"])];
    assert!(!idempotent.is_empty());
    assert_eq!(idempotent, idempotency);
    let narrowed = found(&["idempotent", "report"]);
    assert!(!narrowed.is_empty() && narrowed.len() < idempotent.len(), "{narrowed:?}");
    let rows: Value =
        serde_json::from_str(&said(&["rules", "--search", "HUB-52", "--format", "json"], 0)).expect("JSON");
    assert_eq!(rows.as_array().map(Vec::len), Some(1));
    assert!(said(&["rules", "--search", "callbakc"], 4).contains("did you mean `callback`?"));
    assert!(said(&["rules", "--search", "xyzzyq"], 4).contains("fewer or shorter words"));
}

#[test]
fn a_rule_is_explained_however_its_id_is_written() {
    let whole = said(&["explain", "HUB-52"], 0);
    for words in [&["hub52"][..], &["hub", "52"], &["Hub-52"], &["hub 052"]] {
        assert_eq!(said(&[&["explain"], words].concat(), 0), whole, "{words:?}");
    }
    assert!(said(&["explain", "utp", "4", "1", "35"], 0).starts_with("UTP-4.1-35 "));
    assert!(said(&["explain", "HUBB-52"], 2).contains("there is no rule `HUBB-52`"));
    said(&["explain"], 2);
}

#[test]
fn a_scenario_is_explained_by_id_title_or_line() {
    let rows: Value = serde_json::from_str(&said(
        &[
            "certify",
            "--bundled",
            "--list",
            "--profile",
            "hub.server",
            "--rule",
            "HUB-52",
            "--format",
            "json",
        ],
        0,
    ))
    .expect("JSON");
    let row = &rows[0];
    let [id, name, file] = ["id", "name", "file"].map(|member| row[member].as_str().expect("a text"));
    let whole = said(&["explain", id], 0);
    assert!(whole.contains(name) && whole.contains("HUB-52 (must)") && whole.contains("\nWhen "), "{whole}");
    let place = format!("{file}:{}", row["line"]);
    assert!(whole.contains(&place), "{whole}");
    assert_eq!(said(&["explain", &place], 0), whole);
    let short = place.rsplit('/').next().expect("a name");
    assert!(said(&["explain", short], 0).contains(&whole), "{short}");
    assert!(said(&["explain", name], 0).contains(id));
    // As a finding names the step that noticed it: a row of an outline has its own line, its steps are those of all rows.
    let step = row["line"].as_u64().expect("a line") - 4;
    assert!(said(&["explain", &format!("{file}:{step}:7")], 0).contains(&place));
    assert!(
        said(&["explain", "hub/server/errors/HUB-52/99"], 2).contains("did you mean `hub/server/errors/HUB-")
    );
}

#[test]
fn the_doctor_answers_programs_as_well() {
    let home = tempfile::tempdir().expect("a directory");
    let diagnosis = |code: i32| -> Value {
        let output = callmark(&["doctor", "--format", "json"], home.path());
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        let value = serde_json::from_slice(&output.stdout).expect("JSON alone on stdout");
        let faults = callmark_schemas::violations(callmark_schemas::SchemaName::Doctor, &value);
        assert!(faults.is_empty(), "{faults:?}");
        value
    };
    let bad = |value: &Value| -> Vec<String> {
        let checks =
            value["checks"].as_array().expect("checks").iter().filter(|check| check["state"] == "bad");
        checks.map(|check| format!("{} {}", check["what"], check["cause"]).replace('"', "")).collect()
    };
    let value = diagnosis(2);
    assert_eq!((bad(&value), value["ready"].as_bool()), (vec!["manifest config".to_owned()], Some(false)));
    let output = callmark(&["init", "--lang", "python", "--for", "hub"], home.path());
    assert!(output.status.success());
    let value = diagnosis(0);
    assert_eq!((bad(&value), value["ready"].as_bool()), (Vec::new(), Some(true)));
    std::fs::write(home.path().join("hub.py"), "raise SystemExit(3)\n").expect("written");
    let value = diagnosis(3);
    assert_eq!((bad(&value).len(), value["ready"].as_bool()), (1, Some(false)), "{value}");
}
