//! The parties that the suite plays for a UTP target: card store, tool registry, roster, report and Inbox.
//!
//! `platform_service` takes and records every message, `project` holds the state of one scenario, `children` the turns
//! that were started in it; a binding (`nats`, `http`) only translates its
//! wire form into the platform's operations. A further binding is one more translation, nothing else.

pub mod children;
pub mod http;
pub mod nats;
pub mod platform_service;
pub mod project;
pub mod reply;

pub use children::{ChildOutcome, Order};
pub use platform_service::{Operation, PlatformService};
pub use project::Project;
pub use reply::{PlatformReply, Refusal};
