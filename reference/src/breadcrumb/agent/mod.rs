//! The agent: receives messages of users, has a language model decide, and writes invocations in the Standard's exact structure.
//!
//! Read in this order: `knowledge` for what it knows of tools, `offer` for what is sent to the model about them, `check` for
//! what is made of the model's calls, `conversation` for one session without any input or output, `utterance` for
//! what is said. Around that core, `session_manager` runs the sessions, `model` asks, and there are three ways to speak with it:
//! [`Agent`] over a store, [`HttpAgent`], and [`run_lines`]. [`ScriptedModel`] stands in where there is no model.
//!
//! A tool that fails is reported to the model as failed, whatever else its answer holds (Standard, "Error handling").
//! Deliberately absent: memory that outlasts the process, streaming, and a guess at what a faulty call meant: the
//! model is shown the fault and calls again.

mod check;
mod config;
mod conversation;
mod ids;
mod knowledge;
mod lines;
mod model;
mod offer;
mod over_http;
mod over_store;
mod scripted_model;
mod session_manager;
mod utterance;

pub use self::config::{AgentConfig, AgentError, Capture, Deadlines};
pub use self::lines::run_lines;
pub use self::over_http::HttpAgent;
pub use self::over_store::Agent;
pub use self::scripted_model::ScriptedModel;
