use std::io::Write as _;

use serde_json::json;

use super::*;

#[tokio::test]
async fn bodies_that_are_not_json_are_refused() {
    let fixture = ProviderFixture::start().await;
    for path in [EVENTS.to_owned(), "/calendar/v3/freeBusy".to_owned(), format!("{MESSAGES}/send")] {
        for body in ["<html><body>Hi</body></html>", "{\"summary\":", "nonsense", "[1]", "\u{0}"] {
            let request = fixture.request(&Method::POST, &path).header("content-type", "text/html");
            let (status, answered) = answer(request.body(body)).await;
            assert_eq!((status, reason(&answered)), (400, "parseError"), "{path} {body}");
        }
    }
    assert_eq!(fixture.get(MESSAGES).await.0, 200);
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let fixture = ProviderFixture::start().await;
    let transcript = fixture.follow("m1");
    let huge = json!({"summary": "m1", "description": "x".repeat(3 * 1024 * 1024)});
    let (status, body) = fixture.post(EVENTS, huge).await;
    assert_eq!((status, &body["error"]["code"]), (413, &json!(413)));
    assert!(transcript.frames().is_empty());
    // More of it than could be kept.
    for _ in 0..16 {
        let large = json!({"ids": [], "addLabelIds": [], "x": "x".repeat(3 * 1024 * 1024)});
        assert_eq!(fixture.post(&format!("{MESSAGES}/batchModify"), large).await.0, 413);
    }
    assert_eq!(fixture.get(MESSAGES).await.0, 200);
}

#[tokio::test]
async fn compressed_bodies_are_unpacked_or_refused_with_a_reason() {
    let fixture = ProviderFixture::start().await;
    let send = |coding: &str, body: Vec<u8>| {
        let request = fixture.request(&Method::POST, EVENTS).header("content-encoding", coding.to_owned());
        answer(request.header("content-type", "application/json").body(body))
    };
    let packed = |text: &[u8]| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text).expect("packed");
        packer.finish().expect("packed")
    };
    let event = br#"{"summary":"Packed","start":{"date":"2031-06-01"},"end":{"date":"2031-06-02"}}"#;
    let (status, made) = send("gzip", packed(event)).await;
    assert_eq!((status, made["summary"].as_str()), (200, Some("Packed")));
    assert_eq!(send("gzip", vec![0x1f, 0x8b, 8, 0]).await.0, 415);
    assert_eq!(send("br", event.to_vec()).await.0, 415);
    assert_eq!(send("gzip", packed(&vec![b' '; 64 * 1024 * 1024])).await.0, 413);
}

#[tokio::test]
async fn deep_bodies_and_odd_paths_are_answered() {
    let fixture = ProviderFixture::start().await;
    let deep = format!("{{\"summary\":{}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let request = fixture.request(&Method::POST, EVENTS).header("content-type", "application/json");
    assert_eq!(answer(request.body(deep)).await.0, 400);
    for path in [
        "/gmail/v1/users/me",
        "/gmail/v1/users",
        "/gmail",
        "/calendar/v3",
        "/upload/gmail/v1/users/me",
        "//",
        "/%ff%zz%",
        "/calendar/v3/calendars/%2F%00/events/%",
    ] {
        let (status, body) = fixture.get(path).await;
        assert_eq!((status, &body["error"]["code"]), (404, &json!(404)), "{path}");
    }
}

#[tokio::test]
async fn a_get_may_travel_in_a_post() {
    let fixture = ProviderFixture::start().await;
    let request = fixture.request(&Method::POST, MESSAGES).header("x-http-method-override", "GET");
    let request = request.header("content-type", "application/x-www-form-urlencoded");
    let (status, body) = answer(request.body("q=subject%3Aharvest&maxResults=1")).await;
    assert_eq!((status, &body["resultSizeEstimate"]), (200, &json!(3)));
}

#[tokio::test]
async fn an_account_does_not_grow_without_end() {
    let fixture = ProviderFixture::start().await;
    let raw = format!("To: bo@orchid.example\r\nSubject: many\r\n\r\n{}\r\n", "x".repeat(100));
    let enclosed = json!({"raw": URL_SAFE_NO_PAD.encode(&raw)});
    for _ in 0..2_050 {
        assert_eq!(fixture.post(&format!("{MESSAGES}/send"), enclosed.clone()).await.0, 200);
    }
    let profile = fixture.good("/gmail/v1/users/me/profile").await;
    assert_eq!(profile["messagesTotal"], 2_000);
    let seeds = fixture.good(&format!("{MESSAGES}?q=subject:harvest")).await;
    assert_eq!(seeds["resultSizeEstimate"], 3);
}
