//! A fleet of Tool Services on JetStream or PostgreSQL: processes that are killed in the middle of calls.

mod cluster;
mod killed;
#[cfg(feature = "postgres")]
mod on_postgres;
pub(crate) mod server;
mod support;
