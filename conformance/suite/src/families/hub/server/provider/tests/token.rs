use serde_json::json;

use super::*;

const READ: [&str; 2] = ["/gmail/v1/users/me/messages", "/calendar/v3/calendars/primary/events"];

#[tokio::test]
async fn a_request_without_a_token_is_refused() {
    let fixture = ProviderFixture::start().await;
    assert!(!fixture.provider.was_asked());
    for path in READ {
        let response =
            fixture.client.get(format!("{}{path}", fixture.provider.url())).send().await.expect("an answer");
        assert_eq!(response.status(), 401);
        assert!(response.headers().contains_key("www-authenticate"));
        let body: Value = response.json().await.expect("JSON");
        assert_eq!(body["error"]["status"], "UNAUTHENTICATED");
    }
    assert!(fixture.provider.was_asked());
}

#[tokio::test]
async fn tokens_are_learnt_when_they_are_first_seen() {
    let fixture = ProviderFixture::start().await;
    let connected = fixture.learn(Customer::Connected, "one").await;
    let other = fixture.learn(Customer::Other, "two").await;
    fixture.provider.learn(Some(Customer::ReadOnly));
    assert_eq!(connected.get(READ[0]).await.0, 200);
    fixture.provider.learn(None);
    assert!(fixture.provider.knows(Customer::Connected));
    assert!(fixture.provider.knows(Customer::Other));
    assert!(!fixture.provider.knows(Customer::ReadOnly), "a token that is known stays whose it is");
    let mine = connected.good("/gmail/v1/users/me/profile").await["emailAddress"].clone();
    let theirs = other.good("/gmail/v1/users/me/profile").await["emailAddress"].clone();
    assert_ne!(mine, theirs);
    let unknown = fixture.with("three").good("/gmail/v1/users/me/profile").await["emailAddress"].clone();
    assert_eq!(unknown, mine);
}

#[tokio::test]
async fn a_request_with_a_word_of_its_own_says_whose_its_token_is() {
    let fixture = ProviderFixture::start().await;
    // A Hub that looks into all mailboxes while `connected` is learnt.
    fixture.learn(Customer::Connected, "one").await;
    let other = fixture.learn(Customer::Connected, "two").await;
    let (_, granted) = {
        fixture.provider.learn(Some(Customer::Connected));
        fixture.grant("refresh-old").await
    };
    fixture.provider.learn(None);
    let old = fixture.with(granted["access_token"].as_str().expect("a token"));
    let address = async |hub: &ProviderFixture| {
        hub.good("/gmail/v1/users/me/profile").await["emailAddress"].as_str().expect("an address").to_owned()
    };
    assert_eq!(address(&other).await, "connected@garden.example");
    fixture.provider.expect(Some(("sign7".to_owned(), Customer::Other)));
    other.good("/gmail/v1/users/me/messages?q=sign7").await;
    fixture.provider.expect(Some(("sign8".to_owned(), Customer::Expired)));
    assert_eq!(old.get("/gmail/v1/users/me/messages?q=%22sign8%22").await.0, 401);
    fixture.provider.expect(None);
    assert_eq!(address(&other).await, "other@garden.example");
    assert_eq!(fixture.grant("refresh-old").await.0, 400);
    assert_eq!(address(&fixture.with("one")).await, "connected@garden.example");
}

#[tokio::test]
async fn an_expired_token_cannot_be_refreshed() {
    let fixture = ProviderFixture::start().await;
    fixture.provider.learn(Some(Customer::Expired));
    let (status, body) = fixture.with("old").get(READ[0]).await;
    assert_eq!((status, reason(&body)), (401, "authError"));
    let (status, body) = fixture.grant("refresh-old").await;
    assert_eq!((status, &body["error"]), (400, &json!("invalid_grant")));
    fixture.provider.learn(None);
    assert_eq!(fixture.grant("refresh-old").await.0, 400);
    assert_eq!(fixture.with("old").get(READ[1]).await.0, 401);
}

#[tokio::test]
async fn a_refreshable_token_is_good_once_it_is_refreshed() {
    let fixture = ProviderFixture::start().await;
    fixture.provider.learn(Some(Customer::Refreshable));
    assert_eq!(fixture.with("stale").get(READ[0]).await.0, 401);
    let (status, granted) = fixture.grant("refresh-stale").await;
    fixture.provider.learn(None);
    assert_eq!(status, 200);
    assert_eq!(granted["token_type"], "Bearer");
    assert!(granted["expires_in"].as_u64().is_some_and(|seconds| seconds > 60));
    let fresh = fixture.with(granted["access_token"].as_str().expect("a token"));
    for path in READ {
        assert_eq!(fresh.get(path).await.0, 200);
    }
    assert_eq!(fixture.with("stale").get(READ[0]).await.0, 401);
    let address = fresh.good("/gmail/v1/users/me/profile").await["emailAddress"].clone();
    assert_eq!(address, "refreshable@garden.example");
}

#[tokio::test]
async fn a_token_that_was_refreshed_expires_once_it_was_used() {
    let fixture = ProviderFixture::start().await;
    fixture.learn(Customer::Refreshable, "stale").await;
    fixture.provider.learn(Some(Customer::Refreshable));
    let granted = async || {
        let (_, granted) = fixture.grant("refresh-stale").await;
        fixture.with(granted["access_token"].as_str().expect("a token"))
    };
    let (used, unused) = (granted().await, granted().await);
    fixture.provider.learn(None);
    assert_eq!(fixture.provider.grants(Customer::Refreshable), 2);
    assert_eq!(used.get(READ[0]).await.0, 200);
    fixture.provider.expire();
    assert_eq!(used.get(READ[0]).await.0, 401);
    assert_eq!(unused.get(READ[0]).await.0, 200, "it has just been refreshed");
    fixture.provider.expire();
    assert_eq!(unused.get(READ[0]).await.0, 401);
    assert_eq!(granted().await.get(READ[1]).await.0, 200);
}

#[tokio::test]
async fn a_token_that_only_reads_cannot_write() {
    let fixture = ProviderFixture::start().await;
    let reader = fixture.learn(Customer::ReadOnly, "reader").await;
    for path in READ {
        assert_eq!(reader.get(path).await.0, 200);
    }
    let query = json!({"timeMin": "2031-03-04T00:00:00Z", "timeMax": "2031-03-07T00:00:00Z", "items": []});
    assert_eq!(reader.post("/calendar/v3/freeBusy", query).await.0, 200);
    for (method, path) in [
        (Method::POST, EVENTS.to_owned()),
        (Method::DELETE, format!("{EVENTS}/abcde")),
        (Method::PATCH, format!("{EVENTS}/abcde")),
        (Method::POST, format!("{MESSAGES}/send")),
    ] {
        let (status, body) = reader.call(method, &path, &json!({})).await;
        assert_eq!((status, reason(&body)), (403, "insufficientPermissions"));
        assert_eq!(body["error"]["status"], "PERMISSION_DENIED");
    }
}

#[tokio::test]
async fn a_service_that_is_down_still_refreshes() {
    let fixture = ProviderFixture::start().await;
    let down = fixture.learn(Customer::UpstreamDown, "down").await;
    for path in READ {
        assert_eq!(down.get(path).await.0, 503);
    }
    fixture.provider.learn(Some(Customer::UpstreamDown));
    let (status, granted) = fixture.grant("refresh-down").await;
    assert_eq!(status, 200);
    let fresh = fixture.with(granted["access_token"].as_str().expect("a token"));
    assert_eq!(fresh.get(READ[0]).await.0, 503);
}

#[tokio::test]
async fn the_token_endpoint_is_asked_in_many_ways() {
    let fixture = ProviderFixture::start().await;
    let url = fixture.provider.url();
    for path in ["/token", "/oauth2/token", "/oauth2/v4/token", "/o/oauth2/token"] {
        let asked = json!({"grant_type": "refresh_token", "refresh_token": "r"});
        let (status, _) = answer(fixture.client.post(format!("{url}{path}")).json(&asked)).await;
        assert_eq!(status, 200, "{path}");
    }
    let form = |text: &str| {
        let request = fixture.client.post(format!("{url}/token")).body(text.to_owned());
        answer(request.header("content-type", "application/x-www-form-urlencoded"))
    };
    let (status, body) = form("grant_type=authorization_code&code=4%2Fabc").await;
    assert_eq!(status, 200);
    assert!(body["refresh_token"].is_string());
    assert_eq!(form("grant_type=password&username=a").await.1["error"], "unsupported_grant_type");
    assert_eq!(form("grant_type=refresh_token").await.1["error"], "invalid_request");
    // A service account signs anew each time, for the same person.
    fixture.provider.learn(Some(Customer::Other));
    let assertion = |when: u32| {
        let claims = URL_SAFE_NO_PAD.encode(json!({"iss": "svc", "sub": "u@x", "iat": when}).to_string());
        format!("grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=e30.{claims}.s")
    };
    form(&assertion(1)).await;
    fixture.provider.learn(None);
    let (_, granted) = form(&assertion(2)).await;
    let fresh = fixture.with(granted["access_token"].as_str().expect("a token"));
    assert_eq!(fresh.good("/oauth2/v3/userinfo").await["email"], "other@garden.example");
}

#[tokio::test]
async fn a_fixed_address_can_be_used_again_at_once() {
    let first = ProviderFixture::start().await;
    let address = first.provider.url().replace("http://", "");
    first.get(READ[0]).await;
    let taken = Provider::start(Some(&address), Arc::new(PassthroughWire)).await;
    assert!(taken.is_err_and(|error| error.contains(&address)));
    first.provider.close().await;
    let second =
        Provider::start(Some(&address), Arc::new(PassthroughWire)).await.expect("the address is free");
    assert_eq!(second.url(), first.provider.url());
    second.close().await;
}
