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

use tool::BusTool;

/// All tools, in the order in which they are listed.
pub(crate) fn all() -> Vec<Box<dyn BusTool>> {
    vec![
        Box::new(depot::Depot),
        Box::new(text::Statistics),
        Box::new(state::StateTool),
        Box::new(state::OpenSession),
        Box::new(probes::EchoProbe),
        Box::new(probes::FailProbe),
        Box::new(probes::LargeProbe),
        Box::new(probes::SecretProbe),
        Box::new(probes::PartialProbe),
    ]
}
