//! Captured UTP messages, from a file or from the bus: what `utp.schema` judges.
//!
//! A capture is read once and never answered; the party that made it may be long gone.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::time::Duration;

use async_nats::{Client, Subscriber};
use callmark_reports::record::Direction;
use callmark_schemas::SchemaName;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::CaptureError;
use super::manifest::SchemaTable;
use super::message;
use super::nats;
use super::revision::Revision;
use super::subject;
use crate::net::wire::Wire;
use crate::transcript::{Frame, Kind, Message};

/// Largest capture file.
const MAX_FILE: u64 = 256 * 1024 * 1024;
/// Longest line of a capture file.
const MAX_LINE: u64 = 16 * 1024 * 1024;
/// Time for the tool registry to return a row.
const ROW_DEADLINE: Duration = Duration::from_secs(2);

/// Time for a message to oneself to come back.
const MARKER_DEADLINE: Duration = Duration::from_secs(10);

/// What a captured message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CapturedKind {
    /// A tool command.
    Command,
    /// A callback on its own.
    Callback,
    /// A report request; it becomes a callback when it is read.
    Report,
    /// A card.
    Card,
    /// A `resource.tools` row.
    Tool,
    /// An Inbox record.
    Inbox,
    /// A wakeup.
    Wakeup,
    /// Anything else.
    Other,
}

/// One captured message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Line of the file, or number on the bus, from 1.
    pub n: u32,
    /// What it is; never `Report`.
    pub kind: CapturedKind,
    /// Its subject, empty where the capture has none.
    pub subject: String,
    /// Its headers.
    pub headers: BTreeMap<String, String>,
    /// A callback is its payload, a card the card, a row the row.
    pub body: Value,
}

impl Entry {
    /// Whether it is a message of this revision: by the version in its subject or in that of its row, else, of a callback,
    /// by where its identity stands. A card is one of both.
    fn is_of(&self, revision: Revision) -> bool {
        let version = |subject: &str| match subject.split('.').collect::<Vec<_>>().as_slice() {
            ["cg", version, ..] => Some(Revision::of(version)),
            _ => None,
        };
        let row = self.body.get("target_subject").and_then(Value::as_str);
        let named = version(&self.subject).or_else(|| row.and_then(version));
        let is_callback = self.kind == CapturedKind::Callback;
        named
            .or_else(|| is_callback.then(|| Revision::shown(&self.headers)))
            .is_none_or(|own| own == revision)
    }
}

/// All captured messages, in order.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Capture {
    entries: Vec<Entry>,
    /// The statuses that the captured system is declared to produce.
    pub statuses: Vec<String>,
    /// The kinds of messages that are its own.
    pub kinds: Vec<String>,
}

/// The kinds that rules are about.
const KINDS: [&str; 3] = ["command", "callback", "tool"];

/// Makes a system exchange messages while the suite watches the bus.
pub trait Exercise: Send + Sync {
    /// Runs it to its end.
    fn run<'a>(&'a self, nats_url: &'a str, version: &'a str) -> BoxFuture<'a, Result<Exercised, String>>;
}

/// What an exercise reports of itself.
pub struct Exercised {
    /// The project in which it took place.
    pub project_id: String,
    /// Ends what still serves the project's tool rows.
    pub end: BoxFuture<'static, ()>,
}

#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    kind: Option<CapturedKind>,
    #[serde(default)]
    subject: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Value,
}

impl Capture {
    /// Reads a capture file, one JSON object a line (`docs/bindings.md`).
    pub fn read(path: &Path, table: &SchemaTable) -> Result<Self, CaptureError> {
        let shown = path.display().to_string();
        let fault = |reason: String| CaptureError::File { path: shown.clone(), reason };
        let file = std::fs::File::open(path).map_err(|error| fault(error.to_string()))?;
        let size = file.metadata().map_err(|error| fault(error.to_string()))?.len();
        if size > MAX_FILE {
            return Err(fault(format!("it has {size} bytes, more than {MAX_FILE}")));
        }
        // Not every file says how long it is.
        let mut reader = BufReader::new(file.take(MAX_FILE));
        let mut capture = Self::declared(table);
        for number in 1.. {
            let mut line = Vec::new();
            let at = |reason: String| fault(format!("line {number}: {reason}"));
            let read = reader
                .by_ref()
                .take(MAX_LINE)
                .read_until(b'\n', &mut line)
                .map_err(|error| at(error.to_string()))?;
            if read == 0 {
                break;
            }
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let value: Value = serde_json::from_slice(&line).map_err(|error| at(error.to_string()))?;
            if let Some(violation) = callmark_schemas::violations(SchemaName::CaptureLine, &value).first() {
                return Err(at(format!("`{}`: {}", violation.pointer, violation.message)));
            }
            let line: Line = serde_json::from_value(value).map_err(|error| at(error.to_string()))?;
            capture.add(number, line);
        }
        Ok(capture)
    }

    /// Watches the bus while `exercise` runs, then asks its tool registry for the rows of the tools called.
    pub async fn watch(
        client: &Client,
        nats_url: &str,
        version: &str,
        table: &SchemaTable,
        exercise: &dyn Exercise,
    ) -> Result<Self, CaptureError> {
        let bus = |error: &dyn std::fmt::Display| CaptureError::Bus(error.to_string());
        let mut messages = client.subscribe(">").await.map_err(|error| bus(&error))?;
        // A message to oneself comes back once the broker has read what was sent ahead of it, and here after
        // everything that the exercise sent: the first says that the watch is on, the second that it is over.
        marker(client, &mut messages, |_| {}).await?;
        let exercised = exercise.run(nats_url, version).await.map_err(CaptureError::Exercise)?;
        let mut seen = Vec::new();
        marker(client, &mut messages, |message| seen.push(message)).await?;
        let mut capture = Self::declared(table);
        let mut number = 0;
        for message in seen {
            let subject = message.subject.to_string();
            if !subject.split('.').any(|token| token == exercised.project_id) {
                continue;
            }
            number += 1;
            let (headers, body) = (nats::headers(&message), message::body(&message.payload));
            capture.add(number, Line { kind: None, subject, headers, body });
        }
        capture.fetch_rows(client, &exercised.project_id, number).await;
        exercised.end.await;
        Ok(capture)
    }

    /// What a Tool Service sent in a transcript: callbacks and cards. Commands and rows are the suite's own.
    pub fn of_frames(frames: &[Frame], statuses: Vec<String>) -> Self {
        let mut capture = Self { entries: Vec::new(), statuses, kinds: vec!["callback".to_owned()] };
        for frame in frames {
            let kind = match frame.kind {
                Kind::Report => CapturedKind::Report,
                Kind::CardSave => CapturedKind::Card,
                _ => continue,
            };
            let (subject, headers, body) = (frame.channel.clone(), frame.headers.clone(), frame.body.clone());
            capture.add(frame.n, Line { kind: Some(kind), subject, headers, body });
        }
        capture
    }

    /// The messages of a kind.
    pub fn of_kind(&self, kind: CapturedKind) -> Vec<Entry> {
        self.entries.iter().filter(|entry| entry.kind == kind).cloned().collect()
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether nothing was captured.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn declared(table: &SchemaTable) -> Self {
        let all = || super::judge::seen::STATUSES.iter().map(|status| (*status).to_owned()).collect();
        Self {
            entries: Vec::new(),
            statuses: table.statuses.clone().unwrap_or_else(all),
            kinds: KINDS.map(str::to_owned).to_vec(),
        }
    }

    async fn fetch_rows(&mut self, client: &Client, project_id: &str, mut number: u32) {
        let mut names: Vec<String> = self
            .of_kind(CapturedKind::Command)
            .iter()
            .filter_map(|entry| entry.body.get("tool_name").and_then(Value::as_str).map(str::to_owned))
            .collect();
        names.sort();
        names.dedup();
        for name in names {
            let subject = format!("l0.v1.{project_id}.tools.get");
            let request = serde_json::json!({"tool_name": name}).to_string();
            let reply = client.request(subject.clone(), request.into());
            // A system without a tool registry on the bus has no rows to show: not observed.
            let Ok(Ok(reply)) = tokio::time::timeout(ROW_DEADLINE, reply).await else { return };
            let body = message::body(&reply.payload);
            let Some(row) = body.get("tool").filter(|row| row.is_object()) else { continue };
            number += 1;
            let line =
                Line { kind: Some(CapturedKind::Tool), subject, headers: BTreeMap::new(), body: row.clone() };
            self.add(number, line);
        }
    }

    /// The messages of one revision, where the capture has those of several.
    #[must_use]
    pub fn in_revision(self, revision: Revision) -> Self {
        let entries = self.entries.into_iter().filter(|entry| entry.is_of(revision)).collect();
        Self { entries, ..self }
    }

    /// The capture as it looks behind a wire.
    #[must_use]
    pub fn through(&self, wire: &dyn Wire) -> Self {
        let mut entries = Vec::new();
        for entry in &self.entries {
            let message = Message {
                direction: Direction::FromTarget,
                kind: wire_kind(entry.kind),
                channel: entry.subject.clone(),
                headers: entry.headers.clone(),
                body: entry.body.clone(),
            };
            for Message { channel: subject, headers, body, .. } in wire.incoming(message) {
                entries.push(Entry { n: entry.n, kind: entry.kind, subject, headers, body });
            }
        }
        Self { entries, statuses: self.statuses.clone(), kinds: self.kinds.clone() }
    }

    fn add(&mut self, n: u32, line: Line) {
        let kind = line.kind.unwrap_or_else(|| kind_of(&line.subject));
        let message_type = line.body.get("message_type").and_then(Value::as_str);
        let (kind, body) = match kind {
            // Others report on the same subject, such as a watchdog that has waited too long.
            CapturedKind::Report if message_type.is_some_and(|own| own != "tool_result") => {
                (CapturedKind::Other, line.body)
            }
            CapturedKind::Report => {
                (CapturedKind::Callback, line.body.get("payload").cloned().unwrap_or(Value::Null))
            }
            CapturedKind::Card => {
                let card = line.body.get("card").filter(|card| card.is_object()).cloned();
                (CapturedKind::Card, card.unwrap_or(line.body))
            }
            other => (other, line.body),
        };
        // Names of headers have no case over HTTP.
        let is_http = line.subject.contains('/');
        let name = |name: String| if is_http { name.to_ascii_lowercase() } else { name };
        let headers = line.headers.into_iter().map(|(header, value)| (name(header), value)).collect();
        self.entries.push(Entry { n, kind, subject: line.subject, headers, body });
    }
}

/// Publishes a message to oneself and hands on what comes before it.
async fn marker(
    client: &Client,
    messages: &mut Subscriber,
    mut before: impl FnMut(async_nats::Message),
) -> Result<(), CaptureError> {
    let inbox = client.new_inbox();
    client.publish(inbox.clone(), "".into()).await.map_err(|error| CaptureError::Bus(error.to_string()))?;
    let until = async {
        while let Some(message) = messages.next().await {
            if message.subject.as_str() == inbox {
                return;
            }
            before(message);
        }
    };
    tokio::time::timeout(MARKER_DEADLINE, until)
        .await
        .map_err(|_| CaptureError::Bus("the broker does not send messages back".to_owned()))
}

fn wire_kind(kind: CapturedKind) -> Kind {
    match kind {
        CapturedKind::Command => Kind::Command,
        CapturedKind::Callback | CapturedKind::Report => Kind::Report,
        CapturedKind::Card => Kind::CardSave,
        CapturedKind::Tool => Kind::ToolsGet,
        CapturedKind::Wakeup => Kind::Wakeup,
        CapturedKind::Inbox | CapturedKind::Other => Kind::Bus,
    }
}

/// What a message is by its subject.
fn kind_of(subject: &str) -> CapturedKind {
    let tokens: Vec<&str> = subject.split('.').collect();
    match tokens.as_slice() {
        ["l0", "v1", _, "cards", "save"] => CapturedKind::Card,
        ["l0", "v1", _, _, "report"] => CapturedKind::Report,
        ["cg", _, _, _, "cmd", "agent", _, "wakeup"] => CapturedKind::Wakeup,
        // The broker's own, such as a request for a consumer, which names the subjects of others.
        [first, ..] if first.starts_with(['$', '_']) => CapturedKind::Other,
        _ if subject::holds_tool_command(subject) => CapturedKind::Other,
        // Anything that looks like a command is one, so that a malformed subject is judged, not overlooked.
        tokens if tokens.windows(2).any(|pair| pair == ["cmd", "tool"]) => CapturedKind::Command,
        _ => CapturedKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_only_names_a_command_is_none() {
        for (subject, expect) in [
            ("cg.v1r3.prj.ch.cmd.tool.x", CapturedKind::Command),
            ("v1r3.prj.ch.cmd.tool.x", CapturedKind::Command),
            ("$JS.API.CONSUMER.CREATE.s.c.cg.v1r3.*.*.cmd.tool.x", CapturedKind::Other),
            ("_INBOX.x.cmd.tool.x", CapturedKind::Other),
            ("dlq.cg.v1r3.prj.ch.cmd.tool.x", CapturedKind::Other),
        ] {
            assert_eq!(kind_of(subject), expect, "{subject}");
        }
    }

    #[test]
    fn names_of_headers_have_no_case_over_http() {
        for (subject, expect) in [("POST /projects/prj/ch/report", true), ("l0.v1.prj.ch.report", false)] {
            let mut capture = Capture::default();
            let headers = BTreeMap::from([("Cg-Agent-Id".to_owned(), "ag".to_owned())]);
            let body = json!({"payload": {}});
            capture.add(
                1,
                Line { kind: Some(CapturedKind::Report), subject: subject.to_owned(), headers, body },
            );
            let found = crate::families::utp::revision::header(&capture.entries[0].headers, "CG-Agent-Id");
            assert_eq!(found.is_some(), expect, "{subject}");
        }
    }

    #[test]
    fn each_revision_has_its_own_messages() {
        let entry = |kind: CapturedKind, subject: &str, headers: &[&str], body: Value| Entry {
            n: 1,
            kind,
            subject: subject.to_owned(),
            headers: headers.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect(),
            body,
        };
        let check = |entry: Entry, expect: [bool; 2]| {
            let found = Revision::ALL.map(|revision| {
                let capture = Capture { entries: vec![entry.clone()], ..Capture::default() };
                !capture.in_revision(revision).is_empty()
            });
            assert_eq!(found, expect, "{entry:?}");
        };
        let (command, callback) = (CapturedKind::Command, CapturedKind::Callback);
        check(entry(command, "cg.v1r3.prj.ch.cmd.tool.x", &[], Value::Null), [true, false]);
        check(entry(command, "cg.v1r4.prj.ch.cmd.tool.x", &[], Value::Null), [false, true]);
        check(entry(callback, "l0.v1.prj.ch.report", &["cg-recursion-depth"], json!({})), [true, false]);
        check(entry(callback, "l0.v1.prj.ch.report", &["cg-agent-id"], json!({})), [false, true]);
        let row = json!({"target_subject": "cg.v1r4.{project_id}.{channel_id}.cmd.tool.x"});
        check(entry(CapturedKind::Tool, "l0.v1.prj.tools.get", &[], row), [false, true]);
        check(entry(CapturedKind::Card, "", &[], json!({})), [true, true]);
    }
}
