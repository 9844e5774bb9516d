//! The PMO over a real bus: the embedded broker, L0, a caller, and a double of the runtime that runs the children.

mod commands;
mod dispatch;
mod failures;
mod fork_join;
mod provision;
pub(crate) mod support;
