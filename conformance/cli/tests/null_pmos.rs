//! PMOs that do nothing of what they should score no pass, and never end as conformant.

#[path = "support/nothing.rs"]
mod nothing;
mod support;

use std::sync::Arc;

use callmark_cli::broker;
use callmark_reports::record::Verdict;
use callmark_suite::run::Quiet;
use callmark_suite::saboteur::null::{self, Null};
use callmark_suite::target::Running;

async fn check(null: Null, expect: Verdict) {
    let broker = broker::start(&broker::BrokerChoice::Embedded).await.expect("a broker");
    let client = async_nats::connect(broker.url()).await.expect("a connection");
    let _serving = null::serve(&client, "v1r3", null).await.expect("a null target");
    let manifest = support::manifest();
    let output =
        support::certify(&manifest, &["utp.pmo"], broker.url(), Box::new(Running), Arc::new(Quiet)).await;
    nothing::is_scored(&output, expect, &format!("{null:?}"));
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
async fn the_command_as_its_result_scores_nothing() {
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

#[tokio::test]
async fn starting_no_child_scores_nothing() {
    check(Null::Parrot, Verdict::Nonconformant).await;
}
