//! Connections: wires, parties that are reached over HTTP, addresses.

pub(crate) mod address;
pub(crate) mod event_stream;
pub(crate) mod http_answer;
pub(crate) mod http_client;
pub(crate) mod http_connections;
pub mod http_server;
pub mod inbound;
pub(crate) mod multipart;
pub mod outbound;
pub mod proxy;
pub mod wire;
