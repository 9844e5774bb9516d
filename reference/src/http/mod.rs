//! What the roles have in common where they speak HTTP: listening, and a request with or without TLS.
//!
//! It knows nothing of any protocol; bodies are bounded where they are read.

pub(crate) mod exchange;
pub(crate) mod listen;
