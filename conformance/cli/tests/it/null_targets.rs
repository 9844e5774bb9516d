//! Implementations that do nothing of what they should score no pass, and never end as conformant.

use callmark_reports::record::Verdict;
use callmark_suite::saboteur::null::Null;

use crate::support::nothing;

async fn check(null: Null, expect: Verdict) {
    nothing::check_on_the_bus("utp.tool-service", null, expect).await;
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
