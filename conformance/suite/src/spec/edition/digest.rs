//! What a scenario asserts, as a digest: the same for every way to write it down.
//!
//! It covers the rules with their levels, what must be declared, how passing is taken, and the steps with the row's
//! values, tables and texts. It does not cover titles, comments, indentation, the place in a file, or when the scenario
//! runs (`@last`, `@holds`, `@long`).

use std::fmt::Write as _;

use gherkin::{Step, StepType};
use sha2::{Digest as _, Sha256};

use crate::spec::catalog::{Case, Catalogue};
use crate::spec::registry::Registry;

/// Bytes of SHA-256 that are kept: nobody forges a scenario, and short lines are readable.
const BYTES: usize = 8;
/// Tags that say how it is taken that the scenario passes.
const TAKEN: [&str; 2] = ["absence", "always"];

/// The digest of what a case asserts, 16 digits of lower-case hexadecimal.
pub fn digest(registry: &Registry, catalogue: &Catalogue, case: &Case) -> String {
    let mut hash = Hash(Sha256::new());
    let mut rules: Vec<&String> = case.rules.iter().collect();
    rules.sort_unstable();
    for rule in rules {
        hash.part("rule", rule);
        hash.part("level", registry.rule(rule).map_or("", |rule| rule.level.name()));
    }
    if let Some(level) = case.level {
        hash.part("asks", level.name());
    }
    for capability in &case.capabilities {
        hash.part("declares", capability);
    }
    for tag in TAKEN.into_iter().filter(|tag| case.tags.contains(*tag)) {
        hash.part("taken", tag);
    }
    for step in catalogue.background(case).chain(&case.scenario().steps) {
        hash.step(step);
    }
    hash.hex()
}

struct Hash(Sha256);

impl Hash {
    /// Takes in a part: what it is, and its text. Neither can run into the next.
    fn part(&mut self, what: &str, text: &str) {
        for own in [what, text] {
            self.0.update(u64::try_from(own.len()).unwrap_or(u64::MAX).to_be_bytes());
            self.0.update(own.as_bytes());
        }
    }

    fn step(&mut self, step: &Step) {
        let kind = match step.ty {
            StepType::Given => "given",
            StepType::When => "when",
            StepType::Then => "then",
        };
        self.part(kind, &step.value.split_whitespace().collect::<Vec<_>>().join(" "));
        for row in step.table.iter().flat_map(|table| &table.rows) {
            self.part("row", "");
            for cell in row {
                self.part("cell", cell.trim());
            }
        }
        if let Some(text) = &step.docstring {
            self.part("text", text.trim_matches('\n'));
        }
    }

    fn hex(self) -> String {
        self.0.finalize().iter().take(BYTES).fold(String::new(), |mut hex, byte| {
            // Writing to a string cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = "[[rule]]\nid = \"A-1\"\nlevel = \"must\"\nprofiles = [\"p\"]\nstatement = \"s\"\nsource = \"d\"\n\
                         [[rule]]\nid = \"A-2\"\nlevel = \"should\"\nprofiles = [\"p\"]\nstatement = \"s\"\nsource = \"d\"\n";
    const FEATURE: &str = "@role:p
Feature: F

  @A-1
  Rule: R

    @cap:c
    Scenario Outline: Of <v>
      Given a <v>
      And the rows
        | a | b |
        | 1 | 2 |
      Then it holds
        \"\"\"
        {\"a\": 1}
        \"\"\"

      Examples:
        | v |
        | x |
        | y |
";

    /// The digests of all cases of a feature.
    fn digests(rules: &str, feature: &str) -> Vec<String> {
        let registry = Registry::from_files([("rules.toml", rules)]).expect("rules");
        let catalogue =
            Catalogue::from_files([("features/p/f.feature".to_owned(), feature)]).expect("a feature");
        catalogue.cases().iter().map(|case| digest(&registry, &catalogue, case)).collect()
    }

    #[test]
    fn what_asserts_the_same_has_the_same_digest() {
        let own = digests(RULES, FEATURE);
        assert_ne!(own[0], own[1], "another row");
        let check = |feature: &str| {
            assert_ne!(feature, FEATURE);
            assert_eq!(digests(RULES, feature), own, "{feature}");
        };
        check(&FEATURE.replace("Of <v>", "With another title, of <v>"));
        check(&FEATURE.replace("Rule: R", "Rule: As it is said now"));
        check(&FEATURE.replace("    Given a", "    # Why it is so.\n      Given  a"));
        check(&FEATURE.replace("\n      ", "\n         "));
        check(&FEATURE.replace("| 1 | 2 |", "|  1 |2|"));
        check(&FEATURE.replace("@cap:c\n", "@cap:c @long @holds @last\n"));
        check(&FEATURE.replace("And the rows", "Given the rows"));
        check(&FEATURE.replace("  @A-1\n  Rule: R\n\n    @cap:c", "  Rule: R\n\n    @cap:c @A-1"));
        let moved = format!("{FEATURE}        | w |\n");
        assert_eq!(digests(RULES, &moved)[..2], own[..], "one more row");
    }

    #[test]
    fn what_asserts_something_else_has_another_digest() {
        let own = digests(RULES, FEATURE);
        let check = |rules: &str, feature: &str| {
            assert!(rules != RULES || feature != FEATURE);
            let other = digests(rules, feature);
            assert!(own.iter().all(|digest| !other.contains(digest)), "{feature}");
        };
        check(RULES, &FEATURE.replace("@A-1", "@A-2"));
        check(RULES, &FEATURE.replace("@A-1", "@A-1 @A-2"));
        check(RULES, &FEATURE.replace("@cap:c", "@cap:c @level:should"));
        check(RULES, &FEATURE.replace("@cap:c", "@cap:d"));
        check(RULES, &FEATURE.replace("@cap:c", "@cap:c @absence"));
        check(RULES, &FEATURE.replace("@cap:c", "@cap:c @always"));
        check(RULES, &FEATURE.replace("Given a", "Given no"));
        check(RULES, &FEATURE.replace("And the rows", "When the rows"));
        check(RULES, &FEATURE.replace("| 1 | 2 |", "| 1 2 |  |"));
        check(RULES, &FEATURE.replace("{\"a\": 1}", "{\"a\":  1}"));
        check(RULES, &FEATURE.replace("Feature: F\n", "Feature: F\n\n  Background:\n    Given more\n"));
        check(&RULES.replacen("must", "may", 1), FEATURE);
    }
}
