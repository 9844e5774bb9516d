//! A runner that speaks JSON lines on its standard input and output (`docs/breadcrumbs.md`, "JSON lines").

use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWriteExt as _, BufReader};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// Bytes of one line.
const MAX_LINE: usize = 1024 * 1024;
/// Lines that a target may leave unread.
const UNREAD: usize = 4_096;

/// Standard input of a process, written by a task of its own: a target that reads nothing holds up nobody.
pub(super) struct LineWriter(mpsc::Sender<String>);

impl LineWriter {
    pub(super) fn new(mut input: ChildStdin) -> Self {
        let (lines, mut rest) = mpsc::channel::<String>(UNREAD);
        tokio::spawn(async move {
            while let Some(line) = rest.recv().await {
                if input.write_all(line.as_bytes()).await.is_err() || input.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(lines)
    }

    /// Hands over one line.
    ///
    /// # Errors
    /// The process has ended, or reads nothing.
    pub(super) fn send(&self, value: &Value) -> Result<(), String> {
        let sent = self.0.try_send(format!("{value}\n"));
        sent.map_err(|_| "the target does not read its standard input".to_owned())
    }
}

/// Reads lines until the end, each as a text.
pub(super) async fn read(output: impl AsyncRead + Unpin, mut take: impl FnMut(String)) {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let Ok(read) = output.fill_buf().await else { return };
        if read.is_empty() {
            return;
        }
        let (part, whole) = match read.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&read[..end], true),
            None => (read, false),
        };
        is_too_long |= line.len() + part.len() > MAX_LINE;
        if !is_too_long {
            line.extend_from_slice(part);
        }
        let used = part.len() + usize::from(whole);
        output.consume(used);
        if whole {
            let text = String::from_utf8_lossy(&line).trim().to_owned();
            if !is_too_long && !text.is_empty() {
                take(text);
            }
            line.clear();
            is_too_long = false;
        }
    }
}
