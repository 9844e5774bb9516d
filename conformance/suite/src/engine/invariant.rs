//! What must hold in every exchange of a run, whichever scenario caused it.
//!
//! A scenario with the tag `@always` sends nothing: its first step names a kind of exchange, and the steps after it
//! judge one exchange of that kind, with the judgements that other scenarios make as well. Its World gathers them into
//! an `Every`, and `run::always` applies that to the messages of all scenarios once they have ended.

use std::any::Any;

use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::transcript::Frame;

/// Tag of the scenarios that are judged in every exchange.
pub const ALWAYS: &str = "always";

/// A kind of exchange.
pub(crate) trait ExchangeKind: PartialEq + Send + Sync + 'static {
    /// One exchange, as its judgements see it.
    type Exchange<'a>;

    /// The exchanges of this kind among the messages of one scenario, in order. One whose stimulus breaks the
    /// documents itself is none: what is to be answered to that is another rule's business.
    fn find<'a>(&self, frames: &'a [Frame]) -> Vec<Self::Exchange<'a>>;

    /// The exchanges of each of several kinds. A type whose kinds are found among the same parsed messages parses them once.
    fn find_each<'a>(kinds: &[&Self], frames: &'a [Frame]) -> Vec<Vec<Self::Exchange<'a>>> {
        kinds.iter().map(|kind| kind.find(frames)).collect()
    }

    /// The number of the message to the target that it begins with.
    fn stimulus(exchange: &Self::Exchange<'_>) -> u32;
}

/// A judgement of one exchange.
pub(crate) type Check<K> =
    Box<dyn for<'e, 'a> Fn(&'e <K as ExchangeKind>::Exchange<'a>) -> Judgement + Send + Sync>;

/// Judgements of every exchange of a kind.
pub(crate) struct Every<K: ExchangeKind> {
    kind: K,
    checks: Vec<Check<K>>,
}

impl<K: ExchangeKind> Every<K> {
    /// No judgement yet.
    pub(crate) fn of(kind: K) -> Self {
        Self { kind, checks: Vec::new() }
    }

    /// Adds a judgement. It is made of the exchanges that all judgements before it let pass.
    pub(crate) fn check(
        &mut self,
        check: impl for<'e, 'a> Fn(&'e K::Exchange<'a>) -> Judgement + Send + Sync + 'static,
    ) {
        self.checks.push(Box::new(check));
    }
}

/// What must hold in every exchange, whatever the family.
pub trait Invariant: Any + Send + Sync {
    /// Judges the exchanges among the messages of one scenario, by those of `all` that are about kinds of the same type:
    /// finding them is most of the work. Nothing for any other of `all`.
    fn judge(&self, all: &[&dyn Invariant], frames: &[Frame]) -> Vec<Option<Judged>>;

    /// How many judgements it makes of each exchange.
    fn checks(&self) -> usize;
}

/// What the exchanges of one scenario come to.
#[derive(Debug, Default)]
pub struct Judged {
    /// Those that all judgements had something to look at in.
    pub exchanges: usize,
    /// The first one that breaks the rule, one that breaks all of it before one that is against a recommendation only: the
    /// number of the judgement, from 0, and what it found.
    pub broken: Option<(usize, Box<Finding>)>,
}

impl<K: ExchangeKind> Invariant for Every<K> {
    fn judge(&self, all: &[&dyn Invariant], frames: &[Frame]) -> Vec<Option<Judged>> {
        let alike: Vec<Option<&Self>> = all
            .iter()
            .map(|other| {
                let other: &dyn Any = *other;
                other.downcast_ref::<Self>()
            })
            .collect();
        let mut kinds: Vec<&K> = Vec::new();
        for own in alike.iter().flatten() {
            if !kinds.contains(&&own.kind) {
                kinds.push(&own.kind);
            }
        }
        let found = K::find_each(&kinds, frames);
        let exchanges = |own: &Self| kinds.iter().position(|kind| **kind == own.kind).map(|at| &found[at]);
        alike.iter().map(|own| own.and_then(|own| Some(own.judge_each(exchanges(own)?)))).collect()
    }

    fn checks(&self) -> usize {
        self.checks.len()
    }
}

impl<K: ExchangeKind> Every<K> {
    fn judge_each(&self, exchanges: &[K::Exchange<'_>]) -> Judged {
        let mut judged = Judged::default();
        for exchange in exchanges {
            let failures = self.checks.iter().enumerate().map(|(number, check)| (number, check(exchange)));
            match failures.into_iter().find(|(_, judged)| judged.is_err()) {
                None => judged.exchanges += 1,
                Some((number, Err(CheckFailure::Broken(mut finding)))) => {
                    judged.exchanges += 1;
                    finding.subject.get_or_insert(K::stimulus(exchange));
                    let is_recommended = finding.level().is_some();
                    if judged.broken.is_none() || !is_recommended {
                        judged.broken = Some((number, finding));
                    }
                    if !is_recommended {
                        break;
                    }
                }
                // It shows nothing of what the rule is about.
                Some(_) => {}
            }
        }
        judged
    }
}

impl std::fmt::Debug for dyn Invariant {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Invariant").field("checks", &self.checks()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use callmark_reports::record::Direction;
    use serde_json::json;

    use super::*;
    use crate::transcript::Kind;

    #[derive(PartialEq)]
    struct Answers;

    impl ExchangeKind for Answers {
        type Exchange<'a> = &'a Frame;

        fn find<'a>(&self, frames: &'a [Frame]) -> Vec<&'a Frame> {
            frames.iter().filter(|frame| frame.kind == Kind::HubResponse).collect()
        }

        fn stimulus(exchange: &&Frame) -> u32 {
            exchange.n
        }
    }

    fn frames(values: &[i64]) -> Vec<Frame> {
        let frame = |(n, value): (u32, &i64)| Frame {
            n,
            at_us: 0,
            direction: Direction::FromTarget,
            kind: Kind::HubResponse,
            channel: String::new(),
            headers: BTreeMap::new(),
            body: json!(value),
        };
        (1..).zip(values).map(frame).collect()
    }

    #[test]
    fn the_first_exchange_that_breaks_it_is_shown_and_others_are_counted() {
        let mut every = Every::of(Answers);
        every.check(|frame: &&Frame| match frame.body.as_i64() {
            Some(0) => Err(CheckFailure::NotObserved("nothing".to_owned())),
            _ => Ok(()),
        });
        every.check(|frame: &&Frame| {
            let finding = Finding::new("it is negative", "change it").frame(frame);
            match frame.body.as_i64() {
                Some(-100) => Err(finding.recommended("it is very negative").into()),
                Some(..0) => Err(finding.into()),
                _ => Ok(()),
            }
        });
        let check = |values: &[i64], exchanges: usize, broken: Option<(usize, u32)>| {
            let judged = every.judge(&[&every], &frames(values)).remove(0).expect("its own kind");
            let found = judged.broken.map(|(number, finding)| (number, finding.subject.unwrap_or_default()));
            assert_eq!((judged.exchanges, found), (exchanges, broken), "{values:?}");
        };
        check(&[], 0, None);
        check(&[0, 0], 0, None);
        check(&[1, 0, 2], 2, None);
        check(&[1, -1, -2], 2, Some((1, 2)));
        // What is against a recommendation hides nothing that is against the rule.
        check(&[-100, 1, -1], 3, Some((1, 3)));
        check(&[-100, 1, -100], 3, Some((1, 1)));
    }
}
