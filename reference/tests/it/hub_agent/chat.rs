//! One turn with a model whose lines are written in advance.

use std::sync::Mutex;

use callmark_reference::hub::agent::{Agent, AgentConfig, ChatError, Turn};
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::support::{CUSTOMER, DEADLINE, config, count, hub, inputs, refusal, success};

/// Says its lines one after the other, the last one again and again.
struct Script(Mutex<Vec<Value>>);

impl Respond for Script {
    fn respond(&self, _: &Request) -> ResponseTemplate {
        let mut lines = self.0.lock().expect("not poisoned");
        let line = if lines.len() > 1 { lines.remove(0) } else { lines[0].clone() };
        ResponseTemplate::new(200).set_body_json(json!({"choices": [{"index": 0, "message": line}]}))
    }
}

async fn model(lines: Vec<Value>) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST"))
        .and(path("/v1/chat/completions"))
        .respond_with(Script(Mutex::new(lines)))
        .mount(&server)
        .await;
    server
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(calls: &[(&str, &str, &str)]) -> Value {
    let calls: Vec<_> = calls
        .iter()
        .map(|(id, name, arguments)| {
            json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
        })
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

async fn turn(hub: &MockServer, model: &MockServer) -> Result<String, ChatError> {
    let model_url = Some(format!("{}/v1/", model.uri()));
    let agent = Agent::new(AgentConfig { model_url, ..config(&hub.uri()) }).expect("an agent");
    let turn = Turn {
        message: "what is new?".to_owned(),
        conversation_id: Some("conv-88".to_owned()),
        customer_id: None,
        user_id: Some("u-17".to_owned()),
    };
    tokio::time::timeout(DEADLINE, agent.chat(turn)).await.expect("in time")
}

/// The messages of the request that the model got as the nth.
async fn messages(model: &MockServer, nth: usize) -> Vec<Value> {
    let requests = model.received_requests().await.expect("they are recorded");
    let body: Value = requests[nth].body_json().expect("JSON");
    body["messages"].as_array().expect("messages").clone()
}

fn content(message: &Value) -> Value {
    serde_json::from_str(message["content"].as_str().expect("a text")).expect("JSON")
}

#[tokio::test]
async fn the_model_calls_tools_side_by_side_and_answers() {
    let hub = hub(success(&json!({"subject": "Two points"}))).await;
    let reading = inputs("email_read").to_string();
    let model = model(vec![
        calls(&[
            ("c1", "email_read", &reading),
            ("c2", "mission_list_tasks", ""),
            ("c3", "no_such_tool", "{}"),
        ]),
        says("Bo wrote about two points."),
    ])
    .await;
    assert_eq!(turn(&hub, &model).await, Ok("Bo wrote about two points.".to_owned()));

    let requests = model.received_requests().await.expect("they are recorded");
    let first: Value = requests[0].body_json().expect("JSON");
    assert_eq!(first["tools"].as_array().map(Vec::len), Some(15));
    assert_eq!(first["tools"][0]["function"]["parameters"]["type"], "object");
    assert_eq!(first["messages"][1], json!({"role": "user", "content": "what is new?"}));
    let second = messages(&model, 1).await;
    assert_eq!(second.len(), 6);
    assert_eq!(second[2]["tool_calls"][0]["function"]["arguments"], reading);
    let ids: Vec<_> = second[3..].iter().map(|message| &message["tool_call_id"]).collect();
    assert_eq!(ids, ["c1", "c2", "c3"]);
    assert_eq!(content(&second[3]), json!({"subject": "Two points"}));
    assert_eq!(content(&second[4]), json!({"tasks": []}));
    assert_eq!(content(&second[5])["error"]["code"], "UNKNOWN_TOOL");

    let sent: Value = hub.received_requests().await.expect("recorded")[0].body_json().expect("JSON");
    assert_eq!((&sent["customer_id"], &sent["user_id"]), (&json!(CUSTOMER), &json!("u-17")));
    assert_eq!(sent["context"]["conversation_id"], "conv-88");
}

#[tokio::test]
async fn a_failed_tool_and_its_link_reach_model_and_user() {
    let link = "https://hub.test/integrations/google";
    let hub = hub(refusal(400, "INTEGRATION_NOT_CONNECTED", &json!({"setup_url": link}))).await;
    let reading = inputs("email_read").to_string();
    let model = model(vec![calls(&[("c1", "email_read", &reading)]), says("No mailbox is connected.")]).await;
    let reply = turn(&hub, &model).await.expect("a reply");
    assert!(reply.starts_with("No mailbox is connected.") && reply.contains(link), "{reply}");
    let error = content(&messages(&model, 1).await[3])["error"].clone();
    assert_eq!(error["code"], "INTEGRATION_NOT_CONNECTED");
    assert_eq!(error["setup_url"], link);
    assert!(error["message"].as_str().is_some_and(|text| text.contains("reported: ")));
    assert!(error["what_to_do"].as_str().is_some_and(|text| text.contains("setup link")));
}

#[tokio::test]
async fn malformed_arguments_are_reported_to_the_model_and_never_sent() {
    let hub = hub(success(&json!({}))).await;
    let model = model(vec![
        calls(&[("c1", "email_read", "{\"message_id\": "), ("c2", "email_read", "[]"), ("c3", "email_read", "")]),
        json!({"content": "", "tool_calls": [{"function": {"name": "email_read", "arguments": {"message_id": 7}}}]}),
        says("I could not read it."),
    ])
    .await;
    assert_eq!(turn(&hub, &model).await, Ok("I could not read it.".to_owned()));
    let third = messages(&model, 2).await;
    for (at, says) in
        [(3, "are no JSON"), (4, "must be an object"), (5, "is missing"), (7, "`message_id` must be")]
    {
        let error = content(&third[at])["error"].clone();
        assert_eq!(error["code"], "INVALID_INPUTS");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(says)), "{error}");
    }
    assert_eq!(third[6]["tool_calls"][0]["id"], third[7]["tool_call_id"]);
    assert_eq!(count(&hub).await, 0);
}

#[tokio::test]
async fn a_model_that_never_stops_is_stopped() {
    let hub = hub(success(&json!({}))).await;
    let reading = inputs("email_read").to_string();
    let model = model(vec![calls(&[("c1", "email_read", &reading)])]).await;
    assert_eq!(turn(&hub, &model).await, Err(ChatError::Silent));
    assert_eq!((count(&model).await, count(&hub).await), (8, 7));
    let many: Vec<_> = (0..40).map(|_| ("c", "email_read", &*reading)).collect();
    let hasty = self::model(vec![calls(&many), says("done")]).await;
    let before = count(&hub).await;
    assert_eq!(turn(&hub, &hasty).await, Ok("done".to_owned()));
    assert_eq!(count(&hub).await - before, 16);
}

#[tokio::test]
async fn a_model_in_a_bad_mood_is_an_error_of_the_turn() {
    let hub = hub(success(&json!({}))).await;
    for answer in [
        ResponseTemplate::new(500),
        ResponseTemplate::new(200).set_body_string("<html>"),
        ResponseTemplate::new(200).set_body_json(json!({"choices": []})),
        ResponseTemplate::new(200).set_body_bytes(vec![b' '; 20 * 1024 * 1024]),
    ] {
        let model = MockServer::start().await;
        Mock::given(method("POST")).respond_with(answer).mount(&model).await;
        let error = turn(&hub, &model).await.expect_err("no reply");
        assert_eq!(error.code(), "MODEL_FAILED");
    }
}
