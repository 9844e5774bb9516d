use callmark_reports::record::Direction;
use serde_json::json;

use super::super::{Failing, ProviderFault};
use super::*;
use crate::net::wire::{SCENARIO, Wire};
use crate::transcript::{Kind, Message};

fn event(title: &str) -> Value {
    let at = |hour: &str| json!({"dateTime": format!("2031-03-06T{hour}:00:00Z")});
    json!({"summary": title, "start": at("10"), "end": at("11")})
}

#[tokio::test]
async fn requests_are_passed_on_to_those_who_follow() {
    let fixture = ProviderFixture::start().await;
    let (one, two) = (fixture.follow("run 1"), fixture.follow("run 12"));
    let (_, made) = fixture.post(EVENTS, event("Review (RUN 1)")).await;
    fixture.get(&format!("{MESSAGES}?q=subject%3A%22run+12%22&access_token=secret&key=k")).await;
    fixture.get(&format!("{EVENTS}/{}", made["id"].as_str().expect("an id"))).await;
    fixture.get(MESSAGES).await;
    let frames = one.frames();
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert_eq!(frames[0].kind, Kind::Provider);
    assert_eq!(frames[0].direction, Direction::FromTarget);
    assert_eq!(frames[0].headers.get(SCENARIO).map(String::as_str), Some("a scenario"));
    assert_eq!(frames[1].body, json!({"effect": "read", "request": null, "account": "connected"}));
    let frames = two.frames();
    assert_eq!(frames.len(), 1);
    assert_eq!(frames[0].channel, format!("GET {MESSAGES}?q=subject%3A%22run+12%22"));
    fixture.provider.forget("run 1");
    fixture.post(EVENTS, event("run 1")).await;
    fixture.get(&format!("{EVENTS}/{}", made["id"].as_str().expect("an id"))).await;
    assert_eq!(one.frames().len(), 2);
}

#[tokio::test]
async fn what_is_made_under_a_mark_belongs_to_it() {
    let fixture = ProviderFixture::start().await;
    let delivered = fixture.provider.deliver("m1", "m1");
    let transcript = fixture.follow("m1");
    let message = fixture.good(&format!("{MESSAGES}/{}", delivered.message_id)).await;
    let subject = message["payload"]["headers"].as_array().expect("headers");
    assert!(subject.iter().any(|header| header["name"] == "Subject" && header["value"] == "m1"));
    assert!(message["payload"]["headers"].to_string().contains("dora@elm.example"));
    fixture.good(&format!("/gmail/v1/users/me/threads/{}", delivered.thread_id)).await;
    // An answer that names only the thread, and the answer's own id.
    let (_, sent) = fixture.send("To: bo@orchid.example\r\n\r\nHi\r\n", Some(&delivered.thread_id)).await;
    fixture.good(&format!("{MESSAGES}/{}", sent["id"].as_str().expect("an id"))).await;
    assert_eq!(transcript.frames().len(), 4);
    // One in a thread that was there before does not make that thread its own.
    let thread = fixture.provider.fixtures().thread_id.expect("a thread");
    fixture.send("To: bo@orchid.example\r\nSubject: m1\r\n\r\nHi\r\n", Some(&thread)).await;
    fixture.good(&format!("/gmail/v1/users/me/threads/{thread}")).await;
    assert_eq!(transcript.frames().len(), 5);
    let listed = fixture.good(&format!("{MESSAGES}?q=is:unread&maxResults=1")).await;
    assert_eq!(listed["messages"][0]["id"], json!(delivered.message_id), "it is the newest");
}

#[tokio::test]
async fn a_mark_can_be_made_to_fail() {
    let fixture = ProviderFixture::start().await;
    let (_, made) = {
        fixture.follow("m1");
        fixture.post(EVENTS, event("m1")).await
    };
    let place = format!("{EVENTS}/{}", made["id"].as_str().expect("an id"));
    for (status, reason_expected) in
        [(500, "backendError"), (503, "backendError"), (429, "rateLimitExceeded"), (404, "notFound")]
    {
        fixture.provider.fail("m1", Failing::Every, ProviderFault::Status(status));
        let transcript = fixture.follow("m1");
        let (answered, body) = fixture.post(EVENTS, event("m1")).await;
        assert_eq!((answered, reason(&body)), (status, reason_expected));
        assert_eq!(fixture.get(&place).await.0, status);
        assert_eq!(bodies(&transcript)[0]["refused"], status);
        assert_eq!(fixture.post(EVENTS, event("m2")).await.0, 200);
    }
    fixture.provider.forget("m1");
    assert_eq!(fixture.get(&place).await.0, 200);
    assert_eq!(fixture.good(&format!("{EVENTS}?q=m1")).await["items"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_mark_can_be_answered_by_what_is_no_json() {
    let fixture = ProviderFixture::start().await;
    fixture.follow("m1");
    for (fault, beginning) in [(ProviderFault::Page, "<!DOCTYPE"), (ProviderFault::CutShort, "{\"kind\"")] {
        fixture.provider.fail("m1", Failing::Every, fault);
        let answer = fixture.request(&Method::POST, EVENTS).json(&event("m1")).send().await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status().as_u16(), 200);
        let text = answer.text().await.expect("a body");
        assert!(text.starts_with(beginning) && serde_json::from_str::<Value>(&text).is_err(), "{text}");
    }
    fixture.provider.fail("m1", Failing::Every, ProviderFault::Unanswered);
    assert!(fixture.request(&Method::POST, EVENTS).json(&event("m1")).send().await.is_err());
    fixture.provider.forget("m1");
    assert_eq!(fixture.good(&format!("{EVENTS}?q=m1")).await["items"].as_array().map(Vec::len), Some(0));
}

#[tokio::test]
async fn frames_pass_the_wire() {
    struct Twice;
    impl Wire for Twice {
        fn outgoing(&self, message: Message) -> Vec<Message> {
            vec![message]
        }

        fn incoming(&self, message: Message) -> Vec<Message> {
            vec![message.clone(), message]
        }
    }
    let provider = Provider::start(None, Arc::new(Twice)).await.expect("a free port");
    let fixture = ProviderFixture { provider, client: Client::new(), token: "t".to_owned() };
    let transcript = fixture.follow("m1");
    assert_eq!(fixture.post(EVENTS, event("m1")).await.0, 200);
    assert_eq!(transcript.frames().len(), 2);
    assert_eq!(fixture.good(&format!("{EVENTS}?q=m1")).await["items"].as_array().map(Vec::len), Some(1));
}
