//! What changed between two runs, rule by rule and profile by profile: pure, like every report.
//!
//! `show` writes it down for people. Deliberately absent: exit codes (`cli`), times, and messages: two runs of
//! one target may exchange them in another order, so evidence is compared by what it claims.

mod show;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::record::{Evidence, Level, Outcome, RuleEntry, RunRecord, Verdict};
use crate::{text, view};

pub use show::{diff_human, diff_json, diff_markdown};

/// The value of [`Diff::schema`].
pub const DIFF_SCHEMA: &str = "callmark.diff/1";

/// The difference between two records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diff {
    /// Always [`DIFF_SCHEMA`].
    pub schema: &'static str,
    /// The run before.
    pub old: Side,
    /// The run after.
    pub new: Side,
    /// How many changes of each kind there are.
    pub summary: BTreeMap<&'static str, u32>,
    /// Every change, most urgent first, then in the order of the records.
    pub changes: Vec<Change>,
}

/// One of the two runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Side {
    /// Name and version of the target.
    pub target: String,
    /// Version of Callmark.
    pub suite: String,
    /// Digest of the features; where it differs, rules may have changed and not the target.
    pub features_sha256: String,
    /// The verdict.
    pub verdict: Verdict,
}

/// What kind of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// The rule is worse off than it was: broken, not judged, or not asked for any more.
    Regression,
    /// The rule holds, and did not.
    Fix,
    /// The older run did not judge this rule.
    New,
    /// The newer run did not judge this rule.
    Gone,
    /// Another outcome that is neither, for example a failure that the baseline now knows.
    Other,
    /// The same outcome for another reason, or in other scenarios.
    Evidence,
}

impl ChangeKind {
    /// All of them, most urgent first.
    pub const ALL: [Self; 6] =
        [Self::Regression, Self::Fix, Self::New, Self::Gone, Self::Other, Self::Evidence];

    /// The name in JSON, for example `regression`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Fix => "fix",
            Self::New => "new",
            Self::Gone => "gone",
            Self::Other => "other",
            Self::Evidence => "evidence",
        }
    }
}

/// A rule that is not as it was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// In which way.
    pub kind: ChangeKind,
    /// Id of the rule.
    pub rule: String,
    /// Its profile.
    pub profile: String,
    /// How strongly it is asked for.
    pub level: Level,
    /// Its outcome before.
    pub old: Option<Outcome>,
    /// Its outcome after.
    pub new: Option<Outcome>,
    /// Why it now has that outcome, where it does not hold.
    pub why: Option<String>,
    /// The scenarios that are not as they were.
    pub scenarios: Vec<ScenarioChange>,
}

/// A scenario that is not as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ScenarioChange {
    /// Its id.
    pub id: String,
    /// Its outcome before.
    pub old: Option<Outcome>,
    /// Its outcome after.
    pub new: Option<Outcome>,
    /// Why it now has that outcome.
    pub why: Option<String>,
}

impl Diff {
    /// Compares two records.
    pub fn of(old: &RunRecord, new: &RunRecord) -> Self {
        let (before, after) = (by_rule(old), by_rule(new));
        let mut changes: Vec<Change> = new
            .rules
            .iter()
            .filter_map(|rule| compared(before.get(&key(rule)).copied(), Some(rule)))
            .chain(
                old.rules
                    .iter()
                    .filter(|rule| !after.contains_key(&key(rule)))
                    .filter_map(|rule| compared(Some(rule), None)),
            )
            .collect();
        changes.sort_by_key(|change| change.kind);
        let count = |kind| changes.iter().filter(|change| change.kind == kind).count();
        let count = |kind| u32::try_from(count(kind)).unwrap_or(u32::MAX);
        let summary = ChangeKind::ALL.into_iter().map(|kind| (kind.name(), count(kind))).collect();
        Self { schema: DIFF_SCHEMA, old: Side::of(old), new: Side::of(new), summary, changes }
    }

    /// Number of changes of this kind.
    pub fn count(&self, kind: ChangeKind) -> u32 {
        self.summary.get(kind.name()).copied().unwrap_or(0)
    }
}

impl Side {
    fn of(record: &RunRecord) -> Self {
        Self {
            target: view::target(record),
            suite: text::line(&record.suite.version, 80),
            features_sha256: text::line(&record.suite.features_sha256, 80),
            verdict: record.verdict,
        }
    }
}

type Key<'a> = (&'a str, &'a str);

fn key(rule: &RuleEntry) -> Key<'_> {
    (&rule.id, &rule.profile)
}

fn by_rule(record: &RunRecord) -> BTreeMap<Key<'_>, &RuleEntry> {
    record.rules.iter().map(|rule| (key(rule), rule)).collect()
}

fn compared(old: Option<&RuleEntry>, new: Option<&RuleEntry>) -> Option<Change> {
    let shown = new.or(old)?;
    let scenarios = scenarios(old, new);
    let kind = match (old, new) {
        (None, _) => ChangeKind::New,
        (_, None) => ChangeKind::Gone,
        (Some(old), Some(new)) if old.outcome == new.outcome => {
            (!scenarios.is_empty()).then_some(ChangeKind::Evidence)?
        }
        (Some(old), Some(new)) => kind(old.outcome, new.outcome),
    };
    let needs_reason = |rule: &&RuleEntry| !matches!(rule.outcome, Outcome::Passed | Outcome::Noted);
    Some(Change {
        kind,
        rule: text::line(&shown.id, 80),
        profile: text::line(&shown.profile, 80),
        level: shown.level,
        old: old.map(|rule| rule.outcome),
        new: new.map(|rule| rule.outcome),
        why: new.filter(needs_reason).map(|rule| text::line(view::reason(rule), text::LINE)),
        // A rule that comes or goes does so with all of its scenarios.
        scenarios: if matches!(kind, ChangeKind::New | ChangeKind::Gone) { Vec::new() } else { scenarios },
    })
}

fn kind(old: Outcome, new: Outcome) -> ChangeKind {
    let holds = |outcome| matches!(outcome, Outcome::Passed | Outcome::Noted);
    // What no black box can test is the suite's doing, not the target's.
    if old == Outcome::Excluded || new == Outcome::Excluded || (holds(old) && holds(new)) {
        ChangeKind::Other
    } else if holds(new) {
        ChangeKind::Fix
    } else if gravity(new) > gravity(old) {
        ChangeKind::Regression
    } else {
        ChangeKind::Other
    }
}

/// What an outcome does to the verdict: nothing, a remark, no verdict at all, nonconformant.
fn gravity(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Passed | Outcome::Noted | Outcome::Excluded => 0,
        Outcome::NotApplicable => 1,
        Outcome::Warned | Outcome::KnownFailing => 2,
        Outcome::NotObserved | Outcome::CouldNotRun => 3,
        Outcome::Failed => 4,
    }
}

fn scenarios(old: Option<&RuleEntry>, new: Option<&RuleEntry>) -> Vec<ScenarioChange> {
    let of = |rule: Option<&'_ RuleEntry>| {
        let all = rule.into_iter().flat_map(|rule| {
            rule.scenarios.iter().map(move |own| (own.id.clone(), (view::outcome_of(rule, own), own.clone())))
        });
        all.collect::<BTreeMap<_, _>>()
    };
    let (old, new) = (of(old), of(new));
    let ids: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let change = |id: &String| {
        let (before, after) = (old.get(id), new.get(id));
        let claims = |side: Option<&(Outcome, crate::record::ScenarioEntry)>| {
            side.map(|(outcome, own)| (*outcome, own.evidence.as_ref().map(claim)))
        };
        (claims(before) != claims(after)).then(|| ScenarioChange {
            id: text::line(id, text::LINE),
            old: before.map(|(outcome, _)| *outcome),
            new: after.map(|(outcome, _)| *outcome),
            why: after.and_then(|(_, own)| view::why(own)).map(|why| text::line(why, text::LINE)),
        })
    };
    ids.into_iter().filter_map(change).collect()
}

/// What evidence claims, without how it came about.
fn claim(evidence: &Evidence) -> (String, Option<String>, Option<String>, Option<String>) {
    let value = |value: &Option<serde_json::Value>| value.as_ref().map(ToString::to_string);
    (evidence.message.clone(), evidence.pointer.clone(), value(&evidence.expected), value(&evidence.actual))
}
