//! The lint: holds registry, features and steps together. It is run as a test and by `callmark rules`.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::Level;
use cucumber::World as _;

use crate::catalogue::is_rule_tag;
use crate::registry::PROFILES;
use crate::run::{ABSENCE, Library};
use crate::world::Family;
use crate::{breadcrumb, hub, management, runtime, toolbus, utp};

/// Everything that is wrong, one sentence each; empty when all is well.
pub fn faults(library: &Library) -> Vec<String> {
    let mut faults = Vec::new();
    untested_rules(library, &mut faults);
    unknown_tags(library, &mut faults);
    unmatched_steps(library, &mut faults);
    faults
}

/// Rules that wait for their features, by profile.
pub fn pending(library: &Library) -> BTreeMap<&'static str, usize> {
    PROFILES
        .iter()
        .map(|profile| {
            let waiting =
                library.registry.of_profile(profile.id).filter(|rule| rule.is_pending(profile.id)).count();
            (profile.id, waiting)
        })
        .filter(|(_, waiting)| *waiting > 0)
        .collect()
}

fn untested_rules(library: &Library, faults: &mut Vec<String>) {
    let spoken: BTreeSet<(&str, &str)> = library
        .catalogue
        .cases()
        .iter()
        .flat_map(|case| case.rules.iter().map(|rule| (case.profile.as_str(), rule.as_str())))
        .collect();
    for rule in library.registry.rules() {
        for profile in &rule.profiles {
            let tested = spoken.contains(&(profile.as_str(), rule.id.as_str()));
            let complete = PROFILES.iter().any(|known| known.id == profile && known.complete);
            let id = &rule.id;
            match (tested, rule.excluded.is_some(), rule.is_pending(profile)) {
                (false, false, false) => {
                    faults.push(format!("rule `{id}` has neither scenario nor exclusion in `{profile}`"));
                }
                (true, true, _) => {
                    faults.push(format!("rule `{id}` is excluded and has a scenario in `{profile}`"));
                }
                (true, _, true) => {
                    faults.push(format!("rule `{id}` is pending and has a scenario in `{profile}`"));
                }
                (_, _, true) if complete => {
                    faults.push(format!("`{profile}` is declared complete, and rule `{id}` is pending"));
                }
                _ => {}
            }
        }
    }
}

/// What says when a scenario runs (`run::engine`), and what its passing shows (`run::verdict`).
const OWN_TAGS: [&str; 3] = ["last", "holds", ABSENCE];

fn unknown_tags(library: &Library, faults: &mut Vec<String>) {
    for case in library.catalogue.cases() {
        let place = format!("{}:{}", case.at.file, case.at.line);
        if !PROFILES.iter().any(|profile| profile.id == case.profile) {
            faults.push(format!("{place}: `@role:{}` is no profile", case.profile));
        }
        for rule in &case.rules {
            match library.registry.rule(rule) {
                None => faults.push(format!("{place}: `{rule}` is no rule")),
                Some(known) if !known.holds_for(&case.profile) => {
                    faults.push(format!("{place}: rule `{rule}` does not hold for `{}`", case.profile));
                }
                Some(_) => {}
            }
        }
        for rule in case.rules.iter().filter(|_| case.level.is_some()) {
            let rule = library.registry.rule(rule).filter(|rule| rule.level == Level::Must);
            if let Some(rule) = rule.filter(|rule| rule.ambiguity.is_none()) {
                faults.push(format!(
                    "{place}: `@level:should`, and rule `{}` names no `ambiguity` that says why",
                    rule.id
                ));
            }
        }
        for tag in &case.tags {
            let known = ["role:", "cap:", "level:"].iter().any(|prefix| tag.starts_with(prefix));
            if !known && !OWN_TAGS.contains(&tag.as_str()) && !is_rule_tag(tag) {
                faults.push(format!("{place}: tag `@{tag}` has no meaning"));
            }
        }
    }
}

fn unmatched_steps(library: &Library, faults: &mut Vec<String>) {
    let (utp, toolbus) = (utp::world::World::collection(), toolbus::world::World::collection());
    let (hub, agent) = (hub::world::World::collection(), hub::agent::world::World::collection());
    let (runtime, management) = (runtime::world::World::collection(), management::world::World::collection());
    let (runner, crumb_agent) =
        (breadcrumb::world::World::collection(), breadcrumb::agent::world::World::collection());
    let mut used = BTreeSet::new();
    for case in library.catalogue.cases() {
        for step in &case.scenario().steps {
            let place = format!("{}:{}", case.at.file, step.position.line);
            if step
                .docstring
                .as_ref()
                .is_some_and(|text| text.starts_with("json") || text.starts_with("yaml"))
            {
                faults.push(format!("{place}: a typed doc string puts its type into the payload"));
            }
            let found = match Family::of(&case.profile) {
                Family::Utp => utp.find(step).map(|found| found.map(|found| found.2)),
                Family::Runtime => runtime.find(step).map(|found| found.map(|found| found.2)),
                Family::Management => management.find(step).map(|found| found.map(|found| found.2)),
                Family::Toolbus => toolbus.find(step).map(|found| found.map(|found| found.2)),
                Family::Hub => hub.find(step).map(|found| found.map(|found| found.2)),
                Family::Agent => agent.find(step).map(|found| found.map(|found| found.2)),
                Family::Runner => runner.find(step).map(|found| found.map(|found| found.2)),
                Family::CrumbAgent => crumb_agent.find(step).map(|found| found.map(|found| found.2)),
            };
            match found {
                Ok(Some(location)) => {
                    used.insert(location.map(|location| (location.path, location.line)));
                }
                Ok(None) => faults.push(format!("{place}: no step definition for `{}`", step.value)),
                Err(error) => faults.push(format!("{place}: {error}")),
            }
        }
    }
    for (path, line, text) in definitions() {
        if !used.contains(&Some((path, line))) {
            faults.push(format!("{path}:{line}: step definition `{text}` is not used"));
        }
    }
}

/// All step definitions with their places.
pub fn definitions() -> Vec<(&'static str, u32, String)> {
    use cucumber::codegen::WorldInventory;
    let mut all = Vec::new();
    macro_rules! gather {
        ($world:ty, $kind:ident) => {
            for step in cucumber::codegen::inventory::iter::<<$world as WorldInventory>::$kind> {
                use cucumber::codegen::StepConstructor as _;
                let (location, regex, _) = step.inner();
                all.push((location.path, location.line, regex().to_string()));
            }
        };
    }
    gather!(utp::world::World, Given);
    gather!(utp::world::World, When);
    gather!(utp::world::World, Then);
    gather!(runtime::world::World, Given);
    gather!(runtime::world::World, When);
    gather!(runtime::world::World, Then);
    gather!(management::world::World, Given);
    gather!(management::world::World, When);
    gather!(management::world::World, Then);
    gather!(toolbus::world::World, Given);
    gather!(toolbus::world::World, When);
    gather!(toolbus::world::World, Then);
    gather!(hub::world::World, Given);
    gather!(hub::world::World, When);
    gather!(hub::world::World, Then);
    gather!(hub::agent::world::World, Given);
    gather!(hub::agent::world::World, When);
    gather!(hub::agent::world::World, Then);
    gather!(breadcrumb::world::World, Given);
    gather!(breadcrumb::world::World, When);
    gather!(breadcrumb::world::World, Then);
    gather!(breadcrumb::agent::world::World, Given);
    gather!(breadcrumb::agent::world::World, When);
    gather!(breadcrumb::agent::world::World, Then);
    all
}
