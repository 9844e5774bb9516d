//! Commands that a stream keeps: the instances of a fleet pull them from one durable consumer.
//!
//! A command is acknowledged when its answer is delivered. While it waits or runs, the broker is asked for patience; after
//! a kill it is delivered again, to whichever instance asks, as soon as a lease is over.
//! The consumer begins with what is published after the fleet's first start: what is older was for whoever served then.
//! Where no stream keeps all of a subject, its commands come over a plain subscription of the queue group.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use async_nats::jetstream::context::GetStreamByNameErrorKind;
use async_nats::jetstream::message::Acker;
use async_nats::jetstream::{self, AckKind, Context};
use async_nats::{Client, Message};
use futures::StreamExt as _;
use futures::stream::{BoxStream, unfold};
use tokio::time::sleep;

use super::instances::LEASE;
use crate::cause::Cause;
use crate::log::Log;
use crate::utp::error::ReferenceError;
use crate::utp::tool_service::tool::Executor;

/// For the broker to answer a question about streams.
const ANSWER_DEADLINE: Duration = Duration::from_secs(5);
/// How often the broker is asked for patience: thrice in a lease.
pub(in crate::utp::tool_service) const PATIENCE: Duration = Duration::from_secs(5);
/// Commands that an instance asks for at a time.
const BATCH: usize = 64;
/// Before the consumer is opened again.
const RETRY: Duration = Duration::from_secs(1);
/// The longest wait before a command that failed is delivered again.
const MAX_BACKOFF: Duration = Duration::from_secs(60);

/// A command with what it takes to acknowledge it, if a stream keeps it.
pub(in crate::utp::tool_service) struct Received {
    pub(in crate::utp::tool_service) executor: Arc<dyn Executor>,
    pub(in crate::utp::tool_service) message: Message,
    pub(in crate::utp::tool_service) kept: Option<Kept>,
}

/// A command that a stream keeps.
pub(in crate::utp::tool_service) struct Kept {
    acker: Acker,
    /// How often it has been delivered, this time included.
    pub(in crate::utp::tool_service) deliveries: u32,
}

impl Kept {
    /// Asks for patience; a request that is lost costs a redelivery.
    pub(in crate::utp::tool_service) async fn ask_for_patience(&self) {
        let _ = self.acker.ack_with(AckKind::Progress).await;
    }

    /// The stream need keep it no longer. An acknowledgement that is lost costs a redelivery, which finds the call over.
    pub(in crate::utp::tool_service) async fn acknowledge(&self) {
        let _ = self.acker.ack_with(AckKind::Ack).await;
    }

    /// Another instance, or this one later, is to take it: each time after twice as long.
    pub(in crate::utp::tool_service) async fn give_back(&self) {
        let backoff = Duration::from_secs(1 << self.deliveries.saturating_sub(1).min(6)).min(MAX_BACKOFF);
        let _ = self.acker.ack_with(AckKind::Nak(Some(backoff))).await;
    }

    /// Another instance is to take it at once.
    pub(in crate::utp::tool_service) async fn hand_over(&self) {
        let _ = self.acker.ack_with(AckKind::Nak(None)).await;
    }
}

/// What is subscribed to, and who runs its commands.
type Subscription = (String, Arc<dyn Executor>);

/// Opens the group's consumer at each stream that keeps subscriptions, and returns the subscriptions that none keeps.
pub(in crate::utp::tool_service) async fn pull(
    client: &Client,
    subscriptions: Vec<Subscription>,
    group: &str,
    log: &Log,
) -> Result<(Vec<BoxStream<'static, Received>>, Vec<Subscription>), ReferenceError> {
    let mut context = jetstream::new(client.clone());
    context.set_timeout(ANSWER_DEADLINE);
    let (mut kept, mut others): (Vec<(String, Vec<Subscription>)>, Vec<Subscription>) = Default::default();
    for subscription in subscriptions {
        let subject = subscription.0.clone();
        let stream = stream_of(&context, &subject)
            .await
            .map_err(|source| ReferenceError::Subscribe { subject, source })?;
        match stream {
            None => others.push(subscription),
            Some(stream) => match kept.iter_mut().find(|(name, _)| *name == stream) {
                Some((_, subscriptions)) => subscriptions.push(subscription),
                None => kept.push((stream, vec![subscription])),
            },
        }
    }
    let mut streams = Vec::with_capacity(kept.len());
    for (stream, subscriptions) in kept {
        let consumer = Consumer {
            context: context.clone(),
            stream,
            group: group.to_owned(),
            subscriptions,
            log: Arc::clone(log),
        };
        streams.push(consumer.commands().await?);
    }
    Ok((streams, others))
}

/// The stream that keeps everything on a subject.
async fn stream_of(context: &Context, subject: &str) -> Result<Option<String>, Cause> {
    let name = match context.stream_by_subject(subject).await {
        Ok(name) => name,
        Err(error) if error.kind() == GetStreamByNameErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let stream = context.get_stream(&name).await?;
    let keeps_all = stream.cached_info().config.subjects.iter().any(|kept| covers(kept, subject));
    Ok(keeps_all.then_some(name))
}

/// The fleet's consumer at one stream.
struct Consumer {
    context: Context,
    stream: String,
    group: String,
    subscriptions: Vec<Subscription>,
    log: Log,
}

impl Consumer {
    /// Opens it, and again whenever it is lost.
    async fn commands(self) -> Result<BoxStream<'static, Received>, ReferenceError> {
        let messages = self.open().await.map_err(|source| ReferenceError::Subscribe {
            subject: self.subscriptions.first().map(|(subject, _)| subject.clone()).unwrap_or_default(),
            source,
        })?;
        Ok(unfold((self, messages), |(consumer, mut messages)| async move {
            loop {
                match messages.next().await {
                    Some(Ok(message)) => {
                        if let Some(received) = consumer.received(message) {
                            return Some((received, (consumer, messages)));
                        }
                    }
                    Some(Err(error)) => {
                        (consumer.log)(&format!("commands of the stream `{}`: {error}", consumer.stream));
                        messages = consumer.reopened().await;
                    }
                    None => messages = consumer.reopened().await,
                }
            }
        })
        .boxed())
    }

    async fn open(&self) -> Result<pull::Stream, Cause> {
        let subjects: Vec<String> = self.subscriptions.iter().map(|(subject, _)| subject.clone()).collect();
        let config = pull::Config {
            durable_name: Some(self.group.clone()),
            deliver_policy: DeliverPolicy::New,
            ack_policy: AckPolicy::Explicit,
            ack_wait: LEASE,
            max_deliver: -1,
            filter_subjects: subjects.clone(),
            ..pull::Config::default()
        };
        let consumer = self.context.create_consumer_on_stream(config, self.stream.as_str()).await?;
        // A server that does not know several filters ignores them, and would hand over the commands of others.
        if consumer.cached_info().config.filter_subjects.len() != subjects.len() {
            return Err(
                "the broker has no consumers of several subjects: `nats-server` 2.10 or later has".into()
            );
        }
        Ok(consumer.stream().max_messages_per_batch(BATCH).messages().await?)
    }

    async fn reopened(&self) -> pull::Stream {
        loop {
            sleep(RETRY).await;
            match self.open().await {
                Ok(messages) => return messages,
                Err(error) => (self.log)(&format!("no commands of the stream `{}`: {error}", self.stream)),
            }
        }
    }

    fn received(&self, message: jetstream::Message) -> Option<Received> {
        let deliveries = message.info().map_or(1, |info| u32::try_from(info.delivered).unwrap_or(u32::MAX));
        let (message, acker) = message.split();
        let owned = self.subscriptions.iter().find(|(subject, _)| covers(subject, &message.subject));
        let (_, executor) = owned?;
        Some(Received { executor: Arc::clone(executor), message, kept: Some(Kept { acker, deliveries }) })
    }
}

/// Whether everything on a subject, which may have wildcards, is also on the first one.
fn covers(wide: &str, narrow: &str) -> bool {
    let (mut wide, mut narrow) = (wide.split('.'), narrow.split('.'));
    loop {
        match (wide.next(), narrow.next()) {
            (Some(">"), Some(_)) | (None, None) => return true,
            (Some("*"), Some(token)) if token != ">" => {}
            (Some(one), Some(other)) if one == other => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn a_subject_covers_what_is_no_wider() {
        fn check(wide: &str, narrow: &str, expect: bool) {
            assert_eq!(covers(wide, narrow), expect, "{wide} {narrow}");
        }
        check("cg.v1r3.*.*.cmd.>", "cg.v1r3.*.*.cmd.tool.probe.echo", true);
        check("cg.v1r3.*.*.cmd.>", "cg.v1r3.prj.ch.cmd.tool.probe.echo", true);
        check("cg.v1r3.*.*.cmd.>", "cg.v1r4.*.*.cmd.tool.probe.echo", false);
        check("cg.v1r3.prj.*.cmd.>", "cg.v1r3.*.*.cmd.tool.probe.echo", false);
        check("cg.v1r3.*.*.cmd.tool.*", "cg.v1r3.*.*.cmd.tool.>", false);
        check("cg.v1r3.*.*.cmd.tool.>", "cg.v1r3.*.*.cmd.tool.>", true);
        check("cg.v1r3.*.*.cmd.tool.>", "cg.v1r3.*.*.cmd.tool", false);
        check("a.b", "a.b", true);
        check("a.b", "a.b.c", false);
    }
}
