//! Judgements about a tool runner: pure functions over what was stored.

pub mod answer;
pub mod browser;
pub mod config;
pub mod crumbs;
pub mod failure;
pub mod model;
pub mod order;
pub mod outcome;
pub mod request;
pub mod routing;
pub mod tool;
pub mod utility;
pub mod workflow;
