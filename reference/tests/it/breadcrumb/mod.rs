//! The store, the runner, the tools and the workflow of the Universal Tool Invocation Standard, over sockets.

mod events;
mod faults;
mod lines;
mod routing;
mod store;
mod support;
mod tools;
mod workflow;
