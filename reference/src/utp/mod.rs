//! UTP: how an agent's worker calls a Tool Service and receives the answer.
//!
//! The path of one call, in the order in which the modules are worth reading:
//!
//! 1. [`caller`] writes a `tool.call` card and publishes the command on the tool's [`subject`];
//! 2. [`tool_service`] validates the command, reads the card, runs the tool, writes the `tool.result` card and reports;
//! 3. [`l0`] puts the report into the caller's Inbox and publishes the wakeup;
//! 4. the caller wakes, takes the Inbox record and follows its pointer to the result card.
//!
//! [`message`] holds what travels, [`revision`] how it looks in `v1r3` and in `v1r4`, [`trace`] how spans follow each
//! other, [`platform`] how the others are reached.
//! [`runtime`] is the whole agent in the caller's place: a model decides what is called, and turns are resumed.
//! Two services are like a Tool Service: [`openapi`], whose tools are web services, and [`pmo`], whose built-ins give
//! work to other agents.

pub mod caller;
mod connection;
mod error;
mod execution;
mod ident;
pub mod l0;
pub mod message;
pub mod openapi;
pub mod platform;
pub mod pmo;
mod projects;
pub mod revision;
pub mod runtime;
mod serving;
pub mod subject;
pub mod tool_service;
mod tour;
pub mod trace;

pub use caller::Caller;
pub use connection::round_trip;
pub use error::ReferenceError;
pub use l0::{L0, L0Config};
pub use openapi::{OpenApi, OpenApiConfig, Upstream};
pub use platform::PlatformConfig;
pub use pmo::{Pmo, PmoConfig};
pub use projects::Projects;
pub use revision::Revision;
pub use runtime::{Reports, Runtime, RuntimeConfig, ScriptedModel};
pub use tool_service::{FleetConfig, ToolService, ToolServiceConfig, rows};
pub use tour::{Tour, TourStop, tour};
