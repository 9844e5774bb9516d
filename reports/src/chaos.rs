//! What the replicas of a target and the nodes of its broker went through while they worked, and what came of the calls
//! (`certify --chaos`).
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
    /// How many nodes of their broker were disturbed with them; none where there are no several that the suite started.
    #[serde(default, skip_serializing_if = "is_none")]
    pub broker_nodes: u32,
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

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_none(count: &u32) -> bool {
    *count == 0
}

/// Something that was done to a replica, or to a node of its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "WrittenDisturbance", try_from = "WrittenDisturbance")]
pub struct Disturbance {
    /// To which process.
    pub party: Party,
    /// What was done.
    pub fault: Fault,
    /// For how many milliseconds, from the disturbance to its end.
    pub lasts_ms: u64,
}

/// A process that is disturbed, by its number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Party {
    /// A replica of the target.
    Replica(u32),
    /// A node of the broker between the replicas and their callers.
    BrokerNode(u32),
}

impl fmt::Display for Party {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replica(number) => write!(formatter, "replica {number}"),
            Self::BrokerNode(number) => write!(formatter, "broker node {number}"),
        }
    }
}

/// A disturbance as it stands in a record: either `replica` or `broker_node` is there.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenDisturbance {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replica: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    broker_node: Option<u32>,
    fault: Fault,
    lasts_ms: u64,
}

impl From<Disturbance> for WrittenDisturbance {
    fn from(Disturbance { party, fault, lasts_ms }: Disturbance) -> Self {
        let (replica, broker_node) = match party {
            Party::Replica(number) => (Some(number), None),
            Party::BrokerNode(number) => (None, Some(number)),
        };
        Self { replica, broker_node, fault, lasts_ms }
    }
}

impl TryFrom<WrittenDisturbance> for Disturbance {
    type Error = &'static str;

    fn try_from(written: WrittenDisturbance) -> Result<Self, Self::Error> {
        let WrittenDisturbance { replica, broker_node, fault, lasts_ms } = written;
        let party = match (replica, broker_node) {
            (Some(number), None) => Party::Replica(number),
            (None, Some(number)) => Party::BrokerNode(number),
            _ => return Err("a disturbance has either `replica` or `broker_node`"),
        };
        Ok(Self { party, fault, lasts_ms })
    }
}

/// What is done to a replica; a node of the broker is only killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Killed with SIGKILL, and started once more.
    Kill,
    /// Stopped with SIGSTOP, and continued.
    Pause,
    /// Cut off from the broker or from its callers, and let through again.
    Partition,
    /// Everything between it and the broker or its callers is late.
    Slow,
}

impl fmt::Display for Disturbance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { party, fault, lasts_ms } = self;
        write!(formatter, "{party} {} {lasts_ms} ms", fault.phrase())
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
            Self::Partition => "cut off from the network for",
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
        let nodes = match self.broker_nodes {
            0 => String::new(),
            nodes => format!(" and {}", text::count(nodes as usize, "broker node")),
        };
        let under = format!("under {times} of {replicas} replicas{nodes} (seed {seed})");
        match (self.verdict(), &self.hindered) {
            (ChaosVerdict::Held, _) => {
                format!("{calls} {under}: nothing was lost, and nothing done twice")
            }
            (ChaosVerdict::Broken, why) => {
                let rest = why.as_ref().map(|why| format!("; not all was tried: {why}")).unwrap_or_default();
                let count = |kind| self.findings.iter().filter(|finding| finding.kind == kind).count();
                let (lost, twice) = (count(ChaosKind::Lost), count(ChaosKind::Twice));
                format!("{calls} {under}: lost: {lost}, done twice: {twice}{rest}")
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
            broker_nodes: 0,
            disturbances: vec![Disturbance { party: Party::Replica(2), fault: Fault::Kill, lasts_ms: 250 }],
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
        let ends = "lost: 1, done twice: 0; not all was tried: a replica could not be started";
        assert!(broken.sentence().ends_with(ends), "{}", broken.sentence());
        assert_eq!(report(Vec::new(), Some("why")).verdict(), ChaosVerdict::Incomplete);
        let held = report(Vec::new(), None);
        assert_eq!(
            held.sentence(),
            "12 calls under 1 disturbance of 3 replicas (seed 7): nothing was lost, and nothing done twice"
        );
        let with_nodes = ChaosReport { broker_nodes: 3, ..held };
        assert!(with_nodes.sentence().contains("of 3 replicas and 3 broker nodes (seed 7)"));
    }

    #[test]
    fn a_disturbance_names_one_process() {
        let node = Disturbance { party: Party::BrokerNode(2), fault: Fault::Kill, lasts_ms: 9 };
        let written = serde_json::json!({"broker_node": 2, "fault": "kill", "lasts_ms": 9});
        assert_eq!(serde_json::to_value(node).expect("JSON"), written);
        assert_eq!(serde_json::from_value::<Disturbance>(written).expect("one"), node);
        assert_eq!(node.to_string(), "broker node 2 killed, and started again after 9 ms");
        let both = serde_json::json!({"replica": 1, "broker_node": 2, "fault": "kill", "lasts_ms": 9});
        assert!(serde_json::from_value::<Disturbance>(both).is_err());
    }
}
