//! A `callmark serve` that a reader started, and what is sent to it by hand.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);

/// It ends with the test.
pub(crate) struct Served {
    child: Child,
    /// Where it listens.
    pub(crate) address: String,
}

impl Served {
    /// Starts it, and waits until it says an address with this scheme.
    pub(crate) fn start(arguments: &[&str], scheme: &str) -> Self {
        let mut child = Command::new(crate::support::program())
            .arg("serve")
            .args(arguments)
            .env_remove("CALLMARK_HUB_SECRET")
            .env_remove("CALLMARK_PROVIDER_URL")
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut said = BufReader::new(child.stderr.take().expect("its words"));
        let address = said
            .by_ref()
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(scheme).map(|(_, address)| address.to_owned()))
            .expect("an address");
        // It logs each request, and waits once the pipe is full. The thread ends with the server.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(DEADLINE)).expect("a deadline");
        stream
    }

    /// Sends what a line with `curl` sends, here and not to the address that the line names.
    pub(crate) fn curl(&self, line: &str) -> String {
        let words = words(line);
        let mut url = None;
        let mut headers = String::new();
        let mut body = None;
        let mut rest = words.iter().skip(1);
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-s" => {}
                "-H" => headers.extend([rest.next().expect("a header"), "\r\n"]),
                "-d" => body = rest.next(),
                other => url = other.strip_prefix("http://"),
            }
        }
        let (_, path) = url.expect("a URL").split_once('/').expect("a path");
        let mut request = format!("GET /{path} HTTP/1.1\r\n");
        if let Some(body) = body {
            // curl names a form where nothing else is said.
            if !headers.to_lowercase().contains("content-type") {
                headers += "Content-Type: application/x-www-form-urlencoded\r\n";
            }
            headers.extend(["Content-Length: ", &body.len().to_string(), "\r\n"]);
            request = request.replacen("GET", "POST", 1);
        }
        request.extend(["Host: ", &self.address, "\r\nConnection: close\r\n", &headers, "\r\n"]);
        request += body.map_or("", String::as_str);
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    /// Sends what a line with `nats request` sends; the reply.
    pub(crate) fn nats(&self, line: &str) -> String {
        let words = words(line);
        let [_, _, subject, payload] = &words[..] else { panic!("a subject and a payload: {words:?}") };
        let mut stream = self.connect();
        let said = format!(
            "CONNECT {{\"verbose\":false}}\r\nSUB reply.here 1\r\nPUB {subject} reply.here {}\r\n{payload}\r\n",
            payload.len()
        );
        stream.write_all(said.as_bytes()).expect("sent");
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.find(|line| line.starts_with("MSG reply.here")).expect("a reply");
        lines.next().expect("its payload")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The words of a line, as a shell takes them apart; quotes are enough for what the pages show.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, ' ') => words.push(String::new()),
            _ => words.last_mut().expect("a word").push(letter),
        }
    }
    words
}
