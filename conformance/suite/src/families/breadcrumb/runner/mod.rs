//! A tool runner under test.

pub mod answer;
pub mod call;
mod call_setup;
pub mod error;
pub mod exchange;
pub mod fixtures;
mod inspect;
pub mod judge;
mod observed;
pub mod pages;
mod plan;
pub mod scene;
pub mod session;
mod steps;
pub mod upstream;
pub mod value;
pub mod world;
