//! The same with the ledger in PostgreSQL, also on a broker that keeps nothing and while the database is restarted.

use callmark_reference::broker::{Broker, BrokerConfig};
use serde_json::json;

use super::killed::{CALLS, publish, three_instances};
use super::server::NatsServer;
use super::support::{DEADLINE, Fleet, HELD, Watch, commands, hold_row, within};
use crate::postgres_cluster::Cluster;
use crate::utp::support::row;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_calls_of_which_one_instance_is_killed_have_one_outcome_each() {
    let cluster = Cluster::start();
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let mut fleet = Fleet::around(&broker.url(), None).await;
    fleet.database = Some(cluster.url("fleet"));
    let (watch, _instances) = within("end of the calls", three_instances(&fleet)).await;
    watch.outcomes.check_counts(CALLS + 1);
    assert_eq!(cluster.psql("SELECT value FROM fleet.utp_counters"), (CALLS + 1).to_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_running_when_its_instance_was_killed_is_carried_out_by_another() {
    let cluster = Cluster::start();
    let server = NatsServer::start();
    let mut fleet = Fleet::around(server.url(), Some(commands(1))).await;
    fleet.database = Some(cluster.url("fleet"));
    let mut held = fleet.subscribe(HELD).await;
    let mut instance = fleet.instance_that("1", true).await;
    let call = fleet.caller.prepare(&hold_row(), &json!({})).await.expect("a call");
    publish(&fleet.caller, &call).await;
    within("running call", futures::StreamExt::next(&mut held)).await.expect("an open subscription");
    instance.kill().await.expect("a kill");
    let mut watch = Watch::start(&fleet).await;
    // Of another name, so it has to wait for the end of the lease.
    let _other = fleet.instance("2").await;
    assert!(watch.until(1, DEADLINE).await);
    assert!(watch.outcomes.is_answered(&call.tool_call_id));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_that_come_while_the_database_is_restarted_are_answered_once() {
    let mut cluster = Cluster::start();
    let broker = Broker::start(BrokerConfig::default()).await.expect("a broker");
    let mut fleet = Fleet::around(&broker.url(), None).await;
    fleet.database = Some(cluster.url("fleet"));
    let mut watch = Watch::start(&fleet).await;
    let _instances = [fleet.instance("1").await, fleet.instance("2").await];
    let count = row("probe.count");
    for number in 0..60 {
        if number == 30 {
            watch.until(10, DEADLINE).await;
            cluster.stop();
        }
        let call = fleet.caller.prepare(&count, &json!({})).await.expect("a call");
        publish(&fleet.caller, &call).await;
    }
    let cluster = tokio::task::spawn_blocking(move || {
        cluster.resume();
        cluster
    });
    let _cluster = cluster.await.expect("no panic");
    assert!(watch.until(60, DEADLINE).await, "{} of 60 calls are answered", watch.outcomes.answered());
    watch.rest(&fleet).await;
    watch.outcomes.check_counts(60);
}
