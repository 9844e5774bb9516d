//! The bundled reference behind a wire that changes, or loses, what passes.

use std::sync::Arc;

use callmark_cli::bundled::ReferenceFactory;
use callmark_reports::record::TargetInfo;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::engine::run::{Library, RunOutput, RunPlan};
use callmark_suite::mutation::{Patience, TargetFactory as _};
use callmark_suite::net::wire::Wire;

use crate::support::{manifest, program, selection};

/// Runs some rules of a profile against the bundled reference behind a wire; none means all of them.
pub(crate) async fn certify(
    wire: Arc<dyn Wire>,
    profile: &str,
    rules: &[&str],
    memory: ReplayMode,
) -> RunOutput {
    let mut reference = ReferenceFactory { program: program() }.open().await.expect("the reference");
    let sessions = reference.sessions(profile, wire, Patience::Full).await.expect("a session");
    let manifest = manifest();
    let target = TargetInfo { name: manifest.target.name.clone(), version: manifest.target.version.clone() };
    let plan = Arc::new(RunPlan {
        places: manifest.places(),
        jobs: 16,
        memory: Arc::new(memory),
        ..RunPlan::new(selection(&[profile], rules), sessions, target)
    });
    let library = Arc::new(Library::load().expect("a sound library"));
    let output = Box::pin(run::run(&library, &plan)).await;
    plan.sessions.close().await;
    output
}
