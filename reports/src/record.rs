//! The run record: what a run found out, as plain data that every report is rendered from.
//!
//! Everything here is deterministic: two runs of one target give the same bytes.
//! Durations and wall clock live in `timings.json`, which nothing here knows about.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::chaos::ChaosReport;
pub use crate::frame::{Direction, FrameExcerpt};

/// The value of [`RunRecord::schema`].
pub const RUN_SCHEMA: &str = "callmark.run/1";

/// One run of the suite against one target (`run.json`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Always [`RUN_SCHEMA`].
    pub schema: String,
    /// Which suite judged.
    pub suite: SuiteInfo,
    /// What was judged.
    pub target: TargetInfo,
    /// Which checks counted; absent in records of suites without editions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edition: Option<Edition>,
    /// Which part of a run this is; none of a whole run, and of what shards were merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// Why this is no whole run although it is no shard; none of a whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Partial>,
    /// The sentence that matters.
    pub verdict: Verdict,
    /// How many rules had which outcome.
    pub summary: Summary,
    /// Every selected rule, once per profile, in registry order.
    pub rules: Vec<RuleEntry>,
    /// What came of disturbing the target's replicas, by role; empty where nobody asked for it. The verdict is without it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chaos: Vec<ChaosReport>,
}

/// Identity of the suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuiteInfo {
    /// Version of Callmark.
    pub version: String,
    /// SHA-256 over all features and the registry, lower-case hex.
    pub features_sha256: String,
    /// Seed of all ids that the suite made.
    pub seed: u64,
}

/// Which checks counted, and what came of those that did not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edition {
    /// For example `2026.1`: the edition that is pinned, or else the newest that the suite has.
    pub name: String,
    /// Whether the manifest or the command line pins it: then only its checks count. Otherwise all of the suite do.
    pub pinned: bool,
    /// Selected scenarios that are newer than the edition.
    pub newer: u32,
    /// What rules come to by those scenarios alone, where they do not count; neither verdict nor summary has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<RuleEntry>,
}

/// Identity of the target, from its manifest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetInfo {
    /// `[target] name`.
    pub name: String,
    /// `[target] version`, empty when it names none.
    pub version: String,
}

/// One of the parts into which the scenarios of a run were divided: `2/5` is the second of five.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Which one, from 1.
    pub index: u16,
    /// How many there are.
    pub of: u16,
}

impl std::fmt::Display for Shard {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}/{}", self.index, self.of)
    }
}

/// Why a record is about a part of what was selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Partial {
    /// Only what an earlier run did not pass was run again.
    Failures,
    /// The run ended at the first failure.
    Stopped,
}

impl Partial {
    /// The name used in every report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::Stopped => "stopped",
        }
    }
}

impl RunRecord {
    /// Whether this is about a part of a run, which alone does not show that the target conforms.
    pub fn is_part(&self) -> bool {
        self.shard.is_some() || self.partial.is_some()
    }

    /// The verdict that follows from its rules.
    pub fn concluded(&self) -> Verdict {
        if self.is_part() { Verdict::of_part(&self.rules) } else { Verdict::of(&self.rules) }
    }

    /// What of the record contradicts its own rules: they are what verdict and summary come from.
    ///
    /// # Errors
    /// One sentence.
    pub fn consistent(&self) -> Result<(), String> {
        let mut known = std::collections::BTreeSet::new();
        if let Some(twice) = self.rules.iter().find(|rule| !known.insert((&rule.profile, &rule.id))) {
            return Err(format!("it holds {} of `{}` twice", twice.id, twice.profile));
        }
        if self.summary != Summary::of(&self.rules) {
            return Err("its summary is not that of its rules".to_owned());
        }
        if self.verdict != self.concluded() {
            return Err(format!(
                "it says `{}`, and its rules come to `{}`",
                self.verdict.name(),
                self.concluded().name()
            ));
        }
        Ok(())
    }
}

/// Verdict of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// No MUST rule is broken and every check ran.
    Conformant,
    /// At least one MUST rule is broken (with `--strict`, or a SHOULD rule).
    Nonconformant,
    /// Nothing is known to be broken, but some check could not run or saw nothing, or no rule was judged at all.
    Incomplete,
}

impl Verdict {
    /// The verdict that follows from the outcomes.
    pub fn of(rules: &[RuleEntry]) -> Self {
        let any = |outcomes: &[Outcome]| rules.iter().any(|rule| outcomes.contains(&rule.outcome));
        if any(&[Outcome::Failed]) {
            Self::Nonconformant
        } else if any(&[Outcome::CouldNotRun, Outcome::NotObserved]) || !any_judged(rules) {
            Self::Incomplete
        } else {
            Self::Conformant
        }
    }
}

impl Verdict {
    /// The name used in every report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Conformant => "conformant",
            Self::Nonconformant => "nonconformant",
            Self::Incomplete => "incomplete",
        }
    }

    /// The verdict of a part of a run, which alone does not show that the target conforms.
    pub fn of_part(rules: &[RuleEntry]) -> Self {
        match Self::of(rules) {
            Self::Conformant => Self::Incomplete,
            other => other,
        }
    }
}

/// Whether any rule applied to the target, so that there is something to have a verdict on.
pub fn any_judged(rules: &[RuleEntry]) -> bool {
    rules.iter().any(|rule| !matches!(rule.outcome, Outcome::NotApplicable | Outcome::Excluded))
}

/// Outcome of a rule or of one of its scenarios: a closed vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Broken, and the rule is a MUST.
    Failed,
    /// The check had no chance: prerequisite or environment failed.
    CouldNotRun,
    /// The check ran and saw no subject. Never a pass.
    NotObserved,
    /// Broken, and the rule is a SHOULD.
    Warned,
    /// Broken, and the baseline says so.
    KnownFailing,
    /// Held.
    Passed,
    /// A MAY rule: what was seen is recorded.
    Noted,
    /// The target does not declare what the rule is about.
    NotApplicable,
    /// No black box can test it; the registry gives the reason.
    Excluded,
}

impl Outcome {
    /// All outcomes, most urgent first.
    pub const ALL: [Self; 9] = [
        Self::Failed,
        Self::CouldNotRun,
        Self::NotObserved,
        Self::Warned,
        Self::KnownFailing,
        Self::Passed,
        Self::Noted,
        Self::NotApplicable,
        Self::Excluded,
    ];

    /// The name used in every report, for example `not-applicable`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::CouldNotRun => "could-not-run",
            Self::NotObserved => "not-observed",
            Self::Warned => "warned",
            Self::KnownFailing => "known-failing",
            Self::Passed => "passed",
            Self::Noted => "noted",
            Self::NotApplicable => "not-applicable",
            Self::Excluded => "excluded",
        }
    }
}

/// How strongly a document asks for something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Must, required, never.
    Must,
    /// Should, recommended, usually.
    Should,
    /// May, optional.
    May,
}

impl Level {
    /// `must`, `should` or `may`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Must => "must",
            Self::Should => "should",
            Self::May => "may",
        }
    }
}

/// Rules by outcome, and the number of scenarios that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "each field counts the outcome it is named after")]
pub struct Summary {
    pub passed: u32,
    pub failed: u32,
    pub warned: u32,
    pub not_applicable: u32,
    pub not_observed: u32,
    pub could_not_run: u32,
    pub known_failing: u32,
    pub noted: u32,
    pub excluded: u32,
    /// Scenarios that were started, whatever came of them.
    pub scenarios: u32,
}

impl Summary {
    /// Counts the entries and the scenarios in them. A scenario that serves several rules counts once.
    pub fn of(rules: &[RuleEntry]) -> Self {
        let mut summary = Self::default();
        let mut seen = std::collections::BTreeSet::new();
        for rule in rules {
            *summary.slot(rule.outcome) += 1;
            for scenario in &rule.scenarios {
                if scenario.outcome != Outcome::NotApplicable {
                    seen.insert(scenario.id.as_str());
                }
            }
        }
        summary.scenarios = u32::try_from(seen.len()).unwrap_or(u32::MAX);
        summary
    }

    /// Number of rules with this outcome.
    pub fn count(&self, outcome: Outcome) -> u32 {
        *self.clone().slot(outcome)
    }

    fn slot(&mut self, outcome: Outcome) -> &mut u32 {
        match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Failed => &mut self.failed,
            Outcome::Warned => &mut self.warned,
            Outcome::NotApplicable => &mut self.not_applicable,
            Outcome::NotObserved => &mut self.not_observed,
            Outcome::CouldNotRun => &mut self.could_not_run,
            Outcome::KnownFailing => &mut self.known_failing,
            Outcome::Noted => &mut self.noted,
            Outcome::Excluded => &mut self.excluded,
        }
    }
}

/// One rule in one profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RuleEntry {
    /// For example `UTP-4.1-35`.
    pub id: String,
    /// MUST, SHOULD or MAY.
    pub level: Level,
    /// For example `utp.tool-service`.
    pub profile: String,
    /// The rule in our own words.
    pub statement: String,
    /// Document and section, for example `UTP Tool Protocol §4.1`.
    pub source: String,
    /// What came of it.
    pub outcome: Outcome,
    /// Why, where the outcome alone does not say it: the exclusion's reason, the missing capability, the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Every scenario that speaks for the rule, in feature order.
    pub scenarios: Vec<ScenarioEntry>,
}

/// One scenario, or one row of an outline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScenarioEntry {
    /// Stable id: feature path without extension, rule, and number of the row.
    pub id: String,
    /// Title as written, with the row's values.
    pub name: String,
    /// Feature file, relative, for example `features/utp/tool-service/callback.feature`.
    pub file: String,
    /// Line of the scenario or of the row, from 1.
    pub line: u32,
    /// What came of it for this rule.
    pub outcome: Outcome,
    /// Why it was not judged, or what was noted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was seen, for every failure and warning.
    pub evidence: Option<Evidence>,
}

/// All that the author of the target needs to see what is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The step that found it, as written, for example `Then the callback carries "status"`.
    pub step: String,
    /// `features/…:line:col` of that step.
    pub location: String,
    /// What is wrong, one sentence.
    pub message: String,
    /// What would have been right, in words or as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// What came instead. Absent when nothing came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<Value>,
    /// JSON Pointer of the member within the message, for example `/payload/status`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pointer: Option<String>,
    /// What to change.
    pub hint: String,
    /// Id of the scenario whose messages these are, where another one's are judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// The messages involved, in order.
    pub frames: Vec<FrameExcerpt>,
    /// One command that runs just this again.
    pub rerun: String,
    /// One command that sends the message by hand, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reproduce: Option<String>,
}
