//! The report of what was judged.

use std::collections::BTreeMap;
use std::sync::Arc;

use callmark_reports::record::Level;
use callmark_reports::recording::{
    RECORDING_SCHEMA, RecordingFinding, RecordingOutcome, RecordingReport, RecordingRule, RecordingSource,
    RecordingVerdict,
};

use super::format::Format;
use super::rulebook::Rulebook;
use super::source::{Origin, Source};
use super::tally::{Count, First, Tally};
use crate::engine::run::Library;

/// What came of recordings.
#[derive(Debug, Default)]
pub struct Judged {
    /// What was judged.
    pub tally: Tally,
    /// The rules of the roles that were seen.
    pub rulebooks: BTreeMap<&'static str, Arc<Rulebook>>,
    /// The recordings, in order.
    pub sources: Vec<Source>,
}

/// What became of one rule of a role.
#[derive(Default)]
struct Sum {
    exchanges: u64,
    breaches: u64,
    /// The first breach, with the level that the documents give it.
    first: Option<(Level, First)>,
}

impl Sum {
    fn add(&mut self, level: Level, count: &Count) {
        self.exchanges = self.exchanges.max(count.exchanges);
        self.breaches = self.breaches.max(count.breaches);
        let Some(first) = &count.first else { return };
        let level = if first.is_recommended { level.max(Level::Should) } else { level };
        let rank = |level: Level, first: &First| (level, first.at);
        if self.first.as_ref().is_none_or(|(own, other)| rank(level, first) < rank(*own, other)) {
            self.first = Some((level, first.clone()));
        }
    }

    fn outcome(&self, strict: bool) -> RecordingOutcome {
        match &self.first {
            Some((Level::Must, _)) => RecordingOutcome::Violated,
            Some((Level::Should, _)) if strict => RecordingOutcome::Violated,
            Some(_) => RecordingOutcome::Warned,
            None if self.exchanges > 0 => RecordingOutcome::NoViolation,
            None => RecordingOutcome::NotObserved,
        }
    }
}

impl Judged {
    /// The report. `strict` takes what is against a recommendation for a violation.
    pub fn report(&self, library: &Library, strict: bool) -> RecordingReport {
        let mut rules = Vec::new();
        let mut findings = Vec::new();
        for (profile, rulebook) in &self.rulebooks {
            let mut sums: BTreeMap<&str, Sum> = BTreeMap::new();
            let counts = self.tally.counts.get(profile).map(Vec::as_slice).unwrap_or_default();
            let none = Count::default();
            for (index, clause) in rulebook.clauses.iter().enumerate() {
                for rule in &clause.rules {
                    let sum = sums.entry(rule).or_default();
                    sum.add(clause.level, counts.get(index).unwrap_or(&none));
                }
            }
            for rule in library.registry.of_profile(profile) {
                let Some(sum) = sums.remove(rule.id.as_str()) else { continue };
                rules.push(RecordingRule {
                    id: rule.id.clone(),
                    profile: (*profile).to_owned(),
                    outcome: sum.outcome(strict),
                    exchanges: sum.exchanges,
                });
                let Some((level, First { at, mut evidence, .. })) = sum.first else { continue };
                evidence.rerun = format!("callmark explain {}", rule.id);
                findings.push(RecordingFinding {
                    rule: rule.id.clone(),
                    profile: (*profile).to_owned(),
                    level,
                    statement: rule.statement.clone(),
                    source: rule.source.clone(),
                    breaches: sum.breaches,
                    at: self.place(at.file, at.line),
                    evidence,
                });
            }
        }
        let is_violated = rules.iter().any(|rule| rule.outcome == RecordingOutcome::Violated);
        RecordingReport {
            schema: RECORDING_SCHEMA.to_owned(),
            verdict: if is_violated { RecordingVerdict::Violations } else { RecordingVerdict::NoViolation },
            exchanges: self.tally.exchanges,
            sources: self.sources.iter().map(Source::report).collect(),
            findings,
            rules,
        }
    }

    fn place(&self, file: usize, line: u64) -> String {
        let Some(source) = self.sources.get(file) else { return line.to_string() };
        let name = &source.name;
        match source.origin {
            Origin::Recording(Format::Har) => format!("{name}, entry {line}"),
            Origin::Recording(Format::NatsDump) | Origin::Bus => format!("{name}, message {line}"),
            Origin::Store => format!("{name}, event {line}"),
            Origin::Exchanges => format!("{name}, exchange {line}"),
            Origin::Load => format!("call {line}"),
            Origin::Recording(_) => format!("{name}:{line}"),
        }
    }
}

impl Source {
    fn report(&self) -> RecordingSource {
        RecordingSource {
            file: self.name.clone(),
            format: self.origin.name().to_owned(),
            messages: self.messages,
            unattributed: self.unattributed,
            too_long: self.too_long,
            dropped: self.dropped,
            cut_short: self.cut_short,
        }
    }
}
