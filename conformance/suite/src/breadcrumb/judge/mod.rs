//! Judgements about a tool runner: pure functions over what was stored.

pub mod answer;
