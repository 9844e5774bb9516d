//! A fleet of Tool Services on JetStream: processes that are killed in the middle of calls.

mod cluster;
mod killed;
pub(crate) mod server;
mod support;
