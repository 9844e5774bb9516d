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

/// Who sends UTP commands, worker and execution, in one revision of UTP.
#[derive(Debug)]
pub struct Runtime {
    revision: Revision,
}

impl Runtime {
    /// As the five documents describe it.
    pub const V1R3: Self = Self { revision: Revision::V1r3 };
    /// As it is spoken since `v1r4`.
    pub const V1R4: Self = Self { revision: Revision::V1r4 };
}

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

/// What can be certified in `v1r4`.
const V1R4_PROFILES: [Profile; 2] = [
    Profile { id: "utp.execution@v1r4", title: "Execution service, UTP v1r4", ..PROFILES[0] },
    Profile { id: "utp.worker@v1r4", title: "Worker, UTP v1r4", ..PROFILES[1] },
];

impl Family for Runtime {
    fn id(&self) -> &'static str {
        session::RuntimeSession::family_of(self.revision)
    }

    fn profiles(&self) -> &'static [Profile] {
        match self.revision {
            Revision::V1r3 => &PROFILES,
            Revision::V1r4 => &V1R4_PROFILES,
        }
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
        Services::family_of(self.revision)
    }

    fn naming(&self) -> &'static dyn Naming {
        &super::naming::UtpNaming
    }
}
