//! Judgements over the calls of an MCP server, one module a subject.
//!
//! They take frames and the call that was made, and answer `Ok` or what is wrong.

pub mod artifact;
pub mod call;
pub mod envelope;
pub mod opening;
pub mod protocol;
pub mod provenance;
mod reply;
pub mod secret;
pub mod shape;
pub mod store;

pub use self::reply::Reply;
