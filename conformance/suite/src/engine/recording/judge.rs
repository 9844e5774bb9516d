//! Judges windows, by the rules of their roles.

use std::collections::BTreeMap;
use std::sync::Arc;

use callmark_reports::record::Level;

use super::At;
use super::progress::Progress;
use super::rulebook::{Breach, Rulebook};
use super::tally::{Count, First, Tally};
use crate::engine::family::Families;
use crate::engine::protocol::Scope;
use crate::engine::run;
use crate::engine::run::Library;
use crate::engine::session::Sessions;
use crate::transcript::Frame;

/// The rulebooks of all roles, made when they are first needed: together they take much memory.
pub struct Judge {
    /// Rules and scenarios.
    pub library: Arc<Library>,
    sessions: Sessions,
    /// In place of these, where only what passed between the target and its callers was recorded.
    callers: Option<Sessions>,
    rulebooks: BTreeMap<(&'static str, Scope), Arc<Rulebook>>,
    runtime: tokio::runtime::Runtime,
}

impl Judge {
    /// A judge of what passed between a target and others: `sessions` are those that nobody opened.
    ///
    /// # Errors
    /// When the scenarios cannot be run at all.
    pub fn new(library: Arc<Library>, sessions: Sessions) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { library, sessions, callers: None, rulebooks: BTreeMap::new(), runtime })
    }

    /// Has what passed between a target and its callers judged with other sessions than a whole scenario.
    pub fn callers(&mut self, sessions: Sessions) {
        self.callers = Some(sessions);
    }

    /// The rules of a role.
    pub(super) fn rulebook(&mut self, profile: &'static str, scope: Scope) -> Arc<Rulebook> {
        if let Some(known) = self.rulebooks.get(&(profile, scope)) {
            return Arc::clone(known);
        }
        let callers = self.callers.as_ref().filter(|_| scope == Scope::Callers);
        let sessions = callers.unwrap_or(&self.sessions);
        let made = Arc::new(self.runtime.block_on(Rulebook::of(&self.library, sessions, profile, scope)));
        self.rulebooks.insert((profile, scope), Arc::clone(&made));
        made
    }

    /// The families of its scenarios.
    pub fn families(&self) -> Families {
        self.library.families
    }

    /// Those that were needed.
    pub(super) fn rulebooks(&self) -> impl Iterator<Item = (&'static str, &Arc<Rulebook>)> {
        // Both have the same clauses.
        self.rulebooks.iter().map(|((profile, _), own)| (*profile, own))
    }
}

impl Tally {
    /// Judges messages of a role; `progress` learns what comes of it.
    pub(super) fn judge(
        &mut self,
        library: &Library,
        rulebooks: &[Arc<Rulebook>],
        (frames, at): (&[Frame], At),
        progress: Option<&Progress>,
    ) {
        self.messages += frames.len() as u64;
        let mut exchanges = 0;
        for rulebook in rulebooks {
            let Some(profile) = rulebook.profile() else { continue };
            let counts = self.counts.entry(profile).or_default();
            counts.resize_with(rulebook.clauses.len(), Count::default);
            let mut breaches = Vec::new();
            rulebook.judge(
                frames,
                |clause, seen| {
                    exchanges = exchanges.max(seen);
                    counts[clause].exchanges += seen as u64;
                },
                |breach| breaches.push(breach),
            );
            for breach in breaches {
                let clause = breach.clause;
                counts[clause].take(library, rulebook, &breach, frames, at);
                if let Some(progress) = progress {
                    progress.broken(profile, rulebook, clause, &counts[clause]);
                }
            }
        }
        self.exchanges += exchanges as u64;
        if let Some(progress) = progress {
            progress.judged(exchanges as u64, frames);
        }
    }
}

impl Count {
    fn take(&mut self, library: &Library, rulebook: &Rulebook, breach: &Breach, frames: &[Frame], at: At) {
        self.breaches += 1;
        let is_recommended = breach.finding.level() == Some(Level::Should);
        // Evidence costs a copy of all messages, so it is made only where it will be shown.
        if self.first.as_ref().is_some_and(|first| first.is_recommended <= is_recommended) {
            return;
        }
        let clause = &rulebook.clauses[breach.clause];
        let checks = clause.checks();
        let evidence =
            run::evidence_of(library, &clause.scenario, breach.check, checks, &breach.finding, frames);
        if let Some(evidence) = evidence {
            self.offer(&First { is_recommended, at, evidence });
        }
    }
}
