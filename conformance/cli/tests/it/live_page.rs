//! What is seen of traffic while it passes, over HTTP: the page, its parts, and the numbers for Prometheus; and whose
//! traffic it is.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::deployed::nats::{Server, manifest};
use crate::support;

/// What is no JSON for a Hub's client, and no markup for a reader.
const HOSTILE: &str = "<img src=x onerror=alert(1)>";

/// Sends bytes, and answers with all that comes back.
fn ask(address: &str, request: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.write_all(request.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

fn get(address: &str, host: &str, path: &str) -> String {
    ask(address, &format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
}

/// Answers each connection with an answer that names another tool.
fn hub() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut read = Vec::new();
            let mut piece = [0; 4096];
            while !read.ends_with(b"}") {
                let length = stream.read(&mut piece).expect("a request");
                read.extend_from_slice(&piece[..length]);
            }
            let body = json!({"success": true, "tool": HOSTILE, "result": {}, "metadata": {}}).to_string();
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
            let answer = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
            stream.write_all(answer.as_bytes()).expect("an answer");
        }
    });
    address
}

#[test]
fn a_page_shows_a_finding_that_comes_after_it_was_opened() {
    let mut process = Command::new(support::program())
        .args(["proxy", "--listen", "127.0.0.1:0", "--to", &format!("http://{}", hub())])
        .args(["--page", "127.0.0.1:0", "--metrics", "127.0.0.1:0", "--", "cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program");
    let mut said = BufReader::new(process.stderr.take().expect("a pipe")).lines();
    let mut next = |name: &str| {
        let line = said.next().expect("a line").expect("text");
        let address = line.strip_prefix(&format!("{name} http://")).unwrap_or_else(|| panic!("{line}"));
        address.split('/').next().unwrap_or_default().to_owned()
    };
    let (proxy, metrics, page) = (next("listening"), next("metrics"), next("page"));
    let whole = get(&page, &page, "/");
    assert!(whole.starts_with("HTTP/1.1 200") && whole.contains("None so far."), "{whole}");
    let inputs = json!({"message_id": "m"});
    let body =
        json!({"tool": "email_read", "agent_id": "a", "customer_id": "c", "inputs": inputs, "context": {}});
    let body = body.to_string();
    let request = format!(
        "POST /api/internal/tools/execute/ HTTP/1.1\r\nhost: a\r\nauthorization: ServiceSecret s3cr3t\r\n\
         content-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(ask(&proxy, &request).starts_with("HTTP/1.1 200"));
    let until = Instant::now() + Duration::from_secs(60);
    let parts = loop {
        let answer = get(&page, "localhost", "/parts");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        let parts: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"));
        if parts["version"] != "" {
            break parts;
        }
        assert!(Instant::now() < until, "{answer}");
        std::thread::sleep(Duration::from_millis(20));
    };
    let findings = parts["findings"].as_str().expect("markup");
    assert!(findings.contains("HUB-33") && findings.contains("role=\"img\""), "{findings}");
    assert!(!findings.contains("<img") && findings.contains("&lt;img"), "{findings}");
    assert!(!findings.contains("s3cr3t"), "{findings}");
    // A page of somebody else's has another name for this machine.
    assert!(get(&page, "evil.example", "/parts").starts_with("HTTP/1.1 403"));
    assert!(get(&page, &page, "/else").starts_with("HTTP/1.1 404"));
    let numbers = get(&metrics, &metrics, "/metrics");
    assert!(numbers.contains("callmark_exchange_duration_seconds_count 1\n"), "{numbers}");
    assert!(numbers.contains("callmark_exchange_duration_seconds_bucket{le=\"+Inf\"} 1\n"), "{numbers}");
    drop(process.stdin.take());
    assert_eq!(process.wait().expect("an end").code(), Some(1));
}

#[test]
fn projects_of_others_are_counted_and_not_judged() {
    let home = tempfile::tempdir().expect("a directory");
    let server = Server::start(home.path(), "");
    let url = format!("nats://127.0.0.1:{}", server.port);
    let manifest = manifest("", &format!("nats = \"{url}\"\n"));
    std::fs::write(home.path().join("callmark.toml"), manifest).expect("a file");
    let program = support::program().display().to_string();
    let traffic = format!(
        "{program} load --bundled --profile utp.tool-service --broker {url} --rate 10 --for 1s --deadline 60s --quiet"
    );
    let watch = |arguments: &[&str]| {
        let output = Command::new(support::program())
            .args(["watch", "--target", "callmark.toml", "--report", "report.json"])
            .args(arguments)
            .args(["--", "sh", "-c", &traffic])
            .current_dir(home.path())
            .output()
            .expect("the program");
        let report = std::fs::read(home.path().join("report.json")).expect("a report");
        let report: Value = serde_json::from_slice(&report).expect("JSON");
        (output.status.code(), report)
    };
    let (code, report) = watch(&["--project", "prj_of_nobody"]);
    assert_eq!((code, report["exchanges"].as_u64()), (Some(4), Some(0)), "{report}");
    let source = &report["sources"][0];
    assert!(source["unattributed"].as_u64() > Some(40), "{source}");
    assert_eq!(source["unattributed"], source["messages"], "{source}");
    let (code, report) = watch(&[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(report["exchanges"].as_u64() >= Some(10), "{report}");
}
