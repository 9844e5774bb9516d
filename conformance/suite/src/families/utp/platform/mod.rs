//! The parties that the suite plays for a UTP target: card store, tool registry, roster, report and Inbox.
//!
//! `desk` takes and records every message, `project` holds the state of one scenario, `children` the turns
//! that were started in it; a binding (`nats`, `http`) only translates its
//! wire form into the desk's operations. A further binding is one more translation, nothing else.

pub mod children;
pub mod desk;
pub mod http;
pub mod nats;
pub mod project;
pub mod reply;

pub use children::{Fate, Order};
pub use desk::{Desk, Operation};
pub use project::{Project, ProjectName};
pub use reply::{Refusal, Reply};
