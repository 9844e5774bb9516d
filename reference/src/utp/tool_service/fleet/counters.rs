//! Counters that count a call once, whoever is killed at which point.
//!
//! # Why both or neither
//! An outcome that counts is decided by one write, which creates it with the name of its counter and no number yet; from
//! then on whoever sees it can give it its number, and nobody can decide otherwise. A counter holds its value and the call
//! that got it, in one entry, so the value cannot rise without saying for whom. Before a counter moves on, the number is
//! noted in the outcome of that call; so a call whose outcome has no number has none, unless it is the last one of its
//! counter:
//!
//! 1. create the outcome, without a number;
//! 2. read the counter: if the last call is ours, its value is our number;
//! 3. else note its value in the outcome of its last call, unless it is there;
//! 4. read our outcome: if it has a number, another instance gave it, and that is ours;
//! 5. write the counter with the next value and our call, provided that it is as it was read; else begin at 2;
//! 6. note the number in our outcome.
//!
//! After a kill at any point a repetition, or the sweep of another instance, goes on at 2.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::bucket::{Bucket, Write};
use super::instances::Owner;
use crate::cause::Cause;
use crate::utp::ident::digest_of;
use crate::utp::tool_service::result::CallResponse;

/// An outcome as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Who recorded it.
    pub(super) by: Owner,
    /// The counter whose number it still has to get.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) uncounted: Option<String>,
    pub(super) answer: CallResponse,
}

/// A counter as it is kept.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Counter {
    name: String,
    value: u64,
    /// The call that got the value.
    call: String,
}

/// Outcomes and the counters that number them.
#[derive(Debug)]
pub(super) struct Counters {
    calls: Bucket,
    values: Bucket,
    /// Calls of this instance are counted one after another, since they would only get in each other's way.
    turn: tokio::sync::Mutex<()>,
}

/// Counters are never forgotten.
pub(super) const KEPT: Duration = Duration::ZERO;

/// Where the outcome of a call is; `call` is its digest.
pub(super) fn outcome_key(call: &str) -> String {
    format!("outcome.{call}")
}

impl Counters {
    pub(super) fn new(calls: Bucket, values: Bucket) -> Self {
        Self { calls, values, turn: tokio::sync::Mutex::default() }
    }

    /// The recorded answer of a call, with its number if it has to have one.
    pub(super) async fn find(&self, call: &str) -> Result<Option<CallResponse>, Cause> {
        let Some((revision, outcome)) = self.calls.read(&outcome_key(call)).await? else { return Ok(None) };
        self.complete(call, revision, outcome).await.map(Some)
    }

    /// Gives an outcome its number, if it has none, and returns its answer.
    pub(super) async fn complete(
        &self,
        call: &str,
        revision: u64,
        outcome: Outcome,
    ) -> Result<CallResponse, Cause> {
        let Some(name) = outcome.uncounted.clone() else { return Ok(outcome.answer) };
        let number = {
            let _turn = self.turn.lock().await;
            self.number(&name, call).await?
        };
        match number {
            Number::Given(number) => self.note(call, Some((revision, outcome)), number).await,
            Number::Noted(answer) => Ok(*answer),
        }
    }

    /// The number of a call whose outcome is created.
    async fn number(&self, name: &str, call: &str) -> Result<Number, Cause> {
        let key = digest_of(&[name]);
        loop {
            let (revision, counter) = self.values.read::<Counter>(&key).await?.unwrap_or_default();
            if counter.call == call {
                return Ok(Number::Given(counter.value));
            }
            if !counter.call.is_empty() {
                self.note_last(&counter).await?;
            }
            let own = self.calls.read::<Outcome>(&outcome_key(call)).await?;
            let (_, own) = own.ok_or("the outcome that is to be counted is gone")?;
            if own.uncounted.is_none() {
                return Ok(Number::Noted(Box::new(own.answer)));
            }
            let next = Counter { name: name.to_owned(), value: counter.value + 1, call: call.to_owned() };
            if let Write::Done(_) = self.values.write(&key, &next, revision).await? {
                return Ok(Number::Given(next.value));
            }
        }
    }

    /// Makes sure that the last call of a counter has its number in its outcome. One whose outcome is dropped for its age
    /// needs none any more.
    async fn note_last(&self, counter: &Counter) -> Result<(), Cause> {
        let outcome = self.calls.read::<Outcome>(&outcome_key(&counter.call)).await?;
        if let Some((_, Outcome { uncounted: Some(_), .. })) = &outcome {
            self.note(&counter.call, outcome, counter.value).await?;
        }
        Ok(())
    }

    /// Notes a number in an outcome, which is as it was read.
    async fn note(
        &self,
        call: &str,
        mut read: Option<(u64, Outcome)>,
        number: u64,
    ) -> Result<CallResponse, Cause> {
        let key = outcome_key(call);
        loop {
            let (revision, mut outcome) = read.ok_or("the outcome that was counted is gone")?;
            if outcome.uncounted.take().is_none() {
                return Ok(outcome.answer);
            }
            outcome.answer = outcome.answer.counted(number);
            if let Write::Done(_) = self.calls.write(&key, &outcome, revision).await? {
                return Ok(outcome.answer);
            }
            read = self.calls.read(&key).await?;
        }
    }
}

#[cfg(test)]
impl Counters {
    /// Takes a number without noting it, as an instance does that is killed then.
    pub(super) async fn take_number(&self, name: &str, call: &str) -> Result<Option<u64>, Cause> {
        match self.number(name, call).await? {
            Number::Given(number) => Ok(Some(number)),
            Number::Noted(_) => Ok(None),
        }
    }
}

/// What is known of a call's number.
enum Number {
    /// This is it.
    Given(u64),
    /// Another instance has noted it in the answer.
    Noted(Box<CallResponse>),
}
