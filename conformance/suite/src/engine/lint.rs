//! The lint: holds registry, features and steps together. It is run as a test and by `callmark rules`.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::Level;
use cucumber::step::Location;

use crate::engine::family::Families;
use crate::engine::invariant::ALWAYS;
use crate::engine::run::vocabulary::{Definition, Finder};
use crate::engine::run::{ABSENCE, Library};
use crate::spec::catalog::is_rule_tag;
use crate::spec::edition;
use crate::spec::registry::ExperimentOnly;

/// Everything that is wrong, one sentence each; empty when all is well.
pub fn faults(library: &Library) -> Vec<String> {
    let mut faults = Vec::new();
    untested_rules(library, &mut faults);
    unjudged_exchanges(library, &mut faults);
    unknown_tags(library, &mut faults);
    unmatched_steps(library, &mut faults);
    faults.extend(edition::faults(&library.editions, &library.registry, &library.catalogue));
    faults
}

/// Rules that wait for their features, by profile.
pub fn pending(library: &Library) -> BTreeMap<&'static str, usize> {
    let profiles = library.families.profiles();
    profiles
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
            if library.families.profile(profile).is_none() {
                faults.push(format!("rule `{}` names unknown profile `{profile}`", rule.id));
            }
        }
        let mut profiles = library.families.profiles().filter(|known| rule.holds_for(known.id)).peekable();
        if profiles.peek().is_none() {
            faults.push(format!("rule `{}` holds for no profile", rule.id));
        }
        for known in profiles {
            let profile = known.id;
            let tested = spoken.contains(&(profile, rule.id.as_str()));
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
                (_, _, true) if known.is_complete => {
                    faults.push(format!("`{profile}` is declared complete, and rule `{id}` is pending"));
                }
                _ => {}
            }
        }
        for replaced in rule.replaces.iter().filter(|id| library.registry.rule(id).is_none()) {
            faults.push(format!("rule `{}` replaces `{replaced}`, which is no rule", rule.id));
        }
    }
}

/// A rule is judged in every exchange of a run, or says why not.
fn unjudged_exchanges(library: &Library, faults: &mut Vec<String>) {
    for rule in library.registry.rules() {
        let id = &rule.id;
        let is_pending = rule.profiles.iter().all(|profile| rule.is_pending(profile));
        if rule.excluded.is_some() || is_pending {
            if rule.experiment_only.is_some() {
                faults.push(format!("rule `{id}` has no scenarios, so `experiment_only` says nothing"));
            }
            continue;
        }
        match (is_judged_in_every_exchange(library, id), rule.experiment_only) {
            (true, Some(_)) => faults.push(format!(
                "rule `{id}` is judged in every exchange, so `experiment_only` is out of place"
            )),
            (false, None) => {
                let names = ExperimentOnly::ALL.map(ExperimentOnly::name).join("`, `");
                faults.push(format!(
                    "rule `{id}` has neither an `@always` scenario nor `experiment_only`, which is one of `{names}`"
                ));
            }
            _ => {}
        }
    }
}

/// Whether an `@always` scenario speaks for a rule, in any of its profiles.
pub fn is_judged_in_every_exchange(library: &Library, rule: &str) -> bool {
    let mut cases = library.catalogue.cases().iter().filter(|case| case.tags.contains(ALWAYS));
    cases.any(|case| case.rules.iter().any(|own| own == rule))
}

/// What says when a scenario runs (`run::scheduler`), and what its passing shows (`run::verdict`).
const OWN_TAGS: [&str; 5] = ["last", "holds", "long", ABSENCE, ALWAYS];

fn unknown_tags(library: &Library, faults: &mut Vec<String>) {
    for case in library.catalogue.cases() {
        let place = format!("{}:{}", case.at.file, case.at.line);
        if library.families.profile(&case.profile).is_none() {
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
        for tag in case.tags.iter() {
            let known =
                ["role:", "cap:", "level:", "since:", "until:"].iter().any(|prefix| tag.starts_with(prefix));
            if !known && !OWN_TAGS.contains(&tag.as_str()) && !is_rule_tag(tag) {
                faults.push(format!("{place}: tag `@{tag}` has no meaning"));
            }
        }
    }
}

fn unmatched_steps(library: &Library, faults: &mut Vec<String>) {
    let mut finders: BTreeMap<&str, Finder> = BTreeMap::new();
    let mut used = BTreeSet::new();
    let mut read = BTreeSet::new();
    // What is run for several revisions has the same steps.
    let cases = library.catalogue.cases().iter().filter(|case| read.insert((&case.at.file, case.at.line)));
    for case in cases {
        for step in &case.scenario().steps {
            let place = format!("{}:{}", case.at.file, step.position.line);
            if step
                .docstring
                .as_ref()
                .is_some_and(|text| text.starts_with("json") || text.starts_with("yaml"))
            {
                faults.push(format!("{place}: a typed doc string puts its type into the payload"));
            }
            // A scenario of no family has an unknown profile, which is a fault already.
            let Some(family) = library.families.of(&case.profile) else { continue };
            let find = finders.entry(family.id()).or_insert_with(|| family.vocabulary().finder());
            match find(step) {
                Ok(Some(location)) => {
                    used.insert((location.path, location.line));
                }
                Ok(None) => faults.push(format!("{place}: no step definition for `{}`", step.value)),
                Err(error) => faults.push(format!("{place}: {error}")),
            }
        }
    }
    for definition in definitions(library.families) {
        let Location { path, line, .. } = definition.at;
        if !used.contains(&(path, line)) {
            let text = &definition.expression;
            faults.push(format!("{path}:{line}: step definition `{text}` is not used"));
        }
    }
}

/// All step definitions.
pub fn definitions(families: Families) -> Vec<Definition> {
    let mut all: Vec<Definition> =
        families.iter().flat_map(|family| family.vocabulary().definitions()).collect();
    // Families of several revisions share theirs.
    let mut seen = BTreeSet::new();
    all.retain(|own| seen.insert((own.at.path, own.at.line, own.at.column)));
    all
}
