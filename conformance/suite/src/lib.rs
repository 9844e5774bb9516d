//! The judge: what a rule is, how a target is driven, what was seen, and what follows from it.
//!
//! Invariant: nothing here knows the reference implementation; it is reached over sockets like any other.
//! Invariant: nothing here prints.

mod address;
mod bounds;
pub mod breadcrumb;
pub mod by_hand;
pub mod catalogue;
pub mod chapters;
pub mod engine;
pub mod environment;
pub mod families;
pub mod files;
mod http_answer;
mod http_connections;
pub mod http_server;
pub mod hub;
pub mod judge;
pub mod library;
pub mod lint;
mod made_up;
pub mod management;
pub mod manifest;
pub mod pace;
mod parameters;
mod parts;
pub mod registry;
pub mod run;
pub mod runtime;
pub mod saboteur;
pub mod secrets;
pub mod target;
pub mod toolbus;
pub mod transcript;
pub mod utp;
pub mod wire;
pub mod world;
