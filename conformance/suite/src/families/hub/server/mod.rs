//! A Hub under test.

pub(super) mod chaos;
pub mod client;
pub mod evidence;
pub mod judge;
mod load;
mod observed;
pub mod provider;
pub mod reply;
pub mod scene;
pub mod session;
mod steps;
pub mod world;
