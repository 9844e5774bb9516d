//! The OpenAPI executor over a real bus: a double of the upstream, the embedded broker, L0 and a caller.

mod codes;
mod hosts;
mod keys;
mod requests;
pub(crate) mod support;
