//! What the engine knows of a family. No protocol is named here.

pub mod family;
pub mod session;
