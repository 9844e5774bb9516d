//! The agent of the Universal Tool Invocation Standard: at a store, over HTTP, and in lines.

mod drives;
mod store;
mod support;
