//! How the suite's own messages get onto the bus: at once, or through the streams in which a deployment keeps commands and
//! events (`commands = "jetstream"`).
//!
//! What a target publishes is read by a plain subscription in both cases: the broker delivers a message of a stream to
//! subscribers as well, and a consumer of the suite would only add what it has to clean up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::context::{
    CreateStreamError, CreateStreamErrorKind, PublishAckFuture, PublishError, PublishErrorKind,
};
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::{self, ErrorCode, stream};
use async_nats::{Client, HeaderMap};
use bytes::Bytes;
use serde_json::Value;

use super::binding::Commands;
use super::connection_watch::ConnectionWatch;
use crate::transcript::Message;

/// Time in which the broker has to answer a request about streams, or to acknowledge a message.
const ANSWER_DEADLINE: Duration = Duration::from_secs(5);
/// Time in which a message of no stream has to leave. A client that has lost its broker keeps messages without end.
const SEND_DEADLINE: Duration = Duration::from_secs(5);
/// Time in which a stream has to take messages again whose leader is gone: its servers elect another one, which takes
/// some of them nine seconds.
const ELECTION_DEADLINE: Duration = Duration::from_secs(15);
/// Between two tries to get a message into such a stream.
const RETRY: Duration = Duration::from_millis(250);
/// How long the streams of the deployments keep what they hold.
const STREAMS: [(&str, Duration); 2] =
    [("cmd", Duration::from_secs(24 * 3600)), ("evt", Duration::from_secs(7 * 24 * 3600))];

/// Sends the suite's messages.
#[derive(Clone, Debug)]
pub struct Publisher {
    client: Client,
    streams: Option<Streams>,
    watch: Arc<ConnectionWatch>,
}

#[derive(Clone, Debug)]
struct Streams {
    context: jetstream::Context,
    version: String,
}

impl Publisher {
    /// Over this connection, which `watch` watches. Streams that `commands` asks for are made where there are none, and stay:
    /// consumers of the target may rest on them.
    ///
    /// # Errors
    /// Why there are no streams.
    pub(super) async fn new(
        client: Client,
        watch: &Arc<ConnectionWatch>,
        commands: Commands,
        version: &str,
    ) -> Result<Self, String> {
        let watch = Arc::clone(watch);
        if commands == Commands::Core {
            return Ok(Self { client, streams: None, watch });
        }
        let mut context = jetstream::new(client.clone());
        context.set_timeout(ANSWER_DEADLINE);
        for (kind, age) in STREAMS {
            if let Err(error) = make(&context, version, kind, age).await {
                // A server that refuses the request says so beside it, not in answer to it.
                return Err(watch.lasting_trouble().cloned().unwrap_or(error));
            }
        }
        Ok(Self { client, streams: Some(Streams { context, version: version.to_owned() }), watch })
    }

    /// Sends messages in this order, and waits until they have left; those of a stream until it has them. A lost
    /// connection shows in the session; here it means silence.
    pub(super) async fn send(&self, messages: &[Message]) {
        let began = Instant::now();
        let mut acknowledged = Vec::new();
        for message in messages {
            match &self.streams {
                Some(streams) if streams.hold(&message.channel) => {
                    acknowledged.extend(streams.publish(message).await.ok().map(|sent| (message, sent)));
                }
                _ => self.send_plainly(message).await,
            }
        }
        let _ = self.client.flush().await;
        for (message, sent) in acknowledged {
            // An acknowledgement that is lost with the connection is no refusal: where another server takes over, what was
            // under way is repeated.
            if let Err(error) = sent.await
                && self.watch.trouble(began).is_none()
                && let Err(why) = self.again(message, &error).await
            {
                self.watch.give_up(why);
            }
        }
    }

    /// Sends a message once more that no stream took, until one does. Where several servers keep a stream, that is so
    /// while they elect another leader. It may be in the stream twice then: what was under way counts for nothing, and is
    /// repeated.
    ///
    /// # Errors
    /// Why no stream takes it.
    async fn again(&self, message: &Message, error: &PublishError) -> Result<(), String> {
        let (began, mut kind) = (Instant::now(), error.kind());
        let mut why = refusal(&message.channel, kind, error);
        self.watch.note_untaken();
        while is_leaderless(kind)
            && began.elapsed() < ELECTION_DEADLINE
            && self.watch.lasting_trouble().is_none()
        {
            tokio::time::sleep(RETRY).await;
            let Some(streams) = &self.streams else { break };
            let sent = match streams.publish(message).await {
                Ok(sent) => sent.await,
                Err(error) => Err(error),
            };
            let Err(error) = sent else {
                self.watch.note_untaken();
                return Ok(());
            };
            kind = error.kind();
            why = refusal(&message.channel, kind, &error);
        }
        Err(why)
    }

    /// How long [`Publisher::send`] may take.
    pub(super) fn deadline(&self) -> Duration {
        if self.streams.is_some() {
            SEND_DEADLINE + 2 * ANSWER_DEADLINE + ELECTION_DEADLINE
        } else {
            SEND_DEADLINE
        }
    }

    async fn send_plainly(&self, message: &Message) {
        let (subject, headers) = (message.channel.clone(), headers(message));
        let _ = if headers.is_empty() {
            self.client.publish(subject, payload(message)).await
        } else {
            self.client.publish_with_headers(subject, headers, payload(message)).await
        };
    }
}

impl Streams {
    /// Publishes a message; what comes back is its acknowledgement.
    async fn publish(&self, message: &Message) -> Result<PublishAckFuture, PublishError> {
        let publish = PublishMessage::build().headers(headers(message)).payload(payload(message));
        self.context.send_publish(message.channel.clone(), publish).await
    }

    /// Whether messages of this subject are kept in a stream.
    fn hold(&self, subject: &str) -> bool {
        let mut tokens = subject.split('.');
        let is_own = tokens.next() == Some("cg") && tokens.next() == Some(self.version.as_str());
        is_own && tokens.nth(2).is_some_and(|kind| STREAMS.iter().any(|(own, _)| *own == kind))
    }
}

/// Makes the stream of commands or events, where there is none.
async fn make(
    context: &jetstream::Context,
    version: &str,
    kind: &str,
    max_age: Duration,
) -> Result<(), String> {
    let name = format!("cg_{kind}_{version}");
    let config = stream::Config {
        name: name.clone(),
        subjects: vec![format!("cg.{version}.*.*.{kind}.>")],
        max_age,
        ..stream::Config::default()
    };
    match context.get_or_create_stream(config).await {
        Ok(_) => Ok(()),
        // Another stream holds these subjects: what it acknowledges is as good.
        Err(error) if is_held_elsewhere(&error) => Ok(()),
        Err(error) => Err(no_stream(&name, &error)),
    }
}

fn is_held_elsewhere(error: &CreateStreamError) -> bool {
    matches!(error.kind(), CreateStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_SUBJECT_OVERLAP)
}

fn no_stream(name: &str, error: &CreateStreamError) -> String {
    let is_off = match error.kind() {
        CreateStreamErrorKind::JetStreamUnavailable => true,
        CreateStreamErrorKind::JetStream(error) => {
            [ErrorCode::JETSTREAM_NOT_ENABLED, ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT]
                .contains(&error.error_code())
        }
        _ => false,
    };
    if is_off {
        return "it has no JetStream, which `commands = \"jetstream\"` under `[utp]` asks for: `nats-server -js` has, and \
                so has `nats = \"server\"`"
            .to_owned();
    }
    format!("there is no stream `{name}`, and it cannot be made: {error}")
}

/// Whether a stream that is there may take no message because it has no leader.
fn is_leaderless(kind: PublishErrorKind) -> bool {
    matches!(kind, PublishErrorKind::StreamNotFound | PublishErrorKind::TimedOut)
}

/// Why a message is in no stream.
fn refusal(subject: &str, kind: PublishErrorKind, error: &dyn std::fmt::Display) -> String {
    // Without the ids of a scenario, which differ from run to run.
    let stream: Vec<&str> = subject.split('.').collect();
    let of = match stream.as_slice() {
        ["cg", version, _, _, kind, ..] => format!("`cg_{kind}_{version}`"),
        _ => "its stream".to_owned(),
    };
    match kind {
        PublishErrorKind::StreamNotFound => {
            format!(
                "no stream of the broker takes what {of} is for: its subjects have to be `cg.<version>.*.*.cmd.>`"
            )
        }
        PublishErrorKind::TimedOut => {
            format!(
                "the broker did not acknowledge a message for {of} within {} s",
                ANSWER_DEADLINE.as_secs()
            )
        }
        _ => format!("the stream {of} did not take a message of the suite: {error}"),
    }
}

fn headers(message: &Message) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in &message.headers {
        headers.insert(name.as_str(), value.as_str());
    }
    headers
}

/// What is read with U+FFFD for each byte that is not UTF-8 is sent with such bytes.
fn payload(message: &Message) -> Bytes {
    match &message.body {
        Value::String(text) if text.contains(char::REPLACEMENT_CHARACTER) => {
            let parts: Vec<&[u8]> = text.split(char::REPLACEMENT_CHARACTER).map(str::as_bytes).collect();
            Bytes::from(parts.join(&0xff))
        }
        Value::String(text) => Bytes::from(text.clone()),
        json => Bytes::from(json.to_string()),
    }
}
