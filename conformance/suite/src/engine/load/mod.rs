//! An open loop: valid calls of one role at a fixed rate, whatever the target does.
//!
//! `pace` says when a call is due, `drive` makes the calls, `measured` counts and times them, `search` looks for the
//! highest rate that a target holds. A family makes the calls (`Caller`); the exchanges go to the judge of live traffic
//! (`recording::live`). Deliberately absent: judging, and any wait for an answer before the next call.

mod caller;
mod drive;
mod measured;
mod pace;
mod report;
mod search;

pub use self::caller::{Caller, Exchanged};
pub use self::drive::{LoadPlan, Loaded, drive};
pub use self::measured::{Counts, Measured};
pub use self::pace::Pace;
pub use self::report::Outcome;
pub use self::search::{Search, Trial};
