//! A target with a mutant's faults on a bus: it has a broker of its own, and what it exchanges with the others crosses a
//! wire on the way.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{Client, HeaderMap, Message as NatsMessage, Request};
use bytes::Bytes;
use callmark_reference::utp::round_trip;
use callmark_reports::record::Direction;
use callmark_suite::net::wire::Wire;
use callmark_suite::transcript::{Kind, Message};
use futures::StreamExt as _;
use serde_json::{Value, json};
use tokio::task::JoinSet;

/// For an answer from the other side.
const ANSWER_DEADLINE: Duration = Duration::from_secs(5);

/// Passes messages between the broker of a target and that of all others; it ends when this is dropped.
pub(super) struct Relay {
    _tasks: JoinSet<()>,
}

/// One side of a relay, and what it hands messages to.
#[derive(Clone)]
struct Side {
    from: Client,
    to: Client,
    wire: Arc<dyn Wire>,
    direction: Direction,
    /// Whether the commands on the bus are the target's own.
    calls: bool,
    /// What the target receives, and does not send: there it is the relay's.
    inbound: &'static [&'static str],
}

impl Relay {
    /// Relays between these servers. The target receives `inbound` subjects and sends what it likes; `calls` says whether
    /// the commands are its own.
    pub(super) async fn start(
        (target, others): (&str, &str),
        inbound: &'static [&'static str],
        calls: bool,
        wire: &Arc<dyn Wire>,
    ) -> Self {
        let connect = async |url| async_nats::connect(url).await.expect("a broker");
        let (target, others) = (connect(target).await, connect(others).await);
        let side = |from: &Client, to: &Client, direction| Side {
            from: from.clone(),
            to: to.clone(),
            wire: Arc::clone(wire),
            direction,
            calls,
            inbound,
        };
        let mut tasks = JoinSet::new();
        let outgoing = side(&target, &others, Direction::FromTarget);
        tasks.spawn(outgoing.listen(target.subscribe(">").await.expect("a subscription")));
        for subject in inbound {
            let incoming = side(&others, &target, Direction::ToTarget);
            let received = others.subscribe((*subject).to_owned()).await.expect("a subscription");
            tasks.spawn(incoming.listen(received));
        }
        for client in [&target, &others] {
            round_trip(client).await.expect("a broker that answers");
        }
        Self { _tasks: tasks }
    }
}

/// Whether a subject is one of a pattern, whose `*` is one token and whose `>` all that follow.
fn is_of(pattern: &str, subject: &str) -> bool {
    let mut tokens = subject.split('.');
    for wanted in pattern.split('.') {
        match (wanted, tokens.next()) {
            (">", Some(_)) => return true,
            ("*", Some(_)) => {}
            (wanted, given) if given == Some(wanted) => {}
            _ => return false,
        }
    }
    tokens.next().is_none()
}

impl Side {
    async fn listen(self, mut messages: async_nats::Subscriber) {
        let mut passing = JoinSet::new();
        while let Some(message) = messages.next().await {
            while passing.try_join_next().is_some() {}
            let is_of_utp = ["cg.", "l0.", "state."].iter().any(|own| message.subject.starts_with(own));
            let is_inbound = self.inbound.iter().any(|own| is_of(own, &message.subject));
            if is_of_utp && is_inbound == (self.direction == Direction::ToTarget) {
                let out = self.cross(self.message(&message));
                // On one thread they go out in the order in which they came.
                passing.spawn(self.clone().pass(message, out));
            }
        }
    }

    /// The message as the wire sees it: names of headers as they are sent to a target, in lower case as they come from it.
    fn message(&self, nats: &NatsMessage) -> Message {
        let is_received = self.direction == Direction::FromTarget;
        let shown = |name: String| if is_received { name.to_ascii_lowercase() } else { name };
        let headers =
            nats.headers.iter().flat_map(HeaderMap::iter).filter_map(|(name, values)| {
                Some((shown(name.to_string()), values.last()?.as_str().to_owned()))
            });
        Message {
            direction: self.direction,
            kind: kind(&nats.subject, self.calls || !is_received),
            channel: nats.subject.to_string(),
            headers: headers.collect(),
            body: body(&nats.payload),
        }
    }

    fn cross(&self, message: Message) -> Vec<Message> {
        if self.direction == Direction::FromTarget {
            self.wire.incoming(message)
        } else {
            self.wire.outgoing(message)
        }
    }

    /// Publishes what came off the wire; an answer goes back where it is expected.
    async fn pass(self, original: NatsMessage, out: Vec<Message>) {
        let own = self.message(&original);
        let mut expected = original.reply.clone();
        for message in out {
            let payload =
                if message.body == own.body { original.payload.clone() } else { payload(&message.body) };
            let headers = headers(&message.headers, original.headers.as_ref());
            let subject = message.channel.clone();
            if message.kind == own.kind
                && let Some(reply) = expected.take()
            {
                let request = Request::new().headers(headers).payload(payload).timeout(Some(ANSWER_DEADLINE));
                // Whoever asked runs into a deadline of its own.
                let Ok(answer) = self.to.send_request(subject, request).await else { continue };
                self.answer(&message, reply, answer).await;
            } else if subject.starts_with("l0.") {
                let inbox = self.to.new_inbox();
                let sent = self.to.publish_with_reply_and_headers(subject, inbox, headers, payload).await;
                sent.expect("a connection");
            } else {
                self.to.publish_with_headers(subject, headers, payload).await.expect("a connection");
            }
        }
        // What the fault took away was sent, as far as the target knows.
        if let Some(reply) = expected {
            let taken = json!({"card_id": own.body.pointer("/card/card_id"), "duplicate": false});
            self.from.publish(reply, payload(&taken)).await.expect("a connection");
        }
    }

    async fn answer(&self, request: &Message, reply: async_nats::Subject, answer: NatsMessage) {
        let mut given = answer.payload;
        if request.kind == Kind::CardsGet && self.direction == Direction::FromTarget {
            let shown = Message {
                direction: Direction::ToTarget,
                kind: Kind::CardsReply,
                headers: BTreeMap::new(),
                body: body(&given),
                channel: request.channel.clone(),
            };
            let before = shown.body.clone();
            let mut changed = self.wire.outgoing(shown).into_iter().map(|message| message.body);
            if let Some(body) = changed.find(|body| *body != before) {
                given = payload(&body);
            }
        }
        let headers = answer.headers.unwrap_or_default();
        self.from.publish_with_headers(reply, headers, given).await.expect("a connection");
    }
}

/// What a message is, by its subject.
fn kind(subject: &str, calls: bool) -> Kind {
    let tokens: Vec<&str> = subject.split('.').collect();
    match tokens.as_slice() {
        ["l0", _, _, "cards", "get"] => Kind::CardsGet,
        ["l0", _, _, "cards", "save"] => Kind::CardSave,
        ["l0", _, _, "tools", "get"] => Kind::ToolsGet,
        ["l0", _, _, "tools", "list"] => Kind::ToolsList,
        ["l0", _, _, "roster", "get"] => Kind::RosterGet,
        ["l0", _, _, "roster", "save"] => Kind::RosterSave,
        ["l0", _, _, _, "turns", "start"] => Kind::TurnStart,
        ["l0", _, _, _, "report"] => Kind::Report,
        ["cg", _, _, _, "cmd", "agent", .., "wakeup"] => Kind::Wakeup,
        ["cg", _, _, _, "evt", "agent", _, "task"] => Kind::Task,
        ["cg", _, _, _, "cmd", "tool" | "sys", ..] if calls => Kind::Command,
        _ => Kind::Bus,
    }
}

fn body(payload: &[u8]) -> Value {
    serde_json::from_slice(payload).unwrap_or_else(|_| String::from_utf8_lossy(payload).into_owned().into())
}

fn payload(body: &Value) -> Bytes {
    Bytes::from(body.as_str().map_or_else(|| body.to_string(), str::to_owned))
}

/// Headers as they are sent: a name has the letters that it had, and a new one those that are usual.
fn headers(changed: &BTreeMap<String, String>, original: Option<&HeaderMap>) -> HeaderMap {
    let names: BTreeMap<String, String> = original
        .into_iter()
        .flat_map(HeaderMap::iter)
        .map(|(name, _)| (name.to_string().to_ascii_lowercase(), name.to_string()))
        .collect();
    let mut headers = HeaderMap::new();
    for (name, value) in changed {
        let lower = name.to_ascii_lowercase();
        let sent = names.get(&lower).cloned().unwrap_or_else(|| usual(&lower));
        headers.insert(sent.as_str(), value.as_str());
    }
    headers
}

/// `cg-agent-id` as `CG-Agent-Id`; other headers of the protocol are in lower case.
fn usual(name: &str) -> String {
    let Some(rest) = name.strip_prefix("cg-") else { return name.to_owned() };
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    format!("CG-{}", rest.split('-').map(capital).collect::<Vec<_>>().join("-"))
}
