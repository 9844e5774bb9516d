//! Listens to everything on a bus that somebody else uses, and hands what a judge may look at to a feed.
//!
//! One subscription takes all subjects: the order of messages is that in which the server passes them on, and several
//! subscriptions would lose it. What is no command, no event, no request to the platform and no answer to one is not copied.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_nats::{Client, Event, Message as NatsMessage, ServerError, Subscriber};
use bytes::Bytes;
use futures::StreamExt as _;
use tokio::sync::{SetOnce, oneshot};
use tokio::task::JoinSet;

use super::nats;
use super::nats_access::NatsAccess;
use super::nats_servers;
use crate::engine::manifest::Manifest;
use crate::engine::recording::MAX_LINE;
use crate::engine::recording::live::Feed;
use crate::engine::recording::observer::{BusMessage, Traffic};
use crate::transcript::lock;

/// Time for connecting to the broker.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Requests whose answers are waited for.
const MAX_ASKED: usize = 16 * 1024;
/// Time for a message to ourselves.
const DRAIN_DEADLINE: Duration = Duration::from_secs(2);
/// Messages that wait for this process; more are lost, which is counted.
const CAPACITY: usize = 64 * 1024;

/// A connection that listens; it ends when this is dropped.
pub struct BusWatch {
    client: Client,
    refused: Arc<SetOnce<String>>,
    marker: Arc<Mutex<Option<Marker>>>,
    _listening: JoinSet<()>,
}

/// A subject of ours; its sender learns when a message there was seen.
type Marker = (String, oneshot::Sender<()>);

impl std::fmt::Debug for BusWatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("BusWatch").finish_non_exhaustive()
    }
}

impl BusWatch {
    /// Connects to the first of these servers that is there, as the manifest says, and listens: to these projects, or to all
    /// where none is named.
    ///
    /// # Errors
    /// Why it cannot connect, or may not listen.
    pub async fn start(
        manifest: &Manifest,
        urls: &str,
        projects: &[String],
        feed: &Arc<Feed>,
    ) -> Result<Self, String> {
        let access = NatsAccess::of(manifest);
        let shown = nats_servers::redacted(urls);
        let failed = |why: String| format!("cannot connect to the broker at `{shown}`: {why}");
        let refused = Arc::new(SetOnce::new());
        let (noticed, lost) = (Arc::clone(&refused), Arc::clone(feed));
        let options = access
            .options(urls)
            .map_err(failed)?
            .name("callmark watch")
            .connection_timeout(CONNECT_DEADLINE)
            .retain_servers_order()
            .subscription_capacity(CAPACITY)
            .event_callback(move |event| {
                notice(&event, &noticed, &lost);
                std::future::ready(())
            });
        let servers = nats_servers::urls(urls).into_iter().map(str::parse::<async_nats::ServerAddr>);
        let servers = servers.collect::<Result<Vec<_>, _>>().map_err(|error| failed(error.to_string()))?;
        let client = options.connect(servers).await.map_err(|error| failed(access.why(&error)))?;
        let everything = client.subscribe(">").await.map_err(|error| failed(error.to_string()))?;
        nats::settle(&client).await;
        let mut listening = JoinSet::new();
        let marker = Arc::<Mutex<Option<Marker>>>::default();
        let projects = projects.iter().cloned().collect();
        listening.spawn(listen(everything, projects, Arc::clone(feed), Arc::clone(&marker)));
        Ok(Self { client, refused, marker, _listening: listening })
    }

    /// Returns when the server refuses to let this listen, and says why.
    pub async fn refused(&self) -> String {
        self.refused.wait().await.clone()
    }

    /// Returns once everything that the server had for us before has been handed over. A user who may publish nothing at all
    /// is waited for no longer than two seconds.
    pub async fn drain(&self) {
        let subject = self.client.new_inbox();
        let (seen, seeing) = oneshot::channel();
        *lock(&self.marker) = Some((subject.clone(), seen));
        // It comes back behind all that the server has passed on before.
        if self.client.publish(subject, Bytes::new()).await.is_ok() {
            let _ = tokio::time::timeout(DRAIN_DEADLINE, seeing).await;
        }
    }
}

/// What is noticed of the connection: messages that were lost, and a server that refuses the subscription.
fn notice(event: &Event, refused: &SetOnce<String>, feed: &Feed) {
    match event {
        Event::SlowConsumer(_) => feed.dropped(),
        Event::Disconnected | Event::Connected => feed.gap(),
        Event::ServerError(ServerError::Other(text))
            if text.to_lowercase().contains("permissions violation for subscription") =>
        {
            // It is said once.
            let _ = refused.set(format!(
                "the user may not subscribe to everything (`>`), which it takes to see messages in their order: {text}"
            ));
        }
        _ => {}
    }
}

async fn listen(
    mut everything: Subscriber,
    projects: BTreeSet<String>,
    feed: Arc<Feed>,
    marker: Arc<Mutex<Option<Marker>>>,
) {
    let mut requests = Requests::default();
    let began = Instant::now();
    while let Some(message) = everything.next().await {
        if is_of_others(&message.subject, &projects) {
            feed.not_ours();
            continue;
        }
        if !requests.concern(&message) {
            let is_marker = |(subject, _): &mut Marker| *subject == *message.subject;
            if let Some((_, seen)) = lock(&marker).take_if(is_marker) {
                // Nobody waits any more after the deadline.
                let _ = seen.send(());
            }
            continue;
        }
        let bytes = message.length;
        if bytes > MAX_LINE {
            feed.too_long();
            feed.gap();
        } else if feed.reserve(bytes) {
            feed.offer(Traffic::Bus(copied(&message, began)), bytes);
        } else {
            feed.dropped();
        }
    }
}

/// Whether a message is of a project that is none of these, where some are named.
fn is_of_others(subject: &str, projects: &BTreeSet<String>) -> bool {
    let mut tokens = subject.split('.');
    let is_utp = matches!(tokens.next(), Some("cg" | "l0"));
    // Version, and project.
    let project = tokens.nth(1).filter(|_| is_utp && !projects.is_empty());
    project.is_some_and(|project| !projects.contains(project))
}

fn copied(message: &NatsMessage, began: Instant) -> BusMessage {
    let headers: BTreeMap<String, String> = nats::headers(message);
    BusMessage {
        subject: message.subject.to_string(),
        reply: message.reply.as_ref().map(ToString::to_string),
        headers,
        body: message.payload.to_vec(),
        // The first one is at no time before 1, since 0 stands for none.
        at_us: u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX).max(1),
    }
}

/// Where answers to the last requests to the platform are expected.
#[derive(Debug, Default)]
struct Requests {
    replies: HashSet<String>,
    order: VecDeque<String>,
}

impl Requests {
    /// Whether a message is of UTP, or answers one that is.
    fn concern(&mut self, message: &NatsMessage) -> bool {
        let subject = message.subject.as_str();
        if subject.starts_with("l0.v1.") {
            if let Some(reply) = &message.reply {
                self.expect(reply.as_str());
            }
            return true;
        }
        subject.starts_with("cg.") || self.replies.remove(subject)
    }

    fn expect(&mut self, reply: &str) {
        if self.replies.insert(reply.to_owned()) {
            self.order.push_back(reply.to_owned());
        }
        if self.order.len() > MAX_ASKED
            && let Some(oldest) = self.order.pop_front()
        {
            self.replies.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(subject: &str, reply: Option<&str>) -> NatsMessage {
        NatsMessage {
            subject: subject.into(),
            reply: reply.map(Into::into),
            payload: Bytes::new(),
            headers: None,
            status: None,
            description: None,
            length: 0,
        }
    }

    #[test]
    fn messages_of_the_protocol_and_answers_to_them_concern_the_judge() {
        let mut requests = Requests::default();
        let mut concern = |subject: &str, reply: Option<&str>| requests.concern(&message(subject, reply));
        assert!(!concern("orders.new", Some("_INBOX.other")));
        assert!(!concern("_INBOX.other", None));
        assert!(!concern("$JS.API.INFO", Some("_INBOX.a")));
        assert!(concern("l0.v1.prj.cards.get", Some("_INBOX.a")));
        assert!(concern("cg.v1r3.prj.public.cmd.tool.echo", None));
        assert!(concern("_INBOX.a", None));
        assert!(!concern("_INBOX.a", None), "one answer to each");
    }

    #[test]
    fn projects_of_others_are_left_to_them() {
        let ours: BTreeSet<String> = ["prj_a".to_owned()].into();
        let check =
            |subject: &str, expect: bool| assert_eq!(is_of_others(subject, &ours), expect, "{subject}");
        check("cg.v1r3.prj_a.public.cmd.tool.echo", false);
        check("cg.v1r4.prj_b.public.cmd.tool.echo", true);
        check("l0.v1.prj_b.cards.get", true);
        // An answer is expected where one of ours was asked.
        check("_INBOX.a.b.c", false);
        check("orders.new", false);
        assert!(!is_of_others("cg.v1r4.prj_b.public.cmd.tool.echo", &BTreeSet::new()));
    }

    #[test]
    fn what_is_waited_for_is_bounded() {
        let mut requests = Requests::default();
        for number in 0..3 * MAX_ASKED {
            requests.concern(&message("l0.v1.prj.cards.get", Some(&format!("_INBOX.{number}"))));
        }
        assert_eq!((requests.replies.len(), requests.order.len()), (MAX_ASKED, MAX_ASKED));
    }
}
