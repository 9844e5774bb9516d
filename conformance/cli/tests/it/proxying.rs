//! `proxy --listen`: what passes over HTTP is not changed, and faults in it are found.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::json;

use crate::program::Judging;
use crate::{port, support};

/// A proxy with a command that ends when its standard input does.
struct Proxy(Judging);

impl Proxy {
    fn before(to: &str, arguments: &[&str]) -> Self {
        let own = ["proxy", "--listen", "127.0.0.1:0", "--to", to];
        Self(Judging::start(&[&own, arguments].concat(), "listening http://"))
    }

    /// Sends a request on a connection of its own.
    fn send(&self, request: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.0.place).expect("a connection");
        stream.write_all(request.as_bytes()).expect("a request");
        stream
    }

    /// What comes back, to the end of the connection.
    fn ask(&self, request: &str) -> String {
        let mut answer = Vec::new();
        self.send(request).read_to_end(&mut answer).expect("an answer");
        String::from_utf8(answer).expect("text")
    }

    /// Ends the command; returns the exit code and what was printed.
    fn end(self) -> (Option<i32>, String) {
        self.0.end()
    }
}

/// Answers one connection after the other with these bytes; hands over what was asked.
fn server(answers: Vec<Vec<u8>>) -> (String, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let serving = thread::spawn(move || {
        let answer = |answer: Vec<u8>| {
            let (mut stream, _) = listener.accept().expect("a connection");
            let asked = request(&mut stream);
            stream.write_all(&answer).expect("an answer");
            asked
        };
        answers.into_iter().map(answer).collect()
    });
    (address, serving)
}

/// Reads a request with `Content-Length`, or without a body.
fn request(stream: &mut TcpStream) -> String {
    let mut asked = Vec::new();
    let mut byte = [0];
    while !asked.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a head");
        asked.extend(byte);
    }
    let head = String::from_utf8(asked).expect("text");
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).expect("a body");
    head + &String::from_utf8(body).expect("text")
}

/// A request to a Hub, after which the connection is closed.
fn hub_request(tool: &str) -> String {
    let body = json!({"tool": tool, "customer_id": "c-1", "inputs": {}}).to_string();
    format!(
        "POST /api/internal/tools/execute/ HTTP/1.1\r\nHost: a\r\nAuthorization: ServiceSecret s3cr3t-of-a-client\r\n\
         Content-Type: application/json\r\nX-Odd-Case: 1\r\nConnection: close, x-hop\r\nX-Hop: 1\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn response(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nX-Answer: b\r\nConnection: close\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

#[test]
fn what_passes_is_not_changed_and_a_fault_in_it_is_found() {
    let success = |tool: &str| json!({"success": true, "tool": tool, "result": {}, "metadata": {"execution_time_ms": 1, "api_calls": 0}});
    let good = success("calendar_delete_event").to_string();
    let bad = success("google").to_string();
    let (address, serving) = server(vec![response("200 Fine", &good), response("200 Fine", &bad)]);
    let proxy = Proxy::before(&format!("http://{address}/base/"), &["--protocol", "hub"]);
    let answer = proxy.ask(&hub_request("calendar_delete_event"));
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert_eq!(body, good);
    assert!(head.starts_with("HTTP/1.1 200 Fine\r\n") && head.contains("X-Answer: b"), "{head}");
    assert!(!head.to_lowercase().contains("date:"), "{head}");
    let answer = proxy.ask(&hub_request("calendar_update_event"));
    assert!(answer.ends_with(&bad), "{answer}");
    let asked = serving.join().expect("a server");
    let (head, body) = asked[0].split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("POST /base/api/internal/tools/execute/ HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("X-Odd-Case: 1") && head.contains(&address) && !head.contains("X-Hop"), "{head}");
    assert!(head.contains("ServiceSecret s3cr3t-of-a-client"), "{head}");
    assert!(hub_request("calendar_delete_event").ends_with(body), "{body}");
    let (code, said) = proxy.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("error[HUB-33]") && said.contains("exchange 2"), "{said}");
    assert!(!said.contains("s3cr3t-of-a-client"), "{said}");
}

#[test]
fn events_pass_one_by_one() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (goes_on, waiting) = std::sync::mpsc::channel::<()>();
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        request(&mut stream);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}e\r\ndata: \"first\"\n\r\n").as_bytes()).expect("a piece");
        // The second one is not sent before the first one has arrived.
        waiting.recv().expect("that the first one has arrived");
        let call =
            json!({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "plain"}]}});
        let event = format!("\ndata: {call}\n\n");
        stream.write_all(format!("{:x}\r\n{event}\r\n0\r\n\r\n", event.len()).as_bytes()).expect("a piece");
    });
    let proxy = Proxy::before(&format!("http://{address}"), &[]);
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "t", "arguments": {}}});
    let body = body.to_string();
    let asked = format!(
        "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut answer = BufReader::new(proxy.send(&asked));
    let mut line = String::new();
    while !line.contains("data: \"first\"") {
        line.clear();
        assert_ne!(answer.read_line(&mut line).expect("a line"), 0);
    }
    goes_on.send(()).expect("a server");
    let mut rest = String::new();
    answer.read_to_string(&mut rest).expect("the rest");
    assert!(rest.contains("plain"), "{rest}");
    serving.join().expect("a server");
    let (code, said) = proxy.end();
    assert!(said.contains("error[BUS-41]"), "{said}");
    assert_eq!(code, Some(1), "{said}");
}

#[test]
fn a_server_that_is_down_is_no_finding() {
    let gone = port::reserved();
    let proxy = Proxy::before(&format!("http://{gone}"), &[]);
    let answer = proxy.ask(&hub_request("email_read"));
    assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains("no answer from"), "{answer}");
    let (code, said) = proxy.end();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("no violation seen in 0 exchanges"), "{said}");
}

#[test]
fn what_cannot_be_proxied_is_refused() {
    let check = |arguments: &[&str], words: &str| {
        let output =
            Command::new(support::program()).arg("proxy").args(arguments).output().expect("the program");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(words), "{said}");
    };
    check(&[], "--listen");
    check(&["--listen", "127.0.0.1:0"], "--to");
    check(&["--stdio", "--listen", "127.0.0.1:0", "--to", "http://a"], "cannot be used with");
    check(&["--listen", "127.0.0.1:0", "--to", "ftp://a"], "http://");
    check(&["--listen", "127.0.0.1:0", "--to", "http://u:pass-word@a"], "holds a user");
}
