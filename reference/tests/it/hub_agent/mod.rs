//! The agent against a Hub, a model and pages that these tests play.

mod chat;
mod drive;
mod hub_answers;
mod hub_requests;
mod own_tools;
mod support;
