//! What reaches the Hub: the one request of the contract, and nothing where a call is wrong.

use callmark_reference::hub::agent::{AgentCall, AgentConfig, Category, TOOLS};
use serde_json::{Value, json};
use wiremock::{MockServer, Request};

use super::support::{
    AGENT, CUSTOMER, EXECUTE, SECRET, agent, call, config, count, done, failure, hub, inputs, success,
};

async fn only_request(hub: &MockServer) -> Request {
    let mut requests = hub.received_requests().await.expect("they are recorded");
    assert_eq!(requests.len(), 1);
    requests.remove(0)
}

#[tokio::test]
async fn all_nine_tools_are_sent_as_the_contract_says() {
    for tool in TOOLS.iter().filter(|tool| matches!(tool.category, Category::HubProxied(_))) {
        let hub = hub(success(&json!({"known": 17}))).await;
        let asked = AgentCall {
            user_id: Some("u-17".to_owned()),
            conversation_id: Some("conv-88".to_owned()),
            ..call(tool.name, inputs(tool.name))
        };
        let outcome = done(&agent(&format!("{}/", hub.uri())), asked).await.expect("a success");
        assert_eq!(outcome.result, json!({"known": 17}));

        let request = only_request(&hub).await;
        assert_eq!((request.method.as_str(), request.url.path()), ("POST", EXECUTE));
        assert_eq!(request.headers["authorization"], format!("ServiceSecret {SECRET}"));
        assert_eq!(request.headers["content-type"], "application/json");
        let mut body: Value = request.body_json().expect("JSON");
        let request_id = body["context"]["request_id"].take();
        assert!(request_id.as_str().is_some_and(|id| !id.is_empty()), "{request_id}");
        assert_eq!(
            body,
            json!({
                "tool": tool.name,
                "agent_id": AGENT,
                "customer_id": CUSTOMER,
                "user_id": "u-17",
                "inputs": inputs(tool.name),
                "context": {"request_id": null, "conversation_id": "conv-88"},
            })
        );
    }
}

#[tokio::test]
async fn the_call_chooses_the_customer_and_no_user_is_null() {
    let hub = hub(success(&json!({}))).await;
    let other = "B1D3A8C4-77AA-4E21-9C39-50F0E6A1D2B8";
    let asked = AgentCall { customer_id: Some(other.to_owned()), ..call("email_read", inputs("email_read")) };
    done(&agent(&hub.uri()), asked).await.expect("a success");
    let body: Value = only_request(&hub).await.body_json().expect("JSON");
    assert_eq!(body["customer_id"], other);
    assert_eq!(body.get("user_id"), Some(&Value::Null));
    assert_eq!(body["context"].get("conversation_id"), None);
}

#[tokio::test]
async fn calls_that_are_wrong_are_not_sent() {
    let hub = hub(success(&json!({}))).await;
    let agent = agent(&hub.uri());
    for (asked, code, says) in [
        (call("calendar_create_evnt", json!({})), "UNKNOWN_TOOL", "did you mean `calendar_create_event`?"),
        (
            call("email_send", json!({"to": "bo@orchid.example"})),
            "INVALID_INPUTS",
            "array of email addresses",
        ),
        (
            call("email_read", json!({"message_id": "m", "tracking_ids": []})),
            "INVALID_INPUTS",
            "tracking_ids",
        ),
        (call("email_read", json!({})), "INVALID_INPUTS", "`message_id` is missing"),
        (call("email_read", Value::Null), "INVALID_INPUTS", "must be an object"),
        (
            AgentCall { customer_id: Some("17".to_owned()), ..call("email_read", inputs("email_read")) },
            "INVALID_CALL",
            "`customer_id`",
        ),
    ] {
        let failure = failure(&agent, asked).await;
        assert_eq!(failure.code(), code);
        assert!(failure.message().contains(says), "{failure}");
    }
    let nobodys = AgentConfig { customer_id: None, ..config(&hub.uri()) };
    let nobodys = callmark_reference::hub::agent::Agent::new(nobodys).expect("an agent");
    assert_eq!(failure(&nobodys, call("email_read", inputs("email_read"))).await.code(), "INVALID_CALL");
    assert_eq!(count(&hub).await, 0);
}
