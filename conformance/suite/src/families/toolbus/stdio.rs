//! MCP over standard input and output: one JSON-RPC message a line.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::Mutex;

use super::link::{HandLine, Headers, Incoming, Link, MAX_MESSAGE, SEND_DEADLINE, Sink};
use super::revision::Era;
use crate::engine::by_hand::quoted;
use crate::engine::target::{ChildProcess, Launch, Pipes};

/// For a server to end by itself once its input is closed.
const END_DEADLINE: Duration = Duration::from_millis(500);

/// A server process of our own.
pub(super) struct Stdio {
    input: Mutex<Option<ChildStdin>>,
    process: Arc<Mutex<ChildProcess>>,
    /// Whether the server was asked to end.
    is_closing: Arc<AtomicBool>,
    command: String,
    era: Era,
}

impl Stdio {
    /// Starts the server; what it says goes to `sink`.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(super) fn start(
        launch: &Launch,
        around: &[(&str, &str)],
        era: Era,
        sink: Sink,
    ) -> Result<Self, String> {
        let mut process = launch.spawn(around, Pipes::Both)?;
        let (input, output) = process.pipes().ok_or("its standard output cannot be read")?;
        let process = Arc::new(Mutex::new(process));
        let is_closing = Arc::new(AtomicBool::new(false));
        let (ended, is_asked) = (Arc::clone(&process), Arc::clone(&is_closing));
        tokio::spawn(async move {
            let why = read(output, &sink).await;
            sink(match end_of(&ended).await {
                Some(end) if !is_asked.load(Ordering::Acquire) => Incoming::Exited(end),
                end => Incoming::Closed(end.unwrap_or(why)),
            });
        });
        let words = launch.command.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        // In place of directories that are gone by then.
        let place = |value: &str| Path::new(value).file_name().unwrap_or_default().display().to_string();
        let names = around.iter().map(|(name, value)| format!("{name}=/tmp/{} ", place(value)));
        let names: Vec<String> = names.collect();
        let names = names.concat();
        let directory = quoted(&launch.directory.display().to_string());
        let command = match directory.as_str() {
            "'.'" => format!("{names}{words}"),
            _ => format!("(cd {directory} && {names}{words})"),
        };
        Ok(Self { input: Mutex::new(Some(input)), process, is_closing, command, era })
    }
}

impl Link for Stdio {
    fn send(&self, message: Value, _: Headers) -> BoxFuture<'_, Result<(), String>> {
        let line = message.to_string();
        // It may be megabytes, and the server takes its time.
        drop(message);
        self.send_text(line)
    }

    fn send_text(&self, mut line: String) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            line.push('\n');
            let mut input = self.input.lock().await;
            let input = input.as_mut().ok_or("the server has been ended")?;
            let write = async {
                input.write_all(line.as_bytes()).await?;
                input.flush().await
            };
            match tokio::time::timeout(SEND_DEADLINE, write).await {
                Ok(Ok(())) => Ok(()),
                // A server that cannot start has often ended before the first message is written.
                Ok(Err(error)) => {
                    let end = end_of(&self.process).await;
                    Err(end.unwrap_or_else(|| format!("the server has closed its standard input ({error})")))
                }
                Err(_) => Err("the server does not read its standard input".to_owned()),
            }
        })
    }

    fn agreed(&self, _: &str) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.is_closing.store(true, Ordering::Release);
            // The end of its input asks a server to end (MCP, lifecycle); signals follow.
            drop(self.input.lock().await.take());
            let mut process = self.process.lock().await;
            let began = std::time::Instant::now();
            while process.ended().is_none() && began.elapsed() < END_DEADLINE {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            process.stop().await;
        })
    }

    fn by_hand(&self, in_session: bool) -> HandLine {
        let opening = match self.era {
            Era::Legacy if in_session => vec![initialize(), initialized()],
            Era::Legacy | Era::Modern => Vec::new(),
        };
        let lines: Vec<String> =
            opening.iter().map(|line| format!("{} ", quoted(&line.to_string()))).collect();
        // A server may end with its input before it has answered.
        (format!("{{ printf '%s\\n' {}", lines.concat()), format!("; sleep 2; }} | {}", self.command))
    }
}

/// How the process has ended. Its exit status is there a moment after its pipes are closed.
async fn end_of(process: &Mutex<ChildProcess>) -> Option<String> {
    for _ in 0..20 {
        let end = process.lock().await.ended();
        if end.is_some() {
            return end;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    None
}

/// What a client says when it has read the answer to that (MCP, lifecycle).
pub(super) fn initialized() -> Value {
    json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
}

/// The first message of a session (MCP, lifecycle).
pub(super) fn initialize() -> Value {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": super::wire_format::PROTOCOL_VERSION,
        "capabilities": {},
        "clientInfo": {"name": "callmark", "version": env!("CARGO_PKG_VERSION")},
    }})
}

/// Reads lines until the end, and says why it ended.
async fn read(output: impl AsyncRead + Unpin, sink: &Sink) -> String {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    loop {
        let read = match output.fill_buf().await {
            Ok([]) => return "the server closed its standard output".to_owned(),
            Ok(bytes) => bytes,
            Err(error) => return format!("the server's standard output cannot be read: {error}"),
        };
        let (part, whole) = match read.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&read[..end], true),
            None => (read, false),
        };
        if line.len() + part.len() > MAX_MESSAGE {
            return format!("the server sent a message of more than {MAX_MESSAGE} bytes");
        }
        line.extend_from_slice(part);
        let used = part.len() + usize::from(whole);
        output.consume(used);
        if whole {
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message.is_object() || message.is_array() => {
                    sink(Incoming::Message { message, head: None });
                }
                // It answers no request, and has no place on this channel.
                _ if line.trim_ascii().is_empty() => {}
                _ => sink(Incoming::Noise(String::from_utf8_lossy(&line).into_owned())),
            }
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[tokio::test]
    async fn a_server_that_could_not_start_gives_its_reason_to_whoever_writes_to_it() {
        let home = tempfile::tempdir().expect("a directory");
        let launch = Launch {
            command: ["sh", "-c", "echo ORCHID_DIR is not set >&2; exit 3"].map(str::to_owned).to_vec(),
            directory: home.path().to_owned(),
            environment: BTreeMap::new(),
            removed: Vec::new(),
            log: home.path().join("server.log").into(),
        };
        let server = Stdio::start(&launch, &[], Era::Modern, Arc::new(|_| {})).expect("a process");
        // What is written before it has ended waits in the pipe.
        let why = loop {
            if let Err(why) = server.send_text("{}".to_owned()).await {
                break why;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        assert!(why.contains("exit status: 3") && why.contains("ORCHID_DIR is not set"), "{why}");
    }
}
