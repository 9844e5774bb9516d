//! In which scenarios a mutant is tried.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::engine::digest::hash;
use crate::engine::invariant::ALWAYS;
use crate::engine::run::{HOLDS, LAST, Library};
use crate::mutation::mutant::{EVERYTHING, Mutant};
use crate::mutation::reach::{Reached, Traffic};
use crate::spec::catalog::Case;

/// Scenarios beside those of its own rule in which a late twin is looked for.
const SCENARIOS_OF_A_TWIN: usize = 16;

/// In how many of the scenarios that a mutant reaches its own rule is looked at first, and each other rule that is looked
/// at, unless all are asked for. A mutant that survives the first is tried again in all of its own rule's.
const SCENARIOS_OF_ITS_RULE: usize = 6;
const SCENARIOS_OF_A_NEIGHBOUR: usize = 1;

/// In how many scenarios of other rules a mutant is tried where many mutants are: another part of them for each mutant,
/// so that together they look at all.
const SHARE: usize = 12;

/// In which of the scenarios that a mutant reaches it is tried, beside those of its own rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// Some of the other rules, each in the scenario in which the mutant touches most messages; which rules these are
    /// changes from mutant to mutant. For the matrix of all mutants.
    Share,
    /// Each other rule in the scenario in which the mutant touches most messages.
    EachRule,
    /// In all of them.
    All,
}

/// What a mutant is tried on.
#[derive(Clone, Default)]
pub(super) struct Concerned {
    /// Scenarios; none where that is all.
    pub(super) scenarios: Option<BTreeSet<String>>,
    /// All that are about its own rule.
    pub(super) own: BTreeSet<String>,
    /// Of a late twin that lets a whole scenario alone: scenarios that may be the one, the best first. None is left to
    /// chance, since which is the first of several would hang on which is faster.
    pub(super) leads: Vec<String>,
}

/// The scenarios that may end otherwise than they do without the mutant. Where any other rule may notice, none of those
/// needs to be looked at.
pub(super) fn concerned(
    library: &Library,
    mutant: &Mutant,
    traffic: Option<&Traffic>,
    breadth: Breadth,
) -> Concerned {
    let codec = library.families.codec(&mutant.profile);
    let reached = traffic.and_then(|traffic| traffic.reached(mutant, codec));
    let leads = match &reached {
        Some(reached) if mutant.late && !codec.repeats_in_scenario() => {
            leads(library, mutant, &busiest(&reached.scenarios, SCENARIOS_OF_A_TWIN))
        }
        _ => Vec::new(),
    };
    let of_profile = || library.catalogue.cases().iter().filter(|case| case.profile == mutant.profile);
    let own =
        of_profile().filter(|case| case.rules.contains(&mutant.rule)).map(|case| case.id.clone()).collect();
    Concerned { scenarios: scenarios(&of_profile, mutant, reached, (&own, breadth)), own, leads }
}

/// Of these scenarios one that is about the mutant's rule, so that another has to show the fault; and one that is not, for
/// rules that no other shows.
fn leads(library: &Library, mutant: &Mutant, reached: &BTreeSet<String>) -> Vec<String> {
    let is_early = |case: &&Case| !case.tags.contains(LAST) && !case.tags.contains(HOLDS);
    let early = library.catalogue.cases().iter().filter(|case| reached.contains(&case.id)).filter(is_early);
    let (own, others): (Vec<&Case>, Vec<&Case>) = early.partition(|case| case.rules.contains(&mutant.rule));
    own.first().into_iter().chain(others.first()).map(|case| case.id.clone()).collect()
}

fn scenarios<'a, I: Iterator<Item = &'a Case> + Clone>(
    of_profile: &dyn Fn() -> I,
    mutant: &Mutant,
    reached: Option<Reached>,
    (own, breadth): (&BTreeSet<String>, Breadth),
) -> Option<BTreeSet<String>> {
    let everything = mutant.collateral.contains(EVERYTHING);
    let Some(reached) = reached else { return (everything && !mutant.late).then(|| own.clone()) };
    // What judges every exchange sees those of the scenarios that are reached.
    let always = of_profile().filter(|case| case.tags.contains(ALWAYS)).map(|case| case.id.clone());
    let own: BTreeSet<String> = match breadth {
        Breadth::All => own.clone(),
        Breadth::Share | Breadth::EachRule => {
            let own_always = always.clone().filter(|id| own.contains(id));
            likeliest(own, &reached).into_iter().chain(own_always).collect()
        }
    };
    // A late twin shows where an earlier message was right, which may be in any scenario.
    if everything && !mutant.late {
        return Some(own);
    }
    if mutant.late {
        // What it breaks beside its own rule its mutant has shown already.
        return Some(busiest(&reached.scenarios, SCENARIOS_OF_A_TWIN).into_iter().chain(own).collect());
    }
    if breadth == Breadth::All {
        let reached = (!reached.elsewhere).then(|| reached.scenarios.into_keys());
        return reached.map(|reached| reached.chain(own).chain(always).collect());
    }
    // What it changes before the first scenario may show in any of them.
    let unreached = of_profile().filter(|_| reached.elsewhere).map(|case| (case.id.clone(), 0));
    let neighbours = sample(of_profile(), &unreached.chain(reached.scenarios).collect());
    let neighbours = if breadth == Breadth::Share { share(&mutant.id, neighbours) } else { neighbours };
    Some(neighbours.into_iter().chain(own).chain(always).collect())
}

/// Of the scenarios that are about a mutant's rule those that it touches most messages of; all where it touches none.
fn likeliest(own: &BTreeSet<String>, reached: &Reached) -> BTreeSet<String> {
    let touched: BTreeMap<String, usize> = reached
        .scenarios
        .iter()
        .filter(|(id, _)| own.contains(*id))
        .map(|(id, times)| (id.clone(), *times))
        .collect();
    if touched.is_empty() { own.clone() } else { busiest(&touched, SCENARIOS_OF_ITS_RULE) }
}

/// Of the scenarios that a mutant reaches, for each rule those in which it touches most messages.
fn sample<'a>(cases: impl Iterator<Item = &'a Case>, reached: &BTreeMap<String, usize>) -> BTreeSet<String> {
    let mut cases: Vec<(usize, &Case)> =
        cases.filter_map(|case| Some((*reached.get(&case.id)?, case))).collect();
    cases.sort_by_key(|(touched, _)| std::cmp::Reverse(*touched));
    let mut looked_at: HashMap<&str, usize> = HashMap::new();
    let mut chosen = BTreeSet::new();
    for (_, case) in cases {
        let is_wanted = |rule: &String| {
            looked_at.get(rule.as_str()).is_none_or(|number| *number < SCENARIOS_OF_A_NEIGHBOUR)
        };
        if case.rules.iter().any(is_wanted) {
            case.rules.iter().for_each(|rule| *looked_at.entry(rule).or_default() += 1);
            chosen.insert(case.id.clone());
        }
    }
    chosen
}

/// As many of these scenarios as a mutant looks at among many, which are others for each mutant and always the same for one.
fn share(mutant: &str, scenarios: BTreeSet<String>) -> BTreeSet<String> {
    let mut scenarios: Vec<String> = scenarios.into_iter().collect();
    scenarios.sort_by_cached_key(|id| hash(&[mutant, id]));
    scenarios.into_iter().take(SHARE).collect()
}

/// Of the scenarios that a mutant reaches, so many of those that it touches most messages of.
fn busiest(reached: &BTreeMap<String, usize>, number: usize) -> BTreeSet<String> {
    let mut reached: Vec<(&String, &usize)> = reached.iter().collect();
    reached.sort_by_key(|(_, touched)| std::cmp::Reverse(*touched));
    reached.into_iter().take(number).map(|(id, _)| id.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::catalog::Catalogue;

    #[test]
    fn a_late_twin_is_tried_in_the_scenarios_that_it_touches_most() {
        let scenario = |number: usize| format!("scenario {number:03}");
        let reached = (1..=100).map(|number| (scenario(number), number % 50)).collect();
        let tried = busiest(&reached, SCENARIOS_OF_A_TWIN);
        assert_eq!(tried.len(), SCENARIOS_OF_A_TWIN);
        assert!(tried.contains(&scenario(49)) && tried.contains(&scenario(99)));
        assert!(!tried.contains(&scenario(1)) && !tried.contains(&scenario(100)));
    }

    #[test]
    fn its_own_rule_is_looked_at_where_a_mutant_touches_most_and_everywhere_where_it_touches_nothing() {
        let own: BTreeSet<String> = (1..=20).map(|number| format!("own {number:02}")).collect();
        let touched = own.iter().enumerate().map(|(times, id)| (id.clone(), times + 1));
        let others = [("another".to_owned(), 99)];
        let reached = Reached { scenarios: touched.chain(others.clone()).collect(), elsewhere: false };
        let looked_at = likeliest(&own, &reached);
        assert_eq!(looked_at.len(), SCENARIOS_OF_ITS_RULE);
        assert!(looked_at.contains("own 20") && !looked_at.contains("own 01"), "{looked_at:?}");
        assert_eq!(likeliest(&own, &Reached { scenarios: others.into(), elsewhere: true }), own);
    }

    #[test]
    fn the_mutants_of_a_profile_look_at_all_other_rules_between_them() {
        let scenarios: BTreeSet<String> = (1..=60).map(|number| format!("scenario {number:02}")).collect();
        let of = |number: usize| share(&format!("mutant {number}"), scenarios.clone());
        assert_eq!(of(1).len(), SHARE);
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
        assert_eq!((1..=40).flat_map(of).collect::<BTreeSet<String>>(), scenarios);
        let few: BTreeSet<String> = scenarios.iter().take(SHARE - 1).cloned().collect();
        assert_eq!(share("mutant", few.clone()), few);
    }

    #[test]
    fn each_rule_is_looked_at_where_a_mutant_touches_most() {
        let all = Catalogue::load().expect("sound features");
        let reached: BTreeMap<String, usize> = all.cases().iter().map(|case| (case.id.clone(), 1)).collect();
        let is_hub = |case: &&Case| case.profile == "hub.server";
        let busy = all.cases().iter().rfind(is_hub).expect("a scenario");
        let reached = reached.into_iter().chain([(busy.id.clone(), 2)]).collect();
        let chosen = sample(all.cases().iter().filter(is_hub), &reached);
        assert!(chosen.contains(&busy.id));
        for rule in all.cases().iter().filter(is_hub).flat_map(|case| &case.rules) {
            let has = |case: &&Case| is_hub(case) && case.rules.contains(rule);
            let (of_rule, looked_at) = (
                all.cases().iter().filter(has).count(),
                all.cases().iter().filter(has).filter(|case| chosen.contains(&case.id)).count(),
            );
            assert!(looked_at >= of_rule.min(SCENARIOS_OF_A_NEIGHBOUR), "{rule}: {looked_at} of {of_rule}");
        }
        assert!(chosen.len() < all.cases().iter().filter(is_hub).count() / 2, "{}", chosen.len());
    }
}
