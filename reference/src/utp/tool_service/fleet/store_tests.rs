//! The ledger of a fleet on a real server: the contract of all stores, and what only instances beside each other show.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::super::counters::{Outcome, outcome_key};
use super::NatsStore;
use crate::log::no_log;
use crate::utp::tool_service::ledger::{Claim, LedgerStore as _};
use crate::utp::tool_service::ledger_contract::{answer, check_store, count, key};

#[path = "../../../../tests/it/utp_fleet/server.rs"]
mod server;

use server::NatsServer;

/// A store as an instance with this name has it, on a connection of its own.
async fn store(server: &NatsServer, instance: Option<&str>) -> Arc<NatsStore> {
    let client = async_nats::connect(server.url()).await.expect("a client");
    Arc::new(NatsStore::open(client, "group", instance, no_log()).await.expect("a store"))
}

/// Uses a store where its operations may wait.
async fn with<T: Send + 'static>(
    store: &Arc<NatsStore>,
    work: impl FnOnce(&NatsStore) -> T + Send + 'static,
) -> T {
    let store = Arc::clone(store);
    tokio::task::spawn_blocking(move || work(&store)).await.expect("no panic")
}

async fn claim(store: &Arc<NatsStore>, call: &'static str) -> Claim {
    with(store, move |store| store.claim(&key("turn", call)).expect("no error")).await
}

async fn counted(store: &Arc<NatsStore>, call: &'static str) -> Option<u64> {
    with(store, move |store| store.record(&key("turn", call), Some("prj"), answer()).ok())
        .await
        .and_then(|answer| count(&answer))
}

async fn found(store: &Arc<NatsStore>, call: &'static str) -> Option<u64> {
    let found = with(store, move |store| store.find(&key("turn", call)).expect("no error")).await;
    found.and_then(|answer| count(&answer))
}

async fn delivered(store: &Arc<NatsStore>, call: &'static str) {
    with(store, move |store| store.mark_delivered(&key("turn", call)).expect("no error")).await;
}

#[tokio::test]
async fn buckets_do_what_a_store_must() {
    let server = NatsServer::start();
    with(&store(&server, None).await, |store| check_store(store)).await;
}

#[tokio::test]
async fn a_call_that_one_instance_has_is_not_new_for_another() {
    let server = NatsServer::start();
    let (one, other) = (store(&server, None).await, store(&server, None).await);
    assert!(matches!(claim(&one, "call").await, Claim::New));
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { is_recorded: false }));
    assert_eq!(counted(&one, "call").await, Some(1));
    assert!(matches!(claim(&other, "call").await, Claim::Elsewhere { is_recorded: true }));
    delivered(&one, "call").await;
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: true, .. }));
    assert!(matches!(claim(&one, "call").await, Claim::Elsewhere { .. }));
}

#[tokio::test]
async fn an_answer_that_is_given_up_is_delivered_by_whoever_takes_the_call() {
    let server = NatsServer::start();
    let (one, other) = (store(&server, None).await, store(&server, None).await);
    assert!(matches!(claim(&one, "call").await, Claim::New));
    assert_eq!(counted(&one, "call").await, Some(1));
    with(&one, |store| store.release(&key("turn", "call")).expect("no error")).await;
    let swept = |store: &NatsStore| store.orphaned().expect("no error").len();
    assert_eq!(with(&other, swept).await, 0, "its instance is alive");
    let unsent = |store: &NatsStore| store.undelivered().expect("no error").len();
    assert_eq!(with(&other, unsent).await, 1);
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: false, .. }));
    assert_eq!(with(&one, unsent).await, 0);
}

#[tokio::test]
async fn whoever_starts_again_takes_over_and_whoever_wakes_up_late_does_no_harm() {
    let server = NatsServer::start();
    let (late, other) = (store(&server, Some("1")).await, store(&server, Some("2")).await);
    assert!(matches!(claim(&late, "call").await, Claim::New));
    assert!(matches!(claim(&late, "answered").await, Claim::New));
    assert_eq!(counted(&late, "answered").await, Some(1));
    let again = store(&server, Some("1")).await;
    assert_eq!(with(&other, |store| store.orphaned().expect("no error").len()).await, 1);
    assert!(matches!(claim(&again, "call").await, Claim::New));
    assert_eq!(counted(&again, "call").await, Some(2));
    assert_eq!(counted(&late, "call").await, None, "the call has an outcome");
    delivered(&again, "call").await;
    // The late one's claim is not there any more, and ending it ends nobody else's.
    assert!(matches!(claim(&other, "call").await, Claim::Done { delivered: true, .. }));
    delivered(&late, "call").await;
    assert!(matches!(claim(&again, "call").await, Claim::Elsewhere { .. }));
    assert_eq!(counted(&other, "next").await, Some(3));
}

/// Records an outcome as an instance does that is killed before it is counted.
async fn uncounted(store: &Arc<NatsStore>, call: &str) {
    let outcome = Outcome { by: store.instances.own(), uncounted: Some("prj".to_owned()), answer: answer() };
    let key = outcome_key(&key("turn", call).digest());
    store.calls.write(&key, &outcome, 0).await.expect("no error");
}

#[tokio::test]
async fn a_kill_between_outcome_and_count_neither_loses_nor_repeats_the_count() {
    let server = NatsServer::start();
    let (one, other) = (store(&server, None).await, store(&server, None).await);
    uncounted(&one, "killed").await;
    assert_eq!(counted(&other, "next").await, Some(1));
    assert_eq!(found(&other, "killed").await, Some(2));
    assert_eq!(found(&one, "killed").await, Some(2));
    assert_eq!(counted(&one, "last").await, Some(3));
}

#[tokio::test]
async fn a_kill_between_count_and_its_note_neither_loses_nor_repeats_the_count() {
    let server = NatsServer::start();
    let (one, other) = (store(&server, None).await, store(&server, None).await);
    for is_seen_first in [false, true] {
        let (killed, next) = if is_seen_first { ("a", "b") } else { ("c", "d") };
        uncounted(&one, killed).await;
        let number = one.counters.take_number("prj", &key("turn", killed).digest()).await.expect("a number");
        if is_seen_first {
            assert_eq!(found(&other, killed).await, number);
        }
        assert_eq!(counted(&other, next).await, number.map(|number| number + 1));
        assert_eq!(found(&other, killed).await, number);
    }
    assert_eq!(counted(&one, "last").await, Some(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_count_at_once_count_each_call_once() {
    let server = NatsServer::start();
    let mut tasks = Vec::new();
    for instance in 0..3 {
        let store = store(&server, None).await;
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

#[tokio::test]
async fn a_broker_that_is_gone_is_an_error() {
    let mut server = NatsServer::start();
    let store = store(&server, None).await;
    assert!(matches!(claim(&store, "call").await, Claim::New));
    server.kill();
    let recorded = with(&store, |store| store.record(&key("turn", "call"), None, answer()));
    assert!(recorded.await.is_err());
}
