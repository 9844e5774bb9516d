//! The records of all shards of a run, put together: the record that the run would have had on one machine.
//!
//! A scenario was run by one shard, and has its entry from there. What judges every exchange was judged in each shard
//! over the exchanges of that shard; the first one that broke it decides, in the order of the features, as it does in a
//! whole run. What rules come to, and the verdict, is concluded anew.

use std::collections::{BTreeMap, BTreeSet};

use callmark_reports::record::{Outcome, RunRecord, ScenarioEntry, Summary, Verdict};

use super::always::{self, Watched};
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
    let rules = verdict::rules(library, selection, &cases, |rule, case| {
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
    Ok(RunRecord { schema, suite, target, shard: None, verdict, summary, rules })
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
    let rules = shard.record.rules.iter();
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
