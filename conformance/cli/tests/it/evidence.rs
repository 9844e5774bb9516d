//! What a finding shows is what it is about, and a shell takes its command line as it is pasted.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use crate::{behind, support};
use callmark_reports::record::{Direction, Evidence, FrameExcerpt, Outcome};
use callmark_suite::engine::run::Library;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::families;
use callmark_suite::mutation::mutants;
use callmark_suite::mutation::mutating_wire::MutatingWire;
use serde_json::Value;

/// The findings against the mutants' own rules.
async fn findings(profile: &str, ids: &[&str]) -> Vec<Evidence> {
    let library = Library::load().expect("a sound library");
    let all = mutants(&library.registry).expect("sound mutants");
    let mut found = Vec::new();
    for id in ids {
        let mutant = all.iter().find(|own| own.profile == profile && own.id == *id).expect("a mutant");
        let wire = Arc::new(MutatingWire::new(mutant.fault.clone(), families::ALL.codec(profile)));
        let output = behind::certify(wire, profile, &[&mutant.rule], ReplayMode::Off).await;
        let record = output.record;
        let rule = record.rules.into_iter().find(|rule| rule.id == mutant.rule).expect("the rule");
        let broken = |outcome| matches!(outcome, Outcome::Failed | Outcome::Warned);
        let scenario = rule.scenarios.into_iter().find(|scenario| broken(scenario.outcome));
        let scenario = scenario.unwrap_or_else(|| panic!("`{id}` is not found out"));
        let evidence = scenario.evidence.expect("evidence");
        println!("{}", serde_json::to_string_pretty(&evidence).expect("JSON"));
        found.push(evidence);
    }
    found
}

/// What a shell makes of the line where `nats` and `curl` only write down their arguments, a line for each.
fn typed(evidence: &Evidence) -> Vec<Vec<String>> {
    let line = evidence.reproduce.as_deref().expect("a line to reproduce it by hand");
    let directory = tempfile::tempdir().expect("a directory");
    let log = directory.path().join("log");
    for name in ["nats", "curl"] {
        let stub = format!(
            "#!/bin/sh\nfor word in {name} \"$@\"; do printf '%s\\0' \"$word\" >> {0}; done\nprintf '\\n' >> {0}\n",
            log.display()
        );
        let path = directory.path().join(name);
        std::fs::write(&path, stub).expect("a stub");
        set_executable(&path);
    }
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-euc", line])
        .env("PATH", path)
        .env("CALLMARK_HUB_SECRET", "it's $a secret")
        .env("CALLMARK_PLATFORM_URL", "http://platform")
        .env("CALLMARK_STORE_URL", "http://store")
        .output()
        .expect("a shell");
    assert!(output.status.success(), "{line}\n{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let words = |line: &str| line.split_terminator('\0').map(str::to_owned).collect();
    text.split_terminator('\n').map(words).collect()
}

fn set_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("an executable");
}

fn body(words: &[String]) -> Value {
    serde_json::from_str(words.last().expect("words")).unwrap_or_else(|error| panic!("{error}: {words:?}"))
}

/// The line that registers a tool, by its definition and not as a row of one project.
fn assert_registers(words: &[String], tool_name: &Value) {
    assert!(words[0] == "curl" && words[4].starts_with("http://platform/projects/prj_"), "{words:?}");
    assert!(words[4].ends_with("/tools"), "{words:?}");
    let definition = body(words);
    assert!(tool_name.is_string() && definition["tool_name"] == *tool_name, "{words:?}");
    assert!(definition["target_subject"].is_string() && definition["project_id"].is_null(), "{words:?}");
}

/// The line that enters an agent into the roster.
fn assert_enters(words: &[String], agent_id: &Value) {
    assert!(words.iter().any(|word| word.ends_with(".roster.save")), "{words:?}");
    assert_eq!(&body(words)["agent"]["agent_id"], agent_id, "{words:?}");
    assert!(body(words)["agent"]["worker_target"].is_string(), "{words:?}");
}

fn asked(evidence: &Evidence) -> Vec<&FrameExcerpt> {
    evidence.frames.iter().filter(|frame| frame.direction == Direction::ToTarget).collect()
}

#[tokio::test]
async fn a_tool_service_is_shown_the_card_and_every_delivery() {
    let found = findings(
        "utp.tool-service",
        &[
            "text-card-means-no-arguments",
            "every-delivery-runs",
            "report-before-outcome",
            "result-card-of-another-type",
        ],
    )
    .await;
    let [text_card, twice, before, kind] = &found[..] else { panic!("{found:?}") };
    let shown = text_card.frames.iter().find(|frame| frame.body.get("cards").is_some()).expect("the card");
    assert!(shown.body["cards"][0]["content"].is_string(), "{shown:?}");
    let commands = asked(twice).into_iter().filter(|frame| frame.channel.starts_with("cg.")).count();
    assert_eq!(commands, 2, "{twice:?}");
    assert_eq!(before.pointer.as_deref(), Some("/card/content"));
    assert_eq!(before.actual, Some(serde_json::json!({"status": "running"})));
    assert_eq!(kind.pointer.as_deref(), Some("/card/type"));
    assert!(kind.hint.contains("save the card"), "{}", kind.hint);
    for evidence in &found {
        let lines = typed(evidence);
        let [tool, save, send] = &lines[..] else { panic!("{lines:?}") };
        assert_eq!(save[1..4], ["--server", "nats://127.0.0.1:4222", "req"], "{save:?}");
        let (card, command) = (body(save), body(send));
        assert_registers(tool, &command["tool_name"]);
        assert_eq!(card["card"]["card_id"], command["tool_call_card_id"], "{lines:?}");
    }
}

#[tokio::test]
async fn a_worker_is_sent_what_came_in() {
    let ids =
        ["subject-from-the-name", "card-under-another-id", "tool-command-with-a-foreign-tool_call_card_id"];
    let found = findings("utp.worker", &ids).await;
    for evidence in &found {
        let lines = typed(evidence);
        let [tool, agent, send] = &lines[..] else { panic!("{lines:?}") };
        assert!(send.iter().any(|word| word.ends_with(".turns.start")), "{send:?}");
        assert!(body(send)["instruction"].is_string(), "{send:?}");
        assert_registers(tool, &body(tool)["tool_name"]);
        assert_enters(agent, &body(send)["agent_id"]);
    }
    let card = &found[1];
    assert!(card.frames.iter().any(|frame| frame.body.pointer("/card/tool_call_id").is_some()), "{card:?}");
}

#[tokio::test]
async fn a_command_on_the_subject_of_another_tool_is_the_fault_of_its_own_call() {
    let found = findings("utp.worker", &["second-tool-on-the-subject-of-the-first"]).await;
    let own = &found[0];
    assert!(own.message.contains("another subject than its tool"), "{own:?}");
    let subject =
        |value: &Option<Value>| value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned();
    assert!(subject(&own.expected).ends_with(".cmd.tool.logs.read"), "{own:?}");
    assert!(subject(&own.actual).ends_with(".cmd.tool.tides.lookup"), "{own:?}");
    let shown: Vec<&FrameExcerpt> =
        own.frames.iter().filter(|frame| frame.channel.contains(".cmd.tool.")).collect();
    let [command] = &shown[..] else { panic!("{own:?}") };
    let id = command.body["tool_call_id"].as_str().unwrap_or_default();
    assert!(id.starts_with("call_m2"), "the command of the second call: {command:?}");
}

#[tokio::test]
async fn what_outlives_a_restart_is_not_in_another_scope() {
    let found = findings("toolbus.server", &["session-survives"]).await;
    assert_eq!(found[0].message, "what was stored in a scope that ends with the server outlives its restart");
}

#[tokio::test]
async fn an_execution_service_is_sent_the_report() {
    let found = findings("utp.execution", &["foreign-status-is-success"]).await;
    let lines = typed(&found[0]);
    let [tool, agent, save, start, send] = &lines[..] else { panic!("{lines:?}") };
    assert!(send.iter().any(|word| word.ends_with(".report")), "{send:?}");
    assert!(start.iter().any(|word| word.ends_with(".turns.start")), "{start:?}");
    assert_eq!(body(start)["agent_turn_id"], body(send)["payload"]["agent_turn_id"], "{lines:?}");
    assert_registers(tool, &body(save)["card"]["metadata"]["function_name"]);
    assert_enters(agent, &body(send)["payload"]["agent_id"]);
    assert_eq!(body(save)["card"]["card_id"], body(send)["payload"]["tool_result_card_id"], "{lines:?}");
}

#[tokio::test]
async fn a_hub_is_sent_the_request_that_is_judged() {
    let ids = ["one-credential-for-all", "demands-calendars", "all-calendars", "always-connected"];
    let found = findings("hub.server", &ids).await;
    for evidence in &found {
        let lines = typed(evidence);
        let [curl] = &lines[..] else { panic!("{lines:?}") };
        assert!(curl.contains(&"authorization: ServiceSecret it's $a secret".to_owned()), "{curl:?}");
        let sent = asked(evidence)[0];
        let (method, path) = sent.channel.split_once(' ').expect("a request");
        assert_eq!(curl[3], method, "{curl:?}");
        assert!(curl[4].ends_with(path), "{curl:?}");
        if !sent.body.is_null() {
            // What differs from run to run is a variable in the line, and a name in the message.
            let normalized = |mut body: Value| {
                body["context"]["request_id"] = Value::Null;
                body
            };
            assert_eq!(normalized(body(curl)), normalized(sent.body.clone()));
        }
    }
    // What was asked without `calendars` is what is judged.
    assert!(body(&typed(&found[1])[0]).pointer("/inputs/calendars").is_none());
    // The question for the status is.
    assert!(asked(&found[3])[0].channel.starts_with("GET "), "{:?}", found[3]);
}

#[tokio::test]
async fn an_agent_is_asked_for_the_call_that_is_judged() {
    let ids = ["local-tools-through-the-hub", "shut-down-on-401", "no-call-after-an-odd-answer"];
    for evidence in findings("hub.agent", &ids).await {
        let line = evidence.reproduce.as_deref().expect("a line");
        let status = Command::new("sh").args(["-n", "-c", line]).status().expect("a shell");
        assert!(status.success(), "{line}");
        let drives: Vec<&str> =
            evidence.frames.iter().filter_map(|frame| frame.body.get("conversation_id")?.as_str()).collect();
        assert_eq!(drives.len(), 1, "only the call that is judged: {evidence:?}");
        let tool = asked(&evidence)[0].body["tool"].as_str().expect("a tool");
        assert!(line.contains(tool), "{line}");
    }
}

#[tokio::test]
async fn the_line_of_a_server_is_answered_by_the_reference() {
    let found = findings("toolbus.server", &["one-flat-store"]).await;
    let line = found[0].reproduce.as_deref().expect("a line");
    let output = Command::new("sh").args(["-c", line]).output().expect("a shell");
    let text = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let answer = answers.iter().find(|answer| answer["id"] == 1).unwrap_or_else(|| panic!("{line}\n{text}"));
    assert!(answer["result"]["content"].is_array(), "{answer}");
}

/// A program that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What a Hub that was started as the documentation says answers to the line of a finding: status and body.
fn answered(line: &str, url: &str) -> (String, Value) {
    let line = line.replace("http://127.0.0.1:8080", url);
    assert!(line.contains(url), "{line}");
    let output = Command::new("sh").args(["-c", &line]).env("CALLMARK_HUB_SECRET", "try-me").output();
    let text = String::from_utf8(output.expect("a shell").stdout).expect("text").replace('\r', "");
    let (head, body) = text.split_once("\n\n").unwrap_or_else(|| panic!("{line}\n{text}"));
    let status = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {line}\n{text}")))
}

#[tokio::test]
async fn the_line_of_a_hub_is_answered_by_the_reference() {
    let mut serving = Command::new(support::program());
    let serving = serving.args(["serve", "hub"]).env_remove("CALLMARK_HUB_SECRET").stderr(Stdio::piped());
    let mut hub = Ended(serving.spawn().expect("the binary runs"));
    let mut said = BufReader::new(hub.0.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let url = said.find_map(|line| Some(line.strip_prefix("Hub ")?.trim().to_owned())).expect("an address");
    let ids = ["demands-calendars", "all-calendars", "always-connected"];
    for (id, evidence) in ids.iter().zip(findings("hub.server", &ids).await) {
        let line = evidence.reproduce.as_deref().expect("a line");
        let (status, answer) = answered(line, &url);
        assert_eq!(status, "200", "{id}: {line}\n{answer}");
        let is_done = answer["success"] == true || answer["integrations"].is_object();
        assert!(is_done, "{id}: {line}\n{answer}");
    }
    for evidence in findings("hub.server", &["one-credential-for-all"]).await {
        let line = evidence.reproduce.as_deref().expect("a line");
        let (status, answer) = answered(line, &url);
        assert_eq!(
            (status.as_str(), &answer["error"]["code"]),
            ("400", &"INTEGRATION_NOT_CONNECTED".into()),
            "{line}"
        );
    }
    // What has to be refused is refused for its fault, and not for a secret that the line lacks.
    for evidence in findings("hub.server", &["any-secret-will-do", "needs-no-secret"]).await {
        let (status, answer) = answered(evidence.reproduce.as_deref().expect("a line"), &url);
        assert!(matches!(status.as_str(), "401" | "403"), "{status} {answer}");
    }
}
