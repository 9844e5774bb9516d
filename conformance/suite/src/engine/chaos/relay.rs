//! A way of the suite's over TCP to one replica, which can be cut and slowed down.
//!
//! Bytes pass as they come, and nothing is read in them.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Bytes that are passed on at a time.
const BUFFER: usize = 64 * 1024;
/// For the replica to take a connection.
const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Between two tries to take a connection where this process has no descriptor left.
const RETRY: Duration = Duration::from_millis(100);

/// What a way is like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// Bytes pass as they come.
    #[default]
    Up,
    /// They are so late.
    Slow(Duration),
    /// Nothing passes, and nobody can connect.
    Down,
}

/// A way to one replica. It ends when it is dropped.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    link: watch::Sender<Link>,
    _serving: JoinSet<()>,
}

impl Relay {
    /// A way to `host:port`.
    ///
    /// # Errors
    /// No address of this machine is free for it.
    pub async fn to(replica: String) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let (link, watched) = watch::channel(Link::Up);
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, replica, watched));
        Ok(Self { address, link, _serving: serving })
    }

    /// Where it begins.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what it is like, also for the connections that are open.
    pub fn set(&self, link: Link) {
        self.link.send_replace(link);
    }
}

async fn serve(listener: TcpListener, replica: String, link: watch::Receiver<Link>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => drop(connections.spawn(pass(client, replica.clone(), link.clone()))),
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Passes on what comes, in both directions, until both sides have ended or the way is cut.
async fn pass(client: TcpStream, replica: String, mut link: watch::Receiver<Link>) {
    if *link.borrow() == Link::Down {
        return;
    }
    let connecting = tokio::time::timeout(CONNECT_DEADLINE, TcpStream::connect(replica));
    // One that finds nobody closes, as the replica's own port would.
    let Ok(Ok(server)) = connecting.await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    let (there, back) = (link.clone(), link.clone());
    let both = futures::future::join(copy(from_client, to_server, there), copy(from_server, to_client, back));
    tokio::select! {
        _ = both => {}
        _ = link.wait_for(|link| *link == Link::Down) => {}
    }
}

async fn copy(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, link: watch::Receiver<Link>) {
    let mut buffer = vec![0; BUFFER];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let late = match *link.borrow() {
            Link::Slow(late) => late,
            Link::Up | Link::Down => Duration::ZERO,
        };
        if !late.is_zero() {
            tokio::time::sleep(late).await;
        }
        if to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
    // So the other side sees the end of what was sent, as without the relay.
    let _ = to.shutdown().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(stream: &mut TcpStream) -> Option<u8> {
        let mut byte = [0; 1];
        stream.read(&mut byte).await.ok().filter(|count| *count > 0).map(|_| byte[0])
    }

    #[tokio::test]
    async fn a_way_passes_bytes_until_it_is_cut_and_again_when_it_is_mended() {
        let replica = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let relay = Relay::to(replica.local_addr().expect("an address").to_string()).await.expect("a relay");
        let mut client = TcpStream::connect(relay.address()).await.expect("a connection");
        let (mut server, _) = replica.accept().await.expect("a connection");
        client.write_all(b"a").await.expect("written");
        server.write_all(b"b").await.expect("written");
        assert_eq!((read(&mut server).await, read(&mut client).await), (Some(b'a'), Some(b'b')));

        relay.set(Link::Down);
        assert_eq!(read(&mut client).await, None);
        let mut refused = TcpStream::connect(relay.address()).await.expect("the relay listens");
        assert_eq!(read(&mut refused).await, None);

        relay.set(Link::Slow(Duration::from_millis(1)));
        let mut mended = TcpStream::connect(relay.address()).await.expect("a connection");
        let (mut server, _) = replica.accept().await.expect("a connection");
        server.write_all(b"c").await.expect("written");
        assert_eq!(read(&mut mended).await, Some(b'c'));
        drop(server);
        assert_eq!(read(&mut mended).await, None);
    }
}
