//! Ports that a test names before somebody listens there.

use std::net::SocketAddr;

use tokio::net::TcpSocket;

/// An address of the loopback interface on which nobody listens. It stays bound until the tests end, so that the system
/// gives it to no other connection; who reuses addresses, as servers do, may listen on it.
pub(crate) fn reserved() -> SocketAddr {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("an address that can be reused");
    socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).expect("a port");
    let address = socket.local_addr().expect("an address");
    std::mem::forget(socket);
    address
}
