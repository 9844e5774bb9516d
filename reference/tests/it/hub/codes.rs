//! The contract's table of codes, each by the fixture customer that is there for it.

use callmark_reference::hub::{Hub, HubConfig, HubError, fixtures};
use serde_json::json;

use super::support::{AGENT, SECRET, TestHub, availability, full_inputs, loopback};

#[tokio::test]
async fn every_tool_succeeds_for_a_connected_customer_and_repeats_its_name() {
    let test_hub = TestHub::new().await;
    for customer in [fixtures::CONNECTED, fixtures::OTHER, fixtures::REFRESHABLE] {
        for (tool, inputs) in full_inputs() {
            let answer = test_hub.execute(tool, customer, inputs).await;
            answer.result();
            assert_eq!(answer.body["tool"], tool);
            assert!(answer.body["metadata"]["api_calls"].as_u64().is_some_and(|calls| calls > 0));
        }
    }
}

#[tokio::test]
async fn every_tool_says_what_is_not_connected_and_where_to_connect_it() {
    let test_hub = TestHub::new().await;
    for (tool, inputs) in full_inputs() {
        let answer = test_hub.execute(tool, fixtures::NOT_CONNECTED, inputs).await;
        assert_eq!(answer.code(), (400, "INTEGRATION_NOT_CONNECTED"), "{tool}");
        assert_eq!(answer.body["tool"], tool);
        let integration = if tool.starts_with("calendar") { "google_calendar" } else { "google_gmail" };
        let details = &answer.body["error"]["details"];
        assert_eq!(details["integration"], integration);
        assert_eq!(details["setup_url"], "https://hub.example/integrations/google");
    }
}

#[tokio::test]
async fn every_fixture_meets_its_code() {
    let test_hub = TestHub::new().await;
    for (tool, inputs) in full_inputs() {
        let expired = test_hub.execute(tool, fixtures::EXPIRED, inputs.clone()).await;
        assert_eq!(expired.code(), (401, "INTEGRATION_EXPIRED"), "{tool}");
        let down = test_hub.execute(tool, fixtures::UPSTREAM_DOWN, inputs.clone()).await;
        assert_eq!(down.code(), (502, "EXTERNAL_API_ERROR"), "{tool}");
        let writes = matches!(
            tool,
            "calendar_create_event" | "calendar_update_event" | "calendar_delete_event" | "email_send"
        );
        let read_only = test_hub.execute(tool, fixtures::READ_ONLY, inputs).await;
        if writes {
            assert_eq!(read_only.code(), (403, "INTEGRATION_PERMISSION_DENIED"), "{tool}");
        } else {
            read_only.result();
        }
    }
    let marking = json!({"message_id": fixtures::MESSAGE_ID, "mark_as_read": true});
    let marked = test_hub.execute("email_read", fixtures::READ_ONLY, marking).await;
    assert_eq!(marked.code(), (403, "INTEGRATION_PERMISSION_DENIED"));
}

#[tokio::test]
async fn unknown_tools_are_not_found_and_repeated() {
    let test_hub = TestHub::new().await;
    for tool in ["calendar_frobnicate", "no_such_tool", "mission_create_task", "research_web_search", "é\n"]
    {
        for customer in [fixtures::CONNECTED, fixtures::NOT_CONNECTED, AGENT] {
            let answer = test_hub.execute(tool, customer, json!({})).await;
            assert_eq!(answer.code(), (404, "TOOL_NOT_FOUND"));
            assert_eq!(answer.body["tool"], tool);
        }
    }
    let unknown = test_hub.execute("calendar_get_availability", AGENT, availability()).await;
    assert_eq!(unknown.code(), (404, "CUSTOMER_NOT_FOUND"));
}

#[tokio::test]
async fn the_limited_customer_has_three_calls_and_nobody_else_is_limited() {
    let test_hub = TestHub::new().await;
    for _ in 0..3 {
        test_hub.execute("calendar_get_availability", fixtures::LIMITED, availability()).await.result();
    }
    let limited = test_hub.execute("email_search", fixtures::LIMITED, json!({"query": ""})).await;
    assert_eq!(limited.code(), (429, "RATE_LIMITED"));
    assert!(limited.retry_after.is_some_and(|seconds| (3500..=3600).contains(&seconds)));
    test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await.result();
}

#[tokio::test]
async fn a_hub_that_cannot_work_does_not_start() {
    let check = async |change: fn(&mut HubConfig)| {
        let mut config = HubConfig::new(SECRET, "http://127.0.0.1:1");
        change(&mut config);
        let error = Hub::start(config, loopback()).await.expect_err("a refusal");
        assert!(!error.to_string().contains(SECRET));
        error
    };
    assert!(matches!(check(|config| config.secret.clear()).await, HubError::Config { .. }));
    assert!(matches!(check(|config| config.setup_url = "/setup".to_owned()).await, HubError::Config { .. }));
    assert!(matches!(
        check(|config| config.provider.gmail = "gmail".to_owned()).await,
        HubError::Config { .. }
    ));
    let file = |config: &mut HubConfig| config.data_dir = Some("Cargo.toml".into());
    assert!(matches!(check(file).await, HubError::Store { .. }));
    let first = TestHub::new().await;
    let taken = Hub::start(HubConfig::new(SECRET, "http://127.0.0.1:1"), first.hub.address()).await;
    assert!(matches!(taken, Err(HubError::Listen { .. })));
    assert!(!format!("{:?}", HubConfig::new(SECRET, "http://127.0.0.1:1")).contains(SECRET));
}
