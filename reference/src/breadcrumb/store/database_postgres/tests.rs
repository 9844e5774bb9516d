//! Breadcrumbs on a real server: the contract of all databases, and what only stores beside each other show.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::sync::watch;

use super::PostgresDatabase;
use crate::breadcrumb::store::database::Database;
use crate::breadcrumb::store::database_contract::{check_database, members, parts};
use crate::breadcrumb::store::record::Record;
use crate::log::no_log;
use crate::postgres::cluster::Cluster;
use crate::sync::locked;

const DEADLINE: Duration = Duration::from_secs(60);

async fn open(cluster: &Cluster) -> (Arc<Database>, String) {
    let url = cluster.url("crumbs").parse().expect("a URL");
    let (database, owner_id) = PostgresDatabase::open(&url, 100_000, no_log()).await.expect("a database");
    (Arc::new(Database::Postgres(database)), owner_id)
}

/// Uses a database where its operations may wait.
async fn with<T: Send + 'static>(
    database: &Arc<Database>,
    work: impl FnOnce(&Database) -> T + Send + 'static,
) -> T {
    let database = Arc::clone(database);
    tokio::task::spawn_blocking(move || work(&database)).await.expect("no panic")
}

/// What a store hands on to its streams.
struct Handed {
    versions: Arc<Mutex<Vec<(String, i64)>>>,
    count: watch::Receiver<usize>,
    task: tokio::task::JoinHandle<()>,
}

impl Handed {
    fn of(database: &Arc<Database>) -> Self {
        let Database::Postgres(database) = &**database else { panic!("another database") };
        let (versions, counting) = (Arc::<Mutex<Vec<_>>>::default(), watch::Sender::new(0));
        let (count, handed) = (counting.subscribe(), Arc::clone(&versions));
        let publish = move |record: &Record| {
            locked(&handed).push((record.id.clone(), record.version));
            counting.send_modify(|count| *count += 1);
        };
        Self { versions, count, task: tokio::spawn(database.follower().run(publish)) }
    }

    /// What was handed on, once it is so many.
    async fn first(&mut self, number: usize) -> Vec<(String, i64)> {
        let reached = tokio::time::timeout(DEADLINE, self.count.wait_for(|count| *count >= number)).await;
        assert!(reached.is_ok(), "only {:?}", locked(&self.versions));
        locked(&self.versions).clone()
    }
}

impl Drop for Handed {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn tables_do_what_a_database_must() {
    let cluster = Cluster::start();
    with(&open(&cluster).await.0, check_database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_store_hands_on_the_changes_of_all_in_one_order_also_after_a_restart_of_the_server() {
    let mut cluster = Cluster::start();
    let ((one, owner), (other, same)) = (open(&cluster).await, open(&cluster).await);
    assert_eq!(owner, same, "there is one owner of all there is");
    let mut handed = [Handed::of(&one), Handed::of(&other)];
    for number in 0..10 {
        let (id, database) = (format!("crumb-{number}"), if number % 2 == 0 { &one } else { &other });
        with(database, move |database| {
            database.create(id.clone(), parts("t", "a", ""), None, |_record| {}).expect("no error");
            database.change(&id, members(json!({"title": "u"})), None, |_record| {}).expect("no error");
        })
        .await;
    }
    let expect: Vec<_> =
        (0..10).flat_map(|number| [1, 2].map(|version| (format!("crumb-{number}"), version))).collect();
    assert_eq!(handed[0].first(20).await, expect);
    assert_eq!(handed[1].first(20).await, expect);
    let restarting = tokio::task::spawn_blocking(move || {
        cluster.stop();
        cluster.resume();
        cluster
    });
    let _cluster = restarting.await.expect("no panic");
    with(&one, |database| {
        database.create("last".to_owned(), parts("t", "a", ""), None, |_record| {}).expect("no error");
    })
    .await;
    assert_eq!(handed[1].first(21).await.last(), Some(&("last".to_owned(), 1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_at_once_are_all_made_and_each_is_one_event() {
    let cluster = Cluster::start();
    let stores = [open(&cluster).await.0, open(&cluster).await.0];
    let mut handed = Handed::of(&stores[0]);
    with(&stores[0], |database| {
        database.create("it".to_owned(), parts("t", "a", ""), None, |_record| {}).expect("no error");
    })
    .await;
    let changes = (0..20).map(|number| {
        with(&stores[number % 2], move |database| {
            database.change("it", members(json!({"n": number})), None, |_record| {}).expect("no error");
        })
    });
    futures::future::join_all(changes).await;
    let versions: Vec<i64> = handed.first(21).await.into_iter().map(|(_, version)| version).collect();
    assert_eq!(versions, (1..=21).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_long_text_is_kept_whole_and_searched_at_its_beginning() {
    let cluster = Cluster::start();
    let url = cluster.url("long").parse().expect("a URL");
    let (database, _) = PostgresDatabase::open(&url, 2 << 20, no_log()).await.expect("a database");
    let database = Arc::new(Database::Postgres(database));
    // Each word is another one, and short, which is the longest that a vector of so much text becomes.
    let words: Vec<String> = (0..200_000).map(|number| format!("{number:x}")).collect();
    let text = words.join(" ");
    let kept = parts("long", "a", &text);
    let expect = kept.clone();
    let found = with(&database, move |database| {
        database.create("it".to_owned(), kept, None, |_record| {}).expect("no error");
        database.find("it").expect("no error").expect("a record")
    });
    assert_eq!(found.await.parts, expect);
}
