//! The bundled reference behind a wire that changes, or loses, what passes.

use std::collections::BTreeMap;
use std::sync::Arc;

use callmark_cli::bundled::ReferenceFactory;
use callmark_reports::record::TargetInfo;
use callmark_suite::engine::run;
use callmark_suite::engine::run::replay::ReplayMode;
use callmark_suite::engine::run::{Library, Quiet, RunOutput, RunPlan, Selection};
use callmark_suite::mutation::{Patience, TargetFactory as _};
use callmark_suite::net::wire::Wire;

use crate::support::{manifest, program};

/// Runs some rules of a profile against the bundled reference behind a wire; none means all of them.
pub(crate) async fn certify(
    wire: Arc<dyn Wire>,
    profile: &str,
    rules: &[&str],
    memory: ReplayMode,
) -> RunOutput {
    let mut bench = ReferenceFactory { program: program() }.open().await.expect("a bench");
    let sessions = bench.sessions(profile, wire, Patience::Full).await.expect("a session");
    let manifest = manifest();
    let plan = Arc::new(RunPlan {
        selection: Selection {
            profiles: vec![profile.to_owned()],
            rules: rules.iter().map(|&rule| rule.to_owned()).collect(),
            ..Selection::default()
        },
        sessions,
        blocked: BTreeMap::new(),
        target: TargetInfo { name: manifest.target.name.clone(), version: manifest.target.version.clone() },
        places: manifest.places(),
        strict: false,
        fail_fast: false,
        jobs: 16,
        lead: None,
        alone: run::ALONE,
        seed: 1,
        rerun: "callmark certify".to_owned(),
        secrets: Vec::new(),
        outbound: Arc::default(),
        progress: Arc::new(Quiet),
        memory: Arc::new(memory),
    });
    let library = Arc::new(Library::load().expect("a sound library"));
    let output = Box::pin(run::run(&library, &plan)).await;
    plan.sessions.close().await;
    output
}
