//! What a rule leaves open: it is written down, and decides nothing.

use cucumber::then;

use super::{callback, captured, card, executor, refusal};
use crate::engine::parameters::vocabulary;
use crate::engine::world::Step;
use crate::families::utp::world::World;

vocabulary! {
    /// What a rule leaves open, so that it is noted.
    enum Noted "noted" {
        "whether the callback has a tracestate" => Tracestate,
        "which extension fields there are" => Extensions,
        "whether the result overrides" => Override,
        "whether the service's own configuration takes part" => OwnConfiguration,
        "whether the tool ran" => Run,
    }
}

#[then(expr = "it is noted {noted}")]
async fn is_noted(world: &mut World, noted: Noted) -> Step {
    match noted {
        Noted::Tracestate => callback::note_tracestate(world).await,
        Noted::Extensions => captured::note_extensions(world),
        Noted::Override => card::note_override(world).await,
        Noted::OwnConfiguration => executor::note_service_configuration(world).await,
        Noted::Run => refusal::note_run(world).await,
    }
}
