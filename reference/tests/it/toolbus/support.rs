//! A client that writes and reads JSON-RPC by hand, so that a mistake of rmcp cannot hide itself.

use std::time::Duration;

use callmark_reference::toolbus::{Config, ToolBusError, serve};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// For everything that is waited for.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// A server on one end of a pipe and the client on the other.
pub(crate) struct Client {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    server: JoinHandle<Result<(), ToolBusError>>,
    last_id: u64,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn silent(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(theirs);
        let server = tokio::spawn(serve(config, read, write));
        let (read, write) = tokio::io::split(ours);
        Self { read: BufReader::new(read), write, server, last_id: 0 }
    }

    /// A client past the handshake.
    pub(crate) async fn connect(config: Config) -> Self {
        let mut client = Self::silent(config);
        client.initialize().await;
        client
    }

    pub(crate) async fn initialize(&mut self) {
        let answer = self.request("initialize", &hello()).await;
        assert_eq!(answer["result"]["protocolVersion"], "2025-06-18", "{answer}");
        self.line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string()).await;
    }

    pub(crate) async fn bytes(&mut self, bytes: &[u8]) {
        timeout(DEADLINE, self.write.write_all(bytes)).await.expect("in time").expect("written");
    }

    pub(crate) async fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        timeout(DEADLINE, self.read.read_line(&mut line)).await.expect("in time").expect("read");
        serde_json::from_str(&line).expect("JSON")
    }

    pub(crate) async fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        let answer = self.receive().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    pub(crate) async fn answer(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments})).await
    }

    /// The envelope of a call that succeeds.
    pub(crate) async fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.answer(tool, arguments).await;
        envelope(&answer)
    }

    /// The error of a call that does not.
    pub(crate) async fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.answer(tool, arguments).await;
        assert!(answer.get("result").is_none(), "{answer}");
        answer["error"].clone()
    }

    /// Closes the pipe and waits for the server to end; returns what it still had to say.
    pub(crate) async fn end(mut self) -> String {
        timeout(DEADLINE, self.write.shutdown()).await.expect("in time").expect("closed");
        let mut rest = String::new();
        timeout(DEADLINE, self.read.read_to_string(&mut rest)).await.expect("in time").expect("read");
        timeout(DEADLINE, self.server).await.expect("in time").expect("no panic").expect("no error");
        rest
    }
}

pub(crate) fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "by hand", "version": "1"}})
}

/// The envelope in an answer: strict JSON in the one text block there is.
pub(crate) fn envelope(answer: &Value) -> Value {
    let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("no content in {answer}"));
    assert_eq!(content.len(), 1, "{answer}");
    assert_eq!(content[0]["type"], "text");
    assert_eq!(answer["result"].get("structuredContent"), None);
    assert_ne!(answer["result"]["isError"], true);
    let envelope: Value =
        serde_json::from_str(content[0]["text"].as_str().expect("a text")).expect("strict JSON");
    for key in
        ["tool", "action", "result", "trace", "duration_ms", "artifact_uri_context", "artifact_uri_json"]
    {
        assert!(envelope.get(key).is_some(), "no `{key}` in {envelope}");
    }
    envelope
}

/// A configuration with a root.
pub(crate) fn rooted(root: &std::path::Path) -> Config {
    Config { root: Some(root.to_owned()), ..Config::default() }
}
