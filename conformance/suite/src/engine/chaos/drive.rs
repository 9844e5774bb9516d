//! Disturbs one replica or node after the other while calls are under way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use callmark_reports::chaos::{ChaosReport, Disturbance};
use tokio::task::JoinSet;

use super::fleet::{Called, Fleet};
use super::plan::{self, Round};

/// Calls of a round before its disturbance, during it, and after it.
const BEFORE: u32 = 6;
const DURING: u32 = 6;
const AFTER: u32 = 2;
/// Between two calls.
const APART: Duration = Duration::from_millis(2);
/// From a call to its answer, however often it is sent meanwhile: a stream delivers what was not acknowledged again after
/// half a minute by default.
const DEADLINE: Duration = Duration::from_secs(90);

/// Why a fleet of which nothing is left is disturbed no more: each further call would be waited for in vain.
const SILENT: &str = "no call of the last disturbance was answered, and none that follows would be";

/// Disturbs the replicas of a fleet and the nodes of its broker as the seed says; `on_round` gets the number of each round,
/// from 1, of how many, and what is done in it.
pub async fn run(
    fleet: Arc<dyn Fleet>,
    seed: u64,
    on_round: &(dyn Fn(usize, usize, &Disturbance) + Sync),
) -> ChaosReport {
    let rounds = plan::rounds(seed, fleet.replicas(), fleet.broker_nodes());
    let mut report = ChaosReport {
        profile: fleet.profile().to_owned(),
        seed,
        replicas: fleet.replicas(),
        broker_nodes: fleet.broker_nodes(),
        disturbances: Vec::new(),
        calls: 0,
        findings: Vec::new(),
        hindered: None,
    };
    if let Err(why) = fleet.begin().await {
        report.hindered = Some(why);
        return report;
    }
    let mut called = Vec::new();
    for (number, own) in rounds.iter().enumerate() {
        on_round(number + 1, rounds.len(), &own.disturbance);
        report.disturbances.push(own.disturbance);
        let (answers, ended) = round(&fleet, *own).await;
        let is_silent = answers.iter().all(|own| own.succeeded.is_none());
        called.extend(answers);
        let ended = if is_silent { ended.and(Err(SILENT.to_owned())) } else { ended };
        if let Err(why) = ended {
            report.hindered = Some(why);
            break;
        }
    }
    report.calls = u32::try_from(called.len()).unwrap_or(u32::MAX);
    let (findings, unknown) = fleet.findings(called).await;
    report.findings = findings;
    report.hindered = report.hindered.or(unknown);
    report
}

/// What became of the calls of a round, and why no other can follow.
async fn round(
    fleet: &Arc<dyn Fleet>,
    Round { after, disturbance }: Round,
) -> (Vec<Called>, Result<(), String>) {
    let Disturbance { party, fault, lasts_ms } = disturbance;
    let mut calls = JoinSet::new();
    send(fleet, &mut calls, BEFORE).await;
    tokio::time::sleep(after).await;
    let disturbed = fleet.disturb(party, fault);
    if disturbed.is_ok() {
        send(fleet, &mut calls, DURING).await;
        tokio::time::sleep(Duration::from_millis(lasts_ms)).await;
    }
    let restored = disturbed.and_then(|()| fleet.restore(party, fault));
    send(fleet, &mut calls, AFTER).await;
    (calls.join_all().await, restored)
}

async fn send(fleet: &Arc<dyn Fleet>, calls: &mut JoinSet<Called>, number: u32) {
    let deadline = Instant::now() + fleet.scaled(DEADLINE);
    for _ in 0..number {
        calls.spawn(Arc::clone(fleet).call(deadline));
        tokio::time::sleep(APART).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use callmark_reports::chaos::{ChaosFinding, ChaosKind, ChaosVerdict, Fault, Party};
    use futures::FutureExt as _;
    use futures::future::BoxFuture;

    use super::super::fleet::Replica;
    use super::*;
    use crate::transcript::lock;

    /// Answers every call, unless a replica is disturbed in a way that it does not survive.
    #[derive(Default)]
    struct Sham {
        made: AtomicUsize,
        log: Mutex<Vec<(Party, Fault, bool)>>,
        dies_of: Option<Fault>,
        /// Answers nothing from this call on.
        silent_from: Option<usize>,
        is_deaf: bool,
    }

    impl Fleet for Sham {
        fn profile(&self) -> &'static str {
            "utp.tool-service"
        }

        fn replicas(&self) -> Replica {
            3
        }

        fn scaled(&self, _: Duration) -> Duration {
            Duration::ZERO
        }

        fn begin(&self) -> BoxFuture<'_, Result<(), String>> {
            let answer = if self.is_deaf { Err("nobody counts".to_owned()) } else { Ok(()) };
            async { answer }.boxed()
        }

        fn call(self: Arc<Self>, _: Instant) -> BoxFuture<'static, Called> {
            let index = self.made.fetch_add(1, Ordering::Relaxed);
            let is_silent = self.silent_from.is_some_and(|from| index >= from);
            let succeeded = if is_silent { None } else { Some(index > 0) };
            async move { Called { index, times: 1, succeeded } }.boxed()
        }

        fn disturb(&self, party: Party, fault: Fault) -> Result<(), String> {
            lock(&self.log).push((party, fault, true));
            Ok(())
        }

        fn restore(&self, party: Party, fault: Fault) -> Result<(), String> {
            lock(&self.log).push((party, fault, false));
            if self.dies_of == Some(fault) { Err("it does not start".to_owned()) } else { Ok(()) }
        }

        fn findings(&self, called: Vec<Called>) -> BoxFuture<'_, (Vec<ChaosFinding>, Option<String>)> {
            let failed = called.iter().filter(|own| own.succeeded != Some(true));
            let finding = |own: &Called| ChaosFinding {
                kind: ChaosKind::Lost,
                message: own.index.to_string(),
                hint: String::new(),
                frames: Vec::new(),
            };
            let findings = failed.map(finding).collect();
            async { (findings, None) }.boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn every_disturbance_ends_and_all_calls_are_looked_at() {
        let sham = Arc::new(Sham::default());
        let report = run(Arc::clone(&sham) as Arc<dyn Fleet>, 5, &|_, _, _| {}).await;
        assert_eq!((report.disturbances.len(), report.calls), (8, 8 * (BEFORE + DURING + AFTER)));
        assert_eq!(report.findings.len(), 1, "{report:?}");
        let log = lock(&sham.log).clone();
        for pair in log.chunks(2) {
            let [(party, fault, true), (same, undone, false)] = pair else { panic!("{log:?}") };
            assert_eq!((party, fault), (same, undone));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_fleet_that_answers_nothing_any_more_is_not_disturbed_further() {
        // The second round is answered until its end.
        let calls = (BEFORE + DURING + AFTER) as usize;
        let sham = Arc::new(Sham { silent_from: Some(2 * calls - 1), ..Sham::default() });
        let report = run(sham, 5, &|_, _, _| {}).await;
        assert_eq!(report.disturbances.len(), 3, "{report:?}");
        assert_eq!(report.hindered.as_deref(), Some(SILENT));
        assert_eq!((report.findings.len(), report.verdict()), (2 + calls, ChaosVerdict::Broken));
    }

    #[tokio::test(start_paused = true)]
    async fn a_replica_that_does_not_come_back_ends_it_and_what_was_called_is_looked_at() {
        let sham = Arc::new(Sham { dies_of: Some(Fault::Kill), ..Sham::default() });
        let report = run(sham, 5, &|_, _, _| {}).await;
        assert!(report.disturbances.len() < 8 && report.calls > 0, "{report:?}");
        assert_eq!(report.hindered.as_deref(), Some("it does not start"));
        assert_eq!(report.verdict(), ChaosVerdict::Broken);
        let deaf = Arc::new(Sham { is_deaf: true, ..Sham::default() });
        assert_eq!(run(deaf, 5, &|_, _, _| {}).await.verdict(), ChaosVerdict::Incomplete);
    }
}
