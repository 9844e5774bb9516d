//! One JSON-RPC message a line (MCP, Transports, stdio), and what is said to lines that are none.
//!
//! rmcp has a transport of its own for this. It is silent about lines that are not JSON, answers others without
//! their id, ends when a client begins with a notification, and reads on however much it still has to answer.
//! This one answers each bad message with the JSON-RPC code that fits and reads the next; a client that does not
//! take its answers is not read any further.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::failure::INVALID_PARAMS;
use crate::log::Log;

/// The longest message, in bytes.
pub(crate) const MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// How many requests of a connection are served at once, and how many answers may wait for the client.
const IN_FLIGHT: usize = 64;
/// The byte order mark that some editors put before the first line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

/// Reads one message, or returns the error for its sender.
pub(crate) fn parse(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Value> {
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    if let Ok(message) = serde_json::from_slice(bytes) {
        return Ok(message);
    }
    // Only what is no message is looked at twice.
    let (code, id, message) = match serde_json::from_slice::<Value>(bytes) {
        Err(_) => (PARSE_ERROR, Value::Null, "the message is not JSON"),
        Ok(Value::Object(members)) => {
            let id =
                members.get("id").filter(|id| id.is_string() || id.is_i64()).cloned().unwrap_or_default();
            let (code, fault) = fault(&members);
            (code, id, fault)
        }
        Ok(Value::Array(_)) => (INVALID_REQUEST, Value::Null, "batches are not served"),
        Ok(_) => (INVALID_REQUEST, Value::Null, "the message is not an object"),
    };
    Err(refusal(code, &id, message))
}

fn fault(members: &serde_json::Map<String, Value>) -> (i32, &'static str) {
    let message = if members.get("jsonrpc") != Some(&json!("2.0")) {
        "`jsonrpc` must be `2.0`"
    } else if members.get("method").is_some_and(|method| !method.is_string()) {
        "`method` must be a string"
    } else if members.get("id").is_some_and(|id| !id.is_string() && !id.is_i64()) {
        "`id` must be a string or a whole number"
    } else if members.contains_key("method")
        && members.get("params").is_some_and(|params| !params.is_object())
    {
        return (INVALID_PARAMS, "`params` must be an object");
    } else {
        "the message is neither request nor notification nor answer"
    };
    (INVALID_REQUEST, message)
}

/// An error that answers no readable request has the id null (JSON-RPC 2.0, section 5).
fn refusal(code: i32, id: &Value, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// A message that is longer than it may be.
pub(crate) fn too_long() -> Value {
    refusal(INVALID_REQUEST, &Value::Null, &format!("the message is longer than {MESSAGE_BYTES} bytes"))
}

/// Lines over a pair of streams.
pub(crate) struct LineTransport<R, W> {
    read: BufReader<R>,
    /// The line so far; it is here and not in a future, since rmcp drops the future when it has something to send.
    line: Vec<u8>,
    /// Whether the rest of a line that was too long is still to be thrown away.
    discarding: bool,
    ended: bool,
    /// Whether the handshake has begun: rmcp takes anything but a request before it for a reason to end.
    begun: bool,
    write: Arc<Mutex<W>>,
    /// A permit for each request that is served; it travels with the request and ends with its handler.
    requests: Arc<Semaphore>,
    /// A permit for each answer that is not written yet.
    answers: Arc<Semaphore>,
    refusals: JoinSet<()>,
    log: Log,
}

/// What a read came to.
enum Line {
    Whole,
    TooLong,
    End,
}

impl<R, W> LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(crate) fn new(read: R, write: W, log: Log) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            discarding: false,
            ended: false,
            begun: false,
            write: Arc::new(Mutex::new(write)),
            requests: Arc::new(Semaphore::new(IN_FLIGHT)),
            answers: Arc::new(Semaphore::new(IN_FLIGHT)),
            refusals: JoinSet::new(),
            log,
        }
    }

    /// Reads up to the end of a line into `self.line`. Dropping the future loses nothing.
    async fn read_line(&mut self) -> Line {
        while !self.ended {
            let (taken, ends) = match self.read.fill_buf().await {
                Ok([]) => {
                    self.ended = true;
                    // A last line without its end is a line.
                    break;
                }
                Ok(bytes) => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let taken = end.map_or(bytes.len(), |end| end + 1);
                    if !self.discarding {
                        self.line.extend_from_slice(&bytes[..taken]);
                    }
                    (taken, end.is_some())
                }
                Err(error) => {
                    (self.log)(&format!("the input cannot be read any further: {}", error.kind()));
                    self.ended = true;
                    self.line.clear();
                    break;
                }
            };
            self.read.consume(taken);
            if self.line.len() > MESSAGE_BYTES + 1 {
                self.line = Vec::new();
                self.discarding = !ends;
                return Line::TooLong;
            }
            if ends && !std::mem::take(&mut self.discarding) {
                return Line::Whole;
            }
        }
        if self.line.is_empty() { Line::End } else { Line::Whole }
    }

    /// Writes a message and the end of its line.
    fn write<M: serde::Serialize>(
        &self,
        message: &M,
    ) -> impl Future<Output = io::Result<()>> + Send + use<M, R, W> {
        let bytes = serde_json::to_vec(message);
        let write = Arc::clone(&self.write);
        // None left means that reading has stopped already, so that there will not be many more.
        let permit = Arc::clone(&self.answers).try_acquire_owned().ok();
        async move {
            let _permit = permit;
            let mut bytes = bytes?;
            bytes.push(b'\n');
            let mut write = write.lock().await;
            write.write_all(&bytes).await?;
            write.flush().await
        }
    }

    fn refuse(&mut self, refusal: &Value) {
        let written = self.write(refusal);
        self.refusals.spawn(async move {
            // A client that is gone cannot be answered.
            let _ = written.await;
        });
    }

    /// Lets a message through to rmcp, unless rmcp would end because of it.
    fn admit(
        &mut self,
        mut message: ClientJsonRpcMessage,
        permit: OwnedSemaphorePermit,
    ) -> Option<ClientJsonRpcMessage> {
        match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                // In the modern era a connection begins with any request.
                self.begun = true;
                request.request.extensions_mut().insert(Arc::new(permit));
                Some(message)
            }
            _ if self.begun => Some(message),
            _ => None,
        }
    }
}

impl<R, W> Transport<RoleServer> for LineTransport<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write(&message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            while self.refusals.try_join_next().is_some() {}
            // Neither semaphore is ever closed, so an error cannot be; it would mean that nothing can be served.
            drop(self.answers.acquire().await.ok()?);
            let permit = Arc::clone(&self.requests).acquire_owned().await.ok()?;
            match self.read_line().await {
                Line::End => {
                    while self.refusals.join_next().await.is_some() {}
                    return None;
                }
                Line::TooLong => self.refuse(&too_long()),
                Line::Whole => {
                    let line = std::mem::take(&mut self.line);
                    let line = line.trim_ascii();
                    if line.is_empty() {
                        continue;
                    }
                    match parse(line) {
                        Ok(message) => {
                            if let Some(message) = self.admit(message, permit) {
                                return Some(message);
                            }
                        }
                        Err(refusal) => self.refuse(&refusal),
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.lock().await.shutdown().await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::parse;

    #[test]
    fn what_is_no_message_is_answered_with_the_code_that_fits() {
        fn check(line: &str, code: i32, id: &Value) {
            let refusal = parse(line.as_bytes()).expect_err(line);
            assert_eq!((&refusal["error"]["code"], &refusal["id"]), (&json!(code), id), "{line}");
        }
        check("not json", -32700, &Value::Null);
        check("{\"jsonrpc\":\"2.0\",", -32700, &Value::Null);
        check(&"[".repeat(10_000), -32700, &Value::Null);
        check("[]", -32600, &Value::Null);
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600, &Value::Null);
        check("5", -32600, &Value::Null);
        check("{}", -32600, &Value::Null);
        check(r#"{"jsonrpc":"1.0","id":7,"method":"ping"}"#, -32600, &json!(7));
        check(r#"{"id":"a","method":"ping"}"#, -32600, &json!("a"));
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, &Value::Null);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, &Value::Null);
        check(r#"{"jsonrpc":"2.0","id":8,"method":5}"#, -32600, &json!(8));
        check(r#"{"jsonrpc":"2.0","id":9}"#, -32600, &json!(9));
        check(r#"{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}"#, -32602, &json!(9));
    }

    #[test]
    fn messages_are_read() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"tool":"x","input":{}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/other"}"#,
        ] {
            assert!(parse(line.as_bytes()).is_ok(), "{line}");
        }
    }
}
