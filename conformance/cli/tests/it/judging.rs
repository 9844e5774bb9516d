//! `judge`: recordings of correct traffic hold nothing, those of mutants hold their fault, and bad ones are refused.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use crate::{behind, support};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use callmark_schemas::{SchemaName, violations};
use callmark_suite::engine::run::Library;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::families;
use callmark_suite::mutation::mutants;
use callmark_suite::mutation::mutating_wire::MutatingWire;
use callmark_suite::net::wire::{PassthroughWire, Wire};
use callmark_suite::transcript::{Frame, Kind};
use serde_json::{Value, json};

/// Runs the reference behind a wire, and answers with what was said.
async fn recorded(profile: &str, rules: &[&str], wire: Arc<dyn Wire>) -> Recorded {
    let output = behind::certify(wire, profile, rules, ReplayMode::Off).await;
    let mut lines = Vec::new();
    output.write_transcripts(&mut lines).expect("lines in memory");
    let scenarios = output.transcripts().map(|(_, frames)| frames).collect();
    Recorded { lines, scenarios }
}

/// What was said in a run.
struct Recorded {
    lines: Vec<u8>,
    scenarios: Vec<Vec<Frame>>,
}

fn judge(recording: &[u8], arguments: &[&str]) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("recording");
    std::fs::write(&path, recording).expect("a recording");
    judge_file(&path, arguments)
}

fn judge_file(path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(support::program());
    command.arg("judge").args(arguments).arg(path).env("NO_COLOR", "1").output().expect("the program")
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Ids of the rules that a recording breaks.
pub(crate) fn broken(recording: &[u8], arguments: &[&str]) -> Vec<String> {
    let output = judge(recording, &[&["--format", "json"], arguments].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output));
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report");
    assert_eq!(violations(SchemaName::Recording, &report), [], "{report}");
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().map(|own| own["rule"].as_str().expect("a rule").to_owned()).collect()
}

#[track_caller]
fn assert_clean(recording: &[u8], arguments: &[&str], form: &str) {
    let output = judge(recording, arguments);
    let text = text(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.starts_with("no violation seen in ") && text.contains(form), "{text}");
}

/// Exchanges with a Hub as an HTTP archive.
fn archive(scenarios: &[Vec<Frame>]) -> Vec<u8> {
    let mut entries = Vec::new();
    for frames in scenarios {
        for request in frames.iter().filter(|frame| frame.kind == Kind::HubRequest) {
            let is_own = |frame: &&Frame| {
                frame.kind == Kind::HubResponse && frame.headers.get("call") == request.headers.get("call")
            };
            let Some(answer) = frames.iter().find(is_own) else { continue };
            let (method, path) = request.channel.split_once(' ').expect("a method");
            let headers = |frame: &Frame| -> Vec<Value> {
                let shown =
                    frame.headers.iter().filter(|(name, _)| name.contains('-') || *name == "authorization");
                shown.map(|(name, value)| json!({"name": name, "value": value})).collect()
            };
            entries.push(json!({
                "request": {
                    "method": method, "url": format!("http://hub.example{path}"), "headers": headers(request),
                    "postData": {"mimeType": "application/json", "text": written(&request.body)},
                },
                "response": {
                    "status": answer.headers["status"].parse::<u16>().expect("a status"),
                    "headers": headers(answer), "content": {"size": 1, "text": written(&answer.body)},
                },
            }));
        }
    }
    json!({"log": {"version": "1.2", "creator": {}, "entries": entries}}).to_string().into_bytes()
}

fn written(body: &Value) -> String {
    match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => json.to_string(),
    }
}

/// Subject, reply, headers, body.
type OnBus = (String, Option<String>, Vec<(String, String)>, String);

/// Messages of a Tool Service as they pass on the bus.
fn bus(scenarios: &[Vec<Frame>]) -> Vec<OnBus> {
    let mut all = Vec::new();
    for (number, frames) in scenarios.iter().enumerate() {
        let project = frames
            .iter()
            .find_map(|frame| Some(frame.channel.strip_prefix("cg.")?.split('.').nth(1)?.to_owned()));
        let Some(project) = project else { continue };
        for frame in frames {
            let inbox = format!("_INBOX.{number}");
            let (subject, reply) = match frame.kind {
                Kind::Command | Kind::Report | Kind::CardSave => (frame.channel.clone(), None),
                Kind::CardsGet => (format!("l0.v1.{project}.cards.get"), Some(inbox)),
                Kind::CardsReply => (inbox, None),
                _ => continue,
            };
            let headers = frame.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
            all.push((subject, reply, headers, written(&frame.body)));
        }
    }
    all
}

fn dump(scenarios: &[Vec<Frame>]) -> Vec<u8> {
    let mut out = Vec::new();
    for (subject, reply, headers, body) in bus(scenarios) {
        let headers: serde_json::Map<String, Value> =
            headers.into_iter().map(|(name, value)| (name, json!([value]))).collect();
        let message = json!({"Subject": subject, "Reply": reply.unwrap_or_default(), "Header": headers, "Data": STANDARD.encode(body)});
        out.extend(message.to_string().into_bytes());
        out.push(0);
    }
    out
}

fn printed(scenarios: &[Vec<Frame>]) -> Vec<u8> {
    let mut out = "12:00:00 Subscribing on > \n".to_owned();
    for (number, (subject, reply, headers, body)) in bus(scenarios).into_iter().enumerate() {
        let reply = reply.map(|reply| format!(" with reply {reply:?}")).unwrap_or_default();
        let _ = writeln!(out, "[#{}] Received on {subject:?}{reply}", number + 1);
        for (name, value) in &headers {
            let _ = writeln!(out, "{name}: {value}");
        }
        if !headers.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{body}\n");
    }
    out.into_bytes()
}

/// What passes between an MCP client and a server.
fn lines(scenarios: &[Vec<Frame>]) -> Vec<u8> {
    let mut out = String::new();
    for frame in scenarios.iter().flatten() {
        if matches!(frame.kind, Kind::Request | Kind::Response) && frame.body.get("jsonrpc").is_some() {
            let _ = writeln!(out, "{}", frame.body);
        }
    }
    out.into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_reference_says_breaks_nothing_in_any_form() {
    for profile in [
        "hub.server",
        "utp.tool-service",
        "utp.tool-service@v1r4",
        "utp.pmo@v1r4",
        "toolbus.server",
        "toolbus.server@2026-07-28",
        "breadcrumb.runner",
    ] {
        let Recorded { lines: own, scenarios } = recorded(profile, &[], Arc::new(PassthroughWire)).await;
        for arguments in [&["--bundled", "--strict"][..], &[]] {
            assert_clean(&own, arguments, "transcript of a run");
            match profile {
                "hub.server" => assert_clean(&archive(&scenarios), arguments, "HTTP archive"),
                "toolbus.server" | "toolbus.server@2026-07-28" => {
                    assert_clean(&lines(&scenarios), arguments, "MCP messages");
                }
                "utp.tool-service" | "utp.tool-service@v1r4" | "utp.pmo@v1r4" => {
                    assert_clean(&dump(&scenarios), arguments, "dump of `nats sub --dump`");
                    assert_clean(&printed(&scenarios), arguments, "text of `nats sub`");
                }
                _ => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_mutants_are_found_in_what_they_said() {
    let library = Library::load().expect("a sound library");
    let all = mutants(&library.registry).expect("sound mutants");
    let mut missed = Vec::new();
    for (profile, ids) in [
        (
            "hub.server",
            &["names-the-provider", "time-is-text", "empty-message", "only-a-code", "errors-with-200"][..],
        ),
        (
            "utp.tool-service",
            &[
                "callback-lowers-turn",
                "status-ok",
                "callback-with-output",
                "fresh-trace",
                "report-before-card",
                "trace-id-of-its-own",
            ],
        ),
        (
            "utp.tool-service@v1r4",
            &[
                "callback-repeats-the-call",
                "report-without-agent",
                "report-with-underscores",
                "report-with-a-padded-epoch",
                "card-of-the-caller",
                "depth-is-constant",
            ],
        ),
        (
            "toolbus.server@2026-07-28",
            &[
                "result-without-its-type",
                "asks-for-a-sample",
                "logs",
                "code-of-mcp",
                "server-unnamed-in-calls",
            ],
        ),
        (
            "toolbus.server",
            &["second-block", "note-after-the-json", "trace-id-of-its-own", "error-without-a-message"],
        ),
        ("utp.worker", &["tool-command-without-turn_epoch", "command-before-card", "content-as-text"]),
        ("utp.execution", &["record-with-another-turn", "record-of-another-type"]),
        ("breadcrumb.runner", &["names-the-family", "says-failed"]),
    ] {
        for id in ids {
            let mutant = all.iter().find(|own| own.profile == profile && own.id == *id).expect("a mutant");
            let wire = Arc::new(MutatingWire::new(mutant.fault.clone(), families::ALL.codec(profile)));
            // Some rules have no scenario that sends anything, so that others are needed.
            let also: &[&str] = match profile {
                "utp.tool-service@v1r4" => &["UTP-4.2-02"],
                "toolbus.server@2026-07-28" => &["BUS-02", "BUS-72"],
                _ => &[],
            };
            let rules = [&[mutant.rule.as_str()], also].concat();
            let Recorded { lines: own, scenarios } = recorded(profile, &rules, wire).await;
            let mut forms = vec![own];
            forms.extend(match profile {
                "hub.server" => vec![archive(&scenarios)],
                "toolbus.server" | "toolbus.server@2026-07-28" => vec![lines(&scenarios)],
                "utp.tool-service" | "utp.tool-service@v1r4" => vec![dump(&scenarios), printed(&scenarios)],
                _ => Vec::new(),
            });
            for form in forms {
                let broken = broken(&form, &["--bundled"]);
                if !broken.contains(&mutant.rule) {
                    missed.push(format!("{profile} {id}: {} not in {broken:?}", mutant.rule));
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}

#[track_caller]
fn assert_refused(recording: &[u8], code: i32, said: &[&str]) {
    let output = judge(recording, &[]);
    let text = text(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(code), "{text}");
    for words in said {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
}

/// A message of a transcript.
fn line(scenario: &str, n: u32) -> String {
    let frame = json!({
        "n": n, "at_us": 0, "direction": "to-target", "kind": "request", "channel": "tools/call",
        "headers": {"call": "1", "tool": "t"},
        "body": {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t"}},
    });
    format!("{{\"scenario\":\"{scenario}\",\"frame\":{frame}}}\n")
}

#[test]
fn what_is_no_recording_is_refused_with_its_place() {
    let good = line("toolbus/server/x/BUS-39/1", 1);
    for other in ["", "hello", "{\"a\": 1}", "\u{0}\u{1}"] {
        assert_refused(other.as_bytes(), 2, &["it is no recording that is known", "HTTP archive"]);
    }
    assert_refused(
        format!("{good}{{\"scenario\": 7}}\n{good}").as_bytes(),
        2,
        &["recording:2` cannot be read"],
    );
    assert_refused(format!("{good}nonsense\n{good}").as_bytes(), 2, &["recording:2` cannot be read"]);
    let wrong = good.replace("\"request\"", "\"postcard\"");
    assert_refused(
        format!("{good}\n\n{}", wrong.replace("/x/", "/y/")).as_bytes(),
        2,
        &["recording:4`", "postcard"],
    );
    let deep = format!("{{\"jsonrpc\": \"2.0\", \"id\": 1}}\n{}\n", "[".repeat(100_000));
    assert_refused(deep.as_bytes(), 2, &["recording:2` cannot be read"]);
    assert_refused(b"{\"log\": {\"version\": \"1.2\"}}", 2, &["entries"]);
    assert_refused(b"{\"log\": {\"entries\": [{\"request\"", 2, &["breaks off in its entry 1"]);
    assert_refused(b"{\"log\": {\"entries\": [7]}}", 2, &["entry 1", "invalid type"]);
    assert_refused(b"{\"Subject\": \"a\", \"Data\": \"*\"}\n", 2, &["no Base64"]);
    let folder = judge_file(tempfile::tempdir().expect("a directory").path(), &[]);
    assert_eq!(folder.status.code(), Some(2), "{}", text(&folder));
    let missing = judge_file(Path::new("no-such-recording"), &[]);
    assert!(
        missing.status.code() == Some(2) && text(&missing).contains("no-such-recording"),
        "{}",
        text(&missing)
    );
}

#[test]
fn nothing_to_judge_is_said_so() {
    assert_refused(line("toolbus/server/x/BUS-39/1", 1).as_bytes(), 4, &["no exchange that a rule is about"]);
    assert_refused(line("other/suite/x/1", 1).as_bytes(), 4, &["no exchange that a rule is about"]);
    assert_refused(b"{\"log\": {\"entries\": []}}", 4, &["no exchange"]);
}

#[test]
fn what_cannot_be_put_together_is_counted() {
    let call = |id: u32| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "t", "arguments": {}}});
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32603, "message": "no"}});
        (format!("{request}\n"), format!("{answer}\n"))
    };
    let ((ask, answer), (other, late)) = (call(1), call(2));
    let long = format!("{{\"jsonrpc\": \"2.0\", \"id\": \"{}\"}}\n", "x".repeat(5 * 1024 * 1024));
    let recording = format!("{ask}{answer}{other}{ask}{long}{late}{}", &answer[..20]);
    let output = judge(recording.as_bytes(), &[]);
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("no violation seen in 2 exchanges"), "{said}");
    let facts =
        "5 messages, 1 of no exchange that can be judged, 1 too long to be judged, breaks off in line 7";
    assert!(said.contains(facts), "{said}");
}

#[test]
fn a_text_of_a_recording_is_obeyed_by_nobody() {
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "\u{1b}[2Jt", "arguments": {}}});
    let answer = json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "\u{1b}]0;x\u{7}"}]}});
    let output = judge(format!("{request}\n{answer}\n").as_bytes(), &[]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{}", text(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn scenarios_may_be_interleaved_repeated_and_cut() {
    let mutant = "second-block";
    let library = Library::load().expect("a sound library");
    let all = mutants(&library.registry).expect("sound mutants");
    let own = all.iter().find(|own| own.profile == "toolbus.server" && own.id == mutant).expect("a mutant");
    let wire = Arc::new(MutatingWire::new(own.fault.clone(), families::ALL.codec("toolbus.server")));
    let faulty = recorded("toolbus.server", &[&own.rule, "BUS-41"], wire).await;
    let sound = recorded("toolbus.server", &[&own.rule, "BUS-41"], Arc::new(PassthroughWire)).await;
    let lines = |recorded: &Recorded| -> Vec<String> {
        let text = String::from_utf8(recorded.lines.clone()).expect("text");
        text.lines().map(str::to_owned).collect()
    };
    let exchanges = |recording: &str| -> (Option<i32>, String) {
        let output = judge(recording.as_bytes(), &["--bundled"]);
        (output.status.code(), text(&output).lines().next().unwrap_or_default().to_owned())
    };
    let (sound, faulty) = (lines(&sound), lines(&faulty));
    let plain = exchanges(&sound.join("\n"));
    assert_eq!(plain.0, Some(0), "{plain:?}");
    // Line by line of each scenario in turn.
    let scenario = |line: &String| line.split('"').nth(3).unwrap_or_default().to_owned();
    let mut turns: Vec<(usize, &String)> = Vec::new();
    let mut seen = BTreeMap::<String, usize>::new();
    for line in &sound {
        let turn = seen.entry(scenario(line)).or_default();
        turns.push((*turn, line));
        *turn += 1;
    }
    turns.sort_by_key(|(turn, _)| *turn);
    let mixed: Vec<&str> = turns.iter().map(|(_, line)| line.as_str()).collect();
    assert_eq!(exchanges(&mixed.join("\n")), plain);
    // One run after the other in one file: both are judged.
    let twice = exchanges(&[sound.clone(), faulty.clone()].concat().join("\n"));
    assert!(twice.0 == Some(1) && twice.1.starts_with("violations: "), "{twice:?}");
    // Without its first line, a scenario is counted and not judged.
    let first = scenario(&sound[0]);
    let own: Vec<&str> = sound.iter().filter(|line| scenario(line) == first).map(String::as_str).collect();
    let headless = exchanges(&own[1..].join("\n"));
    assert_eq!(headless.0, Some(4), "{headless:?}");
}
