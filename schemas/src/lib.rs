//! JSON Schema 2020-12 of every message and file that Callmark knows, embedded in the binary.
//!
//! The schemas themselves lie beside this crate in `utp/`, `toolbus/`, `hub/`, `breadcrumb/` and
//! `callmark/`, with examples of what they accept and refuse in `examples/`.
//! [`SchemaName`] names them, [`violations`] judges a value by one of them.
//! The suite uses them on captured messages and on its own manifest, the reports on the run record.
//!
//! Deliberately absent: what a violation means for a rule (the suite decides that), reading of files,
//! and any way to fetch a schema from elsewhere.
//! A schema states only what every reading of the documents agrees on; what a document merely recommends
//! is left to the rules.

mod message;
mod name;
mod validate;

pub use name::SchemaName;
pub use validate::{MAX_MESSAGE_CHARS, MAX_POINTER_BYTES, MAX_VIOLATIONS, Violation, violations};
