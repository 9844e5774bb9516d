//! What is done to which replica or node of the broker, and when: from the seed alone.

use std::ops::Range;
use std::time::Duration;

use callmark_reports::chaos::{Disturbance, Fault, Party};
use fastrand::Rng;

use super::fleet::Replica;

/// When a disturbance comes, in milliseconds after the first calls were sent: each kind once while they arrive, and once while
/// those that take their time are at work.
const MOMENTS: [Range<u64>; 2] = [0..20, 80..200];

/// What is done to nodes of the broker follows from the seed with this: what is done to replicas stays the same with them.
const OF_NODES: u64 = 0x006e_6f64_6573;

/// A disturbance, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// After the first calls were sent.
    pub(super) after: Duration,
    pub(super) disturbance: Disturbance,
}

/// Every kind as often as every other, in an order of the seed's, each to a replica of the seed's; and between them as often
/// the restart of a node, where there are nodes.
pub(super) fn rounds(seed: u64, replicas: Replica, broker_nodes: u32) -> Vec<Round> {
    let mut rounds = of_replicas(seed, replicas);
    if broker_nodes == 0 {
        return rounds;
    }
    let mut random = Rng::with_seed(seed ^ OF_NODES);
    for moment in MOMENTS {
        let party = Party::BrokerNode(random.u32(1..=broker_nodes));
        // Long enough for the others to notice, and to elect who leads in its place.
        let disturbance = Disturbance { party, fault: Fault::Kill, lasts_ms: random.u64(1_000..4_000) };
        let after = Duration::from_millis(random.u64(moment));
        rounds.insert(random.usize(0..=rounds.len()), Round { after, disturbance });
    }
    rounds
}

fn of_replicas(seed: u64, replicas: Replica) -> Vec<Round> {
    let mut random = Rng::with_seed(seed);
    let mut faults: Vec<(Fault, Range<u64>)> =
        MOMENTS.into_iter().flat_map(|moment| Fault::ALL.map(|fault| (fault, moment.clone()))).collect();
    random.shuffle(&mut faults);
    let round = |(fault, moment)| {
        let lasts_ms = random.u64(match fault {
            Fault::Kill => 50..600,
            // Long enough for others to take over what it had begun, and for it to come back late.
            Fault::Pause => 2_000..4_000,
            Fault::Partition => 500..2_000,
            Fault::Slow => 500..1_500,
        });
        let party = Party::Replica(random.u32(1..=replicas.max(1)));
        let after = Duration::from_millis(random.u64(moment));
        Round { after, disturbance: Disturbance { party, fault, lasts_ms } }
    };
    faults.into_iter().map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The disturbances of seed 7.
    const SEVEN: [&str; 8] = [
        "replica 1 paused for 2185 ms",
        "replica 1 cut off from the network for 1430 ms",
        "replica 2 killed, and started again after 515 ms",
        "replica 1 killed, and started again after 487 ms",
        "replica 2 slowed down for 922 ms",
        "replica 3 cut off from the network for 921 ms",
        "replica 2 slowed down for 682 ms",
        "replica 3 paused for 2697 ms",
    ];

    fn replica(round: &Round) -> Option<Replica> {
        match round.disturbance.party {
            Party::Replica(number) => Some(number),
            Party::BrokerNode(_) => None,
        }
    }

    #[test]
    fn a_seed_says_everything_and_every_kind_comes() {
        assert_eq!(rounds(3, 3, 0), rounds(3, 3, 0));
        assert_ne!(rounds(3, 3, 0), rounds(4, 3, 0));
        for seed in 1..=20 {
            let rounds = rounds(seed, 3, 0);
            for fault in Fault::ALL {
                let of_kind = rounds.iter().filter(|round| round.disturbance.fault == fault);
                assert_eq!(of_kind.count(), MOMENTS.len(), "{seed}");
            }
            assert!(rounds.iter().all(|round| replica(round).is_some_and(|own| own <= 3)), "{seed}");
        }
        let all: BTreeSet<Option<Replica>> =
            (1..=20).flat_map(|seed| rounds(seed, 3, 0)).map(|own| replica(&own)).collect();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn nodes_come_between_and_change_nothing_else() {
        let mut nodes = BTreeSet::new();
        for seed in 1..=20 {
            let (own, others): (Vec<Round>, Vec<Round>) =
                rounds(seed, 3, 3).into_iter().partition(|round| replica(round).is_none());
            assert_eq!(others, rounds(seed, 3, 0), "{seed}");
            assert_eq!(own.len(), MOMENTS.len(), "{seed}");
            assert!(own.iter().all(|round| round.disturbance.fault == Fault::Kill), "{seed}");
            nodes.extend(own.iter().map(|round| round.disturbance.party.to_string()));
        }
        assert_eq!(nodes.len(), 3, "{nodes:?}");
    }

    #[test]
    fn what_a_seed_did_before_it_does_for_good() {
        let shown: Vec<String> = rounds(7, 3, 0).iter().map(|round| round.disturbance.to_string()).collect();
        assert_eq!(shown, SEVEN);
    }
}
