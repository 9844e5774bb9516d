//! UTP as the suite drives and judges it: the worker's side of a call, a session with a Tool Service, a PMO or an OpenAPI
//! executor on a common `ground`, the parties around it (`platform`, `upstream`), the judgements, and the vocabulary of the features (`steps`, `world`).

pub mod by_hand;
pub mod call;
pub mod capture;
pub mod credentials;
pub mod ground;
pub mod judge;
pub mod platform;
mod readiness;
pub mod scene;
pub mod session;
mod steps;
pub mod subject;
pub mod tool;
pub mod trace;
pub mod upstream;
pub mod world;
