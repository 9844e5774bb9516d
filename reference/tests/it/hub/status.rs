//! The status endpoint, and that it agrees with what calls meet.

use callmark_reference::hub::fixtures;
use serde_json::json;

use super::support::{AGENT, Desk, availability};

#[tokio::test]
async fn a_connected_customer_has_scopes_a_mailbox_and_an_expiry() {
    let desk = Desk::new().await;
    let answer = desk.status(fixtures::CONNECTED).await;
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
    let desk = Desk::new().await;
    for fixture in fixtures::ALL {
        let status = desk.status(fixture.id).await;
        let entry = &status.body["integrations"]["google_calendar"];
        let call = desk.execute("calendar_get_availability", fixture.id, availability()).await;
        let refused = call.body["error"]["code"] == "INTEGRATION_NOT_CONNECTED";
        assert_eq!(entry["connected"] == false, refused, "{}", fixture.name);
        if refused {
            assert_eq!(entry["setup_url"], call.body["error"]["details"]["setup_url"]);
        }
    }
}

#[tokio::test]
async fn other_customers_secrets_and_methods_are_refused() {
    let desk = Desk::new().await;
    assert_eq!(desk.status(AGENT).await.code(), (404, "CUSTOMER_NOT_FOUND"));
    assert_eq!(desk.status("x").await.code(), (400, "INVALID_REQUEST"));
    let url = format!("{}/api/internal/integrations/status/{}/", desk.hub.url(), fixtures::CONNECTED);
    let anonymous = desk.send(desk.client.get(&url)).await;
    assert_eq!(anonymous.code(), (401, "UNAUTHORIZED"));
    assert_eq!(desk.send(desk.client.post(&url)).await.code(), (405, "METHOD_NOT_ALLOWED"));
    assert_eq!(
        desk.send(desk.client.get(format!("{}/elsewhere", desk.hub.url()))).await.code(),
        (404, "NOT_FOUND")
    );
    assert_eq!(
        desk.status(&fixtures::CONNECTED.to_uppercase()).await.body["customer_id"],
        fixtures::CONNECTED.to_uppercase()
    );
}
