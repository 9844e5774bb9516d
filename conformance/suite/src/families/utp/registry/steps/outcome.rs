//! What comes of an upload.

use cucumber::then;

use crate::engine::parameters::vocabulary;
use crate::engine::world::{FamilyWorld as _, Step};
use crate::families::utp::registry::judge;
use crate::families::utp::registry::world::World;

vocabulary! {
    /// What the registry does with a definition.
    enum RegistryReaction "registry_reaction" {
        "accepts it and can give it back" => Accepts,
        "has every member of it" => HasAll,
        "files it under the project of the path" => InItsProject,
        "rejects it and stores nothing" => Rejects,
        "does not accept it" => DoesNotAccept,
        "keeps the old version" => KeepsTheOld,
        "shows it in no other project" => ShowsNowhereElse,
    }
}

#[then(expr = "the row's {string} is as uploaded")]
fn as_uploaded(world: &mut World, name: String) -> Step {
    world.judge_upload(move |seen| judge::is_as_uploaded(seen, &name))
}

#[then("the registry rejects it, or stores it with a version that is served")]
fn mends_version(world: &mut World) -> Step {
    let served = world.session()?.versions.served.clone();
    world.judge_upload(move |seen| judge::is_rejected_or_of_a_served_version(seen, &served))
}

#[then(expr = "the registry {registry_reaction}")]
fn reacts(world: &mut World, reaction: RegistryReaction) -> Step {
    let is_every = world.judges_every();
    world.judge_upload(match reaction {
        RegistryReaction::Accepts => judge::is_accepted,
        RegistryReaction::HasAll => {
            if is_every {
                judge::row_has_all
            } else {
                judge::has_all
            }
        }
        RegistryReaction::InItsProject => judge::is_of_its_project,
        RegistryReaction::Rejects => judge::is_rejected,
        RegistryReaction::DoesNotAccept => judge::is_not_accepted,
        RegistryReaction::KeepsTheOld => judge::is_kept,
        RegistryReaction::ShowsNowhereElse => judge::is_nowhere_else,
    })
}
