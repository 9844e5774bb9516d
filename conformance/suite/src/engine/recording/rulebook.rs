//! The judgements of a role's `@always` scenarios.
//!
//! The scenarios run once, with cucumber, over sessions that reach nobody; what they gather is then applied to any number
//! of exchanges without it. So the text of the features is the one source of what is judged.

use std::sync::Arc;

use callmark_reports::record::Level;

use crate::engine::invariant::Invariant;
use crate::engine::judge::Finding;
use crate::engine::protocol::Scope;
use crate::engine::run::{Library, Standing, standing};
use crate::engine::session::Sessions;
use crate::transcript::Frame;

/// A rule that is judged in every exchange, by one scenario.
#[derive(Clone, Debug)]
pub struct Clause {
    /// The role.
    pub profile: &'static str,
    /// Ids of its rules.
    pub rules: Vec<String>,
    /// The strictest level of these.
    pub level: Level,
    /// Id of the scenario.
    pub scenario: String,
    /// What it judges; nothing where the target does not declare what the scenario asks for.
    invariant: Option<Arc<dyn Invariant>>,
}

/// All clauses of a role.
#[derive(Debug)]
pub struct Rulebook {
    /// In the order of the features.
    pub clauses: Vec<Clause>,
    /// Clauses about exchanges of one kind, by index: finding those is most of the work, so it is done once for all.
    groups: Vec<Vec<usize>>,
}

/// A clause that was broken.
pub(super) struct Breach {
    /// Its index.
    pub clause: usize,
    /// Number of the judgement.
    pub check: usize,
    pub finding: Box<Finding>,
}

impl Rulebook {
    /// Takes the judgements out of the scenarios of a role.
    pub(super) async fn of(
        library: &Library,
        sessions: &Sessions,
        profile: &'static str,
        scope: Scope,
    ) -> Self {
        let standing = standing(library, sessions, profile).await;
        let protocol = library.families.of(profile).filter(|_| scope == Scope::Callers);
        let unseen = protocol.map(|family| family.protocol().unseen_by_callers()).unwrap_or_default();
        let is_unseen = |rule: &String| unseen.contains(&rule.as_str());
        let mut clauses: Vec<Clause> = standing.into_iter().map(|own| Clause::of(profile, own)).collect();
        for clause in clauses.iter_mut().filter(|clause| clause.rules.iter().any(is_unseen)) {
            clause.invariant = None;
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, clause) in clauses.iter().enumerate() {
            let Some(own) = clause.invariant.as_deref() else { continue };
            let alike = groups.iter().position(|group| {
                let first = clauses[group[0]].invariant.as_deref();
                first.is_some_and(|first| first.judge(&[own], &[]).pop().flatten().is_some())
            });
            match alike {
                Some(group) => groups[group].push(index),
                None => groups.push(vec![index]),
            }
        }
        Self { clauses, groups }
    }

    /// The role; nothing where it has no clause.
    pub(super) fn profile(&self) -> Option<&'static str> {
        self.clauses.first().map(|clause| clause.profile)
    }

    /// Judges messages: `counted` receives the exchanges of each clause, `broken` each breach.
    pub(super) fn judge(
        &self,
        frames: &[Frame],
        mut counted: impl FnMut(usize, usize),
        mut broken: impl FnMut(Breach),
    ) {
        for group in &self.groups {
            let all: Vec<&dyn Invariant> =
                group.iter().filter_map(|index| self.clauses[*index].invariant.as_deref()).collect();
            let Some(first) = all.first() else { continue };
            for (index, judged) in group.iter().zip(first.judge(&all, frames)) {
                let Some(judged) = judged.filter(|judged| judged.exchanges > 0) else { continue };
                counted(*index, judged.exchanges);
                if let Some((check, finding)) = judged.broken {
                    broken(Breach { clause: *index, check, finding });
                }
            }
        }
    }
}

impl Clause {
    fn of(profile: &'static str, standing: Standing) -> Self {
        let Standing { rules, level, scenario, invariant } = standing;
        Self { profile, rules, level, scenario, invariant }
    }

    /// How many judgements it makes of each exchange.
    pub(super) fn checks(&self) -> usize {
        self.invariant.as_ref().map_or(0, |own| own.checks())
    }
}
