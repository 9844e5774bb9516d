//! UTP as the suite drives and judges it: the worker's side of a call, a session with a Tool Service, a PMO or an OpenAPI
//! executor on a common `ground`, the parties around it (`platform`, `upstream`), the judgements, and the vocabulary of the features (`steps`, `world`).

pub mod by_hand;
pub mod call;
pub mod capture;
mod codec;
pub mod credentials;
pub mod ground;
pub mod judge;
pub(crate) mod naming;
pub mod null;
pub mod platform;
mod readiness;
pub mod scene;
pub mod services;
pub mod session;
pub mod setup;
mod steps;
pub mod subject;
pub mod tool;
pub mod trace;
pub mod upstream;
pub mod world;

use crate::engine::codec::Codec;
use crate::engine::family::{Family, Naming};
use crate::engine::protocol::Protocol;
use crate::run::vocabulary::{Vocabulary, WorldOf};

/// Who answers UTP commands, and the messages that go with it.
#[derive(Debug)]
pub struct Service;

impl Family for Service {
    fn id(&self) -> &'static str {
        "utp.service"
    }

    fn profiles(&self) -> &'static [&'static str] {
        &["utp.tool-service", "utp.schema", "utp.pmo", "utp.openapi"]
    }

    fn protocol(&self) -> &'static dyn Protocol {
        &setup::Utp
    }

    fn vocabulary(&self) -> &'static dyn Vocabulary {
        &WorldOf::<world::World>::NEW
    }

    fn naming(&self) -> &'static dyn Naming {
        &naming::Made
    }

    fn codec(&self) -> &'static dyn Codec {
        &codec::Pointers
    }
}
