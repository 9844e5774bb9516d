//! How much of each profile a run judged, and what it left out and why.
//!
//! Neighbours: `badge` and `certificate` say it. Deliberately absent: what was found broken (`view`).

use serde::{Deserialize, Serialize};

use crate::record::{Level, Outcome, RuleEntry, RunRecord};
use crate::text;

/// Share of a profile's MUST rules, in percent, that a run must have judged before it is certified.
pub const CERTIFIABLE_PERCENT: usize = 60;
/// Ids of rules that a sentence names before it counts the rest.
const NAMED: usize = 6;

/// What a run judged of one profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Coverage {
    /// For example `hub.server`.
    pub profile: String,
    /// Its rules, without those that no black box can test.
    pub rules: usize,
    /// Those that were judged: they hold, or are known to be broken.
    pub judged: usize,
    /// Its MUST rules, without those that no black box can test.
    pub must: usize,
    /// Those of them that were judged.
    pub must_judged: usize,
    /// Rules that were left out, by reason.
    pub not_applicable: Vec<LeftOut>,
    /// Recommendations that are not followed.
    pub warned: Vec<String>,
    /// MAY rules: what was seen is recorded, and nothing holds or fails.
    pub noted: Vec<String>,
    /// Rules that no black box can test.
    pub excluded: Vec<String>,
}

/// Rules that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// As the run record has it.
    pub reason: String,
    /// Ids, in registry order.
    pub rules: Vec<String>,
}

impl Coverage {
    /// Of every profile of a record, in its order.
    pub fn of(record: &RunRecord) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for rule in &record.rules {
            let place = all.iter().position(|own| own.profile == rule.profile).unwrap_or_else(|| {
                all.push(Self::none(&rule.profile));
                all.len() - 1
            });
            all[place].add(rule);
        }
        all
    }

    fn none(profile: &str) -> Self {
        Self {
            profile: profile.to_owned(),
            rules: 0,
            judged: 0,
            must: 0,
            must_judged: 0,
            not_applicable: Vec::new(),
            warned: Vec::new(),
            noted: Vec::new(),
            excluded: Vec::new(),
        }
    }

    fn add(&mut self, rule: &RuleEntry) {
        let id = || rule.id.clone();
        match rule.outcome {
            Outcome::Excluded => return self.excluded.push(id()),
            Outcome::NotApplicable => self.leave_out(rule),
            Outcome::Warned => self.warned.push(id()),
            Outcome::Noted => self.noted.push(id()),
            Outcome::Failed
            | Outcome::CouldNotRun
            | Outcome::NotObserved
            | Outcome::KnownFailing
            | Outcome::Passed => {}
        }
        let (judged, must) = (usize::from(is_judged(rule.outcome)), usize::from(rule.level == Level::Must));
        self.rules += 1;
        self.judged += judged;
        self.must += must;
        self.must_judged += must * judged;
    }

    fn leave_out(&mut self, rule: &RuleEntry) {
        let reason = rule.reason.as_deref().unwrap_or("no reason was recorded");
        match self.not_applicable.iter_mut().find(|own| own.reason == reason) {
            Some(own) => own.rules.push(rule.id.clone()),
            None => {
                self.not_applicable.push(LeftOut { reason: reason.to_owned(), rules: vec![rule.id.clone()] });
            }
        }
    }

    /// Whether enough of its MUST rules were judged for a certificate.
    pub fn is_certifiable(&self) -> bool {
        self.must_judged * 100 >= self.must * CERTIFIABLE_PERCENT
    }

    /// `79 of 96 rules of hub.server judged, 17 not applicable`.
    pub fn sentence(&self) -> String {
        let left_out: usize = self.not_applicable.iter().map(|own| own.rules.len()).sum();
        let judged =
            format!("{} of {} rules of {} judged", self.judged, self.rules, text::line(&self.profile, 80));
        if left_out == 0 { judged } else { format!("{judged}, {left_out} not applicable") }
    }

    /// A line for each reason, the one of most rules first, and one for each kind of rule that does not count as holding.
    pub fn details(&self) -> Vec<String> {
        let mut left_out: Vec<&LeftOut> = self.not_applicable.iter().collect();
        left_out.sort_by_key(|own| std::cmp::Reverse(own.rules.len()));
        let left_out = left_out
            .into_iter()
            .map(|own| format!("{}: {}", named(&own.rules), text::line(&own.reason, 200)));
        let kinds = [("warned", &self.warned), ("noted", &self.noted), ("excluded", &self.excluded)];
        let kinds = kinds.into_iter().filter(|(_, rules)| !rules.is_empty());
        left_out
            .chain(kinds.map(|(kind, rules)| format!("{} {kind}: {}", rules.len(), named(rules))))
            .collect()
    }

    /// The ids of what is not applicable, shortened.
    pub(crate) fn left_out(&self) -> String {
        let ids: Vec<String> = self.not_applicable.iter().flat_map(|own| own.rules.iter().cloned()).collect();
        named(&ids)
    }
}

fn is_judged(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Passed | Outcome::Noted | Outcome::Warned | Outcome::Failed | Outcome::KnownFailing => true,
        Outcome::NotApplicable | Outcome::Excluded | Outcome::CouldNotRun | Outcome::NotObserved => false,
    }
}

/// `HUB-01, HUB-02 and 3 more`.
fn named(rules: &[String]) -> String {
    // One more takes no more room than to count it.
    let shown = if rules.len() == NAMED + 1 { rules.len() } else { rules.len().min(NAMED) };
    let ids: Vec<String> = rules[..shown].iter().map(|id| text::line(id, 80)).collect();
    let rest = rules.len() - shown;
    if rest == 0 { ids.join(", ") } else { format!("{} and {rest} more", ids.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(id: &str, level: Level, outcome: Outcome, reason: Option<&str>) -> RuleEntry {
        RuleEntry {
            id: id.to_owned(),
            level,
            profile: "hub.server".to_owned(),
            statement: String::new(),
            source: String::new(),
            outcome,
            reason: reason.map(str::to_owned),
            scenarios: Vec::new(),
        }
    }

    fn coverage(rules: &[RuleEntry]) -> Coverage {
        let mut coverage = Coverage::none("hub.server");
        for rule in rules {
            coverage.add(rule);
        }
        coverage
    }

    #[test]
    fn what_was_left_out_is_counted_by_reason_and_noted_apart() {
        let coverage = coverage(&[
            rule("HUB-01", Level::Must, Outcome::Passed, None),
            rule(
                "HUB-02",
                Level::Must,
                Outcome::NotApplicable,
                Some("the target does not declare `provider`"),
            ),
            rule("HUB-03", Level::Should, Outcome::Warned, None),
            rule("HUB-04", Level::May, Outcome::Noted, Some("the Hub is a stub")),
            rule("HUB-05", Level::Must, Outcome::Excluded, Some("nobody sees it")),
            rule("HUB-06", Level::Must, Outcome::NotApplicable, Some("the target does not declare `limit`")),
            rule(
                "HUB-07",
                Level::Must,
                Outcome::NotApplicable,
                Some("the target does not declare `provider`"),
            ),
        ]);
        assert_eq!(coverage.sentence(), "3 of 6 rules of hub.server judged, 3 not applicable");
        assert_eq!(
            coverage.details(),
            [
                "HUB-02, HUB-07: the target does not declare `provider`",
                "HUB-06: the target does not declare `limit`",
                "1 warned: HUB-03",
                "1 noted: HUB-04",
                "1 excluded: HUB-05",
            ]
        );
        assert_eq!((coverage.must, coverage.must_judged), (4, 1));
        assert!(!coverage.is_certifiable());
    }

    #[test]
    fn three_in_five_must_rules_are_enough() {
        let of = |judged: usize| {
            let outcome = |n| if n < judged { Outcome::Passed } else { Outcome::NotApplicable };
            let must: Vec<RuleEntry> = (0..5).map(|n| rule("HUB", Level::Must, outcome(n), None)).collect();
            coverage(&must)
        };
        assert!(of(3).is_certifiable());
        assert!(!of(2).is_certifiable());
        let mut excluded = of(3);
        (0..9).for_each(|_| excluded.add(&rule("HUB", Level::Must, Outcome::Excluded, None)));
        assert!(excluded.is_certifiable(), "what no black box can test does not count");
    }

    #[test]
    fn many_ids_are_shortened() {
        let ids = |n: usize| (1..=n).map(|n| n.to_string()).collect::<Vec<_>>();
        assert_eq!(named(&ids(7)), "1, 2, 3, 4, 5, 6, 7");
        assert_eq!(named(&ids(8)), "1, 2, 3, 4, 5, 6 and 2 more");
    }
}
