//! The Universal Tool Invocation Standard: agents write invocations as breadcrumbs, a runner executes them.
//!
//! The path of one call, in the order in which the modules are worth reading:
//!
//! 1. an agent puts an invocation into the [`store`], which notifies all subscribers;
//! 2. a [`runner`] reads the requests, finds each [`tool`] in its catalogue, and runs it;
//! 3. it answers with breadcrumbs, to the agent or to the user as each request says.
//!
//! [`agent`] is who writes invocations. [`tools`] are the Standard's own, [`llm`] and [`browser`] those that need a
//! service or a program, [`workflow`] is the one that runs others. [`client`] is how the parties reach a store.
//! `docs/breadcrumbs.md` says how they meet, since the Standard has no transport.

pub mod agent;
pub mod browser;
pub mod client;
mod execution;
pub mod llm;
pub mod runner;
pub mod store;
pub mod tool;
pub mod tools;
pub mod workflow;
