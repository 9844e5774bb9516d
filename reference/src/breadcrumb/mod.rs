//! The Universal Tool Invocation Standard: agents write invocations as breadcrumbs, a runner executes them.
//!
//! `docs/breadcrumbs.md` says how the parties meet, since the Standard has no transport.

pub mod browser;
pub mod llm;
pub mod tool;
