//! The ledger on a real server: the contract of all stores, and what only instances beside each other show.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::PostgresStore;
use crate::log::{Log, no_log};
use crate::postgres::cluster::Cluster;
use crate::sync::locked;
use crate::utp::l0;
use crate::utp::tool_service::ledger::{Claim, LedgerStore as _};
use crate::utp::tool_service::ledger_contract::{answer, check_store, count, key};

/// A store as an instance with this name has it.
async fn store(cluster: &Cluster, instance: Option<&str>) -> Arc<PostgresStore> {
    logged(cluster, instance, no_log()).await
}

async fn logged(cluster: &Cluster, instance: Option<&str>, log: Log) -> Arc<PostgresStore> {
    let url = cluster.url("fleet").parse().expect("a URL");
    Arc::new(PostgresStore::open(&url, "group", instance, false, log).await.expect("a store"))
}

/// Uses a store where its operations may wait.
async fn with<T: Send + 'static>(
    store: &Arc<PostgresStore>,
    work: impl FnOnce(&PostgresStore) -> T + Send + 'static,
) -> T {
    let store = Arc::clone(store);
    tokio::task::spawn_blocking(move || work(&store)).await.expect("no panic")
}

async fn claim(store: &Arc<PostgresStore>, call: &'static str) -> Claim {
    with(store, move |store| store.claim(&key("turn", call)).expect("no error")).await
}

async fn counted(store: &Arc<PostgresStore>, call: &'static str) -> Option<u64> {
    with(store, move |store| store.record(&key("turn", call), Some("prj"), answer()).ok())
        .await
        .and_then(|answer| count(&answer))
}

async fn delivered(store: &Arc<PostgresStore>, call: &'static str) {
    with(store, move |store| store.mark_delivered(&key("turn", call)).expect("no error")).await;
}

async fn orphaned(store: &Arc<PostgresStore>) -> usize {
    with(store, |store| store.orphaned().expect("no error").len()).await
}

async fn renewed(store: &Arc<PostgresStore>) {
    store.instance.renewed().await.expect("a renewal");
}

/// Lets the lease of an instance expire, and others' own be old enough to see it.
fn expire(cluster: &Cluster, instance: &str) {
    cluster.psql(&format!(
        "UPDATE fleet.utp_instances SET since = since - INTERVAL '1 minute'; \
         UPDATE fleet.utp_instances SET expires_at = clock_timestamp() - INTERVAL '1 second' \
         WHERE instance = '{instance}'"
    ));
}

#[tokio::test]
async fn tables_do_what_a_store_must() {
    let cluster = Cluster::start();
    with(&store(&cluster, None).await, |store| check_store(store)).await;
}

#[tokio::test]
async fn a_call_that_one_instance_has_is_not_new_for_another() {
    let cluster = Cluster::start();
    let (one, other) = (store(&cluster, None).await, store(&cluster, None).await);
    assert!(matches!(claim(&one, "call").await, Claim::New));
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { is_recorded: false }));
    assert!(with(&other, |store| store.is_taken(&key("turn", "call")).expect("no error")).await);
    assert!(!with(&one, |store| store.is_taken(&key("turn", "call")).expect("no error")).await);
    assert_eq!(counted(&other, "call").await, None, "it belongs to the first");
    assert_eq!(counted(&one, "call").await, Some(1));
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { is_recorded: true }));
    delivered(&one, "call").await;
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: true, .. }));
    assert!(matches!(claim(&one, "call").await, Claim::Elsewhere { .. }));
}

#[tokio::test]
async fn an_answer_that_is_given_up_is_delivered_by_whoever_takes_the_call() {
    let cluster = Cluster::start();
    let (one, other) = (store(&cluster, None).await, store(&cluster, None).await);
    assert!(matches!(claim(&one, "call").await, Claim::New));
    assert_eq!(counted(&one, "call").await, Some(1));
    with(&one, |store| store.release(&key("turn", "call")).expect("no error")).await;
    assert_eq!(orphaned(&other).await, 0, "its instance is alive");
    let unsent = |store: &PostgresStore| store.undelivered().expect("no error").len();
    assert_eq!(with(&other, unsent).await, 1);
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: false, .. }));
    assert_eq!(with(&one, unsent).await, 0);
}

#[tokio::test]
async fn whoever_starts_again_takes_over_and_whoever_wakes_up_late_does_no_harm() {
    let cluster = Cluster::start();
    let (late, other) = (store(&cluster, Some("1")).await, store(&cluster, Some("2")).await);
    assert!(matches!(claim(&late, "call").await, Claim::New));
    assert!(matches!(claim(&late, "answered").await, Claim::New));
    assert_eq!(counted(&late, "answered").await, Some(1));
    let again = store(&cluster, Some("1")).await;
    assert_eq!(orphaned(&other).await, 1);
    assert!(matches!(claim(&again, "call").await, Claim::New));
    assert_eq!(counted(&late, "call").await, None, "the call is another's now");
    assert_eq!(counted(&again, "call").await, Some(2));
    assert_eq!(counted(&late, "call").await, None, "the call has an outcome");
    delivered(&again, "call").await;
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: true, .. }));
    delivered(&late, "call").await;
    assert!(
        matches!(claim(&again, "call").await, Claim::Elsewhere { .. }),
        "the claim is not the late one's"
    );
    assert_eq!(counted(&other, "next").await, Some(3));
}

#[tokio::test]
async fn what_is_claimed_is_free_when_its_lease_is_over_and_not_before() {
    let cluster = Cluster::start();
    let (one, other) = (store(&cluster, Some("1")).await, store(&cluster, Some("2")).await);
    assert!(matches!(claim(&one, "running").await, Claim::New));
    assert!(matches!(claim(&one, "answered").await, Claim::New));
    assert_eq!(counted(&one, "answered").await, Some(1));
    assert_eq!(orphaned(&other).await, 0);
    assert!(matches!(claim(&other, "running").await, Claim::Elsewhere { .. }));
    expire(&cluster, "1");
    assert_eq!(orphaned(&other).await, 1);
    assert_eq!(orphaned(&other).await, 0, "it is being delivered");
    assert!(matches!(claim(&other, "running").await, Claim::New));
    assert_eq!(counted(&one, "running").await, None, "it woke up late");
    assert_eq!(counted(&other, "running").await, Some(2));
}

#[tokio::test]
async fn a_database_that_was_away_does_not_make_the_living_look_dead() {
    let cluster = Cluster::start();
    let (one, other) = (store(&cluster, Some("1")).await, store(&cluster, Some("2")).await);
    assert!(matches!(claim(&one, "call").await, Claim::New));
    // Both leases have expired, and the second is renewed first.
    cluster.psql("UPDATE fleet.utp_instances SET since = since - INTERVAL '1 hour', expires_at = since");
    renewed(&other).await;
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { .. }));
    renewed(&one).await;
    cluster.psql("UPDATE fleet.utp_instances SET since = since - INTERVAL '1 minute'");
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { .. }));
}

#[tokio::test]
async fn an_outcome_is_kept_for_a_week_after_it_was_delivered() {
    let cluster = Cluster::start();
    let store = store(&cluster, None).await;
    for call in ["old", "undelivered", "new"] {
        assert!(matches!(claim(&store, call).await, Claim::New));
        counted(&store, call).await;
    }
    delivered(&store, "old").await;
    cluster.psql("UPDATE fleet.utp_calls SET recorded_at = recorded_at - INTERVAL '8 days'");
    delivered(&store, "new").await;
    cluster.psql(
        "UPDATE fleet.utp_calls SET recorded_at = clock_timestamp() - INTERVAL '6 days' \
                  WHERE recorded_at = (SELECT max(recorded_at) FROM fleet.utp_calls)",
    );
    store.instance.forget_outcomes().await.expect("a deletion");
    assert!(matches!(claim(&store, "old").await, Claim::New), "it is forgotten");
    assert!(matches!(claim(&store, "undelivered").await, Claim::Done { delivered: false, .. }));
    assert!(matches!(claim(&store, "new").await, Claim::Done { delivered: true, .. }));
}

#[tokio::test]
async fn an_instance_that_was_replaced_says_so_and_goes_on_under_a_new_name() {
    let cluster = Cluster::start();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let written = Arc::clone(&lines);
    let log: Log = Arc::new(move |line: &str| locked(&written).push(line.to_owned()));
    let one = logged(&cluster, Some("1"), log).await;
    assert!(matches!(claim(&one, "call").await, Claim::New));
    let again = store(&cluster, Some("1")).await;
    renewed(&one).await;
    assert_eq!(*locked(&lines), ["another instance has started as `1`"]);
    assert!(matches!(claim(&one, "new").await, Claim::New));
    assert!(matches!(claim(&again, "new").await, Claim::Elsewhere { .. }));
    assert!(matches!(claim(&again, "call").await, Claim::New));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_count_at_once_count_each_call_once() {
    let cluster = Cluster::start();
    let mut tasks = Vec::new();
    for instance in 0..3 {
        let store = store(&cluster, None).await;
        for call in 0..30 {
            let store = Arc::clone(&store);
            tasks.push(tokio::task::spawn_blocking(move || {
                let key = key("turn", &format!("{instance}-{call}"));
                count(&store.record(&key, Some("prj"), answer()).expect("no error"))
            }));
        }
    }
    let mut counts = BTreeSet::new();
    for task in tasks {
        counts.extend(task.await.expect("no panic"));
    }
    assert_eq!(counts, (1..=90).collect());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_restarted_meanwhile_fails_nothing_and_loses_nothing() {
    let mut cluster = Cluster::start();
    let store = store(&cluster, None).await;
    assert!(matches!(claim(&store, "call").await, Claim::New));
    assert_eq!(counted(&store, "call").await, Some(1));
    cluster.stop();
    let waiting = Arc::clone(&store);
    let recording = tokio::task::spawn_blocking(move || {
        count(&waiting.record(&key("turn", "during"), Some("prj"), answer()).expect("no error"))
    });
    let resuming = tokio::task::spawn_blocking(move || {
        cluster.resume();
        cluster
    });
    let _cluster = resuming.await.expect("no panic");
    assert_eq!(recording.await.expect("no panic"), Some(2));
    let found = with(&store, |store| store.find(&key("turn", "call")).expect("no error")).await;
    assert_eq!(found.and_then(|answer| count(&answer)), Some(1));
}

#[tokio::test]
async fn card_inbox_record_and_outcome_are_there_together_or_not_at_all() {
    let cluster = Cluster::start();
    let url = cluster.url("all").parse().expect("a URL");
    let store = Arc::new(PostgresStore::open(&url, "group", None, true, no_log()).await.expect("a store"));
    let rows = || {
        cluster.psql(
            "SELECT (SELECT count(*) FROM \"all\".utp_calls WHERE answer IS NOT NULL), \
             (SELECT count(*) FROM \"all\".utp_documents WHERE kind = 'card'), \
             (SELECT count(*) FROM \"all\".utp_inbox WHERE NOT announced), \
             (SELECT count(*) FROM \"all\".utp_counters)",
        )
    };
    // The last of the four writes is refused, and none of the others is there.
    cluster.psql("ALTER TABLE \"all\".utp_inbox ADD CONSTRAINT never CHECK (FALSE) NOT VALID");
    assert_eq!(counted(&store, "call").await, None);
    assert_eq!(rows(), "0|0|0|0");
    cluster.psql("ALTER TABLE \"all\".utp_inbox DROP CONSTRAINT never");
    assert_eq!(counted(&store, "call").await, Some(1));
    assert_eq!(rows(), "1|1|1|1");
    l0::check_announcement(&url, &answer()).await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_one_sentence_without_the_password() {
    let began = tokio::time::Instant::now();
    let url = "postgres://me:hush@127.0.0.1:1/db".parse().expect("a URL");
    let opened = PostgresStore::open(&url, "group", None, false, no_log()).await;
    let error = opened.err().expect("an error").to_string();
    assert!(error.contains("postgres://me@127.0.0.1:1/db") && !error.contains("hush"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(60));
}
