//! UTP as the suite drives and judges it: the worker's side of a call, a session with a Tool Service, a PMO or an OpenAPI
//! executor on a common `test_environment`, the parties around it (`platform`, `upstream`), the judgements, and the
//! vocabulary of the features (`steps`, `world`).

pub mod binding;
mod broker_connection;
pub mod broker_nodes;
pub mod bus_watch;
pub mod by_hand;
pub mod call;
mod callable;
pub mod capture;
mod chaos;
mod codec;
mod connection_watch;
pub mod credentials;
mod diagnose;
pub mod error;
pub mod judge;
mod load;
pub mod manifest;
pub mod message;
pub(crate) mod naming;
mod nats;
pub mod nats_access;
mod nats_login;
pub mod nats_servers;
pub mod null;
mod observed;
mod observer;
pub mod platform;
pub mod project_name;
pub mod proof;
pub mod publisher;
mod readiness;
pub mod reason;
pub mod registry;
pub mod replicas;
pub mod revision;
pub mod runtime;
pub mod scene;
pub mod services;
pub mod session;
pub mod setup;
mod steps;
pub mod subject;
pub mod target;
pub mod test_environment;
mod token;
pub mod tool;
pub mod trace;
pub mod upstream;
pub mod versions;
mod work;
pub mod world;

use self::revision::Revision;
use crate::engine::codec::Codec;
use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// Who answers UTP commands, and the messages that go with it, in one revision of UTP.
#[derive(Debug)]
pub struct Service {
    revision: Revision,
}

impl Service {
    /// As the five documents describe it.
    pub const V1R3: Self = Self { revision: Revision::V1r3 };
    /// As it is spoken since `v1r4`.
    pub const V1R4: Self = Self { revision: Revision::V1r4 };
}

/// What can be certified.
const PROFILES: [Profile; 4] = [
    Profile {
        id: "utp.tool-service",
        title: "Tool Service",
        about: "Takes commands, reads the call's card, does the work, saves a result's card and reports a callback.",
        peers: "worker, card store, report and Inbox, roster",
        is_complete: true,
    },
    Profile {
        id: "utp.schema",
        title: "UTP messages",
        about: "Messages of any UTP system, as somebody captured them, or as they are seen on the bus.",
        peers: "nobody: it reads along",
        is_complete: true,
    },
    Profile {
        id: "utp.pmo",
        title: "PMO",
        about: "Takes the commands of its built-ins, such as `delegate_async` and `fork_join`, and has other agents work.",
        peers: "worker, card store, report, child agents",
        is_complete: true,
    },
    Profile {
        id: "utp.openapi",
        title: "OpenAPI executor",
        about: "A Tool Service that turns calls into requests to an HTTP API, as the tool's registration says.",
        peers: "as for a Tool Service, and the API",
        is_complete: true,
    },
];

/// What can be certified in `v1r4`.
const V1R4_PROFILES: [Profile; 4] = [
    Profile { id: "utp.tool-service@v1r4", title: "Tool Service, UTP v1r4", ..PROFILES[0] },
    Profile { id: "utp.schema@v1r4", title: "UTP messages, UTP v1r4", ..PROFILES[1] },
    Profile { id: "utp.pmo@v1r4", title: "PMO, UTP v1r4", ..PROFILES[2] },
    Profile { id: "utp.openapi@v1r4", title: "OpenAPI executor, UTP v1r4", ..PROFILES[3] },
];

impl Family for Service {
    fn id(&self) -> &'static str {
        services::Services::family_of(self.revision)
    }

    fn profiles(&self) -> &'static [Profile] {
        match self.revision {
            Revision::V1r3 => &PROFILES,
            Revision::V1r4 => &V1R4_PROFILES,
        }
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &setup::Utp
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    /// What must not happen is looked at again some time after the last of them.
    fn waits(&self) -> u8 {
        4
    }

    fn naming(&self) -> &'static dyn Naming {
        &naming::UtpNaming
    }

    fn codec(&self) -> &'static dyn Codec {
        &codec::Pointers
    }
}
