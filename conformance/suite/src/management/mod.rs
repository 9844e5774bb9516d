//! A management API under test (Guide §3.2): tools are uploaded, read back, and refused.
//!
//! `client` makes the requests, `session` knows the API, `scene` is one scenario's uploads, `judge` looks at what came
//! back, `steps` and `world` are the vocabulary of the features.

pub mod session;
mod steps;
pub mod world;
