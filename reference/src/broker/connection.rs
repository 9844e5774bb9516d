//! One client's connection: the shell that binds parser, index and outbound queue to a socket.
//!
//! Each connection is one task. It reads, routes what it read into the queues of the recipients,
//! wakes those once per batch, and writes its own queue; no publisher ever waits for a subscriber.
//! Deliberately absent: authentication. `CONNECT` may bring credentials, and they are ignored.

use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::net::tcp::ReadHalf;
use tokio::time::timeout;

use super::client::{self, Client};
use super::parser::{Message, Operation, Parser, Violation};
use super::subject;
use super::subscriptions::{Claim, Subscription, SubscriptionIndex};
use super::writer::Writer;

/// The room that is kept free for each read.
const READ_CHUNK: usize = 32 * 1024;

/// How many pings a client may leave unanswered.
const MAX_UNANSWERED: u32 = 2;

/// How long a client that broke the protocol may go on sending before the socket is closed.
/// Closing at once would reset the connection, and the client might never read why.
const LINGER: Duration = Duration::from_secs(1);

/// The server version that `INFO` states. Clients switch features on by it, and this is the
/// line of `nats-server` whose client protocol is spoken here.
const VERSION: &str = "2.10.0";

/// What every connection needs to know.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) address: SocketAddr,
    pub(super) max_payload: usize,
    pub(super) max_pending: usize,
    pub(super) write_deadline: Duration,
    pub(super) ping_interval: Duration,
}

/// What the connections of one broker share.
#[derive(Debug)]
pub(super) struct Shared {
    settings: Settings,
    server_id: String,
    next_client: AtomicU64,
    next_pick: AtomicU64,
    index: RwLock<SubscriptionIndex<Arc<Client>>>,
}

impl Shared {
    pub(super) fn new(settings: Settings) -> Self {
        // Random per process, which is all that an id has to be; nothing is signed with it.
        let server_id = format!("CALLMARK{:016X}", RandomState::new().hash_one(settings.address));
        Self {
            settings,
            server_id,
            next_client: AtomicU64::new(1),
            next_pick: AtomicU64::new(0),
            index: RwLock::new(SubscriptionIndex::new()),
        }
    }

    /// The subjects that each client is subscribed to.
    pub(super) fn subjects(&self) -> Vec<(u64, Vec<String>)> {
        self.index.read().unwrap_or_else(PoisonError::into_inner).subjects()
    }

    fn change<T>(&self, change: impl FnOnce(&mut SubscriptionIndex<Arc<Client>>) -> T) -> T {
        change(&mut self.index.write().unwrap_or_else(PoisonError::into_inner))
    }

    /// A number that spreads messages evenly over the members of a queue group.
    ///
    /// Scrambled (splitmix64), because a bare counter falls into step with a publisher that
    /// alternates between two groups.
    fn pick(&self) -> u64 {
        let count = self.next_pick.fetch_add(1, Ordering::Relaxed);
        let mut mixed = count.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn info(&self, client: &Client, peer: SocketAddr) -> String {
        let info = serde_json::json!({
            "server_id": self.server_id,
            "server_name": "callmark-embedded",
            "version": VERSION,
            "proto": 1,
            "host": self.settings.address.ip(),
            "port": self.settings.address.port(),
            "headers": true,
            "max_payload": self.settings.max_payload,
            "client_id": client.id,
            "client_ip": peer.ip(),
        });
        format!("INFO {info}\r\n")
    }
}

/// Serves one client until either side ends.
pub(super) async fn serve(mut stream: TcpStream, peer: SocketAddr, shared: Arc<Shared>) {
    // A failure costs latency only.
    let _ = stream.set_nodelay(true);
    let id = shared.next_client.fetch_add(1, Ordering::Relaxed);
    let client = Arc::new(Client::new(id, shared.settings.max_pending));
    let info = shared.info(&client, peer);
    client.append(|outbound| outbound.line(info.as_bytes()));

    let (mut read, write) = stream.split();
    let mut writer = Writer::new(write, &client, shared.settings.write_deadline);
    let mut session = Session {
        parser: Parser::new(shared.settings.max_payload),
        options: Options::default(),
        client: Arc::clone(&client),
        shared: &shared,
        to_wake: Vec::new(),
    };
    let farewell = tokio::select! {
        farewell = session.read(&mut read) => farewell,
        () = client.cut_off.notified() => None,
        // It ends only with the socket or with the client's patience.
        _ = writer.run() => None,
    };
    drop(session);
    if let Some(text) = farewell {
        client.append(|outbound| outbound.line(format!("-ERR '{text}'\r\n").as_bytes()));
        if writer.flush().await.is_ok() && writer.socket.shutdown().await.is_ok() {
            // Whatever it still sends, and whether it closes in time, is of no interest.
            let _ = timeout(LINGER, discard(&mut read)).await;
        }
    }
}

async fn discard(read: &mut ReadHalf<'_>) -> io::Result<()> {
    let mut scratch = [0; 4096];
    while read.read(&mut scratch).await? > 0 {}
    Ok(())
}

/// The options of `CONNECT`. Until one arrives a client is served as `nats-server` does.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent flags of the protocol")]
struct Options {
    verbose: bool,
    pedantic: bool,
    echo: bool,
    headers: bool,
    no_responders: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { verbose: true, pedantic: true, echo: true, headers: false, no_responders: false }
    }
}

/// The part of `CONNECT` that is acted upon; an absent or null option keeps its value.
#[derive(Debug, Deserialize)]
struct Connect {
    verbose: Option<bool>,
    pedantic: Option<bool>,
    echo: Option<bool>,
    headers: Option<bool>,
    no_responders: Option<bool>,
}

impl Options {
    fn update(&mut self, connect: &Connect) {
        let set = |option: &mut bool, value: Option<bool>| *option = value.unwrap_or(*option);
        set(&mut self.verbose, connect.verbose);
        set(&mut self.pedantic, connect.pedantic);
        set(&mut self.echo, connect.echo);
        set(&mut self.headers, connect.headers);
        set(&mut self.no_responders, connect.no_responders);
    }
}

/// What the reading side of a connection holds. Dropping it removes the client's subscriptions,
/// also when the task is aborted.
struct Session<'s> {
    parser: Parser,
    options: Options,
    client: Arc<Client>,
    shared: &'s Shared,
    /// Recipients of the batch in hand whose tasks have something to write.
    to_wake: Vec<Arc<Client>>,
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.shared.change(|index| index.remove_client(self.client.id));
    }
}

impl Session<'_> {
    /// Reads and acts until the connection is over, and returns what is to be said to the client.
    async fn read(&mut self, socket: &mut ReadHalf<'_>) -> Option<&'static str> {
        let mut buffer = BytesMut::new();
        let mut unanswered = 0;
        loop {
            buffer.reserve(self.parser.missing(buffer.len()).max(READ_CHUNK));
            let read = socket.read_buf(&mut buffer);
            match timeout(self.shared.settings.ping_interval, read).await {
                Err(_) if unanswered == MAX_UNANSWERED => return Some("Stale Connection"),
                Err(_) => {
                    unanswered += 1;
                    self.answer("PING\r\n");
                }
                Ok(Ok(1..)) => unanswered = 0,
                Ok(_) => return None,
            }
            let acted = self.act_on_all(&mut buffer);
            for client in self.to_wake.drain(..) {
                client.writable.notify_one();
            }
            if let Err(farewell) = acted {
                return farewell;
            }
            if self.client.outbound().has_waiting() {
                // Reading and writing share a task: let the writer have its turn, however much
                // there is to read.
                tokio::task::yield_now().await;
            }
        }
    }

    /// Acts on every whole operation in the buffer. The error is what to say before closing.
    fn act_on_all(&mut self, buffer: &mut BytesMut) -> Result<(), Option<&'static str>> {
        while let Some(operation) = self.parser.next(buffer).map_err(|v| Some(v.text()))? {
            self.act(operation)?;
        }
        Ok(())
    }

    fn act(&mut self, operation: Operation) -> Result<(), Option<&'static str>> {
        match operation {
            Operation::Publish(message) => self.publish(&message)?,
            Operation::Ping => self.answer("PONG\r\n"),
            Operation::Pong => {}
            Operation::Subscribe { subject, queue, sid } => {
                self.subscribe(&subject, queue.as_deref(), &sid);
            }
            Operation::Unsubscribe { sid, max } => {
                self.shared.change(|index| index.unsubscribe(self.client.id, &sid, max));
                self.acknowledge();
            }
            Operation::Connect(options) => self.connect(&options)?,
            Operation::Farewell => return Err(None),
        }
        Ok(())
    }

    fn connect(&mut self, options: &[u8]) -> Result<(), Option<&'static str>> {
        let connect = serde_json::from_slice(options).map_err(|_| Some(Violation::Malformed.text()))?;
        self.options.update(&connect);
        if self.options.no_responders && !self.options.headers {
            return Err(Some("no responders requires headers support"));
        }
        self.client.headers.store(self.options.headers, Ordering::Relaxed);
        self.acknowledge();
        Ok(())
    }

    fn subscribe(&mut self, subject: &[u8], queue: Option<&[u8]>, sid: &[u8]) {
        if !subject::is_subscribable(subject) {
            self.answer("-ERR 'Invalid Subject'\r\n");
            return;
        }
        // Copies, because slices would keep the read buffer alive as long as the subscription.
        let own = |bytes: &[u8]| Bytes::copy_from_slice(bytes);
        let (subject, queue, sid) = (own(subject), queue.map(own), own(sid));
        let client = Arc::clone(&self.client);
        self.shared.change(|index| index.subscribe(client, self.client.id, sid, subject, queue));
        self.acknowledge();
    }

    fn publish(&mut self, message: &Message) -> Result<(), Option<&'static str>> {
        if message.header_length.is_some() && !self.options.headers {
            return Err(Some(Violation::Malformed.text()));
        }
        if self.options.pedantic && !subject::is_literal(&message.subject) {
            // It is routed all the same, as by `nats-server`.
            self.answer("-ERR 'Invalid Publish Subject'\r\n");
        }
        self.acknowledge();
        let taken = if subject::is_routable(&message.subject) { self.route(message) } else { 0 };
        if let (0, true, Some(reply)) = (taken, self.options.no_responders, &message.reply) {
            self.send_no_responders(reply);
        }
        Ok(())
    }

    /// Delivers to all who match. The index stays locked for reading meanwhile, so that once an
    /// `UNSUB` is acted upon, no message for the subscription is still on its way to the queue.
    fn route(&mut self, message: &Message) -> usize {
        let mut exhausted = Vec::new();
        let (own, echo, to_wake) = (self.client.id, self.options.echo, &mut self.to_wake);
        let index = self.shared.index.read().unwrap_or_else(PoisonError::into_inner);
        let taken = index.route(&message.subject, self.shared.pick(), |subscription| {
            if subscription.client_id == own && !echo {
                return false;
            }
            match subscription.claim() {
                Claim::Exhausted => return false,
                Claim::Last => exhausted.push(Arc::clone(subscription)),
                Claim::Granted => {}
            }
            deliver(subscription, message, to_wake)
        });
        drop(index);
        for subscription in &exhausted {
            self.shared.change(|index| index.remove(subscription));
        }
        taken
    }

    /// Sends the status to this client's own subscriptions to the reply subject, echo or not.
    fn send_no_responders(&mut self, reply: &[u8]) {
        let (own, to_wake) = (self.client.id, &mut self.to_wake);
        let index = self.shared.index.read().unwrap_or_else(PoisonError::into_inner);
        index.route(reply, 0, |subscription| {
            let (client, sid) = (&subscription.client, &subscription.sid);
            subscription.client_id == own
                && client::append(client, to_wake, |outbound| outbound.no_responders(reply, sid))
        });
    }

    fn acknowledge(&mut self) {
        if self.options.verbose {
            self.answer("+OK\r\n");
        }
    }

    fn answer(&mut self, line: &str) {
        client::append(&self.client, &mut self.to_wake, |outbound| outbound.line(line.as_bytes()));
    }
}

fn deliver(
    subscription: &Subscription<Arc<Client>>,
    message: &Message,
    to_wake: &mut Vec<Arc<Client>>,
) -> bool {
    let client = &subscription.client;
    let headers = client.headers.load(Ordering::Relaxed);
    client::append(client, to_wake, |outbound| outbound.message(message, &subscription.sid, headers))
}
