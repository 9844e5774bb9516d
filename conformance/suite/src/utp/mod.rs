//! UTP as the suite drives it: the worker's side of a call, a session with a Tool Service, trace context.

pub mod call;
pub mod capture;
pub mod pace;
mod readiness;
pub mod scene;
pub mod session;
pub mod subject;
pub mod trace;
