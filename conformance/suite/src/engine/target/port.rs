//! Ports for what the suite starts, without a gap in which another process could take them.
//!
//! A port is bound before its target starts and stays bound, without listening, as long as the target lives. The system
//! gives such a port to nobody who asks for any, and lets a program listen there that asks for it by its number and
//! reuses addresses, as servers do. Who does not is started once more, on a port that is free just then.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Mutex;

use tokio::net::TcpSocket;

use crate::engine::environment;
use crate::transcript::lock;

/// How often a target is started that says its port is taken.
pub(crate) const STARTS: usize = 3;

/// Ports that were given to targets by this process, the latest last. Two of them must not get the same.
static GIVEN: Mutex<VecDeque<u16>> = Mutex::new(VecDeque::new());

/// How many of them are remembered: who got an earlier one has bound it by now, or is gone. The system may have as few as
/// half of the usual 28,000 to give.
const REMEMBERED: usize = 1_024;

/// How often another port is asked for in place of one that is remembered, where a machine has few.
const TRIES: usize = 4 * REMEMBERED;

/// A port of the loopback interface, for a target to listen on.
#[derive(Debug)]
pub struct Port {
    address: SocketAddr,
    /// Keeps others from it.
    _held: Option<TcpSocket>,
}

/// How a port is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handing {
    /// It stays bound.
    Held,
    /// It was free a moment ago.
    Free,
}

impl Port {
    /// A port that nobody else has.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn take(handing: Handing) -> Result<Self, String> {
        let failed = |error: std::io::Error| {
            environment::note(&error);
            format!("no port is free: {error}")
        };
        let mut tries = 0;
        loop {
            tries += 1;
            let socket = TcpSocket::new_v4().map_err(failed)?;
            socket.set_reuseaddr(true).map_err(failed)?;
            socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).map_err(failed)?;
            let address = socket.local_addr().map_err(failed)?;
            let mut given = lock(&GIVEN);
            if given.contains(&address.port()) && tries < TRIES {
                continue;
            }
            given.push_back(address.port());
            if given.len() > REMEMBERED {
                given.pop_front();
            }
            return Ok(Self { address, _held: Some(socket).filter(|_| handing == Handing::Held) });
        }
    }

    /// `host:port`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }
}

/// Opens what listens on a port of the suite's choice; again on another one where that says its port is taken.
pub(crate) async fn opened<T, E, OpenContext: Future<Output = Result<T, E>>>(
    mut open: impl FnMut(Handing) -> OpenContext,
    why: impl Fn(&E) -> String,
) -> Result<T, E> {
    let mut handing = Handing::Held;
    for _ in 1..STARTS {
        match open(handing).await {
            Err(error) if is_refused(handing, &why(&error)) => handing = Handing::Free,
            other => return other,
        }
    }
    open(handing).await
}

/// Whether a target that was handed a port may listen on another one, by what it says.
pub(crate) fn is_refused(handing: Handing, said: &str) -> bool {
    // One that ended may not reuse addresses, whatever it says of that.
    is_taken(said) || (handing == Handing::Held && has_ended(said))
}

/// Whether a program ended before it listened, as [`super::ChildProcess::ended`] puts it.
fn has_ended(said: &str) -> bool {
    said.contains("` ended with ")
}

/// Whether a program says that somebody else listens on its port, in the words of its language.
fn is_taken(said: &str) -> bool {
    let said = said.to_lowercase();
    [
        "address already in use",
        "address in use",
        "eaddrinuse",
        "port is already",
        "only one usage of each socket",
    ]
    .iter()
    .any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[tokio::test]
    async fn a_port_is_nobody_elses_until_its_target_listens() {
        let port = Port::take(Handing::Held).expect("a port");
        assert!(TcpStream::connect(port.address).is_err(), "nothing answers yet");
        for _ in 0..2_000 {
            let other = TcpListener::bind("127.0.0.1:0").expect("another port");
            assert_ne!(other.local_addr().expect("an address"), port.address);
        }
        let target = TcpListener::bind(port.address()).expect("the target listens");
        TcpStream::connect(port.address).expect("it answers");
        drop(target);
        TcpListener::bind(port.address()).expect("it listens again after a restart");
    }

    #[tokio::test]
    async fn no_two_targets_get_the_same_port() {
        let mut ports: Vec<Port> = (0..200)
            .map(|number| Port::take(if number % 2 == 0 { Handing::Held } else { Handing::Free }))
            .collect::<Result<_, _>>()
            .expect("ports");
        ports.sort_by_key(|port| port.address);
        ports.dedup_by_key(|port| port.address);
        assert_eq!(ports.len(), 200);
    }

    #[tokio::test]
    async fn ports_come_round_again_in_a_long_run() {
        // More than the system has.
        for _ in 0..usize::from(u16::MAX) {
            Port::take(Handing::Free).expect("a port");
        }
    }

    #[tokio::test]
    async fn a_target_whose_port_is_taken_is_started_on_another() {
        let check = async |said: &str, expect: &[Handing]| {
            let mut tries = Vec::new();
            let opened: Result<(), String> = opened(
                |handing| {
                    tries.push(handing);
                    let is_free = handing == Handing::Free;
                    async move { if is_free { Ok(()) } else { Err(said.to_owned()) } }
                },
                Clone::clone,
            )
            .await;
            assert_eq!(opened.is_ok(), tries.contains(&Handing::Free), "{said}");
            assert_eq!(tries, expect, "{said}");
        };
        check("OSError: [Errno 98] Address already in use", &[Handing::Held, Handing::Free]).await;
        check("`./hub` ended with exit status: 1; its log `hub.log` ends: ", &[Handing::Held, Handing::Free])
            .await;
        check("no answer within 5 s", &[Handing::Held]).await;
    }
}
