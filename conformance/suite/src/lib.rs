//! The judge: what a rule is, how a target is driven, what was seen, and what follows from it.
//!
//! Invariant: nothing here knows the reference implementation; it is reached over sockets like any other.
//! Invariant: nothing here prints.
//!
//! Reading order: `engine` (what a run is, without any protocol), `families` (the protocols), `spec` (rules and features
//! as data), `mutation` (broken targets), `transcript` (what was said), `net` (connections), `guard` (what ends with this
//! process).

pub mod engine;
pub mod families;
pub mod guard;
pub mod mutation;
pub mod net;
pub mod spec;
pub mod transcript;
