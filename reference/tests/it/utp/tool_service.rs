//! The Tool Service over a real bus: endings, validation, lineage, trace, bindings.

use std::sync::Arc;
use std::time::Duration;

use super::support::{CHANNEL, PROJECT, Platform, VERSION, json, next, row, within};
use callmark_reference::broker::BrokerConfig;
use callmark_reference::utp::message::{AfterExecution, Status};
use callmark_reference::utp::tool_service::{Tool, ToolCall, ToolDefinition, ToolFailure, ToolOutput};
use callmark_reference::utp::{ToolService, tour};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::{Value, json};

#[tokio::test]
async fn the_tour_ends_in_all_five_ways() {
    let mut platform = Platform::start().await;
    let mut wakeups = platform.subscribe("cg.v1r3.prj_tour.*.cmd.agent.*.wakeup").await;
    // The tour serves its project itself, so the platform's own L0 must not.
    platform.stop_l0().await;
    let url = platform.broker.url();
    let tour = within("end of the tour", Box::pin(tour(&url, VERSION, "prj_tour"))).await.expect("a tour");
    let stops = tour.stops.clone();
    let endings: Vec<_> = stops.iter().map(|stop| stop.status).collect();
    assert_eq!(
        endings,
        [
            Status::Success,
            Status::Success,
            Status::Success,
            Status::Partial,
            Status::Failed,
            Status::Timeout,
            Status::Canceled
        ]
    );
    let codes: Vec<_> = stops
        .iter()
        .map(|stop| stop.outcome.card["content"]["error"]["code"].as_str().unwrap_or("-"))
        .collect();
    assert_eq!(codes, ["-", "-", "-", "incomplete_result", "bad_request", "tool_timeout", "canceled"]);
    for _ in &stops {
        next(&mut wakeups).await;
    }
}

/// Sends a complete command with `change` merged into it, then a good one that must still be answered.
async fn check(platform: &Platform, change: &Value, expect: Option<Status>) {
    let arguments = json!({"k": "card"});
    let mut call = platform.caller.prepare(&row("probe.echo"), &arguments).await.expect("a call");
    for (name, value) in change.as_object().expect("an object") {
        if value == "absent" {
            call.command.as_object_mut().expect("an object").remove(name);
        } else {
            call.command[name] = value.clone();
        }
    }
    if let Some(status) = expect {
        let outcome = platform.caller.send(&call).await.expect("an answer");
        let content = &outcome.card["content"];
        assert_eq!(outcome.callback.status, status, "{change}");
        if status == Status::Failed {
            assert_eq!(content["error"]["code"], "bad_request", "{change}");
            assert_eq!(content["result"]["error_code"], "bad_request");
            assert!(content["error"]["detail"].is_object(), "{change}");
        } else {
            assert_eq!(content["result"], json!({"echo": {"k": "card"}}), "{change}");
        }
        return;
    }
    platform.caller.publish(&call).await.expect("no error");
    let sentinel = platform.caller.call(&row("probe.echo"), &json!({})).await;
    assert_eq!(sentinel.expect("an answer").callback.status, Status::Success);
    let agent_id = platform.caller.agent_id();
    let records = platform.l0().inbox(PROJECT, agent_id).await.expect("an Inbox");
    let dropped = &call.command["tool_call_id"];
    assert!(records.iter().all(|record| record.correlation_id != *dropped), "{change}");
}

#[tokio::test]
async fn a_command_is_validated() {
    let platform = Platform::start().await;
    let service = platform.service().await;

    let success = Some(Status::Success);
    let failed = Some(Status::Failed);
    check(&platform, &json!({}), success).await;
    check(&platform, &json!({"x_future": {"a": 1}, "zz": [1]}), success).await;
    check(&platform, &json!({"context_box_id": "box_7"}), success).await;
    check(&platform, &json!({"turn_epoch": 9_007_199_254_740_993_u64}), success).await;
    for member in ["tool_call_id", "agent_turn_id", "turn_epoch", "agent_id"] {
        for value in [json!("absent"), Value::Null, json!("")] {
            check(&platform, &json!({ member: value }), None).await;
        }
    }
    for member in ["tool_call_card_id", "tool_name", "after_execution"] {
        for value in [json!("absent"), Value::Null, json!("")] {
            check(&platform, &json!({ member: value }), failed).await;
        }
    }
    check(&platform, &json!({"after_execution": "pause"}), failed).await;
    check(&platform, &json!({"tool_call_card_id": "nowhere"}), failed).await;
    for member in ["args", "arguments", "result"] {
        check(&platform, &json!({ member: {"k": "inline"} }), failed).await;
    }
    service.shutdown().await;
}

#[tokio::test]
async fn what_is_no_command_is_dropped_and_the_service_goes_on() {
    let broker = BrokerConfig { max_payload: 16 * 1024 * 1024, ..BrokerConfig::default() };
    let mut platform = Platform::start_with(broker).await;
    let service = platform.service().await;
    let subject = format!("cg.{VERSION}.{PROJECT}.{CHANNEL}.cmd.tool.probe.echo");
    let long = vec![b' '; 10 * 1024 * 1024];
    for (payload, reason) in [
        (b"{\"tool_call_id\"".to_vec(), "not JSON"),
        (vec![0xff, 0xfe, 0x00], "not JSON"),
        (b"[1]".to_vec(), "not a JSON object"),
        (Vec::new(), "not JSON"),
        (long, "too many"),
    ] {
        platform.client.publish(subject.clone(), payload.into()).await.expect("no error");
        platform.logged(reason).await;
        let outcome = platform.caller.call(&row("probe.echo"), &json!({})).await;
        assert_eq!(outcome.expect("an answer").callback.status, Status::Success);
    }
    service.shutdown().await;
}

#[tokio::test]
async fn content_that_is_no_tool_call_content_is_refused_with_its_lineage() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    for content in [json!("{\"k\": 1}"), json!({"k": 1}), json!({"tool_name": "x", "arguments": []})] {
        let mut call = platform.caller.prepare(&row("probe.echo"), &json!({})).await.expect("a call");
        let card = json!({"card": {
            "card_id": "card_odd", "type": "tool.call", "content": content,
            "metadata": {"trace_id": "ABC-1", "step_id": "st_9"}
        }});
        let saved = platform
            .client
            .request(format!("l0.v1.{PROJECT}.cards.save"), card.to_string().into())
            .await
            .expect("a reply");
        assert_eq!(json(&saved)["card_id"], "card_odd");
        call.command["tool_call_card_id"] = json!("card_odd");
        call.command["trace_id"] = json!("from-payload");
        call.command["parent_step_id"] = json!("from-payload");
        let outcome = platform.caller.send(&call).await.expect("an answer");
        assert_eq!(outcome.callback.status, Status::Failed);
        assert_eq!(outcome.card["content"]["error"]["code"], "bad_request");
        assert_eq!(outcome.card["metadata"]["trace_id"], "ABC-1");
        assert_eq!(outcome.card["metadata"]["step_id"], "st_9");
        assert!(outcome.card["metadata"].get("parent_step_id").is_none());
        assert_eq!(outcome.callback.step_id, Some(json!("st_9")));
    }
    service.shutdown().await;
}

#[tokio::test]
async fn a_refused_command_still_answers_with_the_cards_lineage() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    let mut call = platform.caller.prepare(&row("probe.echo"), &json!({})).await.expect("a call");
    call.command["args"] = json!({});
    call.command["after_execution"] = json!("terminate");
    call.command["step_id"] = json!("from-payload");
    let outcome = platform.caller.send(&call).await.expect("an answer");
    assert_eq!(outcome.callback.status, Status::Failed);
    assert_eq!(outcome.callback.after_execution, AfterExecution::Terminate);
    let metadata = &outcome.card["metadata"];
    assert_eq!(metadata["parent_step_id"], "step_root");
    assert_eq!(metadata["trace_id"], call.headers.traceparent.trace_id());
    assert_ne!(metadata["step_id"], "from-payload");
    assert_eq!(outcome.callback.step_id.as_ref(), Some(&metadata["step_id"]));
    service.shutdown().await;
}

#[tokio::test]
async fn the_callbacks_span_is_a_child_of_the_commands() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    let mut reports = platform.reports().await;
    let mut wakeups = platform.subscribe(&format!("cg.*.{PROJECT}.{CHANNEL}.cmd.agent.*.wakeup")).await;

    // The `traceparent` of the report and of the wakeup, and the report's `tracestate`.
    let mut observe = async |traceparent: Option<&str>| {
        let call = platform.caller.prepare(&row("probe.echo"), &json!({})).await.expect("a call");
        let mut headers = async_nats::HeaderMap::new();
        if let Some(traceparent) = traceparent {
            headers.insert("traceparent", traceparent);
            headers.insert("tracestate", "vendor=1");
        }
        let payload = call.command.to_string().into();
        platform.client.publish_with_headers(call.subject, headers, payload).await.expect("no error");
        let header = |message: &async_nats::Message, name: &str| {
            let headers = message.headers.as_ref().expect("headers");
            headers.get(name).map(|value| value.as_str().to_owned())
        };
        let (report, wakeup) = (next(&mut reports).await, next(&mut wakeups).await);
        (
            header(&report, "traceparent").expect("a traceparent"),
            header(&wakeup, "traceparent").expect("a traceparent"),
            header(&report, "tracestate"),
        )
    };
    let (trace, span) = ("5f1c0d5e2b7a4c66a1d2e3f405162738", "00c1d2e3f4a5b6c7");
    let (report, wakeup, state) = observe(Some(&format!("00-{trace}-{span}-01"))).await;
    assert!(report.contains(trace) && wakeup.contains(trace), "{report} {wakeup}");
    assert!(!report.contains(span) && !wakeup.contains(span) && report != wakeup);
    assert_eq!(state.as_deref(), Some("vendor=1"));
    for malformed in [None, Some("garbage"), Some("")] {
        let (report, wakeup, state) = observe(malformed).await;
        assert_eq!(report.len(), 55, "{report}");
        assert_eq!(report[3..35], wakeup[3..35]);
        assert_eq!(state, None);
    }
    service.shutdown().await;
}

#[tokio::test]
async fn a_control_object_overrides_the_result_and_not_the_callback() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    for (command, control) in [("suspend", "terminate"), ("terminate", "suspend")] {
        let arguments = json!({"after_execution": control});
        let mut call = platform.caller.prepare(&row("probe.ctl"), &arguments).await.expect("a call");
        call.command["after_execution"] = json!(command);
        let outcome = platform.caller.send(&call).await.expect("an answer");
        assert_eq!(json!(outcome.callback.after_execution), command);
        let result = &outcome.card["content"]["result"];
        assert_eq!(result["__cg_control"], json!({"after_execution": control}));
        assert!(result["note"].is_string());
    }
    service.shutdown().await;
}

/// A tool that does not end as a tool should.
struct Panicking;

impl Tool for Panicking {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            tool_name: "probe.echo",
            target: "cmd.tool.probe.echo",
            author: "tool.probe",
            description: "Panics.",
            parameters: json!({}),
            after_execution: AfterExecution::Suspend,
        }
    }

    fn run(&self, _: ToolCall) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        async { panic!("as the test asked") }.boxed()
    }
}

#[tokio::test]
async fn exceptions_and_panics_are_internal_errors() {
    let platform = Platform::start().await;
    let service = platform.service().await;
    let outcome = platform.caller.call(&row("probe.fail"), &json!({"message": "boom"})).await;
    let outcome = outcome.expect("an answer");
    assert_eq!(outcome.callback.status, Status::Failed);
    assert_eq!(outcome.card["content"]["error"], json!({"code": "internal_error", "message": "boom"}));
    service.shutdown().await;

    let mut config = platform.config();
    config.tools = vec![Arc::new(Panicking)];
    let service = ToolService::start(config).await.expect("a service");
    for _ in 0..2 {
        let outcome = platform.caller.call(&row("probe.echo"), &json!({})).await.expect("an answer");
        assert_eq!(outcome.card["content"]["error"]["code"], "internal_error");
    }
    service.shutdown().await;
}

#[tokio::test]
async fn the_http_binding_does_the_same() {
    let platform = Platform::start().await;
    let service = ToolService::start(platform.config_http()).await.expect("a service");
    let outcome = platform.caller.call(&row("probe.echo"), &json!({"k": "v-17"})).await;
    let outcome = outcome.expect("an answer");
    assert_eq!(outcome.card["content"]["result"], json!({"echo": {"k": "v-17"}}));
    assert!(outcome.record.traceparent.starts_with("00-"));
    service.shutdown().await;
}

#[tokio::test]
async fn a_card_store_that_never_answers_holds_up_nobody() {
    let mut platform = Platform::start().await;
    // In this project nobody answers `cards.get`, since L0 does not serve it; the test itself takes cards and reports.
    let project = "prj_silent";
    let _silent = platform.subscribe(&format!("l0.v1.{project}.cards.get")).await;
    let mut config = platform.config();
    config.request_deadline = Duration::from_millis(40);
    config.delivery_deadline = Duration::from_millis(150);
    platform.stop_l0().await;
    let service = ToolService::start(config).await.expect("a service");
    let client = platform.client.clone();
    let command = |call: &str| {
        json!({
            "agent_id": "ag", "agent_turn_id": "turn", "turn_epoch": 6, "tool_call_id": call,
            "tool_call_card_id": "card", "after_execution": "suspend", "tool_name": "probe.echo"
        })
        .to_string()
    };
    let subject = format!("cg.{VERSION}.{project}.{CHANNEL}.cmd.tool.probe.echo");

    // Nobody takes the card either: the call is logged.
    client.publish(subject.clone(), command("one").into()).await.expect("no error");
    platform.logged("not saved").await;

    // Cards and reports are taken again: the next call is answered, as failed.
    let mut saves = platform.subscribe(&format!("l0.v1.{project}.cards.save")).await;
    let mut reports = platform.subscribe(&format!("l0.v1.{project}.*.report")).await;
    client.publish(subject, command("two").into()).await.expect("no error");
    let save = next(&mut saves).await;
    let card = json(&save)["card"].clone();
    assert_eq!(card["content"]["error"]["code"], "upstream_unavailable");
    let reply = json!({"card_id": card["card_id"]}).to_string();
    client.publish(save.reply.expect("a reply subject"), reply.into()).await.expect("no error");
    let report = next(&mut reports).await;
    assert_eq!(json(&report)["payload"]["status"], "failed");
    let reply = json!({"inbox_id": "i"}).to_string();
    client.publish(report.reply.expect("a reply subject"), reply.into()).await.expect("no error");
    service.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_commands_is_answered() {
    const CALLS: usize = 1000;
    let platform = Platform::start().await;
    let service = platform.service().await;
    let tool = row("probe.echo");
    let outcomes: Vec<_> = futures::stream::iter(0..CALLS)
        .map(|number| {
            let (caller, tool) = (&platform.caller, &tool);
            async move { caller.call(tool, &json!({"n": number})).await }
        })
        .buffered(CALLS)
        .collect()
        .await;
    for (number, outcome) in outcomes.into_iter().enumerate() {
        let outcome = outcome.expect("an answer");
        assert_eq!(outcome.card["content"]["result"], json!({"echo": {"n": number}}));
    }
    service.shutdown().await;
}
