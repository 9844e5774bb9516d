//! A scenario's messages as a story: in the order in which they follow from each other, with names in place of what
//! the run made up.
//!
//! Neighbours: `evidence` does the same for the messages of a finding. Messages of different parties may cross on the
//! wire; a story has one order, so that two runs render it in the same bytes.

use std::sync::Arc;

use callmark_reports::record::FrameExcerpt;
use thiserror::Error;

use super::evidence;
use super::evidence::excerpt;
use super::scenario_result::ScenarioResult;
use crate::engine::judge::Finding;
use crate::engine::naming::Naming;
use crate::engine::secrets::Redactor;
use crate::spec::catalog::Case;
use crate::transcript::{Frame, Kind};

/// The messages of a scenario are not those of the story.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExchangeError {
    /// Nothing is known of the scenario.
    #[error("scenario `{scenario}` did not run")]
    NotRun {
        /// Its id.
        scenario: String,
    },
    /// The story has more messages.
    #[error("scenario `{scenario}` has no message {number} of the kind `{kind:?}`")]
    Missing {
        /// Its id.
        scenario: String,
        /// The kind.
        kind: Kind,
        /// Which of the story's messages it is, from 1.
        number: usize,
    },
    /// The scenario has more messages.
    #[error("scenario `{scenario}` has a further message of the kind `{kind:?}` on `{channel}`")]
    Unforeseen {
        /// Its id.
        scenario: String,
        /// The kind.
        kind: Kind,
        /// Where it travelled.
        channel: String,
    },
}

/// The messages in the order of the story, each once.
pub(super) fn of(
    case: &Case,
    naming: &dyn Naming,
    result: Option<&ScenarioResult>,
    secrets: &[String],
    story: &[Kind],
) -> Result<Vec<FrameExcerpt>, ExchangeError> {
    let scenario = || case.id.clone();
    let result = result.ok_or_else(|| ExchangeError::NotRun { scenario: scenario() })?;
    let frames = result.frames();
    let mut left: Vec<&Frame> = frames.iter().collect();
    let mut ordered = Vec::new();
    for (kind, number) in story.iter().zip(1..) {
        let at = left.iter().position(|frame| frame.kind == *kind);
        let at = at.ok_or_else(|| ExchangeError::Missing { scenario: scenario(), kind: *kind, number })?;
        ordered.push(left.remove(at));
    }
    if let Some(frame) = left.first() {
        let (kind, channel) = (frame.kind, frame.channel.clone());
        return Err(ExchangeError::Unforeseen { scenario: scenario(), kind, channel });
    }
    let secrets = Arc::new(Redactor::hiding(secrets));
    let mut names = evidence::names(naming, &Finding::new("", ""), result, &frames, &ordered, &secrets);
    for (id, name) in naming.ids_of_exchange(&ordered, &|id| names.text(id) != id) {
        names.whole.entry(id).or_insert(name);
    }
    let numbered = ordered.into_iter().zip(1..);
    Ok(numbered.map(|(frame, n)| FrameExcerpt { n, ..excerpt(frame, naming, &names) }).collect())
}
