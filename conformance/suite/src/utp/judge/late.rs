//! Judgements that are made once more when the run is over: what must not happen must not happen later either.
//!
//! A quiet window is short; a target that retries in the background may act after it. Projects stay open to
//! the end of the run, so looking again costs nothing.

use std::sync::Arc;
use std::time::Instant;

use super::seen::Calls;
use super::{callback, refusal, upstream};
use crate::judge::{Judgement, Trouble};
use crate::transcript::Frame;
use crate::utp::call::Call;
use crate::utp::platform::{Desk, Project};
use crate::utp::upstream::Key;

/// What is looked at again.
#[derive(Clone, Debug)]
pub enum LateCheck {
    /// The tool did not run.
    DidNotRun,
    /// This inline value was not used.
    IgnoresInline(String),
    /// Nothing was written to state.
    LeavesStateAlone,
    /// No callback of the whole run has a status outside the five.
    KnowsStatuses,
    /// Nothing that was sent holds this key.
    KeepsSecret(Key),
    /// No host but the two was asked.
    StaysAllowed,
    /// Nobody went where the redirect pointed.
    FollowsNothing(String),
}

/// A judgement of one scenario, to be made again.
#[derive(Clone)]
pub struct Late {
    /// When it was made first.
    pub since: Instant,
    /// What is looked at.
    pub check: LateCheck,
    /// The call under test.
    pub subject: Call,
    /// Ids of the suite's other calls in the project.
    pub others: Vec<String>,
    /// The scenario's project.
    pub project: Arc<Project>,
    /// All projects of the run.
    pub desk: Arc<Desk>,
}

impl std::fmt::Debug for Late {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Late").field("check", &self.check).finish_non_exhaustive()
    }
}

impl Late {
    /// Judges again, and answers the frames that were looked at.
    pub fn judge(&self) -> (Judgement, Vec<Frame>) {
        let frames = self.project.transcript.frames();
        let calls = Calls { subject: &self.subject, others: &self.others };
        let judgement = match &self.check {
            LateCheck::DidNotRun => refusal::did_not_run(&frames, &calls, None),
            LateCheck::IgnoresInline(inline) => refusal::ignores_inline(&frames, &calls, inline),
            LateCheck::LeavesStateAlone => refusal::leaves_state_alone(&frames),
            LateCheck::KeepsSecret(key) => {
                return self.everywhere(frames, |frames| upstream::is_kept_secret(frames, key));
            }
            LateCheck::StaysAllowed => upstream::stays_allowed(&frames, &calls),
            LateCheck::FollowsNothing(landing) => upstream::follows_nothing(&frames, &calls, landing),
            LateCheck::KnowsStatuses => return self.everywhere(frames, callback::all_statuses_known),
        };
        (judgement, frames)
    }

    /// Judges all projects of the role. Where one has nothing to look at, the others still count.
    fn everywhere(&self, own: Vec<Frame>, judge: impl Fn(&[Frame]) -> Judgement) -> (Judgement, Vec<Frame>) {
        let judgement = judge(&own);
        if matches!(judgement, Err(Trouble::Broken(_))) {
            return (judgement, own);
        }
        // The scenario's own project first: which other one shows it too may differ from run to run.
        for project in self.desk.projects().into_iter().filter(|other| other.role() == self.project.role()) {
            let frames = project.transcript.frames();
            let judgement = judge(&frames);
            if matches!(judgement, Err(Trouble::Broken(_))) {
                return (judgement, frames);
            }
        }
        (judgement, own)
    }
}
