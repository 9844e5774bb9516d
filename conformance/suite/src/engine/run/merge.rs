//! The records of all shards of a run, put together: the record that the run would have had on one machine.
//!
//! A scenario was run by one shard, and has its entry from there. What judges every exchange was judged in each shard
//! over the exchanges of that shard; the first one that broke it decides, in the order of the features, as it does in a
//! whole run. What rules come to, and the verdict, is concluded anew.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::{Outcome, RunRecord, ScenarioEntry, Summary, Verdict};

use super::always::{self, Watched};
use super::counting::Counting;
use super::{Library, Selection, verdict};
use crate::spec::catalog::Case;

/// What is left of one shard.
#[derive(Clone, Debug)]
pub struct ShardOutput {
    /// Its record.
    pub record: RunRecord,
    /// The scenarios that were given to it.
    pub scenarios: BTreeSet<String>,
    /// What judges every exchange came to over its exchanges.
    pub watched: BTreeMap<String, Watched>,
}

/// Shards that do not make a run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is nothing to put together.
    #[error("there is no shard")]
    None,
    /// Nobody ran it.
    #[error("no shard ran `{0}`")]
    Missing(String),
    /// More than one ran it.
    #[error("more than one shard ran `{0}`")]
    Twice(String),
    /// A record holds no entry for what its shard was given.
    #[error("the record of shard {shard} does not hold `{scenario}` of {rule}")]
    Incomplete {
        /// Which one, from 1.
        shard: usize,
        /// The scenario.
        scenario: String,
        /// The rule that it speaks for.
        rule: String,
    },
}

/// Puts the records of all shards of a selection together.
///
/// # Errors
/// They do not hold each selected scenario once.
pub fn merge(
    library: &Library,
    selection: &Selection,
    shards: &[ShardOutput],
) -> Result<RunRecord, MergeError> {
    let first = shards.first().ok_or(MergeError::None)?;
    let cases = library.select(selection);
    let order: BTreeMap<&str, usize> = cases.iter().zip(0..).map(|(case, n)| (case.id.as_str(), n)).collect();
    let entries: Vec<Entries<'_>> = shards.iter().map(entries).collect();
    let home = |case: &Case| {
        let holding: Vec<usize> =
            (0..shards.len()).filter(|n| shards[*n].scenarios.contains(&case.id)).collect();
        match holding[..] {
            [] => Err(MergeError::Missing(case.id.clone())),
            [one] => Ok(Some(one)),
            _ if always::is_always(case) => Ok(decisive(case, shards, &holding, &entries, &order)),
            _ => Err(MergeError::Twice(case.id.clone())),
        }
    };
    let homes: BTreeMap<&str, Option<usize>> =
        cases.iter().map(|case| Ok((case.id.as_str(), home(case)?))).collect::<Result<_, MergeError>>()?;
    let counting = Counting::of(library, selection);
    let (rules, edition) = verdict::conclude(library, selection, (&counting, &cases), |rule, case| {
        let Some(shard) = homes.get(case.id.as_str()).copied().flatten() else { return Ok(unseen(case)) };
        match entries[shard].get(&(case.profile.as_str(), rule.id.as_str(), case.id.as_str())) {
            Some(entry) => Ok((*entry).clone()),
            None if shards[shard].saw_nothing(case) => Ok(unseen(case)),
            None => Err(MergeError::Incomplete {
                shard: shard + 1,
                scenario: case.id.clone(),
                rule: rule.id.clone(),
            }),
        }
    })?;
    let RunRecord { schema, suite, target, .. } = first.record.clone();
    let (verdict, summary) = (Verdict::of(&rules), Summary::of(&rules));
    let chaos = Vec::new();
    Ok(RunRecord {
        schema,
        suite,
        target,
        edition,
        shard: None,
        partial: None,
        verdict,
        summary,
        rules,
        chaos,
    })
}

impl ShardOutput {
    /// Whether there was no exchange to judge for what judges every one.
    fn saw_nothing(&self, case: &Case) -> bool {
        self.watched.get(&case.id).is_some_and(Watched::saw_nothing)
    }
}

/// Entries of a record, by profile, rule and scenario.
type Entries<'a> = BTreeMap<(&'a str, &'a str, &'a str), &'a ScenarioEntry>;

fn entries(shard: &ShardOutput) -> Entries<'_> {
    let newer = shard.record.edition.iter().flat_map(|edition| &edition.rules);
    let rules = shard.record.rules.iter().chain(newer);
    rules
        .flat_map(|rule| {
            let entry = |own| (rule.profile.as_str(), rule.id.as_str(), own);
            rule.scenarios.iter().map(move |scenario| (entry(scenario.id.as_str()), scenario))
        })
        .collect()
}

/// The shard whose entry is that of the run, for what judges every exchange; none where no shard saw an exchange.
fn decisive(
    case: &Case,
    shards: &[ShardOutput],
    holding: &[usize],
    entries: &[Entries<'_>],
    order: &BTreeMap<&str, usize>,
) -> Option<usize> {
    let watched = |n: &usize| shards[*n].watched.get(&case.id);
    let breaks = |n: &usize| {
        let offence = watched(n)?.offence.as_ref()?;
        // What is against a recommendation only gives way to what is not.
        Some((offence.is_recommended, order.get(offence.scenario.as_str()).copied()))
    };
    if let Some(worst) = holding.iter().filter(|n| breaks(n).is_some()).min_by_key(|n| breaks(n)) {
        return Some(*worst);
    }
    let could_not_run = |n: &&usize| {
        let own = |((_, _, id), entry): (&(&str, &str, &str), &&ScenarioEntry)| {
            *id == case.id && entry.outcome == Outcome::CouldNotRun
        };
        entries[**n].iter().any(own)
    };
    let saw_something = |n: &&usize| watched(n).is_none_or(|own| !own.saw_nothing());
    holding.iter().find(could_not_run).or_else(|| holding.iter().find(saw_something)).copied()
}

/// The entry of what would judge every exchange, and saw none in any shard.
fn unseen(case: &Case) -> ScenarioEntry {
    verdict::entry(case, (Outcome::NotObserved, Some(always::NO_EXCHANGE.to_owned()), None))
}

#[cfg(test)]
mod tests {
    use callmark_reports::record::{RUN_SCHEMA, Shard, SuiteInfo, TargetInfo};

    use super::super::always::Offence;
    use super::*;
    use crate::families;
    use crate::spec::registry::Rule;

    fn library() -> Library {
        Library::of(families::ALL).expect("a sound library")
    }

    fn hub() -> Selection {
        Selection { profiles: vec!["hub.server".to_owned()], ..Selection::default() }
    }

    /// The scenarios that send something, and those that judge every exchange.
    fn cases<'a>(library: &'a Library, selection: &Selection) -> (Vec<&'a Case>, Vec<&'a Case>) {
        library.select(selection).into_iter().partition(|case| !always::is_always(case))
    }

    /// A shard that ran these scenarios, of which this came.
    fn shard(
        library: &Library,
        cases: &[&Case],
        watched: &[(&Case, Watched)],
        came: impl Fn(&Rule, &Case) -> (Outcome, Option<String>),
    ) -> ShardOutput {
        let entry = |rule: &Rule, case: &Case| {
            let (outcome, reason) = came(rule, case);
            Ok::<_, MergeError>(verdict::entry(case, (outcome, reason, None)))
        };
        let rules = verdict::rules(library, &hub(), cases, entry).expect("entries");
        let suite = SuiteInfo { version: String::new(), features_sha256: String::new(), seed: 1 };
        let record = RunRecord {
            schema: RUN_SCHEMA.to_owned(),
            suite,
            target: TargetInfo { name: "a".to_owned(), version: String::new() },
            edition: None,
            shard: Some(Shard { index: 1, of: 2 }),
            partial: None,
            chaos: Vec::new(),
            verdict: Verdict::of_part(&rules),
            summary: Summary::of(&rules),
            rules,
        };
        let watched = watched.iter().map(|(case, own)| (case.id.clone(), own.clone()));
        ShardOutput {
            record,
            scenarios: cases.iter().map(|case| case.id.clone()).collect(),
            watched: watched.collect(),
        }
    }

    fn saw(exchanges: usize) -> Watched {
        Watched { exchanges, offence: None }
    }

    fn broken_in(case: &Case, is_recommended: bool) -> Watched {
        Watched { exchanges: 1, offence: Some(Offence { scenario: case.id.clone(), is_recommended }) }
    }

    /// The entry of the first scenario that judges every exchange, of two shards in which it came to this.
    fn watching(of: impl Fn(&[&Case]) -> [Watched; 2], came: [Outcome; 2]) -> (Outcome, Option<String>) {
        let library = library();
        let (acting, watching) = cases(&library, &hub());
        let first = watching[0];
        let half = acting.len() / 2;
        let shards: Vec<ShardOutput> = [&acting[..half], &acting[half..]]
            .into_iter()
            .zip(of(&acting))
            .zip(came)
            .zip(["in the first", "in the second"])
            .map(|(((own, result), came), place)| {
                let mut given: Vec<&Case> = own.iter().chain(&watching).copied().collect();
                let mut results: Vec<(&Case, Watched)> =
                    watching.iter().map(|case| (*case, saw(1))).collect();
                results[0].1 = result.clone();
                let scenarios = given.iter().map(|case| case.id.clone()).collect();
                given.retain(|case| case.id != first.id || !result.saw_nothing());
                let made = shard(&library, &given, &results, |_, case| {
                    if case.id == first.id { (came, Some(place.to_owned())) } else { (Outcome::Passed, None) }
                });
                ShardOutput { scenarios, ..made }
            })
            .collect();
        let record = merge(&library, &hub(), &shards).expect("a record");
        assert_eq!(record.shard, None);
        let mut entries = record.rules.iter().flat_map(|rule| &rule.scenarios);
        let entry = entries.rfind(|entry| entry.id == first.id).expect("an entry");
        (entry.outcome, entry.reason.clone())
    }

    #[test]
    fn the_first_exchange_that_breaks_what_holds_in_every_one_decides() {
        use Outcome::{CouldNotRun, Failed, Passed, Warned};
        let check = |of: &dyn Fn(&[&Case]) -> [Watched; 2], came: [Outcome; 2], expect: (Outcome, &str)| {
            let (outcome, reason) = watching(of, came);
            assert_eq!((outcome, reason.as_deref()), (expect.0, Some(expect.1)));
        };
        let (first, second) = ("in the first", "in the second");
        check(&|_| [saw(1), saw(1)], [Passed, Passed], (Passed, first));
        check(&|_| [saw(0), saw(1)], [Passed, Passed], (Passed, second));
        check(&|own| [saw(1), broken_in(own[3], false)], [Passed, Failed], (Failed, second));
        check(&|own| [broken_in(own[4], false), broken_in(own[3], false)], [Failed; 2], (Failed, second));
        check(&|own| [broken_in(own[3], false), broken_in(own[4], false)], [Failed; 2], (Failed, first));
        check(&|own| [broken_in(own[3], true), broken_in(own[4], false)], [Warned, Failed], (Failed, second));
        check(&|own| [broken_in(own[3], true), broken_in(own[4], true)], [Warned; 2], (Warned, first));
        check(&|_| [saw(1), saw(1)], [Passed, CouldNotRun], (CouldNotRun, second));
        check(&|own| [broken_in(own[3], false), saw(1)], [Failed, CouldNotRun], (Failed, first));
        check(&|_| [saw(0), saw(0)], [Passed, Passed], (Outcome::NotObserved, always::NO_EXCHANGE));
    }

    #[test]
    fn what_is_not_there_once_is_refused() {
        let library = library();
        let (acting, _) = cases(&library, &hub());
        let selection =
            Selection { scenarios: Some(acting.iter().map(|case| case.id.clone()).collect()), ..hub() };
        let passed = |cases: &[&Case]| shard(&library, cases, &[], |_, _| (Outcome::Passed, None));
        let (one, other) = acting.split_at(7);
        let check = |shards: &[ShardOutput]| merge(&library, &selection, shards).map(|record| record.verdict);
        assert_eq!(check(&[passed(one), passed(other)]), Ok(Verdict::Conformant));
        assert_eq!(check(&[]), Err(MergeError::None));
        assert_eq!(check(&[passed(one)]), Err(MergeError::Missing(other[0].id.clone())));
        assert_eq!(check(&[passed(one), passed(&acting)]), Err(MergeError::Twice(one[0].id.clone())));
        let mut lacking = passed(other);
        lacking.record.rules.clear();
        let refused = check(&[passed(one), lacking]);
        assert!(matches!(refused, Err(MergeError::Incomplete { shard: 2, .. })), "{refused:?}");
        let mut failed = passed(other);
        failed.record.rules[0].scenarios[0].outcome = Outcome::Failed;
        assert_eq!(
            check(&[passed(one), failed]),
            Ok(Verdict::Nonconformant),
            "whatever its own record concludes"
        );
    }
}
