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
    /// Judges again, and answers the frames of another project than its own at which something is broken.
    pub fn judge(&self) -> (Judgement, Option<Vec<Frame>>) {
        let calls = Calls { subject: &self.subject, others: &self.others };
        let own = |judge: &dyn Fn(&[Frame]) -> Judgement| (self.project.transcript.with(judge), None);
        match &self.check {
            LateCheck::DidNotRun => own(&|frames| refusal::did_not_run(frames, &calls, None)),
            LateCheck::IgnoresInline(inline) => {
                own(&|frames| refusal::ignores_inline(frames, &calls, inline))
            }
            LateCheck::LeavesStateAlone => own(&refusal::leaves_state_alone),
            LateCheck::KeepsSecret(key) => self.everywhere(|frames| upstream::is_kept_secret(frames, key)),
            LateCheck::StaysAllowed => own(&|frames| upstream::stays_allowed(frames, &calls)),
            LateCheck::FollowsNothing(landing) => {
                own(&|frames| upstream::follows_nothing(frames, &calls, landing))
            }
            LateCheck::KnowsStatuses => self.everywhere(callback::all_statuses_known),
        }
    }

    /// Judges all projects of the role. Where one has nothing to look at, the others still count.
    fn everywhere(&self, judge: impl Fn(&[Frame]) -> Judgement) -> (Judgement, Option<Vec<Frame>>) {
        let is_broken = |judgement: &Judgement| matches!(judgement, Err(Trouble::Broken(_)));
        let own = self.project.transcript.with(&judge);
        if is_broken(&own) {
            return (own, None);
        }
        // The scenario's own project first: which other one shows it too may differ from run to run.
        for project in self.desk.projects().into_iter().filter(|other| other.role() == self.project.role()) {
            let judgement = project.transcript.with(&judge);
            if is_broken(&judgement) {
                return (judgement, Some(project.transcript.frames()));
            }
        }
        (own, None)
    }
}
