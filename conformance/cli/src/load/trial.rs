//! One rate: the calls are made, and what they exchanged is judged.

use std::sync::Arc;
use std::time::Duration;

use callmark_reports::load::{LoadReport, LoadSearch};
use callmark_reports::recording::RecordingReport;
use callmark_suite::engine::load::{LoadPlan, Loaded, Measured, Outcome, Pace, drive};
use callmark_suite::engine::recording::{Origin, live};
use callmark_suite::engine::run::Library;

use super::progress::Shown;
use super::target::Opened;
use crate::args::LoadArguments;
use crate::exit::Failure;
use crate::judge;

/// A rate that was tried.
pub(super) struct Tried {
    plan: LoadPlan,
    loaded: Arc<Loaded>,
    judged: RecordingReport,
}

/// Makes the calls of a rate; `first` is the number of the first of them.
pub(super) async fn run(
    arguments: &LoadArguments,
    library: &Arc<Library>,
    opened: &Opened,
    (rate, first): (f64, u64),
    shown: &Shown,
) -> Result<Tried, Failure> {
    let plan = LoadPlan {
        pace: Pace::new(rate, arguments.duration),
        deadline: arguments.deadline,
        most_open: usize::try_from(arguments.most_open).unwrap_or(usize::MAX),
        first,
    };
    let (feed, waiting) = live::feed();
    let own = judge::judge(library, &opened.manifest)?;
    let judging = waiting
        .judge(&feed, own, Vec::new(), ("load".to_owned(), Origin::Load))
        .map_err(Failure::incomplete)?;
    let loaded = Loaded::new(&plan);
    let calls = drive(plan, Arc::clone(&opened.caller), Arc::clone(&loaded), feed);
    tokio::select! {
        () = calls => {}
        never = shown.follow(&plan, &loaded) => match never {},
    }
    let judged = judging.finish().map_err(Failure::internal)?.report(library, arguments.strict);
    Ok(Tried { plan, loaded, judged })
}

impl Tried {
    /// Calls that were due.
    pub(super) fn calls(&self) -> u64 {
        self.plan.pace.calls()
    }

    /// The 99th percentile of the latencies, in microseconds.
    pub(super) fn p99_us(&self) -> u64 {
        let p99 = self.loaded.with(Measured::p99);
        u64::try_from(p99.as_micros()).unwrap_or(u64::MAX)
    }

    /// Why the rate counts as not held.
    pub(super) fn why_not(&self, p99: Duration) -> Option<String> {
        self.outcome().why_not(p99)
    }

    /// The report about it.
    pub(super) fn report(self, opened: &Opened, search: Option<LoadSearch>) -> LoadReport {
        self.outcome().report(opened.info(), opened.caller.profile(), search)
    }

    fn outcome(&self) -> Outcome<'_> {
        Outcome { plan: self.plan, loaded: &self.loaded, judged: self.judged.clone() }
    }
}
