//! A Hub under test.

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
