//! What the protocols have in common where they speak HTTP: listening, heads and bodies, and a request with or without
//! TLS.
//!
//! It knows nothing of any protocol.

pub(crate) mod body;
pub(crate) mod exchange;
pub(crate) mod head;
pub(crate) mod listen;
pub(crate) mod tunnel;
