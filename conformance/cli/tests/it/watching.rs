//! `watch`: what passes on a bus is judged, whoever caused it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use callmark_schemas::{SchemaName, violations};
use serde_json::Value;

use crate::deployed::nats::{Server, Service, examples, manifest};
use crate::deployed::unwrapped;
use crate::support;

/// A place with the manifest of a Tool Service on this server.
fn home(server: &Server) -> tempfile::TempDir {
    let home = tempfile::tempdir().expect("a directory");
    let utp = format!("nats = \"nats://127.0.0.1:{}\"\n", server.port);
    std::fs::write(home.path().join("callmark.toml"), manifest("", &utp)).expect("a file");
    home
}

/// Traffic with a Tool Service: a run of the suite, whatever comes of it.
fn traffic() -> [String; 3] {
    let program = support::program().display().to_string();
    let line = format!("{program} certify --target callmark.toml --out out --quiet >/dev/null 2>&1; exit 0");
    ["sh".to_owned(), "-c".to_owned(), line]
}

fn watch(home: &Path, arguments: &[&str]) -> Output {
    Command::new(support::program())
        .args(["watch", "--target", "callmark.toml"])
        .args(arguments)
        .arg("--")
        .args(traffic())
        .current_dir(home)
        .env("NO_COLOR", "1")
        .output()
        .expect("the program")
}

/// The example's Tool Service with a piece of its code replaced.
fn faulty(server: &Server, home: &Path, code: &str, fault: &str) -> Service {
    for file in ["tool_service.py", "tides.py"] {
        let text = std::fs::read_to_string(examples().join(file)).expect("the example");
        assert!(file != "tool_service.py" || text.contains(code), "the example has changed");
        std::fs::write(home.join(file), text.replace(code, fault)).expect("a file");
    }
    server.python(&[&home.join("tool_service.py")], "", &[])
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The lines that `--format json` wrote, of one type.
fn lines(output: &Output, kind: &str) -> Vec<Value> {
    let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines.map(|line| serde_json::from_slice::<Value>(line).expect("a line of JSON"));
    lines.filter(|line| line["type"] == kind).collect()
}

#[test]
fn nothing_is_found_in_what_a_correct_service_does() {
    let place = tempfile::tempdir().expect("a directory");
    let server = Server::start(place.path(), "");
    let home = home(&server);
    let _service = server.service("service:none");
    let output = watch(home.path(), &["--report", "report.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let said = text(&output);
    assert!(said.contains("no violation seen in "), "{said}");
    let report = std::fs::read(home.path().join("report.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("JSON");
    assert_eq!(violations(SchemaName::Recording, &report), []);
    assert!(report["exchanges"].as_u64() > Some(100), "{report}");
    assert_eq!(report["sources"][0]["dropped"], Value::Null, "{report}");
}

#[test]
fn a_fault_is_found_while_others_cause_the_traffic() {
    let place = tempfile::tempdir().expect("a directory");
    let server = Server::start(place.path(), "");
    let home = home(&server);
    // Reports without the epoch of their turn.
    let _service = faulty(
        &server,
        home.path(),
        "| {\"payload\": payload}",
        "| {\"payload\": {k: v for k, v in payload.items() if k != \"turn_epoch\"}}",
    );
    let output = watch(home.path(), &["--format", "json"]);
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let found = lines(&output, "finding");
    assert!(found.iter().any(|line| line["frame"]["body"]["payload"].is_object()), "{found:?}");
    assert!(found.iter().all(|line| line["profile"] == "utp.tool-service"), "{found:?}");
    assert!(!lines(&output, "progress").is_empty());
    let report = lines(&output, "report");
    assert_eq!(violations(SchemaName::Recording, &report[0]), []);
    assert_eq!((report.len(), report[0]["verdict"].as_str()), (1, Some("violations")));
    let ids = |lines: &[Value]| -> Vec<String> {
        let mut ids: Vec<String> = lines.iter().map(|line| line["rule"].to_string()).collect();
        ids.sort();
        ids
    };
    let reported = report[0]["findings"].as_array().expect("findings");
    assert!(ids(&found).iter().all(|id| ids(reported).contains(id)), "{found:?}");
}

#[test]
fn numbers_are_there_for_prometheus_while_traffic_passes() {
    let place = tempfile::tempdir().expect("a directory");
    let server = Server::start(place.path(), "");
    let home = home(&server);
    let _service = server.service("service:none");
    let mut child = Command::new(support::program())
        .args(["watch", "--target", "callmark.toml", "--metrics", "127.0.0.1:0"])
        .current_dir(home.path())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut said = BufReader::new(child.stderr.take().expect("standard error")).lines();
    let mut next = || said.next().expect("a line").expect("text");
    let address = next();
    let address = address.strip_prefix("metrics http://").and_then(|rest| rest.strip_suffix("/metrics"));
    let address = address.expect("an address").to_owned();
    assert!(next().starts_with("watching nats://"));
    let [program, rest @ ..] = traffic();
    let ran = Command::new(program).args(rest).current_dir(home.path()).status().expect("traffic");
    assert!(ran.success());
    let began = std::time::Instant::now();
    let judged = loop {
        let numbers = get(&address, "/metrics");
        let judged = numbers.lines().find_map(|line| line.strip_prefix("callmark_exchanges_total "));
        let judged: u64 = judged.expect("a number of exchanges").trim().parse().expect("a number");
        if judged > 100 || began.elapsed() > std::time::Duration::from_secs(20) {
            break judged;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    };
    assert!(judged > 100, "{judged} exchanges");
    assert!(get(&address, "/else").starts_with("HTTP/1.1 404"));
    let id = i32::try_from(child.id()).expect("an id");
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), nix::sys::signal::Signal::SIGTERM)
        .expect("a signal");
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

#[test]
fn who_may_not_listen_to_everything_is_named() {
    let place = tempfile::tempdir().expect("a directory");
    let config = "authorization { default_permissions: { subscribe: { allow: [ \"cg.>\", \"l0.>\", \"_INBOX.>\" ] } }, \
                  users: [ { user: a, password: b } ] }\nno_auth_user: a\n";
    let server = Server::start(place.path(), config);
    let home = home(&server);
    let output = watch(home.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(unwrapped(&text(&output)).contains("may not subscribe to everything"), "{}", text(&output));
}

#[test]
fn a_bus_that_nobody_uses_is_nothing_to_watch() {
    let home = tempfile::tempdir().expect("a directory");
    let check = |manifest: &str, hint: &str| {
        std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
        let output = watch(home.path(), &[]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(unwrapped(&text(&output)).contains(hint), "{}", text(&output));
    };
    check(&manifest("", "nats = \"embedded\"\n"), "`embedded` is no broker that others use");
    check("[target]\nname = \"a\"\n[toolbus]\nurl = \"http://h\"\n", "callmark proxy --listen");
    let store = "[target]\nname = \"a\"\n[breadcrumb]\nstore = \"http://127.0.0.1:9\"\n[breadcrumb.runner]\n";
    std::fs::write(home.path().join("callmark.toml"), store).expect("a file");
    let output = watch(home.path(), &["--project", "prj_a"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let output = watch(home.path(), &[]);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output));
    assert!(unwrapped(&text(&output)).contains("`http://127.0.0.1:9`"), "{}", text(&output));
}
