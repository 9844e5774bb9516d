//! Instances that are killed: every call has one outcome, and a counter counts each call once.

use std::time::Duration;

use callmark_reference::utp::{Caller, round_trip};
use serde_json::json;
use tokio::process::Child;

use super::server::NatsServer;
use super::support::{DEADLINE, Fleet, HELD, Watch, commands, hold_row, within};
use crate::utp::support::{row, row_in};

pub(super) const CALLS: usize = 300;
/// How long nothing passes before a caller sends again what is not answered.
const QUIET: Duration = Duration::from_secs(2);

/// Sends each call two or three times, to three instances, one of which is killed and started again meanwhile.
pub(super) async fn three_instances(fleet: &Fleet) -> (Watch, Vec<Child>) {
    let mut watch = Watch::start(fleet).await;
    let mut instances = Vec::new();
    for name in ["1", "2", "3"] {
        instances.push(fleet.instance(name).await);
    }
    let count = row("probe.count");
    let mut calls = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        calls.push(fleet.caller.prepare(&count, &json!({})).await.expect("a call"));
    }
    for (number, call) in calls.iter().enumerate() {
        for _ in 0..2 + number % 2 {
            publish(&fleet.caller, call).await;
        }
        if number == CALLS / 3 {
            watch.until(CALLS / 6, DEADLINE).await;
            // SIGKILL, in the middle of whatever it does.
            instances[1].kill().await.expect("a kill");
        }
        if number == CALLS * 2 / 3 {
            instances.push(fleet.instance("2").await);
        }
    }
    // What was under way to the killed one over a plain subscription is gone with it: its caller asks again.
    while !watch.until(CALLS, QUIET).await {
        for call in calls.iter().filter(|call| !watch.outcomes.is_answered(&call.tool_call_id)) {
            publish(&fleet.caller, call).await;
        }
    }
    // The counter's next value comes after everything.
    let sentinel = fleet.caller.call(&count, &json!({})).await.expect("an answer");
    assert_eq!(sentinel.card["content"]["result"], json!({"count": CALLS + 1}));
    watch.rest(fleet).await;
    (watch, instances)
}

pub(super) async fn publish(caller: &Caller, call: &callmark_reference::utp::caller::PreparedCall) {
    caller.publish(call).await.expect("no error");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_calls_of_which_one_instance_is_killed_have_one_outcome_each() {
    let server = NatsServer::start();
    let fleet = Fleet::around(server.url(), None).await;
    let (watch, _instances) = within("end of the calls", three_instances(&fleet)).await;
    watch.outcomes.check_counts(CALLS + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_with_commands_in_a_stream() {
    let server = NatsServer::start();
    let fleet = Fleet::around(server.url(), Some(commands(1))).await;
    let (watch, _instances) = within("end of the calls", three_instances(&fleet)).await;
    watch.outcomes.check_counts(CALLS + 1);
    // All is acknowledged, and so will not be delivered again.
    let context = async_nats::jetstream::new(fleet.client.clone());
    within("acknowledgement of all", async {
        loop {
            let stream = context.get_stream(commands(1).name).await.expect("the stream");
            let consumer = stream.consumer_info("tool-service").await.expect("the consumer");
            if consumer.num_ack_pending == 0 && consumer.num_pending == 0 {
                return;
            }
            round_trip(&fleet.client).await.expect("an answer of the broker");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_was_running_when_its_instance_was_killed_is_carried_out_by_another() {
    let server = NatsServer::start();
    let fleet = Fleet::around(server.url(), Some(commands(1))).await;
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
async fn a_repeated_report_is_dropped_by_a_stream_that_keeps_reports() {
    let server = NatsServer::start();
    let fleet = Fleet::around(server.url(), None).await;
    let context = async_nats::jetstream::new(fleet.client.clone());
    let config = async_nats::jetstream::stream::Config {
        name: "reports".to_owned(),
        subjects: vec!["l0.v1.*.*.report".to_owned()],
        ..Default::default()
    };
    context.create_stream(config).await.expect("a stream");
    let _instance = fleet.instance("1").await;
    let echo = row_in(crate::utp::support::VERSION, "probe.echo");
    let call = fleet.caller.prepare(&echo, &json!({"k": 1})).await.expect("a call");
    let mut reports = fleet.subscribe("l0.v1.*.*.report").await;
    fleet.caller.send(&call).await.expect("an answer");
    publish(&fleet.caller, &call).await;
    for _ in 0..2 {
        within("report", futures::StreamExt::next(&mut reports)).await.expect("an open subscription");
    }
    let mut stream = context.get_stream("reports").await.expect("the stream");
    assert_eq!(stream.info().await.expect("an answer").state.messages, 1);
}
