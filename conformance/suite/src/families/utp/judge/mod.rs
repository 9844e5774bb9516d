//! Judgements over the messages of a Tool Service, one module a subject.
//!
//! They take frames and what was sent, and answer `Ok` or what is wrong.

pub mod callback;
pub mod captured;
pub mod card;
pub mod children;
pub mod control;
pub mod credential;
mod defect;
mod effects;
pub mod errors;
#[cfg(test)]
mod example;
pub mod identity;
pub(super) mod inline_arguments;
pub mod late;
pub mod lineage;
mod project;
pub mod refusal;
pub mod repeat;
pub mod request_argument;
pub mod route;
pub mod seen;
pub mod tasks;
pub mod trace;
mod turn_start;
pub mod upstream;
