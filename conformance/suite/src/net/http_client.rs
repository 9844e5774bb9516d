//! The HTTP client of a session: what it sends crosses the wire, and what comes back, or that nothing does, is written
//! down.
//!
//! What a request holds, and what of an answer is kept, is the business of each party's own client.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use callmark_reports::record::Direction;
use futures::future::BoxFuture;
use serde_json::Value;

use crate::engine::timing::heartbeat;
use crate::net::outbound::Turn;
use crate::net::outbound::sender::HttpSender;
use crate::net::wire::{PassthroughWire, Wire};
use crate::transcript::{Kind, Message, Transcript};

/// A way to one server.
pub(crate) struct HttpClient {
    /// None where a run is judged again, which asks nobody.
    http: Option<HttpSender>,
    base: String,
    wire: Arc<dyn Wire>,
}

/// Who makes a request, and where that is written down.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The scenario.
    pub scenario: String,
    /// Its transcript.
    pub transcript: Arc<Transcript>,
}

/// Headers of an answer, beside those that it has of its request, and its body; or why there is none.
pub(crate) type Answered = Result<(BTreeMap<String, String>, Value), String>;

/// What is kept of a request and its answer.
pub(crate) struct Recorded<'a> {
    /// Where it is written down.
    pub transcript: &'a Transcript,
    /// What a frame of the answer is called.
    pub response: Kind,
    /// Headers of the request that its answer has as well.
    pub headers: &'a [&'a str],
    /// The one of them that only this request has.
    pub number: &'a str,
    /// For the answer.
    pub deadline: Duration,
}

impl HttpClient {
    /// A way to the server at `base`, by a client that does not follow where it is redirected.
    pub(crate) fn new(base: &str, http: HttpSender, wire: Arc<dyn Wire>) -> Self {
        Self { http: Some(http), base: base.trim_end_matches('/').to_owned(), wire }
    }

    /// A client of nobody, for a run that is judged again.
    pub(crate) fn offline() -> Self {
        Self { http: None, base: String::new(), wire: Arc::new(PassthroughWire) }
    }

    /// A way to the same server that keeps its connection for the next request, until it is dropped.
    pub(crate) fn on_one_connection(&self) -> Self {
        let http = self.http.as_ref().map(HttpSender::on_one_connection);
        Self { http, base: self.base.clone(), wire: Arc::clone(&self.wire) }
    }

    /// A request to where the channel of a message says.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub(crate) fn request(&self, message: &Message) -> Result<reqwest::RequestBuilder, String> {
        let (method, path) = message.channel.split_once(' ').unwrap_or(("GET", message.channel.as_str()));
        let http = self.http.as_ref().ok_or("nobody is asked")?;
        let method = method.parse().map_err(|_| format!("`{method}` is no HTTP method"))?;
        Ok(http.request(method, &format!("{}{path}", self.base)))
    }

    /// Sends such a request.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn send(&self, request: reqwest::RequestBuilder) -> Result<reqwest::Response, String> {
        let http = self.http.as_ref().ok_or("nobody is asked")?;
        http.send(request).await.map_err(|error| error.said())
    }

    /// Why nothing more is to be expected from there.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.http.as_ref().and_then(HttpSender::trouble)
    }

    /// What a command line needs to reach it beside the request.
    pub(crate) fn by_hand(&self) -> String {
        self.http.as_ref().map(HttpSender::by_hand).unwrap_or_default()
    }

    /// Sends a message, and writes down what comes back. `post` carries what the wire lets through.
    pub(crate) async fn exchange<'p>(
        &self,
        recorded: &Recorded<'_>,
        message: Message,
        post: impl Fn(Message) -> BoxFuture<'p, Answered>,
    ) {
        recorded.transcript.record(message.clone());
        for sent in self.wire.outgoing(message.clone()) {
            let _turn = match &self.http {
                Some(http) => http.turn().await,
                None => Turn::default(),
            };
            let answer = heartbeat::within(recorded.deadline, post(sent.clone())).await;
            let answer = answer.unwrap_or_else(|| Err("there was no answer in time".to_owned()));
            self.take(recorded, sent, answer);
        }
        let number = message.headers.get(recorded.number);
        let is_answered = recorded.transcript.with(|frames| {
            frames.iter().any(|frame| {
                frame.direction == Direction::FromTarget && frame.headers.get(recorded.number) == number
            })
        });
        if !is_answered {
            let body = Value::from("there was no answer");
            let closed = Message { direction: Direction::FromTarget, kind: Kind::Closed, body, ..message };
            recorded.transcript.record(closed);
        }
    }

    /// Writes down what came back.
    fn take(&self, recorded: &Recorded<'_>, sent: Message, answer: Answered) {
        let Message { channel, mut headers, .. } = sent;
        headers.retain(|name, _| recorded.headers.contains(&name.as_str()));
        let direction = Direction::FromTarget;
        let arrived = match answer {
            Ok((own, body)) => {
                headers.extend(own);
                self.wire.incoming(Message { direction, kind: recorded.response, channel, headers, body })
            }
            Err(why) => {
                vec![Message { direction, kind: Kind::Closed, channel, headers, body: Value::from(why) }]
            }
        };
        for message in arrived {
            recorded.transcript.record(message);
        }
    }
}
