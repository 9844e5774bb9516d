//! An agent under test: the suite is the Hub, the model, the web and the provider that must see nothing.
//!
//! `driver` makes the agent call a tool, by its hook or through its chat, in which `model` plays the language
//! model. `mock` is the Hub that answers by the contract, `router` writes down who asked for what on whose behalf,
//! `scene` is one scenario's calls, `session` starts the agent and learns about it. `judge` looks at frames.

mod asked;
pub mod call;
mod driver;
pub mod judge;
pub mod manifest;
pub mod mock;
mod model;
mod observed;
mod router;
mod scene;
pub mod session;
mod steps;
mod stream;
pub mod world;

use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// The agent's side of the Tool Execution Contract.
#[derive(Debug)]
pub struct Agent;

/// What can be certified.
const PROFILES: [Profile; 1] = [Profile {
    id: "hub.agent",
    title: "Agent of a Hub",
    about: "Has tools executed, and deals with what comes back.",
    peers: "Hub, model",
    is_complete: true,
}];

impl Family for Agent {
    fn id(&self) -> &'static str {
        session::AgentSession::FAMILY
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &super::setup::Hub
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    fn waits(&self) -> u8 {
        1
    }

    // An agent may end for what an earlier scenario showed it.
    fn attributes_ends(&self) -> bool {
        true
    }

    fn naming(&self) -> &'static dyn Naming {
        &super::server::evidence::NAMING
    }
}
