//! The target as the manifest describes it: started, or running already.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::engine::open::OpenPlan;
use crate::engine::target::Launch;
use crate::families::utp::manifest::UtpTable;
use crate::families::utp::replicas::Replicas;
use crate::families::utp::revision::Revision;
use crate::families::utp::target::{Logged, Process, Running, Target};

/// Log of the target.
pub(super) const LOG: &str = "target.log";
/// Log of the target where it is started for `v1r4`.
pub(super) const V1R4_LOG: &str = "target@v1r4.log";

fn log_of(revision: Revision) -> &'static str {
    match revision {
        Revision::V1r3 => LOG,
        Revision::V1r4 => V1R4_LOG,
    }
}

/// The target as the manifest describes it.
pub(super) fn target(
    (plan, utp, revision): (&OpenPlan<'_>, &UtpTable, Revision),
    generated: &[String],
    beneath: BTreeMap<String, String>,
    replicas: &Arc<Replicas>,
) -> Box<dyn Target> {
    let base = &plan.manifest.directory;
    let Some(command) = &utp.launch.start else {
        return match utp.openapi.as_ref().and_then(|own| own.log.as_ref()) {
            Some(log) => Box::new(Logged::new(base.join(log))),
            None => Box::new(Running),
        };
    };
    let log = plan.log(log_of(revision));
    log.hide(generated.iter().cloned());
    let launch = Launch::of(&utp.launch, command, base, &log, &[]).beneath(beneath);
    Box::new(Process::new(launch, Arc::clone(replicas)))
}
