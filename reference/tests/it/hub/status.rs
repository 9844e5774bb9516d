//! The status endpoint, and that it agrees with what calls meet.

use callmark_reference::hub::fixtures;
use serde_json::json;

use super::support::{AGENT, TestHub, availability};

#[tokio::test]
async fn a_connected_customer_has_scopes_a_mailbox_and_an_expiry() {
    let test_hub = TestHub::new().await;
    let answer = test_hub.status(fixtures::CONNECTED).await;
    assert_eq!(answer.status, 200);
    let expect = json!({
        "customer_id": fixtures::CONNECTED,
        "integrations": {
            "google_calendar": {
                "connected": true, "scopes": ["calendar.readonly", "calendar.events"],
                "email": "connected@orchid.example", "expires_at": "2099-01-01T00:00:00Z",
            },
            "google_gmail": {
                "connected": true, "scopes": ["gmail.readonly", "gmail.send", "gmail.modify"],
                "email": "connected@orchid.example", "expires_at": "2099-01-01T00:00:00Z",
            },
        },
    });
    assert_eq!(answer.body, expect);
}

#[tokio::test]
async fn status_and_execution_agree_for_every_customer() {
    let test_hub = TestHub::new().await;
    for fixture in fixtures::ALL {
        let status = test_hub.status(fixture.id).await;
        let entry = &status.body["integrations"]["google_calendar"];
        let call = test_hub.execute("calendar_get_availability", fixture.id, availability()).await;
        let refused = call.body["error"]["code"] == "INTEGRATION_NOT_CONNECTED";
        assert_eq!(entry["connected"] == false, refused, "{}", fixture.name);
        if refused {
            assert_eq!(entry["setup_url"], call.body["error"]["details"]["setup_url"]);
        }
    }
}

#[tokio::test]
async fn other_customers_secrets_and_methods_are_refused() {
    let test_hub = TestHub::new().await;
    assert_eq!(test_hub.status(AGENT).await.code(), (404, "CUSTOMER_NOT_FOUND"));
    assert_eq!(test_hub.status("x").await.code(), (400, "INVALID_REQUEST"));
    let url = format!("{}/api/internal/integrations/status/{}/", test_hub.hub.url(), fixtures::CONNECTED);
    let anonymous = test_hub.send(test_hub.client.get(&url)).await;
    assert_eq!(anonymous.code(), (401, "UNAUTHORIZED"));
    assert_eq!(test_hub.send(test_hub.client.post(&url)).await.code(), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(
        test_hub.send(test_hub.client.get(format!("{}/elsewhere", test_hub.hub.url()))).await.code(),
        (404, "NOT_FOUND")
    );
    assert_eq!(
        test_hub.status(&fixtures::CONNECTED.to_uppercase()).await.body["customer_id"],
        fixtures::CONNECTED.to_uppercase()
    );
}
