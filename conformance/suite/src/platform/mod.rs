//! The parties that the suite plays for a UTP target: card store, tool registry, roster, report and Inbox.
//!
//! `desk` holds their state and records every message; a binding (`nats`, `http`) only translates its
//! wire form into the desk's operations. A further binding is one more translation, nothing else.

pub mod desk;
pub mod http;
pub mod nats;

pub use desk::{Desk, Operation, Project, Refusal, Reply};
