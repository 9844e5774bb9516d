//! What every report asks of a record: what explains a rule's outcome, which rules share a cause, what the verdict says.
//!
//! Neighbours: the renderers. Deliberately absent: anything about how it is written down.

use std::collections::BTreeMap;

use crate::record::{
    Direction, FrameExcerpt, Level, Outcome, Partial, RuleEntry, RunRecord, ScenarioEntry, Verdict,
    any_judged,
};
use crate::text;

/// The rules of one profile, in registry order.
pub(crate) struct Profile<'a> {
    pub(crate) name: &'a str,
    pub(crate) rules: Vec<&'a RuleEntry>,
}

impl Profile<'_> {
    /// `3 failed, 40 passed`, most urgent first, without zeros.
    pub(crate) fn counts(&self) -> String {
        counts(|outcome| self.rules.iter().filter(|rule| rule.outcome == outcome).count())
    }
}

/// Rules that could not be judged for the same reason.
pub(crate) struct Cause<'a> {
    pub(crate) reason: &'a str,
    pub(crate) rules: Vec<&'a RuleEntry>,
}

/// Every profile, by name.
pub(crate) fn profiles(record: &RunRecord) -> Vec<Profile<'_>> {
    let mut by_name = BTreeMap::<&str, Vec<&RuleEntry>>::new();
    for rule in &record.rules {
        by_name.entry(&rule.profile).or_default().push(rule);
    }
    by_name.into_iter().map(|(name, rules)| Profile { name, rules }).collect()
}

/// What became of a protocol in one of several revisions that a run was about.
pub(crate) struct InRevision<'a> {
    /// Protocol and revision as the ids of profiles have them: `utp`, `utp@v1r4`.
    pub(crate) name: String,
    pub(crate) verdict: Verdict,
    /// Ids of its broken rules, each once, in registry order.
    pub(crate) broken: Vec<&'a str>,
}

impl InRevision<'_> {
    /// What it breaks, in a few words; nothing where it breaks nothing.
    pub(crate) fn breaks(&self) -> Option<String> {
        let shown: Vec<String> = self.broken.iter().take(MOST_BROKEN).map(|id| text::line(id, 40)).collect();
        let more = self.broken.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!shown.is_empty()).then(|| format!("breaks {}{more}", shown.join(", ")))
    }
}

/// More broken rules of a revision than this are counted.
const MOST_BROKEN: usize = 8;

/// Protocol and revision of a profile, in letters that act nowhere.
fn revision_of(profile: &str) -> (String, String) {
    let plain = |text: &str| -> String {
        let kept = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '_' };
        text.chars().take(80).map(kept).collect()
    };
    let (base, revision) = profile.split_once('@').unwrap_or((profile, ""));
    (plain(base.split('.').next().unwrap_or_default()), plain(revision))
}

/// The protocols that the run was about in several revisions, each with what became of it in each of these.
pub(crate) fn revisions(record: &RunRecord) -> Vec<InRevision<'_>> {
    let mut found = BTreeMap::<(String, String), Vec<&RuleEntry>>::new();
    for rule in &record.rules {
        found.entry(revision_of(&rule.profile)).or_default().push(rule);
    }
    let several = |protocol: &str| found.keys().filter(|(own, _)| own == protocol).count() > 1;
    let shown = found.iter().filter(|((protocol, _), _)| several(protocol));
    shown.map(|((protocol, revision), rules)| in_revision(record, protocol, revision, rules)).collect()
}

fn in_revision<'a>(
    record: &RunRecord,
    protocol: &str,
    revision: &str,
    rules: &[&'a RuleEntry],
) -> InRevision<'a> {
    let mut broken: Vec<&str> = Vec::new();
    for rule in rules.iter().filter(|rule| rule.outcome == Outcome::Failed) {
        if !broken.contains(&rule.id.as_str()) {
            broken.push(&rule.id);
        }
    }
    let own: Vec<RuleEntry> = rules.iter().map(|rule| (*rule).clone()).collect();
    let verdict = if record.is_part() { Verdict::of_part(&own) } else { Verdict::of(&own) };
    InRevision { name: named(protocol, revision), verdict, broken }
}

/// Protocol and revision as the ids of profiles have them.
fn named(protocol: &str, revision: &str) -> String {
    if revision.is_empty() { protocol.to_owned() } else { format!("{protocol}@{revision}") }
}

/// The revision in which everything is that is broken, where the run was about several of its protocol.
fn only_broken_in(record: &RunRecord) -> Option<String> {
    let failed = with_outcome(record, Outcome::Failed);
    let first = revision_of(&failed.first()?.profile);
    if failed.iter().any(|rule| revision_of(&rule.profile) != first) {
        return None;
    }
    let name = named(&first.0, &first.1);
    revisions(record).into_iter().map(|own| own.name).find(|own| *own == name)
}

/// The rules with this outcome, in registry order.
pub(crate) fn with_outcome(record: &RunRecord, outcome: Outcome) -> Vec<&RuleEntry> {
    record.rules.iter().filter(|rule| rule.outcome == outcome).collect()
}

/// The rules with this outcome by what caused it, the cause of most rules first.
///
/// A target that cannot be reached leaves hundreds of rules unjudged for one reason: it is reported once.
pub(crate) fn causes(record: &RunRecord, outcome: Outcome) -> Vec<Cause<'_>> {
    let mut by_reason = BTreeMap::<&str, Vec<&RuleEntry>>::new();
    for rule in with_outcome(record, outcome) {
        by_reason.entry(reason(rule)).or_default().push(rule);
    }
    let mut causes: Vec<_> = by_reason.into_iter().map(|(reason, rules)| Cause { reason, rules }).collect();
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.rules.len()));
    causes
}

/// The scenarios that made the rule's outcome what it is.
pub(crate) fn explaining(rule: &RuleEntry) -> Vec<&ScenarioEntry> {
    let explains = |scenario: &&ScenarioEntry| outcome_of(rule, scenario) == rule.outcome;
    rule.scenarios.iter().filter(explains).collect()
}

/// The scenario's outcome as the rule counts it.
///
/// A baseline makes a broken rule known, and a strict run makes a warning a failure:
/// what holds for the rule then holds for the scenario that broke it, whichever of the two the record names.
pub(crate) fn outcome_of(rule: &RuleEntry, scenario: &ScenarioEntry) -> Outcome {
    match (rule.outcome, scenario.outcome) {
        (Outcome::KnownFailing, Outcome::Failed | Outcome::Warned) => Outcome::KnownFailing,
        (Outcome::Failed, Outcome::Warned) => Outcome::Failed,
        (_, own) => own,
    }
}

/// Why the rule has its outcome, in one sentence.
pub(crate) fn reason(rule: &RuleEntry) -> &str {
    let recorded = rule.reason.as_deref();
    recorded.or_else(|| explaining(rule).into_iter().find_map(why)).unwrap_or("no reason was recorded")
}

/// Why the scenario has its outcome, where it is known.
pub(crate) fn why(scenario: &ScenarioEntry) -> Option<&str> {
    let found = scenario.evidence.as_ref().map(|evidence| evidence.message.as_str());
    found.or(scenario.reason.as_deref())
}

/// `acme-tides 1.4.0`, on one line.
pub(crate) fn target(record: &RunRecord) -> String {
    let target = &record.target;
    text::line(format!("{} {}", target.name, target.version).trim(), 200)
}

/// Which checks counted, in words; nothing where the suite has no editions.
pub(crate) fn edition(record: &RunRecord) -> Option<String> {
    let edition = record.edition.as_ref()?;
    let name = text::line(&edition.name, 80);
    let newer = text::count(usize::try_from(edition.newer).unwrap_or(usize::MAX), "newer scenario");
    Some(match (edition.pinned, edition.newer) {
        (true, 0) => format!("{name}, pinned"),
        (true, _) => format!("{name}, pinned; {newer} not counted"),
        (false, 0) => name,
        (false, _) => format!("{name} and {newer}"),
    })
}

/// What is wrong by checks that do not count, since they are newer than the pinned edition: rules in registry order.
pub(crate) fn remarks(record: &RunRecord) -> Vec<&RuleEntry> {
    newer_rules(record)
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Failed | Outcome::Warned))
        .collect()
}

/// What rules come to by checks that do not count.
pub(crate) fn newer_rules(record: &RunRecord) -> &[RuleEntry] {
    record.edition.as_ref().map(|edition| edition.rules.as_slice()).unwrap_or_default()
}

/// `new since 2026.1`, where an edition is pinned.
pub(crate) fn newer_title(record: &RunRecord) -> String {
    let name = record.edition.as_ref().map_or("", |edition| edition.name.as_str());
    format!("new since {}", text::line(name, 80))
}

/// The one word, and beside it which part of a run it is of.
pub(crate) fn verdict(record: &RunRecord) -> String {
    let word = record.verdict.name();
    let part = match (record.shard, record.partial) {
        (Some(shard), _) => format!(" (shard {shard})"),
        (None, Some(partial)) => format!(" ({})", part(partial)),
        (None, None) => String::new(),
    };
    format!("{word}{part}")
}

/// Which part of a run was judged, in words.
pub(crate) fn part(partial: Partial) -> &'static str {
    match partial {
        Partial::Failures => "earlier failures only",
        Partial::Stopped => "stopped at the first failure",
    }
}

/// The verdict's meaning for this run, as a sentence without its full stop.
pub(crate) fn sentence(record: &RunRecord) -> String {
    let number = |outcome| usize::try_from(record.summary.count(outcome)).unwrap_or(usize::MAX);
    let many = |n: usize, noun: &str, one: &str, more: &str| {
        format!("{} {}", text::count(n, noun), if n == 1 { one } else { more })
    };
    let mut parts = match record.verdict {
        Verdict::Conformant => {
            let passed = number(Outcome::Passed);
            vec![many(passed, "rule", "holds", "hold") + ", none is broken"]
        }
        Verdict::Nonconformant => {
            let broken = many(number(Outcome::Failed), "rule", "is broken", "are broken");
            let only = only_broken_in(record).map(|name| format!(", in {name} only"));
            vec![broken + &only.unwrap_or_default()]
        }
        Verdict::Incomplete if !any_judged(&record.rules) => vec!["no rule was judged".to_owned()],
        Verdict::Incomplete if record.shard.is_some() => {
            vec!["nothing is known to be broken in this shard".to_owned()]
        }
        Verdict::Incomplete if record.partial.is_some() => {
            vec!["nothing is known to be broken in this part of a run".to_owned()]
        }
        Verdict::Incomplete => vec!["nothing is known to be broken".to_owned()],
    };
    let unjudged = number(Outcome::CouldNotRun).saturating_add(number(Outcome::NotObserved));
    if unjudged > 0 {
        let could_not = "could not be judged";
        parts.push(many(unjudged, "rule", could_not, could_not));
    }
    let warned = number(Outcome::Warned);
    if warned > 0 {
        parts.push(many(warned, "recommendation", "is not followed", "are not followed"));
    }
    let known = number(Outcome::KnownFailing);
    if known > 0 {
        let (one, more) = ("fails as the baseline says", "fail as the baseline says");
        parts.push(many(known, "rule", one, more));
    }
    let remarks = remarks(record).len();
    if remarks > 0 {
        let since = newer_title(record);
        let one = format!("is {since} and does not count");
        let more = format!("are {since} and do not count");
        parts.push(many(remarks, "remark", &one, &more));
    }
    if let Some(shard) = record.shard {
        parts.push(format!(
            "`callmark merge` of all {} gives the verdict",
            text::count(shard.of.into(), "shard")
        ));
    }
    if record.shard.is_none() && record.partial.is_some() {
        parts.push("only a whole run gives the verdict".to_owned());
    }
    parts.join("; ")
}

/// `3 failed, 40 passed`, most urgent first, without zeros.
pub(crate) fn counts(count: impl Fn(Outcome) -> usize) -> String {
    let parts = Outcome::ALL.into_iter().map(|outcome| (count(outcome), outcome));
    let parts: Vec<_> =
        parts.filter(|(n, _)| *n > 0).map(|(n, outcome)| format!("{n} {}", label(outcome))).collect();
    if parts.is_empty() { "no rules".to_owned() } else { parts.join(", ") }
}

/// The record's totals in the form of [`counts`].
pub(crate) fn totals(record: &RunRecord) -> String {
    counts(|outcome| usize::try_from(record.summary.count(outcome)).unwrap_or(usize::MAX))
}

/// The outcome in words.
pub(crate) fn label(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::CouldNotRun => "could not run",
        Outcome::NotObserved => "not observed",
        Outcome::KnownFailing => "known failing",
        Outcome::NotApplicable => "not applicable",
        other => other.name(),
    }
}

/// A sign that distinguishes the outcome without colour. Never the only one: the word stands beside it.
pub(crate) fn symbol(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Failed => "✕",
        Outcome::CouldNotRun => "!",
        Outcome::NotObserved => "?",
        Outcome::Warned => "▲",
        Outcome::KnownFailing => "≈",
        Outcome::Passed => "✓",
        Outcome::Noted => "•",
        Outcome::NotApplicable => "–",
        Outcome::Excluded => "○",
    }
}

/// `MUST`, `SHOULD` or `MAY`, as the documents write it.
pub(crate) fn level(level: Level) -> &'static str {
    match level {
        Level::Must => "MUST",
        Level::Should => "SHOULD",
        Level::May => "MAY",
    }
}

/// Who sent a message to whom, for example `worker → target`.
pub(crate) fn route(frame: &FrameExcerpt) -> String {
    let party = text::line(&frame.party, 80);
    match frame.direction {
        Direction::ToTarget => format!("{party} → target"),
        Direction::FromTarget => format!("target → {party}"),
        Direction::Observed => format!("{party}, observed"),
    }
}

/// `features/….feature:12:5` in its parts.
pub(crate) fn place(location: &str) -> Option<(&str, u32, u32)> {
    let (rest, column) = location.rsplit_once(':')?;
    let (file, line) = rest.rsplit_once(':')?;
    let (line, column) = (line.parse::<u32>().ok()?, column.parse::<u32>().ok()?);
    Some((file, line.max(1), column.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_s_place_is_read_from_the_right() {
        assert_eq!(place("features/a:b.feature:12:5"), Some(("features/a:b.feature", 12, 5)));
        assert_eq!(place("somewhere"), None);
    }
}
