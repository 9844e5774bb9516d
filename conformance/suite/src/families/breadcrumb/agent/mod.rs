//! An agent under test that writes invocations: the suite is its store, its user, its tools and its language model.
//!
//! `seed_data` is what the store holds from the start, `user_request` what a user wants, `task` how it is got,
//! `scenario_state` one conversation about it. `driver` is how the agent is spoken with, `agent_output` reads what it says, `ledger` pairs
//! its calls with what was planned, `tools` answers them, `model` and `conversation_reader` play the language model.
//! `session` starts the agent, `scene` is one scenario. `judge` looks at frames, `observed` finds them in those of others.

mod agent_output;
mod conversation_reader;
mod driver;
pub mod judge;
mod ledger;
pub mod manifest;
mod model;
mod observed;
mod scenario_state;
mod scene;
mod seed_data;
pub mod session;
mod steps;
mod task;
mod tools;
mod user_request;
pub mod world;

use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// An agent that writes invocations for a tool runner.
#[derive(Debug)]
pub struct Agent;

/// What can be certified.
const PROFILES: [Profile; 1] = [Profile {
    id: "breadcrumb.agent",
    title: "Agent with breadcrumbs",
    about: "Writes invocations, and makes something of the answers.",
    peers: "breadcrumb store, model, tools, user",
    is_complete: true,
}];

impl Family for Agent {
    fn id(&self) -> &'static str {
        session::CrumbAgentSession::FAMILY
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &super::setup::Breadcrumb
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    fn waits(&self) -> u8 {
        1
    }

    fn naming(&self) -> &'static dyn Naming {
        &super::evidence::NAMING
    }
}
