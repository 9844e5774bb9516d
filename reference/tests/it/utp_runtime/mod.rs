//! The agent runtime: whole turns over the embedded broker, with a model and tools that the tests play.

mod arguments;
mod callbacks;
mod http;
mod registry;
mod scripted;
pub(crate) mod support;
mod timeouts;
mod turns;
