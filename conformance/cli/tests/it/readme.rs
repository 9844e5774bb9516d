//! The console blocks of the README, run as a reader would run them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const README: &str = include_str!("../../../../README.md");

/// What a reader fills in where `init` left room.
const FILLED_IN: [(&str, &str); 2] = [
    (
        "hub",
        "[target]\nname = \"mine\"\n[hub]\nstart = [\"CALLMARK\", \"serve\", \"hub\"]\n[hub.customers]\n\
         connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0001\"\nnot_connected = \"0b6f6a52-6c1e-4a39-9d55-0d1f5a3c0002\"\n",
    ),
    (
        "agent",
        "[target]\nname = \"mine\"\n[hub.agent]\nstart = [\"CALLMARK\", \"serve\", \"hub\", \"--agent\"]\n\
         [hub.agent.drive]\nhttp = \"http://{listen}/drive\"\n",
    ),
];

/// The command lines of each console block below a heading.
fn blocks(heading: &str) -> Vec<Vec<&'static str>> {
    let (_, section) = README.split_once(heading).expect(heading);
    let section = section.split("\n## ").next().unwrap_or_default();
    let blocks = section.split("```console\n").skip(1);
    blocks
        .map(|block| {
            let block = block.split("```").next().unwrap_or_default();
            block.lines().filter_map(|line| line.strip_prefix("$ ")).collect()
        })
        .collect()
}

fn callmark(line: &str, home: &Path) -> i32 {
    let words = line.split(' ').skip(1);
    let output = Command::new(env!("CARGO_BIN_EXE_callmark"))
        .args(words)
        .current_dir(home)
        .output()
        .expect("the binary runs");
    let code = output.status.code().expect("an exit code");
    assert_eq!(code, 0, "`{line}`: {}", String::from_utf8_lossy(&output.stderr));
    code
}

#[test]
fn a_vendor_of_a_hub_or_an_agent_gets_to_a_report_in_ten_lines() {
    for (kind, manifest) in FILLED_IN {
        let [lines] =
            &blocks(&format!("## Certify your {}", if kind == "hub" { "Hub" } else { "agent" }))[..]
        else {
            panic!("one block for `{kind}`");
        };
        assert!(lines.len() <= 10, "{lines:?}");
        assert_eq!(lines[0], format!("callmark init --for {kind}"));
        let home = tempfile::tempdir().expect("a directory");
        for (number, line) in lines.iter().enumerate() {
            callmark(line, home.path());
            if number == 0 {
                let file = home.path().join("callmark.toml");
                assert!(file.is_file());
                let manifest = manifest.replace("CALLMARK", env!("CARGO_BIN_EXE_callmark"));
                std::fs::write(file, manifest).expect("written");
            }
        }
        assert!(home.path().join("reports/out/index.html").is_file());
    }
}

/// Ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_request_that_a_newcomer_sends_is_answered() {
    let all = blocks("## See a call").concat();
    let curl = all.iter().find(|line| line.starts_with("curl ")).expect("a request by hand");
    let (_, rest) = curl.split_once("http://127.0.0.1:8080").expect("the address");
    let path = rest.split(' ').next().unwrap_or_default();
    let quoted: Vec<&str> = rest.split('\'').collect();
    let [_, header, _, body, ..] = quoted[..] else { panic!("a header and a body") };
    let mut child = Command::new(env!("CARGO_BIN_EXE_callmark"))
        .args(["serve", "hub", "--listen", "127.0.0.1:0"])
        .env_remove("CALLMARK_HUB_SECRET")
        .env_remove("CALLMARK_PROVIDER_URL")
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    // Read to the end of the test: a server whose words nobody takes would end.
    let mut said = BufReader::new(child.stderr.take().expect("its words"));
    let _served = Served(child);
    let address = said
        .by_ref()
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.split_once("http://").map(|(_, address)| address.to_owned()))
        .expect("an address");
    let mut stream = TcpStream::connect(&address).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a deadline");
    // curl names a form where nothing else is said.
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\nContent-Type: application/x-www-form-urlencoded\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\"success\":true") && answer.contains("harvest"), "{answer}");
}
