//! The lint of editions: what was released stays as it was frozen, and says why it has more than the one before.

use std::collections::{BTreeMap, BTreeSet};

use super::freeze::{Scenarios, quoted, scenarios, unexplained};
use super::{Edition, Editions};
use crate::spec::catalog::Catalogue;
use crate::spec::registry::Registry;
use crate::spec::revision;

/// What is wrong, a sentence for each scenario, with what to write; empty when all is well.
pub fn faults(editions: &Editions, registry: &Registry, catalogue: &Catalogue) -> Vec<String> {
    let now = scenarios(registry, catalogue);
    let mut faults = Vec::new();
    for edition in editions.iter().filter(|edition| edition.is_released()) {
        unlike(edition, &now, &mut faults);
        if let Some(before) = editions.before(edition.name()) {
            for rule in unexplained(before, edition.frozen(), edition.added()) {
                faults.push(format!(
                    "edition {} has further scenarios of `{rule}` and does not say why; write into \
                     features/editions/{0}.toml, under `[added]`: {} = \"…\"",
                    edition.name(),
                    quoted(&rule)
                ));
            }
        }
    }
    faults
}

/// The scenarios of an edition that the suite no longer has as they were, once for all revisions.
fn unlike(edition: &Edition, now: &Scenarios, faults: &mut Vec<String>) {
    let nothing = BTreeMap::new();
    let mut said = BTreeSet::new();
    for (profile, own) in edition.scenarios() {
        let current = now.get(profile).unwrap_or(&nothing);
        let digests: BTreeSet<&String> = current.values().collect();
        for (id, old) in own.iter().filter(|(_, digest)| !digests.contains(digest)) {
            // Where another scenario took its number, the one of this number is not what it became.
            let new = current.get(id).filter(|digest| !own.values().any(|known| known == *digest));
            let scenario = revision::split(id).0;
            if said.insert((scenario, old, new)) {
                faults.push(fault(edition.name(), scenario, old, new));
            }
        }
    }
}

fn fault(edition: &str, scenario: &str, old: &str, new: Option<&String>) -> String {
    let what = if new.is_some() { "was changed" } else { "is gone" };
    let new = new.map(|new| format!("new = {}\n", quoted(new))).unwrap_or_default();
    format!(
        "scenario `{scenario}` of edition {edition} {what}. Leave it as it was and add another one; or, if the check was \
         wrong, append to features/editions/{edition}.toml:\n\n[[erratum]]\nscenario = {}\ndate = \"YYYY-MM-DD\"\n\
         old = {}\n{new}reason = \"what was wrong with the check\"\n",
        quoted(scenario),
        quoted(old)
    )
}

#[cfg(test)]
mod tests {
    use super::super::freeze::freeze;
    use super::*;

    const RULES: &str =
        "[[rule]]\nid = \"A-1\"\nlevel = \"must\"\nprofiles = [\"p\"]\nstatement = \"s\"\nsource = \"d\"\n";
    const FEATURE: &str = "@role:p
Feature: F

  @A-1
  Rule: R

    Scenario: One
      Given a service
      Then it answers

    Scenario: Two
      Given a service
      Then it is silent
";

    struct Suite {
        registry: Registry,
        catalogue: Catalogue,
    }

    impl Suite {
        fn of(feature: &str) -> Self {
            let registry = Registry::from_files([("rules.toml", RULES)]).expect("rules");
            let files = [("features/p/f.feature".to_owned(), feature)];
            let catalogue =
                Catalogue::from_files(files).expect("a feature").for_profiles(["p", "p@v2"].into_iter());
            Self { registry, catalogue }
        }

        fn frozen(&self, is_released: bool) -> String {
            let all = scenarios(&self.registry, &self.catalogue);
            freeze(&Editions::default(), "2026.1", is_released, &all).expect("a text")
        }

        fn faults(&self, edition: &str) -> Vec<String> {
            let editions = Editions::from_files([("2026.1", edition)]).expect("an edition");
            faults(&editions, &self.registry, &self.catalogue)
        }
    }

    #[test]
    fn a_released_scenario_changes_only_by_the_erratum_that_the_lint_shows() {
        let frozen = Suite::of(FEATURE).frozen(true);
        let check = |feature: &str, said: &str| {
            let suite = Suite::of(feature);
            let faults = suite.faults(&frozen);
            assert_eq!(faults.len(), 1, "once for both revisions: {faults:?}");
            assert!(faults[0].contains(said) && faults[0].contains("edition 2026.1"), "{faults:?}");
            let (_, erratum) = faults[0].split_once("\n\n").expect("what to write");
            let erratum = erratum.replace("YYYY-MM-DD", "2026-12-01");
            assert_eq!(suite.faults(&format!("{frozen}\n{erratum}")), [""; 0], "{erratum}");
        };
        check(&FEATURE.replace("it answers", "it answers well"), "`p/f/A-1/1` of edition 2026.1 was changed");
        let (before, rest) = FEATURE.split_once("    Scenario: One").expect("a scenario");
        let (_, second) = rest.split_once("    Scenario: Two").expect("another one");
        check(&format!("{before}    Scenario: Two{second}"), "`p/f/A-1/1` of edition 2026.1 is gone");
        let first = FEATURE.split("    Scenario: Two").next().expect("a scenario");
        check(first, "`p/f/A-1/2` of edition 2026.1 is gone");
    }

    #[test]
    fn what_is_added_moved_or_not_released_changes_no_edition() {
        let frozen = Suite::of(FEATURE).frozen(true);
        let further = "    Scenario: Zero\n      Given a service\n      Then it starts\n\n    Scenario: One";
        let more = FEATURE.replace("    Scenario: One", further);
        assert_eq!(Suite::of(&more).faults(&frozen), [""; 0], "the others have other numbers now");
        let open = Suite::of(FEATURE).frozen(false);
        assert_eq!(Suite::of(&FEATURE.replace("it answers", "it asks")).faults(&open), [""; 0]);
    }

    #[test]
    fn an_edition_says_why_it_has_more() {
        let (old, new) = (Suite::of(FEATURE), Suite::of(&FEATURE.replace("it answers", "it answers twice")));
        let (first, next) = (old.frozen(true), new.frozen(true).replace("2026.1", "2026.2"));
        let erratum =
            "[[erratum]]\nscenario = \"p/f/A-1/1\"\ndate = \"2026-12-01\"\nold = \"OLD\"\nreason = \"r\"\n";
        let digest = &scenarios(&old.registry, &old.catalogue)["p"]["p/f/A-1/1"];
        let first = format!("{first}\n{}", erratum.replace("OLD", digest));
        let check = |next: &str| {
            let editions =
                Editions::from_files([("2026.1", first.as_str()), ("2026.2", next)]).expect("editions");
            faults(&editions, &new.registry, &new.catalogue)
        };
        let faults = check(&next);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].contains("edition 2026.2 has further scenarios of `A-1`"), "{faults:?}");
        let noted =
            next.replace("released = true\n", "released = true\n[added]\n\"A-1\" = \"it answered once\"\n");
        assert_eq!(check(&noted), [""; 0]);
    }
}
