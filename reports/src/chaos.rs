//! What the replicas of a target went through while they worked, and what came of the calls (`certify --chaos`).
//!
//! Everything here follows from the seed where the target holds, so two runs of it give the same bytes; what a target that
//! does not hold does hangs on who was faster.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::frame::FrameExcerpt;
use crate::text;

/// Replicas of one role of a target, disturbed while they worked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChaosReport {
    /// The role.
    pub profile: String,
    /// From which the disturbances are derived.
    pub seed: u64,
    /// How many replicas there are.
    pub replicas: u32,
    /// In their order.
    pub disturbances: Vec<Disturbance>,
    /// Calls that were made meanwhile.
    pub calls: u32,
    /// What was lost, or done twice.
    pub findings: Vec<ChaosFinding>,
    /// Why not all of it was tried; absent where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hindered: Option<String>,
}

/// Something that was done to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disturbance {
    /// Its number, from 1.
    pub replica: u32,
    /// What was done.
    pub fault: Fault,
    /// For how many milliseconds, from the disturbance to its end.
    pub lasts_ms: u64,
}

/// What is done to a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Killed with SIGKILL, and started once more.
    Kill,
    /// Stopped with SIGSTOP, and continued.
    Pause,
    /// Cut off from the broker, and let through again.
    Partition,
    /// Everything between it and the broker is late.
    Slow,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { replica, fault, lasts_ms } = self;
        write!(formatter, "replica {replica} {} {lasts_ms} ms", fault.phrase())
    }
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Kill, Self::Pause, Self::Partition, Self::Slow];

    /// What was done, as a part of a sentence.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Kill => "killed, and started again after",
            Self::Pause => "paused for",
            Self::Partition => "cut off from the broker for",
            Self::Slow => "slowed down for",
        }
    }
}

/// Something that must not happen, whatever is done to a replica.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChaosFinding {
    /// Which kind.
    pub kind: ChaosKind,
    /// What happened, one sentence.
    pub message: String,
    /// What to change.
    pub hint: String,
    /// Messages that show it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<FrameExcerpt>,
}

/// Kinds of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChaosKind {
    /// A call that was never answered, or whose work was never done.
    Lost,
    /// A call that was done more than once, or answered with two outcomes.
    Twice,
}

/// What a target showed under its disturbances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChaosVerdict {
    /// Nothing was lost, and nothing done twice.
    Held,
    /// Something was.
    Broken,
    /// Not all of it could be tried.
    Incomplete,
}

impl ChaosReport {
    /// What the target showed.
    pub fn verdict(&self) -> ChaosVerdict {
        match (self.findings.is_empty(), &self.hindered) {
            (false, _) => ChaosVerdict::Broken,
            (true, Some(_)) => ChaosVerdict::Incomplete,
            (true, None) => ChaosVerdict::Held,
        }
    }

    /// What its section is called.
    pub(crate) fn title(&self) -> String {
        format!("Chaos: {}", self.profile)
    }

    /// The sentence that matters, without a final full stop.
    pub fn sentence(&self) -> String {
        let Self { replicas, calls, seed, .. } = self;
        let (calls, times) =
            (text::count(*calls as usize, "call"), text::count(self.disturbances.len(), "disturbance"));
        let under = format!("under {times} of {replicas} replicas (seed {seed})");
        match (self.verdict(), &self.hindered) {
            (ChaosVerdict::Held, _) => {
                format!("{calls} {under}: nothing was lost, and nothing done twice")
            }
            (ChaosVerdict::Broken, _) => {
                let count = |kind| self.findings.iter().filter(|finding| finding.kind == kind).count();
                let (lost, twice) = (count(ChaosKind::Lost), count(ChaosKind::Twice));
                format!("{calls} {under}: lost: {lost}, done twice: {twice}")
            }
            (ChaosVerdict::Incomplete, why) => {
                let why = why.as_deref().unwrap_or_default();
                format!("{calls} {under}, and not all was tried: {why}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(findings: Vec<ChaosFinding>, hindered: Option<&str>) -> ChaosReport {
        ChaosReport {
            profile: "utp.tool-service".to_owned(),
            seed: 7,
            replicas: 3,
            disturbances: vec![Disturbance { replica: 2, fault: Fault::Kill, lasts_ms: 250 }],
            calls: 12,
            findings,
            hindered: hindered.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_lost_counts_before_what_was_not_tried() {
        let lost = ChaosFinding {
            kind: ChaosKind::Lost,
            message: "<b>a call</b> was never answered".to_owned(),
            hint: "keep it".to_owned(),
            frames: Vec::new(),
        };
        let broken = report(vec![lost], Some("a replica could not be started"));
        assert_eq!(broken.verdict(), ChaosVerdict::Broken);
        assert!(broken.sentence().ends_with("lost: 1, done twice: 0"), "{}", broken.sentence());
        assert_eq!(report(Vec::new(), Some("why")).verdict(), ChaosVerdict::Incomplete);
        let held = report(Vec::new(), None);
        assert_eq!(
            held.sentence(),
            "12 calls under 1 disturbance of 3 replicas (seed 7): nothing was lost, and nothing done twice"
        );
    }
}
