//! L0's tables on a real server: the contracts of all stores, and what only two of them beside each other show.

use std::sync::Arc;

use super::PostgresStore;
use crate::postgres::DatabaseUrl;
use crate::postgres::cluster::Cluster;
use crate::utp::execution::inbox::tests::{check_inbox, record};
use crate::utp::execution::inbox::{InboxStore, Insertion};
use crate::utp::execution::record_of;
use crate::utp::l0::store::Store;
use crate::utp::l0::store::tests::check_store;
use crate::utp::tool_service::CallResponse;

async fn store(cluster: &Cluster) -> Arc<PostgresStore> {
    let url = cluster.url("platform").parse().expect("a URL");
    Arc::new(PostgresStore::open(&url).await.expect("a store"))
}

/// Uses a store where its operations may wait.
async fn with<T: Send + 'static>(
    store: &Arc<PostgresStore>,
    work: impl FnOnce(&PostgresStore) -> T + Send + 'static,
) -> T {
    let store = Arc::clone(store);
    tokio::task::spawn_blocking(move || work(&store)).await.expect("no panic")
}

#[tokio::test]
async fn tables_do_what_a_store_must_and_keep_it() {
    let cluster = Cluster::start();
    let one = store(&cluster).await;
    with(&one, |store| check_store(store)).await;
    with(&one, |store| check_inbox(store)).await;
    drop(one);
    let again = store(&cluster).await;
    assert!(with(&again, |store| store.card("prj", "c").expect("no error").is_some()).await);
    assert_eq!(with(&again, |store| store.records("prj", "ag").expect("no error").len()).await, 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_record_is_taken_once_by_those_that_take_at_once() {
    let cluster = Cluster::start();
    let stores = [store(&cluster).await, store(&cluster).await];
    for number in 0..20 {
        let call = format!("call_{number}");
        with(&stores[0], move |store| store.insert(&record(&call, "turn", &call)).expect("no error")).await;
    }
    let take = |store: &PostgresStore| store.take("prj", "ag").expect("no error").len();
    let (one, other) = tokio::join!(with(&stores[0], take), with(&stores[1], take));
    assert_eq!(one + other, 20);
}

#[tokio::test]
async fn ids_may_hold_what_the_database_does_not_take() {
    let cluster = Cluster::start();
    let store = store(&cluster).await;
    let (one, other) = (record("i1", "turn", "call\0"), record("i2", "turn", "call\\0"));
    let inserted = with(&store, move |store| [&one, &other].map(|own| store.insert(own).expect("no error")));
    assert_eq!(inserted.await, [Insertion::New, Insertion::New]);
}

/// Checks that the report of an answer whose record was written with its outcome is new once, and then a duplicate.
pub(crate) async fn check_announcement(url: &DatabaseUrl, answer: &CallResponse) {
    let store = Arc::new(PostgresStore::open(url).await.expect("a store"));
    let report = record_of(answer).expect("a record");
    let inbox_id = report.inbox_id.clone();
    let again = record_of(answer).expect("a record");
    let outcomes = with(&store, move |store| {
        let inserted = [&report, &again].map(|own| store.insert(own).expect("no error"));
        (inserted, store.records(&report.project_id, &report.agent_id).expect("no error"))
    });
    let (inserted, records) = outcomes.await;
    assert_eq!(inserted, [Insertion::New, Insertion::Duplicate(inbox_id.clone())]);
    assert_eq!(records.iter().map(|record| &record.inbox_id).collect::<Vec<_>>(), [&inbox_id]);
}
