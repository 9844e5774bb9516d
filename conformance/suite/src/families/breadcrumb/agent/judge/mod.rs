//! Judgements over what an agent said: pure functions over the frames of a scenario.
//!
//! `form` looks at an invocation, `request` at the calls in it, `conduct` at what the agent makes of the answers.

pub(super) mod conduct;
pub(super) mod form;
pub(super) mod request;

use serde_json::Value;

use super::agent_output::Utterance;
use super::ledger::{CallRecord, Ledger, response};
use super::task::Task;
use crate::engine::judge::{CheckFailure, Finding, Judgement};
use crate::families::breadcrumb::crumb::SESSION;
use crate::transcript::{Frame, Kind};

/// What was seen in a scenario.
pub(super) struct Seen<'a> {
    pub frames: &'a [Frame],
    pub tasks: &'a [Task],
    pub utterances: Vec<Utterance<'a>>,
    pub ledger: Ledger,
}

impl<'a> Seen<'a> {
    pub(super) fn of(frames: &'a [Frame], tasks: &'a [Task]) -> Self {
        Self { frames, tasks, utterances: Utterance::all(frames), ledger: Ledger::of(frames, tasks) }
    }

    /// The sessions of what the user said, as their tags name them.
    fn sessions(&self) -> Vec<&'a str> {
        let tags = |frame: &'a Frame| frame.member("/tags").and_then(Value::as_array).into_iter().flatten();
        let said = self.frames.iter().filter(|frame| frame.kind == Kind::Put);
        let named = said.flat_map(tags).filter_map(|tag| tag.as_str()?.strip_prefix(SESSION));
        let mut all: Vec<&str> = named.collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// What was said with calls in it.
    ///
    /// # Errors
    /// Not observed where there is nothing of the kind.
    fn invocations(&self) -> Result<Vec<&Utterance<'a>>, CheckFailure> {
        let all: Vec<_> =
            self.utterances.iter().filter(|utterance| !utterance.requests().is_empty()).collect();
        if all.is_empty() {
            return Err(CheckFailure::NotObserved("the agent called no tool".to_owned()));
        }
        Ok(all)
    }

    /// Judges every invocation, and what is said without a call as a recommendation: the standard shows the form of
    /// invocations, and of a last word only by its examples.
    fn each_form(&self, judgement: impl Fn(&Utterance<'a>) -> Judgement) -> Judgement {
        self.invocations()?.into_iter().try_for_each(&judgement)?;
        let others = self.utterances.iter().filter(|utterance| utterance.requests().is_empty());
        others.map(judgement).find(Result::is_err).unwrap_or(Ok(())).map_err(|trouble| match trouble {
            CheckFailure::Broken(finding) => finding
                .recommended("the standard shows a last word by its examples only (ambiguity A27)")
                .into(),
            other => other,
        })
    }

    /// What was said after a frame.
    fn after(&self, n: u32) -> impl Iterator<Item = &Utterance<'a>> {
        self.utterances.iter().filter(move |utterance| utterance.frame.n > n)
    }

    /// The first call of a planned one that the agent made.
    ///
    /// # Errors
    /// Not observed where it made none.
    fn call(&self, planned: (usize, usize, usize)) -> Result<&CallRecord, CheckFailure> {
        let planned_call = &self.tasks[planned.0].stages[planned.1][planned.2];
        let missing = || CheckFailure::NotObserved(format!("the agent did not call `{}`", planned_call.tool));
        self.ledger.made(planned).next().ok_or_else(missing)
    }

    /// What the tool answered to it.
    ///
    /// # Errors
    /// Not observed where it was not asked to answer.
    fn answer(&self, planned: (usize, usize, usize)) -> Result<&'a Frame, CheckFailure> {
        self.call(planned)?;
        let session = &self.tasks[planned.0].session;
        let made = self.ledger.made(planned);
        let answers =
            made.filter_map(|call_record| response(self.frames, call_record.id.as_deref()?, session));
        let missing =
            || CheckFailure::NotObserved("the agent did not ask for the result to come back".to_owned());
        answers.min_by_key(|frame| frame.n).ok_or_else(missing)
    }

    /// A finding about what was said last.
    fn last(&self, finding: Finding) -> Finding {
        match self.utterances.last() {
            Some(utterance) => finding.actual(Some(utterance.whole())).frame(utterance.frame),
            None => finding.actual(Some(&Value::from("nothing was said"))),
        }
    }
}
