//! A management API under test (Guide §3.2): tools are uploaded, read back, and refused.
//!
//! `definition` is what is uploaded and `yaml` how it is written; `client` makes the requests, `session` knows the
//! API, `scene` is one scenario's uploads, `exchange` and `upload` what the transcript shows of them, `observed` those of
//! all scenarios, `judge` looks at what came back, `steps` and `world` are the vocabulary of the features.
//! Deliberately absent: deleting, and whatever else the documents do not ask of such an API.

pub mod client;
mod codec;
pub mod definition;
pub mod error;
pub mod evidence;
pub mod exchange;
pub mod judge;
mod observed;
pub mod scene;
pub mod session;
mod steps;
pub mod upload;
pub mod world;
pub mod yaml;

use crate::engine::codec::Codec;
use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};
use crate::families::utp::revision::Revision;

/// Where tools are registered, in one revision of UTP.
#[derive(Debug)]
pub struct Registry {
    revision: Revision,
}

impl Registry {
    /// As the five documents describe it.
    pub const V1R3: Self = Self { revision: Revision::V1r3 };
    /// As it is since `v1r4`.
    pub const V1R4: Self = Self { revision: Revision::V1r4 };
}

/// What can be certified.
const PROFILES: [Profile; 1] = [Profile {
    id: "utp.registry",
    title: "Management API",
    about: "Takes definitions of tools and keeps them as rows of `resource.tools`.",
    peers: "uploader",
    is_complete: true,
}];

/// What can be certified in `v1r4`.
const V1R4_PROFILES: [Profile; 1] =
    [Profile { id: "utp.registry@v1r4", title: "Management API, UTP v1r4", ..PROFILES[0] }];

impl Family for Registry {
    fn id(&self) -> &'static str {
        session::ManagementSession::family_of(self.revision)
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

    // Rows are looked at again after some seconds.
    fn mostly_waits(&self) -> bool {
        true
    }

    fn naming(&self) -> &'static dyn Naming {
        &evidence::RegistryNaming
    }

    fn codec(&self) -> &'static dyn Codec {
        &codec::Yaml
    }
}
