//! A tool runner under test.

pub mod answer;
pub mod call;
mod digest;
pub mod error;
pub mod exchange;
pub mod judge;
mod look;
pub mod pages;
mod prepare;
pub mod props;
pub mod scene;
pub mod session;
mod steps;
pub mod upstream;
pub mod value;
pub mod world;
