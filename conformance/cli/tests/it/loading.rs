//! `load`: calls at a fixed rate, latencies from when they were due, and the rules that targets break under load.

use std::path::Path;
use std::process::{Command, Output};

use callmark_schemas::{SchemaName, violations};
use serde_json::Value;

use crate::deployed::unwrapped;
use crate::support;

/// An MCP server on standard input and output whose calls pass one by one: `stall` holds every 250th for 200 ms, and with
/// it all that come meanwhile; `note` puts a word behind the JSON of each answer from the 20th call on; `mute` answers no
/// call after the 20th; `slow` takes 10 ms for each.
const RELAY: &str = r#"
import json, subprocess, sys, threading, time

mode, *command = sys.argv[1:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
calls, late = 0, set()

def answers():
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") in late and mode == "mute":
            continue
        if message.get("id") in late and mode == "note":
            message["result"]["content"][0]["text"] += " (as you wished)"
            line = json.dumps(message).encode() + b"\n"
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()

threading.Thread(target=answers, daemon=True).start()
for line in sys.stdin.buffer:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        calls += 1
        if mode == "stall" and calls % 250 == 0:
            time.sleep(0.2)
        if mode == "slow":
            time.sleep(0.01)
        if calls > 20:
            late.add(message["id"])
    server.stdin.write(line)
    server.stdin.flush()
server.stdin.close()
server.wait()
"#;

/// A place with the manifest of such a server.
fn home(mode: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    std::fs::write(home.path().join("relay.py"), RELAY).expect("a file");
    let program = support::program().display().to_string();
    let manifest = format!(
        "[target]\nname = \"relay\"\n[toolbus]\nrevisions = [\"2025-11-25\"]\n\
         command = [\"python3\", \"relay.py\", \"{mode}\", \"{program}\", \"serve\", \"toolbus\", \"--stdio\"]\n\
         [toolbus.probes.echo]\ntool = \"probe_echo\"\narguments = {{ value = \"{{value}}\" }}\n"
    );
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    home
}

fn load(home: &Path, arguments: &[&str]) -> Output {
    Command::new(support::program())
        .arg("load")
        .args(arguments)
        .current_dir(home)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program")
}

fn text(output: &Output) -> String {
    unwrapped(
        &(String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)),
    )
}

/// The report of a load that ended with this code.
fn report(output: &Output, code: i32) -> Value {
    assert_eq!(output.status.code(), Some(code), "{}", text(output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    let found = violations(SchemaName::Load, &report);
    assert!(found.is_empty(), "{found:?}");
    report
}

fn number(report: &Value, pointer: &str) -> u64 {
    report.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {pointer}: {report}"))
}

/// The rate is held by counts: within one of a hundred.
fn is_rate_held(report: &Value) -> bool {
    let (intended, sent) = (number(report, "/calls/intended"), number(report, "/calls/sent"));
    sent * 100 >= intended * 99
}

#[test]
fn a_stall_shows_in_each_call_that_was_due_meanwhile() {
    let home = home("stall");
    let arguments = ["--target", "callmark.toml", "--rate", "100", "--for", "10s", "--format", "json"];
    let report = report(&load(home.path(), &arguments), 0);
    assert_eq!(number(&report, "/calls/intended"), 1_000);
    assert!(is_rate_held(&report), "{report}");
    // Whoever waits for an answer before the next call would see it four times in a thousand.
    assert!(number(&report, "/latency/p99_9_us") >= 190_000, "{}", report["latency"]);
    assert!(number(&report, "/latency/p99_us") >= 100_000, "{}", report["latency"]);
}

#[test]
fn the_reference_holds_a_rate_in_every_role_and_revision() {
    let home = tempfile::tempdir().expect("a directory");
    let all: [&[&str]; 6] = [
        &["utp.tool-service"],
        &["utp.tool-service@v1r4"],
        &["hub.server"],
        &["toolbus.server", "--transport", "http"],
        &["toolbus.server", "--transport", "stdio"],
        &["toolbus.server@2026-07-28", "--transport", "http"],
    ];
    for role in all {
        let mut arguments =
            vec!["--bundled", "--rate", "25", "--for", "2s", "--deadline", "60s", "--format", "json"];
        arguments.push("--profile");
        arguments.extend(role);
        let report = report(&load(home.path(), &arguments), 0);
        assert_eq!((&report["verdict"], &report["profile"]), (&"held".into(), &role[0].into()));
        assert!(is_rate_held(&report), "{report}");
        assert_eq!(number(&report, "/calls/succeeded"), 50, "{report}");
        // Every call is an exchange that the judge saw.
        assert_eq!(number(&report, "/judged/exchanges"), 50, "{role:?}: {}", report["judged"]);
        let seen = report["judged"]["rules"].as_array().expect("rules");
        assert!(seen.iter().any(|rule| rule["outcome"] == "no-violation"), "{role:?}");
    }
}

#[test]
fn a_rule_that_is_broken_after_a_while_is_found_and_shown() {
    let home = home("note");
    let arguments =
        ["--target", "callmark.toml", "--rate", "50", "--for", "2s", "--format", "json", "--out", "out"];
    let report = report(&load(home.path(), &arguments), 1);
    assert_eq!(report["verdict"], "violations");
    let findings = report["judged"]["findings"].as_array().expect("findings");
    assert!(
        !findings.is_empty() && findings.iter().all(|own| own["profile"] == "toolbus.server"),
        "{findings:?}"
    );
    assert!(findings[0]["at"].as_str().is_some_and(|at| at.starts_with("call ")), "{findings:?}");
    let out = home.path().join("out");
    let written: Value =
        serde_json::from_slice(&std::fs::read(out.join("load.json")).expect("a report")).expect("JSON");
    assert_eq!(written, report);
    let page = std::fs::read_to_string(out.join("index.html")).expect("a page");
    let rule = findings[0]["rule"].as_str().expect("a rule");
    assert!(page.contains(rule) && page.contains("<svg"), "no {rule}");
    // The directory is written over by a load, and by nothing else.
    let again =
        load(home.path(), &["--target", "callmark.toml", "--rate", "5", "--for", "1s", "--out", "out"]);
    assert!(again.status.code() < Some(2), "{}", text(&again));
    std::fs::write(out.join("thesis.txt"), "").expect("a file");
    let refused =
        load(home.path(), &["--target", "callmark.toml", "--rate", "5", "--for", "1s", "--out", "out"]);
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
}

#[test]
fn calls_that_are_never_answered_are_counted_and_bounded() {
    let home = home("mute");
    let arguments = [
        "--target",
        "callmark.toml",
        "--rate",
        "100",
        "--for",
        "1s",
        "--deadline",
        "3s",
        "--most-open",
        "30",
        "--format",
        "json",
    ];
    let report = report(&load(home.path(), &arguments), 1);
    assert_eq!(report["verdict"], "overloaded");
    // How many are answered before thirty are open, is the machine's: at most the twenty that are answered at all.
    let [sent, unanswered, crowded, left] = ["sent", "unanswered", "crowded_out", "left_behind"]
        .map(|own| number(&report, &format!("/calls/{own}")));
    assert!((1..=30).contains(&unanswered) && sent - unanswered <= 20, "{}", report["calls"]);
    assert_eq!(sent + crowded + left, 100, "{}", report["calls"]);
    assert!(crowded + left >= 50, "{}", report["calls"]);
    assert!(number(&report, "/latency/max_us") >= 2_990_000, "{}", report["latency"]);
}

#[test]
fn a_search_ends_at_what_the_target_can_do() {
    let home = home("slow");
    let arguments = [
        "--target",
        "callmark.toml",
        "--rate",
        "25",
        "--for",
        "1s",
        "--find",
        "--p99",
        "300ms",
        "--format",
        "json",
    ];
    let output = load(home.path(), &arguments);
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output)));
    let trials = report["search"]["trials"].as_array().expect("trials");
    assert!(trials.len() >= 2, "{trials:?}");
    assert!(trials.iter().any(|trial| trial["why_not"].is_string()), "{trials:?}");
    // A hundred a second are what it can do; in one second it is behind by the bound at 130.
    let best = report["search"]["best"].as_f64();
    assert!(best.is_none_or(|best| best < 160.0), "{best:?}");
    assert_eq!(output.status.code(), Some(i32::from(best.is_none())), "{}", text(&output));
}

#[test]
fn what_cannot_be_loaded_is_named() {
    let home = tempfile::tempdir().expect("a directory");
    let check = |arguments: &[&str], code: i32, hint: &str| {
        let output = load(home.path(), arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(hint), "{arguments:?}: {}", text(&output));
    };
    check(
        &["--bundled", "--profile", "utp.pmo"],
        2,
        "those that can are: utp.tool-service, hub.server, toolbus.server",
    );
    check(&["--bundled"], 2, "name one with `--profile`");
    check(&["--bundled", "--profile", "hub.serve"], 2, "did you mean `hub.server`?");
    check(&["--bundled", "--profile", "hub.server", "--rate", "0"], 2, "0.1");
    check(&["--bundled", "--profile", "hub.server", "--for", "30"], 2, "needs a unit");
    check(&["--bundled", "--profile", "hub.server", "--find"], 2, "--p99");
    check(&[], 2, "--target");
    std::fs::write(
        home.path().join("callmark.toml"),
        "[target]\nname = \"gone\"\n[hub]\nbase_url = \"http://127.0.0.1:9\"\nsecret_env = \"HOME\"\n\
         start_timeout_seconds = 0.5\n[hub.customers]\nconnected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\n",
    )
    .expect("a file");
    check(&["--target", "callmark.toml"], 3, "cannot be called");
}
