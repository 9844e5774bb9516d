//! The execution service of L0: which reports are taken, and whom they wake.

use callmark_reference::broker::BrokerConfig;
use callmark_reference::utp::Revision;
use callmark_reference::utp::message::RosterRow;
use callmark_reference::utp::revision::{Headers, headers};
use serde_json::{Value, json};

use crate::utp::support::{CHANNEL, PROJECT, Platform, json, next, within};

const DEPTH: &str = "CG-Recursion-Depth";
const TRACE: &str = "00-5f1c0d5e2b7a4c66a1d2e3f405162738-00c1d2e3f4a5b6c7-01";

async fn platform() -> Platform {
    let platform = Platform::start_in(Revision::V1r4, BrokerConfig::default()).await;
    for agent in ["ag_42", "ag_43"] {
        platform.l0().put_roster(RosterRow::new(PROJECT, agent, "pool_blue")).await.expect("no error");
    }
    platform.l0().put_roster(RosterRow::new("prj_other", "ag_other", "pool")).await.expect("no error");
    platform
}

/// A report as it is sent, and the card that it points to.
struct Reported {
    headers: Headers,
    body: Value,
    card: Value,
}

impl Reported {
    fn of(call: &str) -> Self {
        let mut sent = Headers::default();
        for (name, value) in [
            (headers::PROJECT_ID, PROJECT),
            (headers::CHANNEL_ID, CHANNEL),
            (headers::AGENT_ID, "ag_42"),
            (headers::TURN_ID, "turn"),
            (headers::TURN_EPOCH, "6"),
            (headers::STEP_ID, "step"),
            (headers::TOOL_CALL_ID, call),
            (DEPTH, "2"),
            ("traceparent", TRACE),
        ] {
            sent.set(name, value);
        }
        let card_id = format!("card_{call}");
        Self {
            headers: sent,
            body: json!({
                "message_type": "tool_result", "correlation_id": call, "source_agent_id": "tool.x",
                "payload": {"status": "success", "after_execution": "suspend", "tool_result_card_id": card_id}
            }),
            card: json!({
                "card_id": card_id, "type": "tool.result", "author_id": "tool.x", "tool_call_id": call,
                "content": {}, "metadata": {"tool_call_id": call, "function_name": "t"}
            }),
        }
    }

    async fn send(&self, platform: &Platform) -> Value {
        self.save(platform).await;
        let mut sent = async_nats::HeaderMap::new();
        for (name, value) in self.headers.pairs() {
            sent.insert(*name, value.as_str());
        }
        let subject = format!("l0.v1.{PROJECT}.{CHANNEL}.report");
        let reply = platform.client.request_with_headers(subject, sent, self.body.to_string().into());
        let reply = within("reply", reply).await.expect("a reply");
        let answer = json(&reply);
        let number = reply.headers.as_ref().and_then(|headers| headers.get("Nats-Service-Error-Code"));
        assert_eq!(number.map(async_nats::HeaderValue::as_str), answer.get("error").map(|_| "409"));
        answer
    }

    async fn save(&self, platform: &Platform) {
        let body = json!({"card": self.card}).to_string();
        let saved = platform.client.request(format!("l0.v1.{PROJECT}.cards.save"), body.into());
        within("receipt", saved).await.expect("a card store");
    }
}

#[tokio::test]
async fn a_report_is_recorded_with_its_context_and_wakes_without_lineage() {
    let platform = platform().await;
    let mut wakeups = platform.subscribe(&format!("cg.*.{PROJECT}.{CHANNEL}.cmd.agent.*.wakeup")).await;
    let report = Reported::of("call_1");
    let first = report.send(&platform).await;
    assert_eq!(first["duplicate"], false);
    let wakeup = next(&mut wakeups).await;
    let subject = format!("cg.v1r4.{PROJECT}.{CHANNEL}.cmd.agent.pool_blue.wakeup");
    assert_eq!(wakeup.subject.as_str(), subject);
    assert_eq!(json(&wakeup), json!({"agent_id": "ag_42"}));
    let sent = wakeup.headers.as_ref().expect("headers");
    for (name, value) in [
        (headers::PROJECT_ID, Some(PROJECT)),
        (headers::CHANNEL_ID, Some(CHANNEL)),
        (headers::AGENT_ID, Some("ag_42")),
        (headers::TURN_ID, Some("turn")),
        (headers::TURN_EPOCH, Some("6")),
        (headers::TOOL_CALL_ID, None),
        (headers::STEP_ID, None),
        (headers::PARENT_TURN_ID, None),
        (DEPTH, None),
    ] {
        assert_eq!(sent.get(name).map(async_nats::HeaderValue::as_str), value, "{name}");
    }
    assert!(sent.get("traceparent").is_some_and(|trace| trace.as_str() != TRACE));

    let listed =
        platform.client.request(format!("l0.v1.{PROJECT}.inbox.list"), r#"{"agent_id":"ag_42"}"#.into());
    let listed = json(&within("records", listed).await.expect("an Inbox"));
    assert_eq!(
        listed["records"][0]["context"],
        json!({
            "project_id": PROJECT, "channel_id": CHANNEL, "agent_id": "ag_42", "agent_turn_id": "turn",
            "turn_epoch": 6, "step_id": "step", "tool_call_id": "call_1", "recursion_depth": 2
        })
    );
    assert_eq!(listed["records"][0]["payload"], report.body["payload"]);
    // The same again, and the same call id in another turn.
    assert_eq!(report.send(&platform).await, json!({"inbox_id": first["inbox_id"], "duplicate": true}));
    let mut other = Reported::of("call_1");
    other.headers.set(headers::TURN_ID, "turn_2");
    assert_eq!(other.send(&platform).await["duplicate"], false);
}

#[tokio::test]
async fn a_report_that_cannot_be_trusted_is_refused_and_the_right_one_is_the_first() {
    let platform = platform().await;
    let mut number = 0;
    let mut check = async |change: &dyn Fn(&mut Reported), code: &str| {
        number += 1;
        let call = format!("call_{number}");
        let mut wrong = Reported::of(&call);
        change(&mut wrong);
        let answer = wrong.send(&platform).await;
        assert_eq!(answer["error"]["code"], code, "{} {} {:?}", wrong.body, wrong.card, wrong.headers);
        // The right one with a card of its own, since the wrong one may have been kept.
        assert_eq!(Reported::of(&call).send(&platform).await["duplicate"], false);
    };
    let violation = "protocol_violation";
    for name in [headers::AGENT_ID, headers::TURN_ID, headers::TURN_EPOCH, headers::TOOL_CALL_ID] {
        check(&|report| report.headers.remove(name), violation).await;
    }
    for name in [headers::PROJECT_ID, headers::CHANNEL_ID, headers::TOOL_CALL_ID, headers::TURN_EPOCH, DEPTH]
    {
        check(&|report| report.headers.set(name, "other"), violation).await;
    }
    for member in ["agent_id", "step_id", "recursion_depth"] {
        check(&|report| report.body["payload"][member] = json!("x"), violation).await;
    }
    check(&|report| report.body["payload"]["tool_result_card_id"] = json!("nowhere"), violation).await;
    check(&|report| report.card["type"] = json!("tool.call"), violation).await;
    check(&|report| report.card["tool_call_id"] = json!("other"), violation).await;
    check(&|report| report.card["metadata"]["function_name"] = json!(""), violation).await;
    check(&|report| report.card["author_id"] = json!("tool.y"), violation).await;
    check(&|report| report.body["source_agent_id"] = json!("tool.y"), violation).await;
    for stranger in ["ag_nobody", "ag_other"] {
        let change = |report: &mut Reported| {
            report.body["source_agent_id"] = json!(stranger);
            report.card["author_id"] = json!(stranger);
        };
        check(&change, "invalid_source_actor").await;
    }
    let records = platform.l0().inbox(PROJECT, "ag_42").await.expect("an Inbox");
    assert_eq!(records.len(), number);
}

#[tokio::test]
async fn a_report_has_the_depth_of_its_command() {
    let platform = platform().await;
    let command = async |call: &str, depth: Option<&str>| {
        let mut headers = Reported::of(call).headers;
        headers.remove(DEPTH);
        if let Some(depth) = depth {
            headers.set(DEPTH, depth);
        }
        let mut sent = async_nats::HeaderMap::new();
        for (name, value) in headers.pairs() {
            sent.insert(*name, value.as_str());
        }
        let subject = format!("cg.v1r4.{PROJECT}.{CHANNEL}.cmd.tool.nobody");
        platform.client.publish_with_headers(subject, sent, "{}".into()).await.expect("no error");
    };
    let send = async |call: &str, depth: &str| {
        let mut report = Reported::of(call);
        report.headers.set(DEPTH, depth);
        report.send(&platform).await
    };
    command("call_1", Some("3")).await;
    // A second command of the same call changes nothing.
    command("call_1", Some("4")).await;
    for depth in ["2", "4"] {
        assert_eq!(send("call_1", depth).await["error"]["code"], "protocol_violation", "{depth}");
    }
    assert_eq!(send("call_1", "3").await["duplicate"], false);
    command("call_2", None).await;
    assert_eq!(send("call_2", "1").await["error"]["code"], "protocol_violation");
    assert_eq!(send("call_2", "0").await["duplicate"], false);
}

#[tokio::test]
async fn an_agent_of_the_roster_may_report() {
    let platform = platform().await;
    let mut report = Reported::of("call_1");
    report.body["source_agent_id"] = json!("ag_43");
    report.card["author_id"] = json!("ag_43");
    assert_eq!(report.send(&platform).await["duplicate"], false);
}

#[tokio::test]
async fn the_http_binding_refuses_with_409() {
    let platform = platform().await;
    let url = platform.l0().http_url().expect("an address");
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let report = Reported::of("call_1");
    report.save(&platform).await;
    let send = async |without: &str| {
        let mut request =
            client.post(format!("{url}/projects/{PROJECT}/channels/{CHANNEL}/reports")).json(&report.body);
        for (name, value) in report.headers.pairs() {
            if *name != without {
                request = request.header(*name, value);
            }
        }
        let answer = within("answer", request.send()).await.expect("an answer");
        (answer.status().as_u16(), within("body", answer.json::<Value>()).await.expect("JSON"))
    };
    let (status, body) = send(headers::TURN_ID).await;
    assert_eq!((status, &body["error"]["code"]), (409, &json!("protocol_violation")));
    let (status, body) = send("").await;
    assert_eq!((status, &body["duplicate"]), (200, &json!(false)));
}
