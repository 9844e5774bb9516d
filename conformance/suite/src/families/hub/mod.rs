//! The Tool Execution Contract as the suite drives and judges it, from both sides.
//!
//! Here is the Hub under test: `session` starts it and learns about it, `client` sends requests as an agent does,
//! `provider` plays the calendar and mail service behind it, `scene` is one scenario's exchanges. In `agent` the
//! suite is the Hub, and the agent is under test. `contract` is what both sides share: tools, codes, paths.

pub mod agent;
pub mod contract;
pub mod manifest;
mod observer;
pub mod reason;
pub mod server;
mod setup;

use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// The Hub's side of the Tool Execution Contract.
#[derive(Debug)]
pub struct HubServer;

/// What can be certified.
const PROFILES: [Profile; 1] = [Profile {
    id: "hub.server",
    title: "Hub",
    about: "Executes calendar and mail tools for agents, with the credentials of their customers.",
    peers: "agent, calendar and mail provider",
    is_complete: true,
}];

impl Family for HubServer {
    fn id(&self) -> &'static str {
        server::session::HubSession::FAMILY
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &setup::Hub
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<server::world::World>::NEW
    }

    fn naming(&self) -> &'static dyn Naming {
        &server::evidence::NAMING
    }
}
