//! What is done to which replica, and when: from the seed alone.

use std::ops::Range;
use std::time::Duration;

use callmark_reports::chaos::{Disturbance, Fault};
use fastrand::Rng;

use super::fleet::Replica;

/// When a disturbance comes, in milliseconds after the first calls were sent: each kind once while they arrive, and once while
/// those that take their time are at work.
const MOMENTS: [Range<u64>; 2] = [0..20, 80..200];

/// A disturbance, and when it comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// After the first calls were sent.
    pub(super) after: Duration,
    pub(super) disturbance: Disturbance,
}

/// Every kind as often as every other, in an order of the seed's, each to a replica of the seed's.
pub(super) fn rounds(seed: u64, replicas: Replica) -> Vec<Round> {
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
        let replica = random.u32(1..=replicas.max(1));
        let after = Duration::from_millis(random.u64(moment));
        Round { after, disturbance: Disturbance { replica, fault, lasts_ms } }
    };
    faults.into_iter().map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_says_everything_and_every_kind_comes() {
        assert_eq!(rounds(3, 3), rounds(3, 3));
        assert_ne!(rounds(3, 3), rounds(4, 3));
        for seed in 1..=20 {
            let rounds = rounds(seed, 3);
            for fault in Fault::ALL {
                let of_kind = rounds.iter().filter(|round| round.disturbance.fault == fault);
                assert_eq!(of_kind.count(), MOMENTS.len(), "{seed}");
            }
            assert!(rounds.iter().all(|round| (1..=3).contains(&round.disturbance.replica)), "{seed}");
        }
        let all: BTreeSet<Replica> =
            (1..=20).flat_map(|seed| rounds(seed, 3)).map(|round| round.disturbance.replica).collect();
        assert_eq!(all.len(), 3);
    }
}
