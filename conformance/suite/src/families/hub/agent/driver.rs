//! How the agent is made to call a tool: its hook over HTTP or as a command line, or its chat.
//!
//! A driver carries one call to the agent and brings back what it says. What that means is judged elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::engine::by_hand::quoted;
use crate::engine::target::{Launch, Pipes};
use crate::engine::timing::heartbeat;
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};

/// Bytes of an answer that are read.
const MAX_ANSWER: usize = 8 * 1024 * 1024;
/// In place of the address of an agent that is gone when the report is read.
const SHOWN_ADDRESS: &str = "127.0.0.1:8080";

/// A way to the agent.
pub(super) enum Driver {
    /// POST to the hook.
    Http(Endpoint),
    /// A process for each call.
    Command(Hook),
    /// POST to the chat.
    Chat(Endpoint),
    /// Nobody, in a run that is judged again.
    Offline(OfflineDriver),
}

/// An agent that is not there, and how it was driven.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfflineDriver {
    /// Whether the suite played the model.
    is_chat: bool,
    /// As transcripts name it.
    channel: String,
}

/// An HTTP address of the agent.
pub(super) struct Endpoint {
    pub client: HttpSender,
    pub url: String,
    pub shown: String,
    pub key: Option<String>,
}

/// A command line.
pub(super) struct Hook {
    pub launch: Launch,
    pub around: BTreeMap<String, String>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DriverResponse {
    /// HTTP status; of a command line none.
    pub status: Option<u16>,
    /// JSON where it is JSON, else the text.
    pub body: Value,
}

/// Why nothing came back.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Unanswered {
    /// Nobody is there, perhaps not yet.
    NoConnection(String),
    /// Connected, and closed before there was an answer: as a gateway may do whose agent does not listen yet.
    Closed(String),
    /// Anything else.
    Failed(String),
    /// The deadline has passed.
    Late(Duration),
}

impl std::fmt::Display for Unanswered {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoConnection(why) | Self::Closed(why) | Self::Failed(why) => formatter.write_str(why),
            Self::Late(deadline) => write!(formatter, "no answer within {} s", deadline.as_secs_f64()),
        }
    }
}

impl Endpoint {
    /// The address that the manifest has under `name`, with what reports show in its place.
    ///
    /// # Errors
    /// It is no URL, or the HTTP client cannot be made.
    pub(super) fn new(
        name: &str,
        pattern: &str,
        listen: &str,
        key: Option<String>,
        outbound: &Arc<Outbound>,
    ) -> Result<Self, String> {
        let url = pattern.replace("{listen}", listen);
        if let Some((start, end)) =
            url.find('{').and_then(|start| Some((start, start + url[start..].find('}')?)))
        {
            let unknown = &url[start..=end];
            return Err(format!("`{name}` has `{unknown}`, which stands for nothing; `{{listen}}` is known"));
        }
        if let Err(error) = reqwest::Url::parse(&url) {
            return Err(format!("`{name}` is no URL: {error}"));
        }
        let options = SenderOptions { follows: true, ..SenderOptions::default() };
        let client = HttpSender::new(outbound, options)?;
        let shown = pattern.replace("{listen}", SHOWN_ADDRESS);
        Ok(Self { client, url, shown, key })
    }

    async fn post(&self, body: &Value) -> Result<DriverResponse, Unanswered> {
        let mut request = self.client.request(Method::POST, &self.url).json(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key);
        }
        let response = self.client.send(request).await.map_err(|error| {
            let why = error.deepest();
            if error.is_connect() { Unanswered::NoConnection(why) } else { Unanswered::Closed(why) }
        })?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(part) = stream.next().await {
            let part = part.map_err(|error| Unanswered::Failed(format!("the answer broke off: {error}")))?;
            if bytes.len() + part.len() > MAX_ANSWER {
                return Err(Unanswered::Failed(format!("the answer is longer than {MAX_ANSWER} bytes")));
            }
            bytes.extend_from_slice(&part);
        }
        Ok(DriverResponse { status: Some(status), body: read(&bytes) })
    }
}

impl Hook {
    async fn run(&self, body: &Value) -> Result<DriverResponse, Unanswered> {
        let failed = |error: &dyn std::fmt::Display| Unanswered::Failed(error.to_string());
        let around: Vec<(&str, &str)> =
            self.around.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let mut process = self.launch.spawn(&around, Pipes::Both).map_err(|error| failed(&error))?;
        let Some((mut input, output)) = process.pipes() else {
            return Err(Unanswered::Failed("the command line has no pipes".to_owned()));
        };
        let mut line = body.to_string();
        line.push('\n');
        // A hook that has read enough may close its input before all is written.
        let _ = input.write_all(line.as_bytes()).await;
        drop(input);
        let mut bytes = Vec::new();
        let limit = u64::try_from(MAX_ANSWER).unwrap_or(u64::MAX);
        output.take(limit).read_to_end(&mut bytes).await.map_err(|error| failed(&error))?;
        let text = String::from_utf8_lossy(&bytes);
        if text.trim().is_empty() {
            let why = process.ended().unwrap_or_else(|| "the command line prints nothing".to_owned());
            return Err(Unanswered::Failed(why));
        }
        Ok(DriverResponse { status: None, body: printed(text.trim()) })
    }
}

impl Driver {
    /// Whether the suite plays the model.
    pub(super) fn is_chat(&self) -> bool {
        match self {
            Self::Chat(_) => true,
            Self::Offline(offline) => offline.is_chat,
            Self::Http(_) | Self::Command(_) => false,
        }
    }

    /// What is left of it when the agent is gone.
    pub(super) fn offline(&self) -> OfflineDriver {
        OfflineDriver { is_chat: self.is_chat(), channel: self.channel() }
    }

    /// Carries a call to the agent and waits for its answer.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) async fn drive(&self, body: &Value, deadline: Duration) -> Result<DriverResponse, Unanswered> {
        let answer = async {
            match self {
                Self::Http(endpoint) | Self::Chat(endpoint) => endpoint.post(body).await,
                Self::Command(hook) => hook.run(body).await,
                Self::Offline(_) => Err(Unanswered::Failed("nobody is asked".to_owned())),
            }
        };
        heartbeat::within(deadline, answer).await.unwrap_or(Err(Unanswered::Late(deadline)))
    }

    /// Method and path, as transcripts name the channel.
    pub(super) fn channel(&self) -> String {
        match self {
            Self::Http(endpoint) | Self::Chat(endpoint) => {
                let path = endpoint.url.splitn(4, '/').nth(3).unwrap_or_default();
                format!("POST /{path}")
            }
            Self::Command(hook) => hook.launch.command.first().cloned().unwrap_or_default(),
            Self::Offline(offline) => offline.channel.clone(),
        }
    }

    /// A command line that makes the call by hand.
    pub(super) fn by_hand(&self) -> (String, String) {
        match self {
            Self::Http(endpoint) | Self::Chat(endpoint) => {
                let has_key = endpoint.key.is_some();
                let key = if has_key { " -H \"Authorization: Bearer ${CALLMARK_AGENT_KEY}\"" } else { "" };
                let url = quoted(&endpoint.shown);
                let line = format!(
                    "curl -sS {url} -H 'Content-Type: application/json'{key}{} --data-raw ",
                    endpoint.client.by_hand()
                );
                (line, String::new())
            }
            Self::Command(hook) => {
                let words: Vec<String> = hook.launch.command.iter().map(|word| quoted(word)).collect();
                let directory = hook.launch.directory.display().to_string();
                let enter =
                    if directory == "." { String::new() } else { format!("cd {} && ", quoted(&directory)) };
                ("printf '%s\\n' ".to_owned(), format!(" | ({enter}{})", words.join(" ")))
            }
            Self::Offline(_) => <(String, String)>::default(),
        }
    }
}

fn read(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::from(String::from_utf8_lossy(bytes).into_owned()))
}

/// What a program printed: JSON as a whole, else in its last line, since programs print other things too.
fn printed(text: &str) -> Value {
    let last = text.lines().next_back().unwrap_or_default();
    let json = serde_json::from_str(text).or_else(|_| serde_json::from_str(last));
    json.unwrap_or_else(|_| Value::from(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_reported_by_its_key() {
        let check = |pattern: &str, expect: &str| {
            let error =
                Endpoint::new("hub.agent.drive.http", pattern, "127.0.0.1:1", None, &Arc::default()).err();
            assert_eq!(error.unwrap_or_default(), expect);
        };
        check("http://{listen}/drive", "");
        check(
            "http://{lisen}/drive",
            "`hub.agent.drive.http` has `{lisen}`, which stands for nothing; `{listen}` is known",
        );
        check("http://[::/x", "`hub.agent.drive.http` is no URL: invalid IPv6 address");
    }
}
