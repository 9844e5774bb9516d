//! The Tool Service: whose call it is, how it is reported, what is not carried out.

use async_nats::Message;
use callmark_reference::broker::BrokerConfig;
use callmark_reference::utp::caller::PreparedCall;
use callmark_reference::utp::message::Status;
use callmark_reference::utp::revision::headers;
use callmark_reference::utp::{Revision, ToolService};
use serde_json::{Value, json};

use crate::utp::support::{CHANNEL, PROJECT, Platform, json, next, row_in};

const DEPTH: &str = "CG-Recursion-Depth";

async fn platform() -> Platform {
    Platform::start_in(Revision::V1r4, BrokerConfig::default()).await
}

async fn prepared(platform: &Platform, tool_name: &str) -> PreparedCall {
    let row = row_in(Revision::V1r4, tool_name);
    platform.caller.prepare(&row, &json!({"k": "card", "key": "k"})).await.expect("a call")
}

fn header<'a>(message: &'a Message, name: &str) -> Option<&'a str> {
    message.headers.as_ref()?.get(name).map(async_nats::HeaderValue::as_str)
}

#[tokio::test]
async fn a_call_is_known_by_its_headers_and_reported_with_them() {
    let platform = platform().await;
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    let mut call = prepared(&platform, "probe.echo").await;
    call.sent.set(DEPTH, "7");
    let outcome = platform.caller.send(&call).await.expect("an answer");

    let report = next(&mut reports).await;
    let body = json(&report);
    assert_eq!(
        body["payload"],
        json!({
            "status": "success", "after_execution": "suspend", "tool_result_card_id": outcome.card["card_id"]
        })
    );
    assert_eq!(body["correlation_id"], call.tool_call_id);
    for name in [
        headers::PROJECT_ID,
        headers::CHANNEL_ID,
        headers::AGENT_ID,
        headers::TURN_ID,
        headers::TURN_EPOCH,
        headers::STEP_ID,
        headers::TOOL_CALL_ID,
        DEPTH,
    ] {
        assert_eq!(header(&report, name), call.sent.value(name), "{name}");
        assert!(header(&report, name).is_some(), "{name}");
    }
    let traceparent = header(&report, "traceparent").expect("a trace");
    assert!(traceparent.contains(call.headers.traceparent.trace_id()));
    assert!(!traceparent.contains(call.headers.traceparent.span_id()));
    assert_eq!(outcome.card["author_id"], body["source_agent_id"]);
    assert_eq!(outcome.card["metadata"]["function_name"], "probe.echo");
    let context = outcome.record.context.expect("a context");
    assert_eq!((context.turn_epoch, context.recursion_depth), (1, 7));
    assert_eq!(context.agent_id, platform.caller.agent_id());

    // A repetition is reported the same way, under the same card.
    platform.caller.publish(&call).await.expect("no error");
    let again = next(&mut reports).await;
    assert_eq!(json(&again), body);
    assert_eq!(header(&again, headers::TOOL_CALL_ID), Some(call.tool_call_id.as_str()));
    service.shutdown().await;
}

#[tokio::test]
async fn the_http_binding_carries_the_headers_as_well() {
    let platform = platform().await;
    let service = ToolService::start(platform.config_http()).await.expect("a service");
    let outcome = platform.caller.send(&prepared(&platform, "probe.echo").await).await.expect("an answer");
    let context = outcome.record.context.expect("a context");
    assert_eq!((context.project_id.as_str(), context.channel_id.as_str()), (PROJECT, CHANNEL));
    assert_eq!(outcome.record.payload.as_object().expect("an object").len(), 3);
    service.shutdown().await;
}

/// What becomes of a command after a change.
enum Expect {
    Success,
    /// Answered as failed, with this code.
    Failed(&'static str),
    /// Neither carried out nor answered.
    Nothing,
}

async fn check(
    platform: &Platform,
    name: &'static str,
    value: Option<&str>,
    payload: &Value,
    expect: Expect,
) {
    let mut call = prepared(platform, "probe.count").await;
    call.sent.remove(name);
    if let Some(value) = value {
        call.sent.set(name, value);
    }
    for (member, value) in payload.as_object().expect("an object") {
        call.command[member] = value.clone();
    }
    let case = format!("{name}: {value:?}, {payload}");
    let code = match expect {
        Expect::Nothing => {
            platform.caller.publish(&call).await.expect("no error");
            let sentinel = platform.caller.send(&prepared(platform, "probe.count").await).await;
            assert_eq!(sentinel.expect("an answer").callback.status, Status::Success);
            let records = platform.l0().inbox(PROJECT, platform.caller.agent_id()).await.expect("an Inbox");
            assert!(records.iter().all(|record| record.correlation_id != call.tool_call_id), "{case}");
            return;
        }
        Expect::Success => None,
        Expect::Failed(code) => Some(code),
    };
    let outcome = platform.caller.send(&call).await.unwrap_or_else(|error| panic!("{case}: {error}"));
    assert_eq!(outcome.card["content"]["error"]["code"].as_str(), code, "{case}");
    assert_eq!(outcome.callback.status == Status::Success, code.is_none(), "{case}");
    assert_eq!(outcome.callback.tool_call_id, call.tool_call_id, "{case}");
}

/// How often the counter was advanced so far, and once more.
async fn count(platform: &Platform) -> u64 {
    let outcome = platform.caller.send(&prepared(platform, "probe.count").await).await.expect("an answer");
    outcome.card["content"]["result"]["count"].as_u64().expect("a number")
}

#[tokio::test]
async fn a_command_that_breaks_the_revision_is_not_carried_out() {
    let platform = platform().await;
    let service = platform.service().await;
    let violation = || Expect::Failed("protocol_violation");
    let plain = json!({});
    let no_card = json!({"tool_call_card_id": "nowhere"});
    let before = count(&platform).await;

    check(&platform, headers::TOOL_CALL_ID, None, &plain, violation()).await;
    check(&platform, headers::TOOL_CALL_ID, None, &no_card, Expect::Nothing).await;
    check(&platform, headers::TURN_ID, None, &plain, violation()).await;
    check(&platform, headers::TURN_ID, None, &no_card, Expect::Nothing).await;
    for member in ["agent_id", "tool_call_id", "turn_epoch", "step_id", "project_id", "recursion_depth"] {
        check(&platform, "-", None, &json!({ member: "x" }), violation()).await;
    }
    // The counter is still where it was: nothing of this has run.
    assert_eq!(count(&platform).await, before + 1 + 2);

    check(&platform, headers::AGENT_ID, None, &plain, Expect::Nothing).await;
    check(&platform, headers::AGENT_ID, None, &json!({"agent_id": "ag"}), Expect::Nothing).await;
    for name in [headers::PROJECT_ID, headers::CHANNEL_ID] {
        check(&platform, name, Some("other"), &plain, Expect::Nothing).await;
        check(&platform, name, None, &plain, Expect::Success).await;
    }
    for name in [headers::TURN_EPOCH, DEPTH] {
        for odd in ["six", "-1", "1.5"] {
            check(&platform, name, Some(odd), &plain, Expect::Nothing).await;
        }
    }
    check(&platform, headers::TURN_EPOCH, None, &plain, Expect::Nothing).await;
    check(&platform, DEPTH, None, &plain, Expect::Success).await;
    check(&platform, headers::STEP_ID, None, &plain, Expect::Success).await;
    check(&platform, "-", None, &json!({"args": {}}), Expect::Failed("bad_request")).await;
    service.shutdown().await;
}

#[tokio::test]
async fn a_command_without_depth_is_reported_without_one() {
    let platform = platform().await;
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    let mut call = prepared(&platform, "probe.echo").await;
    call.sent.remove(DEPTH);
    platform.caller.send(&call).await.expect("an answer");
    assert_eq!(header(&next(&mut reports).await, DEPTH), None);
    service.shutdown().await;
}

#[tokio::test]
async fn after_a_restart_a_call_is_reported_in_its_revision() {
    let platform = platform().await;
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = platform.config();
    config.data_dir = Some(directory.path().to_owned());
    let service = ToolService::start(config.clone()).await.expect("a service");
    let mut reports = platform.reports().await;
    let call = prepared(&platform, "probe.count").await;
    let first = platform.caller.send(&call).await.expect("an answer");
    let reported = json(&next(&mut reports).await);
    service.shutdown().await;

    let service = ToolService::start(config).await.expect("a service");
    platform.caller.publish(&call).await.expect("no error");
    let again = next(&mut reports).await;
    assert_eq!(json(&again), reported);
    assert_eq!(header(&again, headers::TURN_ID), Some(first.callback.agent_turn_id.as_str()));
    service.shutdown().await;
}
