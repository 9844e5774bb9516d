//! The store of several Hubs on a real server.

use std::time::Duration;

use super::PostgresStore;
use crate::hub::config::Allowance;
use crate::hub::fixtures;
use crate::postgres::cluster::Cluster;

async fn open(cluster: &Cluster) -> PostgresStore {
    let url = cluster.url("hub").parse().expect("a URL");
    PostgresStore::open(&url).await.expect("a store").0
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_database_has_the_fixtures_once_and_keeps_what_changes() {
    let cluster = Cluster::start();
    let (one, other) = tokio::join!(open(&cluster), open(&cluster));
    assert_eq!(cluster.psql("SELECT count(*) FROM hub.hub_customers"), fixtures::ALL.len().to_string());
    let held = one.hold(fixtures::CONNECTED).await.expect("a grant");
    let mut grant = held.grant.clone().expect("a grant");
    grant.access_token = "another".to_owned();
    grant.generation += 1;
    held.replace(&grant).await.expect("a save");
    let seen = other.grant(fixtures::CONNECTED).await.expect("no error").expect("a grant");
    assert_eq!((seen.access_token.as_str(), seen.generation), ("another", 1));
    assert!(other.grant(fixtures::NOT_CONNECTED).await.expect("no error").is_none());
    let url = cluster.url("hub").parse().expect("a URL");
    let (_store, records) = PostgresStore::open(&url).await.expect("a store");
    let limited = records.iter().find(|record| record.id == fixtures::LIMITED).expect("a customer");
    assert_eq!(limited.allowance, Some(Allowance { calls: 3, per: Duration::from_secs(3600) }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_is_renewed_by_one_and_the_other_finds_what_came_of_it() {
    let cluster = Cluster::start();
    let (one, other) = (open(&cluster).await, open(&cluster).await);
    let held = one.hold(fixtures::EXPIRED).await.expect("a grant");
    let waiting = tokio::spawn(async move {
        let held = other.hold(fixtures::EXPIRED).await.expect("a grant");
        let generation = held.grant.as_ref().map(|grant| grant.generation);
        held.leave().await;
        generation
    });
    // A statement that waits for the row shows that the other one has asked for it.
    while cluster.psql("SELECT count(*) FROM pg_locks WHERE NOT granted") == "0" {
        tokio::task::yield_now().await;
    }
    let mut grant = held.grant.clone().expect("a grant");
    grant.generation = 7;
    held.replace(&grant).await.expect("a save");
    assert_eq!(waiting.await.expect("no panic"), Some(7));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_limit_holds_over_all_hubs() {
    let cluster = Cluster::start();
    let hubs = [open(&cluster).await, open(&cluster).await];
    let allowance = Allowance { calls: 3, per: Duration::from_secs(3600) };
    let mut admitted = 0;
    for turn in 0..10 {
        match hubs[turn % 2].admit(fixtures::LIMITED, allowance).await.expect("no error") {
            Ok(()) => admitted += 1,
            Err(left) => assert!(left <= allowance.per && left > Duration::from_secs(3000), "{left:?}"),
        }
    }
    assert_eq!(admitted, 3);
    // A new window begins when the old one is over, and not before.
    cluster.psql("UPDATE hub.hub_windows SET began = began - INTERVAL '3601 seconds'");
    assert_eq!(hubs[0].admit(fixtures::LIMITED, allowance).await.expect("no error"), Ok(()));
    assert_eq!(cluster.psql("SELECT used FROM hub.hub_windows"), "1");
    let none = Allowance { calls: 0, ..allowance };
    assert!(hubs[0].admit(fixtures::OTHER, none).await.expect("no error").is_err());
}
