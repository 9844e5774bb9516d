//! Implementations that do nothing of what they should score no pass, and never end as conformant.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use callmark_cli::{broker, bundled};
use callmark_reports::record::{Outcome, TargetInfo, Verdict};
use callmark_suite::manifest::Manifest;
use callmark_suite::run::{self, Library, Quiet, RunOutput, RunPlan, Selection};
use callmark_suite::saboteur::null::{self, Null};
use callmark_suite::stage::{self, StagePlan};
use callmark_suite::target::{Running, Target};
use callmark_suite::utp::pace::PaceLimits;

/// The bundled manifest with a short wait for a target that never answers.
fn manifest() -> Manifest {
    let mut manifest = bundled::manifest().expect("a sound manifest");
    if let Some(utp) = manifest.utp.as_mut() {
        utp.start_timeout_seconds = Some(1.5);
    }
    manifest
}

async fn certify(null: Null) -> RunOutput {
    let broker = broker::start(&broker::BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let _serving = null::serve(&client, "v1r3", null).await.expect("a null target");
    let profiles = vec!["utp.tool-service".to_owned()];
    let limits =
        PaceLimits { answer_floor: Duration::from_millis(300), ..PaceLimits::default() };
    let manifest = manifest();
    let set = stage::set(StagePlan {
        manifest: &manifest,
        profiles: &profiles,
        nats_url: broker.url(),
        limits,
        seed: 1,
        log: PathBuf::new(),
        target: Some(Box::new(Running) as Box<dyn Target>),
        exercise: None,
    })
    .await;
    let library = Library::load().expect("a sound library");
    let plan = RunPlan {
        selection: Selection { profiles, ..Selection::default() },
        stage: set.stage,
        blocked: set.blocked,
        target: TargetInfo { name: format!("{null:?}"), version: String::new() },
        strict: false,
        jobs: 64,
        seed: 1,
        rerun: "callmark certify".to_owned(),
        secrets: Vec::new(),
        progress: Arc::new(Quiet),
    };
    run::run(&library, &plan).await
}

async fn check(null: Null, expect: Verdict) {
    let record = certify(null).await.record;
    let passes: Vec<&str> = record
        .rules
        .iter()
        .filter(|rule| matches!(rule.outcome, Outcome::Passed | Outcome::Noted))
        .map(|rule| rule.id.as_str())
        .collect();
    assert!(passes.is_empty(), "{null:?} passes {passes:?}");
    assert_eq!(record.verdict, expect, "{null:?}");
    assert!(!record.rules.is_empty());
}

#[tokio::test]
async fn not_found_scores_nothing() {
    check(Null::NotFound, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn empty_results_score_nothing() {
    check(Null::Empty, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn an_echo_scores_nothing() {
    check(Null::Echo, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn silence_scores_nothing() {
    check(Null::Silence, Verdict::Incomplete).await;
}

#[tokio::test]
async fn always_failing_scores_nothing() {
    check(Null::AlwaysError, Verdict::Nonconformant).await;
}

#[tokio::test]
async fn always_succeeding_scores_nothing() {
    check(Null::AlwaysSuccess, Verdict::Nonconformant).await;
}
