//! Replicas of a target that are disturbed while they work (`certify --chaos`, DESIGN2 §7): what was asked for is neither lost
//! nor done twice, whatever happens to one of them.
//!
//! A caller sends a call again until it is answered, as whoever depends on an answer does, so what a replica takes with it
//! when it is killed is asked for once more. `plan` says what is done to which replica or node of its broker, `drive` does it
//! while calls are under way, and `fleet` is what a family has to offer for that; `processes` sends signals, and `relay` is a
//! way to a replica that can be cut.

mod drive;
mod fleet;
mod plan;
mod processes;
mod relay;

pub use self::drive::run;
pub use self::fleet::{Called, Fleet, Replica};
pub(crate) use self::processes::Processes;
pub use self::relay::{Link, Relay};
