//! The tool bus as the suite drives and judges it: an MCP client that sees the raw wire.
//!
//! A `link` moves JSON-RPC messages (stdio or streamable HTTP), a `server` is one MCP session over it, the
//! `session` of a run starts servers and knows the probes, a `scene` is one scenario's calls.
//! Deliberately absent: an MCP SDK. It would hide what is judged, such as a second content block.

pub mod answer;
pub mod artifacts;
pub mod call;
mod chaos;
mod codec;
pub mod evidence;
mod http;
pub mod judge;
mod link;
mod load;
pub mod manifest;
mod modern;
mod observed;
mod observer;
pub mod reason;
pub mod replicas;
pub mod revision;
pub mod scene;
pub mod server;
pub mod session;
mod setup;
mod stdio;
mod steps;
mod wire_format;
pub mod world;

use self::revision::Era;
use crate::engine::codec::Codec;
use crate::engine::family::{Family, Profile};
use crate::engine::naming::Naming;
use crate::engine::protocol::Protocol;
use crate::engine::run::vocabulary::{Vocabulary, WorldOf};

/// The tool bus over MCP, in one of the two eras of MCP.
#[derive(Debug)]
pub struct ToolbusServer {
    era: Era,
}

impl ToolbusServer {
    /// Over a session that `initialize` opens, as the documents know it.
    pub const LEGACY: Self = Self { era: Era::Legacy };
    /// Over requests that each say which revision they are in.
    pub const MODERN: Self = Self { era: Era::Modern };
}

/// What can be certified in the modern era.
const MODERN_PROFILES: [Profile; 2] = [
    Profile {
        id: "toolbus.server@2026-07-28",
        title: "MCP server of the tool bus, MCP 2026-07-28",
        ..PROFILES[0]
    },
    Profile {
        id: "toolbus.artifacts@2026-07-28",
        title: "Artifact store of the tool bus, MCP 2026-07-28",
        ..PROFILES[1]
    },
];

/// What can be certified.
const PROFILES: [Profile; 2] = [
    Profile {
        id: "toolbus.server",
        title: "MCP server of the tool bus",
        about: "Answers calls of its tools in the envelope of the contract.",
        peers: "MCP client",
        is_complete: true,
    },
    Profile {
        id: "toolbus.artifacts",
        title: "Artifact store of the tool bus",
        about: "Keeps what each call said as files below a context root.",
        peers: "MCP client, and who reads the files",
        is_complete: true,
    },
];

impl Family for ToolbusServer {
    fn id(&self) -> &'static str {
        session::ToolbusSession::family_of(self.era)
    }

    fn profiles(&self) -> &'static [Profile] {
        match self.era {
            Era::Legacy => &PROFILES,
            Era::Modern => &MODERN_PROFILES,
        }
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &setup::Toolbus
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    fn waits(&self) -> u8 {
        2
    }

    fn naming(&self) -> &'static dyn Naming {
        &evidence::ToolbusNaming
    }

    fn codec(&self) -> &'static dyn Codec {
        &codec::TextJson
    }
}
