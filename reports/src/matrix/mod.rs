//! The sabotage matrix: each mutant of the reference, and whether the suite noticed it.
//!
//! [`Matrix`] is plain data that `suite` fills and `callmark sabotage --format json` prints; its shape is the schema
//! `sabotage` of `callmark-schemas`. `markdown` renders it for a CI job, `site::matrix` for a reader of the specification.
//! How long anything took is no part of it, so two runs give the same bytes.
//!
//! Deliberately absent: trying mutants (`suite`), and deciding what is enough (`cli`).

mod markdown;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::record::Outcome;

pub use self::markdown::matrix_markdown;

/// Version of the format.
pub const MATRIX_SCHEMA: &str = "callmark.sabotage/1";

/// What declares any other rule as collateral.
pub const ANY_RULE: &str = "*";

/// The whole matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matrix {
    /// Always [`MATRIX_SCHEMA`].
    pub schema: String,
    /// One entry a mutant, in the order of the files.
    pub mutants: Vec<MutantResult>,
    /// Counts.
    pub summary: MatrixSummary,
}

/// What became of one mutant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MutantResult {
    /// The mutant.
    pub id: String,
    /// The rule that must notice.
    pub rule: String,
    /// The profile.
    pub profile: String,
    /// What the broken implementation does, one clause.
    pub does: String,
    /// Whether the rule noticed.
    pub killed: bool,
    /// Outcome of the rule.
    pub outcome: Outcome,
    /// Other rules that may notice too; [`ANY_RULE`] for any.
    pub declared_collateral: Vec<String>,
    /// Other rules that failed or warned. Where any may, only the mutant's own rule is tried, and nothing stands here
    /// but what its scenarios show.
    pub collateral: Vec<String>,
    /// Those of them that the mutant does not declare.
    pub undeclared_collateral: Vec<String>,
    /// What it broke with each number of scenarios at a time, where that is not the same for all; empty where it is, or
    /// where only one number was tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_jobs: Vec<BrokenRules>,
}

/// What a mutant broke with one number of scenarios at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BrokenRules {
    /// So many scenarios at a time.
    pub jobs: usize,
    /// The rules that failed or warned.
    pub rules: Vec<String>,
}

impl MutantResult {
    /// Whether its own rule noticed, and no other that it does not declare.
    pub fn is_specific(&self) -> bool {
        self.killed && self.undeclared_collateral.is_empty()
    }
}

/// Counts over a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixSummary {
    /// All.
    pub mutants: usize,
    /// Noticed by their own rule.
    pub killed: usize,
    /// Not noticed.
    pub survived: usize,
    /// With collateral that they do not declare.
    pub with_undeclared_collateral: usize,
    /// Noticed by their own rule, and by no other that they do not declare.
    pub specific: usize,
    /// Their share in thousandths, rounded down.
    pub specificity_permille: usize,
}

impl MatrixSummary {
    /// The share of specific mutants, for example `99.4 %`.
    pub fn specificity(&self) -> String {
        format!("{}.{} %", self.specificity_permille / 10, self.specificity_permille % 10)
    }
}

impl Matrix {
    /// The matrix of these results.
    pub fn of(mutants: Vec<MutantResult>) -> Self {
        let summary = summary(&mutants.iter().collect::<Vec<_>>());
        Self { schema: MATRIX_SCHEMA.to_owned(), mutants, summary }
    }

    /// The profiles in order, each with its mutants and their counts.
    pub fn profiles(&self) -> Vec<(&str, Vec<&MutantResult>, MatrixSummary)> {
        let mut seen = BTreeSet::new();
        let names = self.mutants.iter().map(|mutant| mutant.profile.as_str());
        names
            .filter(|name| seen.insert(*name))
            .map(|name| {
                let own: Vec<_> = self.mutants.iter().filter(|mutant| mutant.profile == name).collect();
                let summary = summary(&own);
                (name, own, summary)
            })
            .collect()
    }
}

fn summary(mutants: &[&MutantResult]) -> MatrixSummary {
    let count = |holds: fn(&MutantResult) -> bool| mutants.iter().filter(|mutant| holds(mutant)).count();
    let (killed, specific) = (count(|mutant| mutant.killed), count(MutantResult::is_specific));
    MatrixSummary {
        mutants: mutants.len(),
        killed,
        survived: mutants.len() - killed,
        with_undeclared_collateral: count(|mutant| !mutant.undeclared_collateral.is_empty()),
        specific,
        specificity_permille: (specific * 1000).checked_div(mutants.len()).unwrap_or(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutant(profile: &str, killed: bool, undeclared: &[&str]) -> MutantResult {
        let undeclared: Vec<String> = undeclared.iter().map(|rule| (*rule).to_owned()).collect();
        MutantResult {
            id: "callback-without-status".to_owned(),
            rule: "UTP-4.2-10".to_owned(),
            profile: profile.to_owned(),
            does: "reports a callback without `status` | <b>".to_owned(),
            killed,
            outcome: if killed { Outcome::Failed } else { Outcome::Passed },
            declared_collateral: Vec::new(),
            collateral: undeclared.clone(),
            undeclared_collateral: undeclared,
            by_jobs: Vec::new(),
        }
    }

    #[test]
    fn specific_is_what_its_own_rule_notices_and_nothing_undeclared() {
        let all = [mutant("a.b", true, &[]), mutant("a.b", true, &["UTP-1-01"]), mutant("c", false, &[])];
        let matrix = Matrix::of(all.to_vec());
        let summary = &matrix.summary;
        assert_eq!((summary.killed, summary.survived, summary.specific), (2, 1, 1));
        assert_eq!(summary.specificity(), "33.3 %");
        let profiles: Vec<_> =
            matrix.profiles().into_iter().map(|(name, own, _)| (name, own.len())).collect();
        assert_eq!(profiles, [("a.b", 2), ("c", 1)]);
        assert_eq!(Matrix::of(Vec::new()).summary.specificity(), "100.0 %");
    }

    #[test]
    fn the_summary_names_what_went_wrong_before_the_rest() {
        let all = [mutant("a.b", true, &[]), mutant("a.b", true, &["UTP-1-01"]), mutant("c", false, &[])];
        let text = matrix_markdown(&Matrix::of(all.to_vec()));
        let (short, long) = text.split_once("<details>").expect("the full table is folded");
        assert!(short.contains("33.3 %") && short.contains("UTP-1-01"), "{short}");
        assert!(long.contains("&#124; &lt;b&gt;"), "{long}");
        assert!(!text.contains("<b>"), "{text}");
    }

    #[test]
    fn the_summary_shows_what_depends_on_how_many_scenarios_run_at_a_time() {
        let broken = |jobs: usize, rules: &[&str]| BrokenRules {
            jobs,
            rules: rules.iter().map(|rule| (*rule).to_owned()).collect(),
        };
        let by_jobs = vec![broken(1, &["UTP-4.2-10"]), broken(64, &["UTP-4.2-10", "UTP-1-01"])];
        let text = matrix_markdown(&Matrix::of(vec![MutantResult { by_jobs, ..mutant("a.b", true, &[]) }]));
        assert!(text.contains("| `UTP-4.2-10` `UTP-1-01` |"), "{text}");
        let text = matrix_markdown(&Matrix::of(vec![mutant("a.b", true, &[])]));
        assert!(!text.contains("at a time"), "{text}");
    }
}
