//! The store, the runner, the tools and the workflow of the Universal Tool Invocation Standard, over sockets.

mod events;
mod store;
mod support;
