//! The parts of the `callmark` binary.
pub mod broker;
