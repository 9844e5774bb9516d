//! Judgements that are made once more when the run is over: what must not happen must not happen later either.
//!
//! A quiet window is short; a target that retries in the background may act after it. Projects stay open to
//! the end of the run, so looking again costs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use super::seen::Calls;
use super::{callback, refusal, upstream};
use crate::engine::judge::{CheckFailure, Judgement};
use crate::engine::session::Recheck;
use crate::families::utp::call::Call;
use crate::families::utp::platform::{PlatformService, Project};
use crate::families::utp::upstream::Key;
use crate::transcript::Frame;

/// What is looked at again.
#[derive(Clone, Debug, PartialEq)]
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

impl LateCheck {
    /// Whether what any project of the role shows breaks it, whichever call it was made for.
    fn is_everywhere(&self) -> bool {
        matches!(self, Self::KnowsStatuses | Self::KeepsSecret(_))
    }

    fn judge(&self, frames: &[Frame], calls: &Calls<'_>) -> Judgement {
        match self {
            Self::DidNotRun => refusal::did_not_run(frames, calls, None),
            Self::IgnoresInline(inline) => refusal::ignores_inline(frames, calls, inline),
            Self::LeavesStateAlone => refusal::leaves_state_alone(frames),
            Self::KeepsSecret(key) => upstream::is_kept_secret(frames, key),
            Self::StaysAllowed => upstream::stays_allowed(frames, calls),
            Self::FollowsNothing(landing) => upstream::follows_nothing(frames, calls, landing),
            Self::KnowsStatuses => callback::all_statuses_known(frames),
        }
    }
}

/// A judgement of one scenario, to be made again.
#[derive(Clone)]
pub struct DeferredCheck {
    since: Instant,
    check: LateCheck,
    subject: Call,
    others: Vec<String>,
    project: Arc<Project>,
    platform_service: Arc<PlatformService>,
    /// How many frames were found good.
    good: Option<usize>,
}

impl std::fmt::Debug for DeferredCheck {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Late").field("check", &self.check).finish_non_exhaustive()
    }
}

impl DeferredCheck {
    /// Judges for the first time. `others` are the ids of the suite's other calls in the project, `platform_service`
    /// has all projects of the run.
    pub fn new(
        check: LateCheck,
        subject: Call,
        others: Vec<String>,
        project: Arc<Project>,
        platform_service: Arc<PlatformService>,
    ) -> Self {
        let calls = Calls::new(&subject, &others);
        let good =
            project.transcript.with(|frames| check.judge(frames, &calls).is_ok().then_some(frames.len()));
        Self { since: Instant::now(), check, subject, others, project, platform_service, good }
    }

    /// When it was judged first.
    pub fn since(&self) -> Instant {
        self.since
    }

    /// Judges the scenario's own project again, unless all that there is was good before.
    fn own(&self) -> Option<Recheck> {
        let transcript = &self.project.transcript;
        if transcript.record_external("late", || self.good == Some(transcript.stored())) {
            return None;
        }
        let frames = transcript.frames();
        self.of(&frames).err().map(|trouble| Recheck { trouble, frames })
    }

    fn of(&self, frames: &[Frame]) -> Judgement {
        self.check.judge(frames, &Calls::new(&self.subject, &self.others))
    }
}

/// Judges again; the answers are in the order of `lates`.
pub fn judge_again(lates: &[DeferredCheck]) -> Vec<Option<Recheck>> {
    let mut faults: Vec<Option<Recheck>> = lates.iter().map(DeferredCheck::own).collect();
    let is_broken =
        |fault: &Option<Recheck>| matches!(fault, Some(Recheck { trouble: CheckFailure::Broken(_), .. }));
    let open: Vec<usize> =
        (0..lates.len()).filter(|at| lates[*at].check.is_everywhere() && !is_broken(&faults[*at])).collect();
    let Some(platform_service) = open.first().map(|at| &lates[*at].platform_service) else { return faults };
    // The scenario's own project came first: which other one shows it too may differ from run to run.
    let found = elsewhere(lates, &open, &platform_service.projects());
    // Where one project has nothing to look at, the others still count.
    for (at, fault) in found {
        faults[at] = Some(fault);
    }
    faults
}

/// What the first of these projects to break it shows, for each of the `open` judgements that one breaks.
fn elsewhere(lates: &[DeferredCheck], open: &[usize], projects: &[Arc<Project>]) -> BTreeMap<usize, Recheck> {
    let mut found = BTreeMap::new();
    for project in projects {
        let concerned = |at: &&usize| {
            let late = &lates[**at];
            late.project.role() == project.role() && !Arc::ptr_eq(&late.project, project)
        };
        let open: Vec<usize> =
            open.iter().filter(concerned).copied().filter(|at| !found.contains_key(at)).collect();
        if open.is_empty() {
            continue;
        }
        // Read once for all, since most are packed; and looked at once for all scenarios that ask the same.
        let frames = project.transcript.frames();
        let mut judged: Vec<(&LateCheck, Judgement)> = Vec::new();
        for at in open {
            let check = &lates[at].check;
            let known = judged.iter().position(|(own, _)| *own == check);
            let place = known.unwrap_or_else(|| {
                judged.push((check, lates[at].of(&frames)));
                judged.len() - 1
            });
            if let Err(trouble @ CheckFailure::Broken(_)) = &judged[place].1 {
                found.insert(at, Recheck { trouble: trouble.clone(), frames: frames.clone() });
            }
        }
    }
    found
}
