//! An agent under test that writes invocations: the suite is its store, its user, its tools and its language model.

pub mod session;
mod steps;
pub mod world;
