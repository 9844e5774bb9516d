//! An agent under test: the suite is the Hub, the model, the web and the provider that must see nothing.

pub mod session;
pub mod world;
