//! UTP over a real bus: the Tool Service, L0 and the caller together, on the embedded broker.

mod health;
mod idempotency;
mod l0;
pub(crate) mod support;
mod tool_service;
