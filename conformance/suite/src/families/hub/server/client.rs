//! An agent's HTTP client, as the contract describes it: what it sends and what comes back is written down.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use callmark_reports::record::Direction;
use futures::FutureExt as _;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER};
use serde_json::Value;

use crate::net::http_answer;
use crate::net::http_client::{Answered, Caller, HttpClient, Recorded};
use crate::net::outbound::Outbound;
use crate::net::outbound::sender::{HttpSender, SenderOptions};
use crate::net::wire::{CALL, REPLICA, SCENARIO, STATUS, TOOL, Wire};
use crate::transcript::{Frame, Kind, Message};

/// Largest answer that is read.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// For a connection; a Hub on another machine may be far away.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);

/// Header of a frame that names the customer.
pub const CUSTOMER: &str = "customer";
/// Header of a frame whose text begins with a byte order mark, which JSON must not have.
pub const MARKED: &str = "byte-order-mark";
/// Header of an answer with numbers that JSON does not know.
pub const ODD: &str = "odd-numbers";
/// What stands for an id that each request has for itself.
pub const REQUEST_ID: &str = "req-0042";
/// Header of a frame that says after how many seconds a request may be made again.
pub const RETRY: &str = "retry-after";

/// One request, as the suite means it.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Path, from the base of the Hub.
    pub path: String,
    /// `Authorization`.
    pub authorization: Option<String>,
    /// JSON; a string is sent as it is, and null not at all.
    pub body: Value,
    /// The tool, for those who read the frames.
    pub tool: String,
    /// The customer, likewise.
    pub customer: String,
}

/// A way to one Hub, or to its replicas turn by turn.
pub struct Client {
    http: Vec<HttpClient>,
    /// What ids begin with that the suite makes up.
    prefix: String,
    calls: AtomicU64,
}

impl Client {
    /// A way to the Hub whose replicas are at these addresses.
    ///
    /// # Errors
    /// What of the manifest cannot be used.
    pub fn new(bases: &[String], outbound: &Arc<Outbound>, wire: &Arc<dyn Wire>) -> Result<Self, String> {
        // The contract has a use for `Authorization`: only a request with the right secret carries the target's token.
        let options = SenderOptions {
            connect: Some(CONNECT_DEADLINE),
            only_in_place: true,
            judges_limits: true,
            ..SenderOptions::default()
        };
        let http = bases
            .iter()
            .map(|base| Ok(HttpClient::new(base, HttpSender::new(outbound, options)?, Arc::clone(wire))));
        let http = http.collect::<Result<_, String>>()?;
        Ok(Self { http, prefix: outbound.prefix().to_owned(), calls: AtomicU64::new(1) })
    }

    /// Why nothing more is to be expected from the Hub.
    pub(super) fn trouble(&self) -> Option<String> {
        self.http.iter().find_map(HttpClient::trouble)
    }

    /// The replica that gets a call, from 0.
    pub(super) fn replica_of(&self, call: u64) -> usize {
        usize::try_from(call).unwrap_or_default() % self.http.len()
    }

    /// How many replicas there are.
    pub(super) fn replicas(&self) -> usize {
        self.http.len()
    }

    /// What a command line needs to reach the Hub beside the request.
    pub(super) fn by_hand(&self) -> String {
        self.http.first().map(HttpClient::by_hand).unwrap_or_default()
    }

    /// A client of nobody, for a run that is judged again.
    pub(in crate::families::hub) fn offline() -> Self {
        Self { http: vec![HttpClient::offline()], prefix: String::new(), calls: AtomicU64::new(1) }
    }

    /// Sends a request and waits for its answer, which is found in the transcript under the number given back.
    pub async fn send(&self, agent: &Caller, request: &Request, deadline: Duration) -> u64 {
        let call = self.number(agent);
        // Turn by turn, so that what depends on an earlier request meets another replica than that did.
        let replica = self.replica_of(call);
        self.exchange((&self.http[replica], replica), agent, (request, call), deadline).await;
        call
    }

    /// As [`Client::send`], to the replica with this place, from 0.
    pub(super) async fn send_to(
        &self,
        replica: usize,
        agent: &Caller,
        request: &Request,
        deadline: Duration,
    ) -> u64 {
        let call = self.number(agent);
        let replica = replica % self.http.len();
        self.exchange((&self.http[replica], replica), agent, (request, call), deadline).await;
        call
    }

    /// Sends two requests one after the other on one connection, as far as that stays open, and gives the number of the
    /// second.
    pub async fn send_on_one_connection(
        &self,
        agent: &Caller,
        requests: [&Request; 2],
        deadline: Duration,
    ) -> u64 {
        let calls = [self.number(agent), self.number(agent)];
        let replica = self.replica_of(calls[0]);
        // It is gone with the client, so that it stands in nobody's way.
        let kept = self.http[replica].on_one_connection();
        for (request, call) in requests.into_iter().zip(calls) {
            self.exchange((&kept, replica), agent, (request, call), deadline).await;
        }
        calls[1]
    }

    fn number(&self, agent: &Caller) -> u64 {
        agent.transcript.record_external("call", || self.calls.fetch_add(1, Ordering::Relaxed))
    }

    async fn exchange(
        &self,
        (http, replica): (&HttpClient, usize),
        agent: &Caller,
        (request, call): (&Request, u64),
        deadline: Duration,
    ) {
        let mut message = outgoing(agent, request, call);
        if self.http.len() > 1 {
            message.headers.insert(REPLICA.to_owned(), (replica + 1).to_string());
        }
        // A Hub may take two requests with one id for one.
        if message.body.pointer("/context/request_id").is_some_and(|id| id == REQUEST_ID) {
            let number = agent.transcript.with(<[Frame]>::len);
            message.body["context"]["request_id"] =
                format!("{}req-{}-{number}", self.prefix, agent.scenario).into();
        }
        let recorded = Recorded {
            transcript: &agent.transcript,
            response: Kind::HubResponse,
            headers: &[SCENARIO, CALL, TOOL, CUSTOMER, REPLICA],
            number: CALL,
            deadline,
        };
        http.exchange(&recorded, message, |message| post(http, message).boxed()).await;
    }
}

async fn post(http: &HttpClient, message: Message) -> Answered {
    let mut request = http.request(&message)?;
    for (name, header) in [(AUTHORIZATION, "authorization"), (CONTENT_TYPE, "content-type")] {
        if let Some(value) = message.headers.get(header) {
            request = request.header(name, value);
        }
    }
    request = match &message.body {
        Value::Null => request,
        Value::String(text) => request.body(text.clone()),
        json => request.body(json.to_string()),
    };
    read(http.send(request).await?).await
}

/// What is kept of an answer.
async fn read(response: reqwest::Response) -> Answered {
    let status = response.status().as_u16();
    let header = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
    let mut headers: BTreeMap<String, String> = [(CONTENT_TYPE, "content-type"), (RETRY_AFTER, RETRY)]
        .into_iter()
        .filter_map(|(name, shown)| Some((shown.to_owned(), header(name)?.to_owned())))
        .collect();
    headers.insert(STATUS.to_owned(), status.to_string());
    let body = http_answer::body(response, MAX_ANSWER).await?;
    let body = read_body(&body, &mut headers);
    Ok((headers, body))
}

/// The body of an answer, and what is to be said of it beside that.
pub(in crate::families::hub) fn read_body(body: &[u8], headers: &mut BTreeMap<String, String>) -> Value {
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    if text.len() < body.len() {
        headers.insert(MARKED.to_owned(), "yes".to_owned());
    }
    let mut body = http_answer::value(text);
    // What is no number breaks the rules on its member and on JSON, and not all others.
    if body.is_string()
        && let Some(read) = http_answer::with_odd_numbers(text)
    {
        headers.insert(ODD.to_owned(), "yes".to_owned());
        body = read;
    }
    body
}

fn outgoing(agent: &Caller, request: &Request, call: u64) -> Message {
    let mut headers = BTreeMap::from([
        (SCENARIO.to_owned(), agent.scenario.clone()),
        (CALL.to_owned(), call.to_string()),
        (TOOL.to_owned(), request.tool.clone()),
        (CUSTOMER.to_owned(), request.customer.clone()),
    ]);
    if let Some(authorization) = &request.authorization {
        headers.insert("authorization".to_owned(), authorization.clone());
    }
    if !request.body.is_null() {
        headers.insert("content-type".to_owned(), "application/json".to_owned());
    }
    Message {
        direction: Direction::ToTarget,
        kind: Kind::HubRequest,
        channel: format!("{} {}", request.method, request.path),
        headers,
        body: request.body.clone(),
    }
}
