//! The HTTP client of a management API: what it sends and what comes back is written down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callmark_reports::record::Direction;
use futures::FutureExt as _;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::exchange::PLACES;
use crate::families::utp::manifest::{RegistryEncoding, RegistryTable};
use crate::families::utp::message::mentions;
use crate::net::http_answer;
use crate::net::http_client::{Answered, Caller, HttpClient, Recorded};
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::net::wire::{CALL, EXCHANGE, SCENARIO, STATUS, Wire};
use crate::transcript::{Kind, Message};

/// Largest answer that is read. A list of all tools may be long.
const MAX_ANSWER: usize = 32 * 1024 * 1024;
/// For a connection. One that takes requests in turn, and lets few wait, accepts the last of many late; who does not
/// listen at all refuses at once.
const CONNECT_DEADLINE: Duration = Duration::from_secs(60);
/// What separates the parts of a form. No definition of ours holds it.
const BOUNDARY: &str = "callmark-7f1e5c0b9d";

/// Header of a frame that says what is special about the definition.
pub const FORM: &str = "form";

/// One request, as the suite means it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// HTTP method.
    pub method: &'static str,
    /// Path, from the base of the API.
    pub path: String,
    /// The tool that it is about, for those who read the frames.
    pub tool: String,
    /// What is special about the definition, likewise.
    pub form: String,
    /// YAML; none for a request that reads.
    pub body: Option<String>,
    /// Of a list in the answer, only what mentions one of these is looked at: other runs may have left much there.
    pub about: Vec<String>,
}

/// A way to one management API.
pub struct Client {
    http: HttpClient,
    encoding: RegistryEncoding,
    headers: HeaderMap,
    exchanges: AtomicU64,
}

impl Client {
    /// A way to the API at `base`.
    ///
    /// # Errors
    /// A header of the manifest that is none, or a client that cannot be made.
    pub fn new(
        base: &str,
        table: &RegistryTable,
        outbound: &Arc<Outbound>,
        wire: Arc<dyn Wire>,
    ) -> Result<Self, String> {
        let mut headers = HeaderMap::new();
        for (name, value) in &table.headers {
            let known: HeaderName =
                name.parse().map_err(|_| format!("`{name}` in `utp.registry.headers` is no header"))?;
            let mut header: HeaderValue = value
                .parse()
                .map_err(|_| format!("the value of `{name}` in `utp.registry.headers` cannot be sent"))?;
            header.set_sensitive(true);
            headers.insert(known, header);
        }
        let options = SenderOptions { connect: Some(CONNECT_DEADLINE), ..SenderOptions::default() };
        let http = HttpClient::new(base, HttpSender::new(outbound, options)?, wire);
        Ok(Self { http, encoding: table.encoding, headers, exchanges: AtomicU64::new(1) })
    }

    /// A client of nobody, for a run that is judged again.
    pub(super) fn offline(table: &RegistryTable) -> Self {
        let (http, headers) = (HttpClient::offline(), HeaderMap::new());
        Self { http, encoding: table.encoding, headers, exchanges: AtomicU64::new(1) }
    }

    /// Why nothing more is to be expected from the API.
    pub(super) fn trouble(&self) -> Option<String> {
        self.http.trouble()
    }

    /// What a command line needs to reach the API beside the request.
    pub(super) fn by_hand(&self) -> String {
        self.http.by_hand()
    }

    /// Makes an exchange, which is found in the transcript under the number given back.
    pub async fn send(&self, caller: &Caller, request: &Request, deadline: Duration) -> u64 {
        let number =
            caller.transcript.record_external("exchange", || self.exchanges.fetch_add(1, Ordering::Relaxed));
        let message = self.outgoing(caller, request, number);
        let recorded = Recorded {
            transcript: &caller.transcript,
            response: Kind::RegistryResponse,
            headers: &[SCENARIO, CALL, EXCHANGE, FORM],
            number: EXCHANGE,
            deadline,
        };
        self.http.exchange(&recorded, message, |message| self.post(message, &request.about).boxed()).await;
        number
    }

    /// The media type of what is sent.
    pub fn media_type(&self) -> String {
        match self.encoding {
            RegistryEncoding::Yaml => "application/yaml".to_owned(),
            RegistryEncoding::Multipart => format!("multipart/form-data; boundary={BOUNDARY}"),
        }
    }

    async fn post(&self, message: Message, about: &[String]) -> Answered {
        let mut request = self.http.request(&message)?;
        if let Some(text) = message.body.as_str() {
            let text = match self.encoding {
                RegistryEncoding::Yaml => text.to_owned(),
                RegistryEncoding::Multipart => form(text),
            };
            request = request.body(text);
            // Who says another media type for YAML has a reason; a form's names its boundary.
            if self.encoding == RegistryEncoding::Multipart || !self.headers.contains_key(CONTENT_TYPE) {
                request = request.header(CONTENT_TYPE, self.media_type());
            }
        }
        for (name, value) in &self.headers {
            if name != CONTENT_TYPE || (self.encoding == RegistryEncoding::Yaml && message.body.is_string()) {
                request = request.header(name, value);
            }
        }
        let response = self.http.send(request).await?;
        let status = BTreeMap::from([(STATUS.to_owned(), response.status().as_u16().to_string())]);
        let body = http_answer::value(&http_answer::body(response, MAX_ANSWER).await?);
        Ok((status, narrowed(body, about)))
    }

    fn outgoing(&self, caller: &Caller, request: &Request, number: u64) -> Message {
        let mut headers = BTreeMap::from([
            (SCENARIO.to_owned(), caller.scenario.clone()),
            (CALL.to_owned(), request.tool.clone()),
            (EXCHANGE.to_owned(), number.to_string()),
            (FORM.to_owned(), request.form.clone()),
        ]);
        if request.body.is_some() {
            headers.insert("content-type".to_owned(), self.media_type());
        }
        Message {
            direction: Direction::ToTarget,
            kind: Kind::RegistryRequest,
            channel: format!("{} {}", request.method, request.path),
            headers,
            body: request.body.clone().map_or(Value::Null, Value::from),
        }
    }
}

/// A body whose lists hold only what mentions one of the words; other bodies as they are.
fn narrowed(body: Value, about: &[String]) -> Value {
    let is_meant = |item: &Value| about.is_empty() || about.iter().any(|word| mentions(item, word));
    match body {
        Value::Array(items) => Value::Array(items.into_iter().filter(is_meant).collect()),
        Value::Object(mut members) => {
            for name in PLACES {
                if let Some(Value::Array(items)) = members.get_mut(name) {
                    items.retain(is_meant);
                }
            }
            Value::Object(members)
        }
        plain => plain,
    }
}

/// A form whose part `file` is the YAML.
fn form(text: &str) -> String {
    format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"tool.yaml\"\r\n\
         Content-Type: application/yaml\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n"
    )
}

/// Where the tools of a project are (Guide §3.2).
pub(super) fn tools_path(project: &str) -> String {
    format!("/projects/{}/tools", segment(project))
}

/// One segment of a path, whatever is in it.
pub(super) fn segment(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_a_list_only_what_is_meant_is_kept() {
        let about = ["tide_1".to_owned()];
        let (own, other) = (json!({"tool_name": "tide_1"}), json!({"tool_name": "tide_2"}));
        assert_eq!(narrowed(json!([other, own]), &about), json!([own]));
        assert_eq!(
            narrowed(json!({"tools": [other, own], "total": 2}), &about),
            json!({"tools": [own], "total": 2})
        );
        assert_eq!(narrowed(json!({"tools": [other]}), &[]), json!({"tools": [other]}));
        assert_eq!(narrowed(other.clone(), &about), other);
    }

    #[test]
    fn ids_become_one_segment() {
        assert_eq!(tools_path("prj_demo"), "/projects/prj_demo/tools");
        assert_eq!(tools_path("a/b ü"), "/projects/a%2Fb%20%C3%BC/tools");
    }
}
