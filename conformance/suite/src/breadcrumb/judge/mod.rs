//! Judgements about a tool runner: pure functions over what was stored.

pub mod answer;
pub mod outcome;
pub mod request;
pub mod routing;
