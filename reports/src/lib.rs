//! The run record, and everything that is rendered from it.
pub mod record;
