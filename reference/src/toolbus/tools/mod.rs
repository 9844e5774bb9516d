//! The tools that this server offers.
//!
//! A tool knows its own arguments and its work; what all tools share (correlation, shaping, storing, bounds,
//! redaction, artifacts) is the bus's. `probes` make the bus visible from outside, `state` reads and writes what
//! `store_as` stores, `depot` and `text` are ordinary.

mod depot;
mod probes;
mod state;
mod text;
pub(crate) mod tool;

use tool::Tool;

/// All tools, in the order in which they are listed.
pub(crate) fn all() -> Vec<Box<dyn Tool>> {
    vec![
        Box::new(depot::Depot),
        Box::new(text::Statistics),
        Box::new(state::State),
        Box::new(probes::Echo),
        Box::new(probes::Fail),
        Box::new(probes::Large),
        Box::new(probes::Secret),
        Box::new(probes::Partial),
    ]
}
