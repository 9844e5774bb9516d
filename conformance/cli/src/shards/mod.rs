//! Shards: one part of a run on each machine, and one record of all parts.
//!
//! `part` is what `certify --shard` runs and leaves, `read` takes the parts of a run from their directories and sees to it
//! that they belong together, `merge` is the command.

mod merge;
mod part;
mod read;
mod transcripts;

pub(crate) use self::merge::merge;
pub(crate) use self::part::{Part, SHARD, remove_old};
