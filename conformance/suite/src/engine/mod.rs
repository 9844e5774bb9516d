//! What the engine knows of a protocol, its families and their sessions. No protocol is named here.

pub mod by_hand;
pub mod codec;
pub mod diagnosis;
pub(crate) mod digest;
pub mod environment;
pub mod family;
pub mod files;
pub mod invariant;
pub mod judge;
pub mod lint;
pub mod load;
pub mod manifest;
pub mod naming;
pub(crate) mod normalize;
pub mod open;
pub(crate) mod parameters;
pub(crate) mod parts;
pub mod protocol;
pub mod recording;
pub mod run;
pub mod secrets;
pub mod session;
pub mod setup;
pub mod target;
pub mod timing;
pub mod world;
