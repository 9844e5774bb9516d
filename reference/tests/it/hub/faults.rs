//! Providers that fail, and what agents receive of it: a code of the contract, and nothing that is secret.

use std::time::{Duration, Instant};

use callmark_reference::hub::fixtures;
use serde_json::{Value, json};
use wiremock::matchers::{header, method, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::support::{TestHub, answering, asked, availability, free_busy, full_inputs, issue_tokens};

fn google(status: u16, reason: &str) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(json!({
        "error": {"code": status, "message": "token access-connected is bad", "errors": [{"reason": reason}]},
    }))
}

#[tokio::test]
async fn what_the_provider_says_has_a_code_for_every_tool() {
    for (template, expect) in [
        (ResponseTemplate::new(500), (502, "EXTERNAL_API_ERROR")),
        (google(503, "backendError"), (502, "EXTERNAL_API_ERROR")),
        (ResponseTemplate::new(502).set_body_string("<html>bad gateway"), (502, "EXTERNAL_API_ERROR")),
        (ResponseTemplate::new(200).set_body_string("<html>sign in"), (502, "EXTERNAL_API_ERROR")),
        (ResponseTemplate::new(404).set_body_string("<html>no such host"), (502, "EXTERNAL_API_ERROR")),
        (
            ResponseTemplate::new(302).insert_header("location", "http://127.0.0.1:1/"),
            (502, "EXTERNAL_API_ERROR"),
        ),
        (google(400, "invalid"), (502, "EXTERNAL_API_ERROR")),
        (google(401, "authError"), (401, "INTEGRATION_EXPIRED")),
        (google(403, "insufficientPermissions"), (403, "INTEGRATION_PERMISSION_DENIED")),
        (google(403, "userRateLimitExceeded"), (429, "RATE_LIMITED")),
        (google(429, "rateLimitExceeded").insert_header("retry-after", "7"), (429, "RATE_LIMITED")),
        (google(404, "notFound"), (404, "NOT_FOUND")),
        (google(410, "deleted"), (404, "NOT_FOUND")),
    ] {
        let provider = answering(template).await;
        let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
        for (tool, inputs) in full_inputs() {
            let answer = test_hub.execute(tool, fixtures::CONNECTED, inputs).await;
            assert_eq!(answer.code(), expect, "{tool}");
            assert_eq!(answer.body["tool"], tool);
            let said = answer.body.to_string() + &test_hub.log();
            for secret in ["access-", "refresh-", "s3cr3t", "Hi Bo", "Two points"] {
                assert!(!said.contains(secret), "{said}");
            }
        }
    }
}

#[tokio::test]
async fn a_provider_that_hangs_or_is_gone_is_not_waited_for() {
    let hanging = answering(ResponseTemplate::new(200).set_delay(Duration::from_secs(60))).await;
    let short = Duration::from_millis(100);
    let test_hub = TestHub::at(&hanging.uri(), |config| config.limits.provider_deadline = short).await;
    for (tool, inputs) in full_inputs() {
        let started = Instant::now();
        let answer = test_hub.execute(tool, fixtures::CONNECTED, inputs).await;
        assert_eq!(answer.code(), (502, "EXTERNAL_API_ERROR"), "{tool}");
        assert!(started.elapsed() < Duration::from_secs(5));
    }
    assert_eq!(asked(&hanging, "/").await, full_inputs().len(), "nothing is sent twice");
    let test_hub = TestHub::at("http://127.0.0.1:1", |_config| ()).await;
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    assert_eq!(answer.code(), (502, "EXTERNAL_API_ERROR"));
}

#[tokio::test]
async fn answers_without_what_is_needed_are_the_providers_fault() {
    for body in [json!({}), json!([]), json!(null), json!({"calendars": 7, "id": 7, "messages": 7})] {
        let provider = answering(ResponseTemplate::new(200).set_body_json(&body)).await;
        let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
        for (tool, inputs) in full_inputs() {
            // Nothing is needed of the answer to a deletion; no messages are no matches.
            let harmless = tool == "calendar_delete_event" || (body == json!({}) && tool == "email_search");
            if !harmless {
                let answer = test_hub.execute(tool, fixtures::CONNECTED, inputs).await;
                assert_eq!(answer.code(), (502, "EXTERNAL_API_ERROR"), "{tool} {body}");
            }
        }
    }
}

/// A provider that takes `access-new` alone.
async fn strict(token: ResponseTemplate) -> MockServer {
    let provider = MockServer::start().await;
    Mock::given(method("POST")).and(path("/token")).respond_with(token).mount(&provider).await;
    let free = ResponseTemplate::new(200).set_body_json(free_busy(&json!([])));
    Mock::given(path("/calendar/v3/freeBusy"))
        .and(header("authorization", "Bearer access-new"))
        .respond_with(free)
        .with_priority(1)
        .mount(&provider)
        .await;
    Mock::given(path("/calendar/v3/freeBusy")).respond_with(google(401, "authError")).mount(&provider).await;
    provider
}

#[tokio::test]
async fn a_token_that_is_no_longer_taken_is_renewed_once_and_the_call_made_again() {
    let token = json!({"access_token": "access-new", "expires_in": 3600, "refresh_token": "refresh-new"});
    let provider = strict(ResponseTemplate::new(200).set_body_json(token)).await;
    let directory = tempfile::tempdir().expect("a directory");
    let data_dir = directory.path().to_owned();
    let test_hub = TestHub::at(&provider.uri(), |config| config.data_dir = Some(data_dir.clone())).await;
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    answer.result();
    assert_eq!(answer.body["metadata"]["api_calls"], 3);
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    assert_eq!(answer.body["metadata"]["api_calls"], 1);
    assert_eq!(asked(&provider, "/token").await, 1);
    test_hub.hub.shutdown().await;
    // The new token was written down.
    let test_hub = TestHub::at(&provider.uri(), |config| config.data_dir = Some(data_dir)).await;
    let answer = test_hub.execute("calendar_get_availability", fixtures::CONNECTED, availability()).await;
    answer.result();
    assert_eq!(asked(&provider, "/token").await, 1);
    let requests = provider.received_requests().await.expect("recording");
    let form = requests.iter().find(|request| request.url.path() == "/token").expect("a renewal");
    let form = String::from_utf8(form.body.clone()).expect("text");
    assert!(form.contains("grant_type=refresh_token&refresh_token=refresh-connected"), "{form}");
}

#[tokio::test]
async fn a_renewal_that_fails_is_reported_as_what_it_is() {
    let check = async |template: ResponseTemplate, expect: (u16, &str)| {
        let provider = strict(template).await;
        let test_hub = TestHub::at(&provider.uri(), |config| {
            config.limits.provider_deadline = Duration::from_millis(300);
        })
        .await;
        let answer =
            test_hub.execute("calendar_get_availability", fixtures::REFRESHABLE, availability()).await;
        assert_eq!(answer.code(), expect);
        assert_eq!(asked(&provider, "/calendar").await, 0, "an expired token is not shown to anybody");
    };
    let refused = |error: &str| ResponseTemplate::new(400).set_body_json(json!({ "error": error }));
    check(refused("invalid_grant"), (401, "INTEGRATION_EXPIRED")).await;
    check(ResponseTemplate::new(401), (401, "INTEGRATION_EXPIRED")).await;
    check(ResponseTemplate::new(503), (502, "EXTERNAL_API_ERROR")).await;
    check(ResponseTemplate::new(200).set_body_string("<html>"), (502, "EXTERNAL_API_ERROR")).await;
    check(ResponseTemplate::new(200).set_body_json(json!({})), (502, "EXTERNAL_API_ERROR")).await;
    let late = ResponseTemplate::new(200).set_delay(Duration::from_secs(60));
    check(late, (502, "EXTERNAL_API_ERROR")).await;
}

#[tokio::test]
async fn a_mail_that_was_deleted_in_between_is_left_out_of_a_search() {
    let provider = MockServer::start().await;
    issue_tokens(&provider).await;
    let page = json!({
        "messages": [{"id": "m1", "threadId": "t"}, {"id": "m2", "threadId": "t"}],
        "resultSizeEstimate": 1,
    });
    let mail = json!({"id": "m2", "threadId": "t", "internalDate": "1930000000000", "snippet": "Hi"});
    for (at, answer) in [
        ("/gmail/v1/users/me/messages", ResponseTemplate::new(200).set_body_json(page)),
        ("/gmail/v1/users/me/messages/m1", google(404, "notFound")),
        ("/gmail/v1/users/me/messages/m2", ResponseTemplate::new(200).set_body_json(mail)),
    ] {
        Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&provider).await;
    }
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    let found = test_hub.execute("email_search", fixtures::CONNECTED, json!({"query": "x"})).await;
    assert_eq!(found.result()["total_results"], 1);
    assert_eq!(found.result()["messages"][0]["message_id"], "m2");
    assert_eq!(found.body["metadata"]["api_calls"], 3);
    assert_eq!(found.result()["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(found.result()["messages"][0]["to"], Value::Array(Vec::new()));
}
