//! Several processes of one target, each on a way of its own to the broker (DESIGN2 §7).
//!
//! A broker says neither to which member of a queue group it gave a command, nor who published an answer. So the suite
//! stands between each replica and the broker, passes every byte on as it came, and notes which replica received or
//! published a message. Scenarios ask for that where a repeat is to reach another replica than the first time, and the
//! transcript names the replica of each answer.
//!
//! Neighbours: `nats_stream` reads what passes, `target` starts the processes, `platform::nats` marks what arrives.

mod nats_stream;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use url::Url;

use self::nats_stream::{NatsStream, Passed};
use super::nats_servers;
use crate::engine::chaos::Link;
use crate::net::wire::REPLICA;
use crate::transcript::lock;

/// The variable in which a replica finds its number, from 1.
pub(super) const REPLICA_VARIABLE: &str = "CALLMARK_REPLICA";
/// Messages that are remembered; older ones belong to scenarios that are over.
const REMEMBERED: usize = 200_000;
/// Bytes that are passed on at a time.
const BUFFER: usize = 64 * 1024;
/// For the broker to take a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// What a target publishes for the platform and for others begins with one of these.
const PUBLISHED: [&str; 4] = ["l0.", "cg.", "state.", "$KV."];
/// What is received as a command begins with this.
const RECEIVED: &str = "cg.";

/// The number of a replica, from 1.
pub(super) type Number = u32;

/// The replicas of a target, and what they were seen to receive and publish.
#[derive(Debug)]
pub struct Replicas {
    count: NonZeroU32,
    /// The way of each to the broker.
    links: Vec<watch::Sender<Link>>,
    noticed: Mutex<Noticed>,
    relays: Mutex<JoinSet<()>>,
}

#[derive(Debug, Default)]
struct Noticed {
    /// Who received messages on a subject.
    received: HashMap<String, BTreeSet<Number>>,
    /// Who published a message, by its digest; the same bytes may come from several.
    published: HashMap<u64, Vec<Number>>,
}

impl Default for Replicas {
    /// One, to which nothing is done.
    fn default() -> Self {
        Self::new(NonZeroU32::MIN)
    }
}

impl Replicas {
    /// So many replicas, none of which has a way to the broker yet.
    pub fn new(count: NonZeroU32) -> Self {
        let links = (0..count.get()).map(|_| watch::Sender::new(Link::Up)).collect();
        Self { count, links, noticed: Mutex::default(), relays: Mutex::default() }
    }

    /// Whether there is more than one.
    pub fn are_several(&self) -> bool {
        self.count > NonZeroU32::MIN
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count.get() as usize
    }

    /// Changes the way of a replica to the broker. One that has no way of its own is not concerned.
    pub(super) fn set_link(&self, number: Number, link: Link) {
        if let Some(own) = number.checked_sub(1).and_then(|index| self.links.get(index as usize)) {
            own.send_replace(link);
        }
    }

    /// The replicas that have received a message on this subject.
    pub fn that_received(&self, subject: &str) -> BTreeSet<Number> {
        lock(&self.noticed).received.get(subject).cloned().unwrap_or_default()
    }

    /// Adds to the headers of a message which replica published it, where that is known.
    pub(super) fn mark(&self, headers: &mut BTreeMap<String, String>, subject: &str, payload: &[u8]) {
        // Whatever the target says of itself here proves nothing.
        headers.remove(REPLICA);
        if let Some(number) = self.publisher(subject, payload) {
            headers.insert(REPLICA.to_owned(), number.to_string());
        }
    }

    fn publisher(&self, subject: &str, payload: &[u8]) -> Option<Number> {
        if !self.are_several() {
            return None;
        }
        let digest = nats_stream::digest(subject, payload);
        let published = &mut lock(&self.noticed).published;
        let numbers = published.get_mut(&digest)?;
        let number = numbers.pop();
        if numbers.is_empty() {
            published.remove(&digest);
        }
        number
    }

    /// The environment of each replica: its number, and the address at which it reaches these servers. One replica reaches
    /// the first of them directly.
    ///
    /// # Errors
    /// Why there can be no way to them on which the suite sees what passes.
    pub(super) async fn environments(self: &Arc<Self>, nats_urls: &str) -> Result<Vec<Environment>, String> {
        if !self.are_several() {
            let nats_url = nats_servers::first(nats_urls).to_owned();
            return Ok(vec![Environment { number: None, nats_url }]);
        }
        let servers = Servers::of(nats_urls)?;
        let mut all = Vec::new();
        for (number, link) in (1..).zip(&self.links) {
            let listener = TcpListener::bind(("127.0.0.1", 0)).await;
            let listener = listener.map_err(|error| format!("no way for replica {number}: {error}"))?;
            let own = listener.local_addr().map_err(|error| error.to_string())?;
            let nats_url = servers.through(own)?;
            let relay = Relay {
                number,
                servers: servers.clone(),
                replicas: Arc::downgrade(self),
                link: link.subscribe(),
            };
            lock(&self.relays).spawn(relay.serve(listener));
            all.push(Environment { number: Some(number), nats_url });
        }
        Ok(all)
    }

    fn notice(&self, number: Number, way: Way, passed: Passed) {
        let noticed = &mut *lock(&self.noticed);
        match way {
            Way::ToTarget if passed.subject.starts_with(RECEIVED) => {
                if noticed.received.len() >= REMEMBERED {
                    noticed.received.clear();
                }
                noticed.received.entry(passed.subject).or_default().insert(number);
            }
            Way::FromTarget if PUBLISHED.iter().any(|start| passed.subject.starts_with(start)) => {
                if noticed.published.len() >= REMEMBERED {
                    noticed.published.clear();
                }
                noticed.published.entry(passed.digest).or_default().push(number);
            }
            _ => {}
        }
    }
}

/// What is a replica's own when it is started.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Environment {
    /// Its number, where there are several.
    pub(super) number: Option<Number>,
    pub(super) nats_url: String,
}

/// The servers behind a relay.
#[derive(Clone, Debug)]
struct Servers(Vec<Url>);

impl Servers {
    fn of(urls: &str) -> Result<Self, String> {
        let all: Result<Vec<Url>, String> = nats_servers::urls(urls)
            .into_iter()
            .map(|url| Url::parse(url).map_err(|error| format!("`{}`: {error}", nats_servers::redacted(url))))
            .collect();
        let all = all?;
        if let Some(other) = all.iter().find(|url| url.scheme() != "nats") {
            return Err(format!(
                "`replicas` needs a broker over plain NATS, for the suite to see which replica receives a command, and \
                 this one is `{}`",
                nats_servers::redacted(other.as_str())
            ));
        }
        Ok(Self(all))
    }

    /// The URL with which a replica gets to them through a relay, with the credentials of the first.
    fn through(&self, relay: SocketAddr) -> Result<String, String> {
        let mut url = self.0.first().cloned().ok_or("there is no server")?;
        let fault = || format!("`{}` has no place for an address", nats_servers::redacted(url.as_str()));
        let (host, port) = (relay.ip().to_string(), relay.port());
        let mut through = url.clone();
        through.set_host(Some(&host)).map_err(|_| fault())?;
        through.set_port(Some(port)).map_err(|()| fault())?;
        url = through;
        Ok(url.as_str().trim_end_matches('/').to_owned())
    }

    /// Connects to the first that is there.
    async fn connect(&self) -> Option<TcpStream> {
        for url in &self.0 {
            let address =
                (url.host_str().unwrap_or_default().trim_matches(['[', ']']), url.port().unwrap_or(4222));
            if let Ok(Ok(stream)) = tokio::time::timeout(CONNECT_DEADLINE, TcpStream::connect(address)).await
            {
                return Some(stream);
            }
        }
        None
    }
}

/// Seen from the target.
#[derive(Clone, Copy)]
enum Way {
    ToTarget,
    FromTarget,
}

/// The way of one replica to the broker.
struct Relay {
    number: Number,
    servers: Servers,
    replicas: std::sync::Weak<Replicas>,
    link: watch::Receiver<Link>,
}

impl Relay {
    async fn serve(self, listener: TcpListener) {
        let own = Arc::new(self);
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((client, _)) = listener.accept().await else {
                // Out of descriptors, most likely: others may close theirs.
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            connections.spawn(Arc::clone(&own).pass(client));
        }
    }

    /// Passes on what comes, in both directions, until one side ends or the way is cut.
    async fn pass(self: Arc<Self>, client: TcpStream) {
        let mut link = self.link.clone();
        if *link.borrow() == Link::Down {
            return;
        }
        // One that finds no server closes, as the server's own port would.
        let Some(server) = self.servers.connect().await else { return };
        let _ = (client.set_nodelay(true), server.set_nodelay(true));
        let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
        tokio::select! {
            () = self.copy(Way::FromTarget, from_client, to_server) => {}
            () = self.copy(Way::ToTarget, from_server, to_client) => {}
            _ = link.wait_for(|link| *link == Link::Down) => {}
        }
    }

    async fn copy(&self, way: Way, mut from: OwnedReadHalf, mut to: OwnedWriteHalf) {
        let (mut stream, mut buffer) = (NatsStream::default(), vec![0; BUFFER]);
        while let Ok(count @ 1..) = from.read(&mut buffer).await {
            let Some(replicas) = self.replicas.upgrade() else { return };
            let bytes = &buffer[..count];
            // Before it is passed on: whoever gets the message may ask at once who sent it.
            stream.read(bytes, |passed| replicas.notice(self.number, way, passed));
            drop(replicas);
            let late = match *self.link.borrow() {
                Link::Slow(late) => late,
                Link::Up | Link::Down => Duration::ZERO,
            };
            if !late.is_zero() {
                tokio::time::sleep(late).await;
            }
            if to.write_all(bytes).await.is_err() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Arc<Replicas> {
        Arc::new(Replicas::new(NonZeroU32::new(3).expect("three")))
    }

    async fn read(stream: &mut TcpStream, bytes: usize) -> Vec<u8> {
        let mut buffer = vec![0; bytes];
        stream.read_exact(&mut buffer).await.expect("bytes");
        buffer
    }

    #[tokio::test]
    async fn each_has_a_way_of_its_own_on_which_it_is_noticed() {
        let broker = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let url = format!("nats://u:p@{}", broker.local_addr().expect("an address"));
        let replicas = three();
        let all = replicas.environments(&url).await.expect("ways");
        assert_eq!(all.iter().map(|own| own.number).collect::<Vec<_>>(), [Some(1), Some(2), Some(3)]);
        let address = all[1].nats_url.strip_prefix("nats://u:p@").expect("credentials").to_owned();

        let mut client = TcpStream::connect(address).await.expect("a connection");
        let (mut server, _) = broker.accept().await.expect("a connection");
        let (command, report) = (
            b"MSG cg.v1r3.prj.public.cmd.tool.a.b 1 2\r\n{}\r\n",
            b"PUB l0.v1.prj.public.report 2\r\n[]\r\n",
        );
        server.write_all(command).await.expect("written");
        client.write_all(report).await.expect("written");
        assert_eq!(read(&mut client, command.len()).await, command);
        assert_eq!(read(&mut server, report.len()).await, report);

        assert_eq!(replicas.that_received("cg.v1r3.prj.public.cmd.tool.a.b"), BTreeSet::from([2]));
        assert_eq!(replicas.that_received("cg.v1r3.prj.public.cmd.tool.a.c"), BTreeSet::new());
        let mut headers = BTreeMap::from([(REPLICA.to_owned(), "9".to_owned())]);
        replicas.mark(&mut headers, "l0.v1.prj.public.report", b"[]");
        assert_eq!(headers[REPLICA], "2");
        // The same bytes once more were published by nobody.
        replicas.mark(&mut headers, "l0.v1.prj.public.report", b"[]");
        assert!(headers.is_empty());
    }

    #[tokio::test]
    async fn a_way_that_is_cut_ends_its_connections_and_takes_no_other_until_it_is_mended() {
        let broker = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let replicas = three();
        let all =
            replicas.environments(&format!("nats://{}", broker.local_addr().expect("an address"))).await;
        let all = all.expect("ways");
        let address = |index: usize| all[index].nats_url.trim_start_matches("nats://").to_owned();
        let mut cut = TcpStream::connect(address(0)).await.expect("a connection");
        let mut other = TcpStream::connect(address(1)).await.expect("a connection");
        let (first, second) = (broker.accept().await.expect("one"), broker.accept().await.expect("another"));
        replicas.set_link(1, Link::Down);
        assert_eq!(cut.read(&mut [0; 1]).await.ok().filter(|count| *count > 0), None);
        let mut again = TcpStream::connect(address(0)).await.expect("the relay listens");
        assert_eq!(again.read(&mut [0; 1]).await.ok().filter(|count| *count > 0), None);
        drop(first);

        replicas.set_link(1, Link::Slow(Duration::from_millis(1)));
        let mut mended = TcpStream::connect(address(0)).await.expect("a connection");
        let (mut server, _) = broker.accept().await.expect("a connection");
        server.write_all(b"PING\r\n").await.expect("written");
        assert_eq!(read(&mut mended, 6).await, b"PING\r\n");
        // The others were not concerned.
        other.write_all(b"PONG\r\n").await.expect("written");
        let mut second = second.0;
        assert_eq!(read(&mut second, 6).await, b"PONG\r\n");
    }

    #[tokio::test]
    async fn one_that_finds_no_broker_is_closed() {
        let closed = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port").local_addr().expect("one");
        let replicas = three();
        let all = replicas.environments(&format!("nats://{closed}")).await.expect("ways");
        let mut client =
            TcpStream::connect(all[0].nats_url.trim_start_matches("nats://")).await.expect("a connection");
        assert_eq!(client.read(&mut [0; 1]).await.ok().filter(|count| *count > 0), None);
    }

    #[tokio::test]
    async fn a_single_one_reaches_the_broker_directly_and_tls_is_refused() {
        let alone = Arc::new(Replicas::default());
        let direct = Environment { number: None, nats_url: "tls://host:4222".to_owned() };
        assert_eq!(alone.environments("tls://host:4222").await, Ok(vec![direct]));
        let refused = three().environments("tls://u:secret@host:4222").await.expect_err("TLS");
        assert!(refused.contains("plain NATS") && !refused.contains("secret"), "{refused}");
    }
}
