//! What the engine knows of a protocol, its families and their sessions. No protocol is named here.

pub mod codec;
pub mod family;
pub mod protocol;
pub mod session;
pub mod setup;
