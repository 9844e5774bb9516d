//! An agent runtime under test: the worker that turns a model's tool call into a card and a command, and the execution
//! service that takes the report and goes on with the turn (UTP §3, §4).
//!
//! The suite is the model, the tools, the card store and the roster. `session` knows the runtime, `scene` is one
//! scenario's turns, `judge` looks at what was said, `steps` and `world` are the vocabulary of the features.

pub mod session;
mod steps;
pub mod world;
