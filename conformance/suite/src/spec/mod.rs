//! What is specified, as data: rules, scenarios as a run takes them and as people read them, which of them count for an
//! edition, and what travels inside the binary.

pub mod catalog;
pub mod edition;
pub mod library;
pub mod outline;
pub mod phrases;
pub mod registry;
pub mod revision;
