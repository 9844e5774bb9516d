//! An agent runtime under test: the worker that turns a model's tool call into a card and a command, and the execution
//! service that takes the report and goes on with the turn (UTP §3, §4).
//!
//! The suite is the model (`model`), the tools, the card store and the roster (`utp::platform`). `reach` is how the
//! runtime is asked for something, `session` what is known of it, `scene` one scenario's turns and calls, `seen` what a
//! transcript shows of them; `judge`, `steps` and `world` are as in the other families.

pub mod judge;
pub mod model;
mod observed;
pub mod reach;
pub mod scene;
pub mod seen;
pub mod session;
mod steps;
pub mod turn;
pub mod view;
pub mod world;

use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};
use crate::families::utp::revision::Revision;
use crate::families::utp::services::Services;

/// Who sends UTP commands: worker and execution.
#[derive(Debug)]
pub struct Runtime;

/// What can be certified.
const PROFILES: [Profile; 2] = [
    Profile {
        id: "utp.execution",
        title: "Execution service",
        about: "Takes callbacks into the Inbox, wakes the agent, and resumes or ends its turn.",
        peers: "tools, model, card store",
        is_complete: true,
    },
    Profile {
        id: "utp.worker",
        title: "Worker",
        about: "Turns a model's tool call into a card and a command.",
        peers: "tools, model, card store",
        is_complete: true,
    },
];

impl Family for Runtime {
    fn id(&self) -> &'static str {
        session::RuntimeSession::FAMILY
    }

    fn profiles(&self) -> &'static [Profile] {
        &PROFILES
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &super::setup::Utp
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    /// What may end the target waits for all who share it.
    fn waits(&self) -> u8 {
        3
    }

    fn target(&self) -> &'static str {
        Services::family_of(Revision::V1r3)
    }

    fn naming(&self) -> &'static dyn Naming {
        &super::naming::UtpNaming
    }
}
