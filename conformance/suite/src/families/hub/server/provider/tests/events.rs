use serde_json::json;

use super::*;

fn review() -> Value {
    json!({
        "summary": "Review of seeds m1", "description": "Two points", "location": "Room 4",
        "start": {"dateTime": "2031-03-06T15:00:00+01:00", "timeZone": "Europe/Madrid"},
        "end": {"dateTime": "2031-03-06T15:30:00+01:00", "timeZone": "Europe/Madrid"},
        "attendees": [{"email": "ana@orchid.example"}, {"email": "bo@orchid.example"}],
    })
}

fn path(event: &Value) -> String {
    format!("{EVENTS}/{}", event["id"].as_str().expect("an id"))
}

#[tokio::test]
async fn an_event_is_made_as_asked() {
    let fixture = ProviderFixture::start().await;
    let transcript = fixture.follow("m1");
    let (status, event) = fixture.post(&format!("{EVENTS}?sendUpdates=none"), review()).await;
    assert_eq!(status, 200);
    let id = event["id"].as_str().expect("an id");
    assert!(id.len() == 26 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'v')), "{id}");
    assert!(event["htmlLink"].as_str().is_some_and(|link| link.starts_with("https://")));
    assert_eq!(event["status"], "confirmed");
    assert_eq!(event["attendees"][1], json!({"email": "bo@orchid.example", "responseStatus": "needsAction"}));
    for name in ["created", "updated", "organizer", "etag", "iCalUID"] {
        assert!(!event[name].is_null(), "{name}");
    }
    assert_eq!(fixture.good(&path(&event)).await, event);
    assert_eq!(
        effect(&transcript),
        json!({
            "effect": "event", "notifies": false, "request": review(), "account": "connected",
            "event": {
                "title": "Review of seeds m1", "start": "2031-03-06T15:00:00+01:00",
                "end": "2031-03-06T15:30:00+01:00", "description": "Two points", "location": "Room 4",
                "attendees": ["ana@orchid.example", "bo@orchid.example"],
            },
        })
    );
    let frame = &transcript.frames()[0];
    assert_eq!(frame.channel, format!("POST {EVENTS}?sendUpdates=none"));
    assert_eq!(frame.headers.len(), 1);
}

#[tokio::test]
async fn the_switch_for_notifications_is_seen() {
    let fixture = ProviderFixture::start().await;
    for (switch, expected) in [
        ("?sendUpdates=all", json!(true)),
        ("?sendUpdates=externalOnly", json!(true)),
        ("?sendUpdates=none", json!(false)),
        ("?sendNotifications=true", json!(true)),
        ("?sendNotifications=False", json!(false)),
        ("?sendUpdates=none&sendNotifications=true", json!(false)),
        ("", Value::Null),
    ] {
        let transcript = fixture.follow("m1");
        let (_, event) = fixture.post(&format!("{EVENTS}{switch}"), review()).await;
        assert_eq!(effect(&transcript)["notifies"], expected, "{switch}");
        let place = path(&event);
        let transcript = fixture.follow("m1");
        fixture.call(Method::PATCH, &format!("{place}{switch}"), &json!({"location": "x"})).await;
        assert_eq!(effect(&transcript)["notifies"], expected, "{switch}");
        let transcript = fixture.follow("m1");
        let (status, body) = fixture.call(Method::DELETE, &format!("{place}{switch}"), &Value::Null).await;
        assert_eq!((status, body), (204, json!("")));
        let expected = json!({
            "effect": "delete", "notifies": expected, "event_id": event["id"], "account": "connected",
        });
        assert_eq!(effect(&transcript), expected);
    }
    assert_eq!(fixture.post(&format!("{EVENTS}?sendUpdates=some"), review()).await.0, 400);
}

#[tokio::test]
async fn patch_keeps_what_is_not_named_and_put_replaces() {
    let fixture = ProviderFixture::start().await;
    fixture.follow("m1");
    let (_, event) = fixture.post(EVENTS, review()).await;
    let transcript = fixture.follow("m1");
    let (status, patched) =
        fixture.call(Method::PATCH, &path(&event), &json!({"summary": "Moved m1", "location": null})).await;
    assert_eq!(status, 200);
    assert_eq!(patched["start"], event["start"]);
    assert_eq!(patched["attendees"], event["attendees"]);
    assert_ne!(patched["etag"], event["etag"]);
    assert_eq!(patched["created"], event["created"]);
    let seen = effect(&transcript)["event"].clone();
    assert_eq!(seen["title"], "Moved m1");
    assert_eq!(seen["description"], "Two points");
    assert_eq!(seen["location"], Value::Null);
    assert_eq!(seen["start"], "2031-03-06T15:00:00+01:00");

    let transcript = fixture.follow("m1");
    let times = json!({
        "start": {"dateTime": "2031-03-06T16:00:00Z"}, "end": {"dateTime": "2031-03-06T16:30:00Z"},
    });
    let (status, put) = fixture.call(Method::PUT, &path(&event), &times).await;
    assert_eq!(status, 200);
    assert_eq!(put["id"], event["id"]);
    assert!(put.get("summary").is_none() && put.get("attendees").is_none(), "{put}");
    assert_eq!(put["start"]["dateTime"], "2031-03-06T17:00:00+01:00");
    let seen = effect(&transcript)["event"].clone();
    assert_eq!((&seen["title"], &seen["start"]), (&Value::Null, &json!("2031-03-06T16:00:00Z")));
    let (status, body) = fixture.call(Method::PUT, &path(&event), &json!({"summary": "no times"})).await;
    assert_eq!((status, reason(&body)), (400, "required"));
}

#[tokio::test]
async fn a_patch_may_turn_hours_into_days_and_back() {
    let fixture = ProviderFixture::start().await;
    fixture.follow("m1");
    let (_, event) = fixture.post(EVENTS, review()).await;
    let days = json!({"start": {"date": "2031-03-08"}, "end": {"date": "2031-03-09"}});
    let (status, changed) = fixture.call(Method::PATCH, &path(&event), &days).await;
    assert_eq!((status, &changed["start"]), (200, &json!({"date": "2031-03-08"})));
    let local =
        |hour: &str| json!({"dateTime": format!("2031-07-08T{hour}:00:00"), "timeZone": "Europe/Madrid"});
    let transcript = fixture.follow("m1");
    let hours = json!({"start": local("10"), "end": local("11")});
    assert_eq!(fixture.call(Method::PATCH, &path(&event), &hours).await.0, 200);
    assert_eq!(effect(&transcript)["event"]["start"], "2031-07-08T10:00:00+02:00");
    // Only one end of it: the other is still a time of day.
    let (status, _) =
        fixture.call(Method::PATCH, &path(&event), &json!({"end": {"date": "2031-07-09"}})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn an_event_that_is_gone_cannot_be_changed() {
    let fixture = ProviderFixture::start().await;
    let (_, event) = fixture.post(EVENTS, review()).await;
    assert_eq!(fixture.call(Method::DELETE, &path(&event), &Value::Null).await.0, 204);
    for (place, expected) in [(path(&event), 410), (format!("{EVENTS}/nosuchevent"), 404)] {
        for method in [Method::GET, Method::PATCH, Method::PUT, Method::DELETE] {
            let body = if method == Method::GET { Value::Null } else { json!({}) };
            assert_eq!(fixture.call(method, &place, &body).await.0, expected);
        }
    }
    let other = fixture.learn(Customer::Other, "two").await;
    let spare = fixture.provider.fixtures().event_id.expect("an event");
    assert_eq!(fixture.get(&format!("{EVENTS}/{spare}")).await.0, 200);
    assert_eq!(other.get(&format!("{EVENTS}/{spare}")).await.0, 404, "accounts are apart");
}

#[tokio::test]
async fn events_that_make_no_sense_are_refused() {
    let fixture = ProviderFixture::start().await;
    let with = |name: &str, value: Value| {
        let mut event = review();
        event[name] = value;
        event
    };
    for (event, expected) in [
        (json!({"summary": "x"}), "required"),
        (json!([]), "parseError"),
        (with("end", Value::Null), "required"),
        (with("end", json!({"dateTime": "2031-03-06T14:00:00+01:00"})), "timeRangeEmpty"),
        (with("end", json!({"date": "2031-03-07"})), "invalid"),
        (with("start", json!({"dateTime": "2031-03-06T15:00:00"})), "required"),
        (with("start", json!({"dateTime": "soon"})), "invalid"),
        (with("start", json!("2031-03-06T15:00:00Z")), "required"),
        (with("attendees", json!(["ana@orchid.example"])), "required"),
        (with("attendees", json!([{"email": "ana"}])), "invalid"),
        (with("id", json!("NOT base32")), "invalid"),
    ] {
        let (status, body) = fixture.post(EVENTS, event.clone()).await;
        assert_eq!((status, reason(&body)), (400, expected), "{event}");
    }
}

#[tokio::test]
async fn a_change_meant_for_an_earlier_state_is_refused() {
    let fixture = ProviderFixture::start().await;
    let (_, event) = fixture.post(EVENTS, with_id("mine7")).await;
    assert_eq!(event["id"], "mine7");
    assert_eq!(fixture.post(EVENTS, with_id("mine7")).await.0, 409);
    let patch = |tag: &str| {
        let request = fixture.request(&Method::PATCH, &path(&event)).header("if-match", tag);
        answer(request.json(&json!({"location": "x"})))
    };
    let tag = event["etag"].as_str().expect("a tag");
    assert_eq!(patch(tag).await.0, 200);
    assert_eq!(patch(tag).await.0, 412);
    assert_eq!(patch("*").await.0, 200);
}

fn with_id(id: &str) -> Value {
    let mut event = review();
    event["id"] = json!(id);
    event
}
