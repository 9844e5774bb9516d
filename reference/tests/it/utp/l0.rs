//! L0 over both bindings: cards, tools, reports, wakeups.

use super::support::{Platform, json, next, within};
use callmark_reference::utp::message::RosterRow;
use callmark_reference::utp::{L0, L0Config, Projects, subject::ProjectId};
use reqwest::StatusCode;
use serde_json::{Value, json};

fn report(agent_id: &str, call: &str) -> Value {
    json!({
        "message_type": "tool_result", "correlation_id": call, "source_agent_id": "tool.x",
        "payload": {
            "tool_call_id": call, "agent_turn_id": "turn", "turn_epoch": 6, "agent_id": agent_id,
            "tool_result_card_id": "card", "status": "success", "after_execution": "suspend", "x_more": [1]
        }
    })
}

fn roster(agent_id: &str, worker_target: &str) -> RosterRow {
    RosterRow::new("prj", agent_id, worker_target)
}

async fn request(platform: &Platform, subject: &str, body: &Value) -> async_nats::Message {
    let reply = platform.client.request(subject.to_owned(), body.to_string().into());
    within("reply", reply).await.expect("a reply")
}

#[tokio::test]
async fn a_report_is_recorded_once_and_wakes_where_the_roster_says() {
    let platform = Platform::start().await;
    let mut wakeups = platform.subscribe("cg.v1r3.prj.ch.cmd.agent.*.wakeup").await;
    let send = async |agent: &str, call: &str| {
        json(&request(&platform, "l0.v1.prj.ch.report", &report(agent, call)).await)
    };
    // Without a roster row there is a record and no wakeup: the next wakeup is that of `ag_42`.
    assert_eq!(send("ag_nowhere", "call_0").await["duplicate"], false);
    platform.l0().put_roster(roster("ag_42", "pool_blue")).await.expect("no error");
    let first = send("ag_42", "call_1").await;
    let again = send("ag_42", "call_1").await;
    assert_eq!((&again["inbox_id"], &again["duplicate"]), (&first["inbox_id"], &json!(true)));
    platform.l0().put_roster(roster("ag_42", "pool_red")).await.expect("no error");
    send("ag_42", "call_2").await;
    for target in ["pool_blue", "pool_red"] {
        let wakeup = next(&mut wakeups).await;
        assert_eq!(wakeup.subject.as_str(), format!("cg.v1r3.prj.ch.cmd.agent.{target}.wakeup"));
        assert_eq!(json(&wakeup), json!({"agent_id": "ag_42"}));
    }
    let records = platform.l0().inbox("prj", "ag_42").await.expect("an Inbox");
    let calls: Vec<_> = records.iter().map(|record| record.correlation_id.as_str()).collect();
    assert_eq!(calls, ["call_1", "call_2"]);
    assert_eq!(records[0].payload, report("ag_42", "call_1")["payload"]);
    assert_eq!(platform.l0().inbox("prj", "ag_nowhere").await.expect("an Inbox").len(), 1);
}

#[tokio::test]
async fn the_nats_binding_says_what_is_wrong() {
    let platform = Platform::start().await;
    let check = async |subject: &str, body: &Value, code: &str| {
        let reply = request(&platform, subject, body).await;
        assert_eq!(json(&reply)["error"]["code"], code, "{subject} {body}");
        let headers = reply.headers.expect("headers");
        assert!(headers.get("Nats-Service-Error").is_some());
        let number = if code == "not_found" { "404" } else { "400" };
        assert_eq!(headers.get("Nats-Service-Error-Code").expect("a code").as_str(), number);
    };
    check("l0.v1.prj.cards.get", &json!({}), "bad_request").await;
    check("l0.v1.prj.cards.get", &json!({"card_ids": [7]}), "bad_request").await;
    check("l0.v1.prj.cards.save", &json!({"card": {}}), "bad_request").await;
    check("l0.v1.prj.cards.save", &json!({"card": {"card_id": "c", "project_id": "other"}}), "bad_request")
        .await;
    check("l0.v1.prj.tools.get", &json!({"tool_name": "nothing"}), "not_found").await;
    check("l0.v1.prj.ch.report", &json!({}), "bad_request").await;
    let mut odd = report("ag", "call");
    odd["payload"]["status"] = json!("ok");
    check("l0.v1.prj.ch.report", &odd, "bad_request").await;
}

#[tokio::test]
async fn only_the_projects_asked_for_are_served() {
    let mut platform = Platform::start().await;
    platform.stop_l0().await;
    let mut config = L0Config::new(platform.broker.url());
    config.projects = Projects::Only(vec![ProjectId::new("mine").expect("a token")]);
    let l0 = L0::start(config).await.expect("an L0");
    let body = json!({"card_ids": []});
    assert_eq!(json(&request(&platform, "l0.v1.mine.cards.get", &body).await)["cards"], json!([]));
    let other = platform.client.request("l0.v1.other.cards.get", body.to_string().into()).await;
    assert_eq!(other.expect_err("nobody").kind(), async_nats::RequestErrorKind::NoResponders);
    l0.shutdown().await;
}

#[tokio::test]
async fn the_http_binding_serves_cards_tools_and_reports() {
    let mut platform = Platform::start().await;
    let base = format!("{}/projects/prj", platform.l0().http_url().expect("an address"));
    let client = reqwest::Client::builder().no_proxy().build().expect("a client");
    let send = async |request: reqwest::RequestBuilder| {
        let response = within("answer", request.send()).await.expect("an answer");
        let status = response.status();
        (status, within("body", response.json::<Value>()).await.expect("JSON"))
    };
    let card = json!({"card_id": "c1", "content": {"k": 1}});
    let put = |body: &Value| client.put(format!("{base}/cards/c1")).json(body);
    assert_eq!(send(put(&json!({"card": card}))).await, (StatusCode::OK, json!({"card_id": "c1"})));
    assert_eq!(send(put(&card)).await.0, StatusCode::OK);
    assert_eq!(send(put(&json!({"card_id": "c2"}))).await.0, StatusCode::BAD_REQUEST);
    let (status, found) = send(client.get(format!("{base}/cards/c1"))).await;
    assert_eq!((status, &found["content"], &found["card"]), (StatusCode::OK, &card["content"], &card));
    assert_eq!(send(client.get(format!("{base}/cards/c9"))).await.0, StatusCode::NOT_FOUND);
    let batch = client.post(format!("{base}/cards/batch")).json(&json!({"card_ids": ["c1", "c9"]}));
    assert_eq!(send(batch).await.1, json!({"cards": [card], "missing_card_ids": ["c9"]}));

    let yaml = "tool_name: t\nafter_execution: suspend\n\
                target_subject: 'cg.v1r3.{project_id}.{channel_id}.cmd.tool.t.call'\n";
    let (status, row) = send(client.post(format!("{base}/tools")).body(yaml)).await;
    assert_eq!((status, &row["project_id"]), (StatusCode::CREATED, &json!("prj")));
    let (_, found) = send(client.get(format!("{base}/tools/t"))).await;
    assert_eq!(found["tool"], row);
    let bad = client.post(format!("{base}/tools")).body("tool_name: fork_join");
    let (status, body) = send(bad).await;
    assert_eq!((status, &body["error"]["code"]), (StatusCode::BAD_REQUEST, &json!("bad_request")));

    let reports = format!("{base}/channels/ch/reports");
    let (status, receipt) = send(client.post(&reports).json(&report("ag", "call"))).await;
    assert_eq!((status, &receipt["duplicate"]), (StatusCode::OK, &json!(false)));
    assert_eq!(send(client.post(&reports).body("<html>")).await.0, StatusCode::BAD_REQUEST);
    assert_eq!(send(client.get(format!("{base}/nothing"))).await.0, StatusCode::NOT_FOUND);

    let long = "x".repeat(9 * 1024 * 1024);
    let long = client.post(format!("{base}/cards/batch")).body(long);
    assert_eq!(send(long).await.0, StatusCode::PAYLOAD_TOO_LARGE);
    // The client's idle connections do not hold up the shutdown.
    within("shutdown", platform.stop_l0()).await;
}

#[tokio::test]
async fn a_data_directory_keeps_cards_and_inboxes() {
    let mut platform = Platform::start().await;
    platform.stop_l0().await;
    let directory = tempfile::tempdir().expect("a directory");
    let mut config = L0Config::new(platform.broker.url());
    config.data_dir = Some(directory.path().to_owned());
    let l0 = L0::start(config.clone()).await.expect("an L0");
    let first = json(&request(&platform, "l0.v1.prj.ch.report", &report("ag", "call")).await);
    l0.shutdown().await;
    let l0 = L0::start(config).await.expect("an L0");
    let again = json(&request(&platform, "l0.v1.prj.ch.report", &report("ag", "call")).await);
    assert_eq!((&again["inbox_id"], &again["duplicate"]), (&first["inbox_id"], &json!(true)));
    assert_eq!(l0.inbox("prj", "ag").await.expect("an Inbox").len(), 1);
    l0.shutdown().await;
}
