//! Both revisions in one process on one broker: each call is answered in its own.

use callmark_reference::broker::BrokerConfig;
use callmark_reference::utp::message::Status;
use callmark_reference::utp::{Caller, Revision, ToolService};
use serde_json::json;

use crate::utp::support::{CHANNEL, PROJECT, Platform, json, next, row_in};

#[tokio::test]
async fn one_service_answers_each_call_in_its_revision() {
    let platform = Platform::start_in(Revision::V1r4, BrokerConfig::default()).await;
    let older =
        Caller::connect(&platform.broker.url(), Revision::V1r3, platform.l0().handle(), PROJECT, CHANNEL)
            .await
            .expect("a caller");
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    for (revision, caller) in [(Revision::V1r4, &platform.caller), (Revision::V1r3, &older)] {
        let mut wakeups = platform.subscribe(&format!("cg.{revision}.{PROJECT}.*.cmd.agent.*.wakeup")).await;
        let outcome = caller.call(&row_in(revision, "probe.echo"), &json!({"k": 1})).await.expect("one");
        assert_eq!(outcome.callback.status, Status::Success);
        let report = next(&mut reports).await;
        let in_headers = report.headers.as_ref().is_some_and(|headers| headers.get("CG-Agent-Id").is_some());
        assert_eq!(in_headers, revision == Revision::V1r4, "{revision}");
        assert_eq!(json(&report)["payload"].get("agent_id").is_some(), !in_headers, "{revision}");
        assert_eq!(outcome.record.context.is_some(), in_headers, "{revision}");
        next(&mut wakeups).await;
    }
    service.shutdown().await;
}

#[tokio::test]
async fn a_service_of_one_revision_leaves_the_other_alone() {
    let mut platform = Platform::start_in(Revision::V1r4, BrokerConfig::default()).await;
    let mut config = platform.config();
    config.revisions = vec![Revision::V1r3];
    let service = ToolService::start(config).await.expect("a service");
    let mut reports = platform.reports().await;
    let row = row_in(Revision::V1r4, "probe.echo");
    let call = platform.caller.prepare(&row, &json!({"k": 1})).await.expect("a call");
    platform.caller.publish(&call).await.expect("no error");
    // A command of v1r4 on a subject of v1r3 has no identity there.
    let subject = call.subject.replace(".v1r4.", ".v1r3.");
    platform.client.publish(subject, call.command.to_string().into()).await.expect("no error");
    platform.logged("is missing or empty").await;
    service.shutdown().await;
    let service = platform.service().await;
    platform.caller.call(&row, &json!({"k": 2})).await.expect("an answer");
    assert_ne!(json(&next(&mut reports).await)["correlation_id"], call.tool_call_id);
    service.shutdown().await;
}
