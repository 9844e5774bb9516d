//! What arrives at the provider: events and mails as they were asked for.

use base64::Engine as _;
use callmark_reference::hub::fixtures;
use mail_parser::MessageParser;
use serde_json::{Value, json};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, ResponseTemplate};

use super::support::{TestHub, answering, body, free_busy};

const SENT: &str = "/gmail/v1/users/me/messages/send";

async fn last(provider: &MockServer) -> Request {
    provider.received_requests().await.expect("recording").pop().expect("a request")
}

fn json_of(request: &Request) -> Value {
    serde_json::from_slice(&request.body).expect("JSON")
}

#[tokio::test]
async fn events_are_made_as_asked_and_people_notified_only_if_asked() {
    let event = json!({"id": "ev", "htmlLink": "https://cal.test/e/ev", "status": "confirmed"});
    let provider = answering(ResponseTemplate::new(200).set_body_json(event)).await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    let asked = json!({
        "title": "Seed review", "start": "2031-03-05T15:00:00+01:00", "end": "2031-03-05T15:30:00+01:00",
        "description": "Two open points", "location": "Room 4", "attendees": ["ana@orchid.example"],
    });
    for (notify, expect) in [
        (json!(true), "sendUpdates=all"),
        (json!(false), "sendUpdates=none"),
        (Value::Null, "sendUpdates=none"),
    ] {
        let mut creation = asked.clone();
        creation["send_notifications"] = notify.clone();
        test_hub.execute("calendar_create_event", fixtures::CONNECTED, creation).await.result();
        let request = last(&provider).await;
        assert_eq!(request.method.as_str(), "POST");
        assert_eq!(request.url.path(), "/calendar/v3/calendars/primary/events");
        assert_eq!(request.url.query(), Some(expect));
        assert_eq!(request.headers["authorization"], "Bearer access-connected");
        let made = json!({
            "summary": "Seed review", "start": {"dateTime": "2031-03-05T15:00:00+01:00"},
            "end": {"dateTime": "2031-03-05T15:30:00+01:00"}, "description": "Two open points",
            "location": "Room 4", "attendees": [{"email": "ana@orchid.example"}],
        });
        assert_eq!(json_of(&request), made);

        let update =
            json!({"event_id": "ev/9?Q", "updates": {"title": "Moved"}, "send_notifications": notify});
        test_hub.execute("calendar_update_event", fixtures::CONNECTED, update).await.result();
        let request = last(&provider).await;
        assert_eq!((request.method.as_str(), request.url.query()), ("PATCH", Some(expect)));
        assert_eq!(request.url.path(), "/calendar/v3/calendars/primary/events/ev%2F9%3FQ");
        assert_eq!(json_of(&request), json!({"summary": "Moved"}));

        let deletion = json!({"event_id": "ev", "send_notifications": notify});
        test_hub.execute("calendar_delete_event", fixtures::CONNECTED, deletion).await.result();
        let request = last(&provider).await;
        assert_eq!((request.method.as_str(), request.url.query()), ("DELETE", Some(expect)));
    }
}

#[tokio::test]
async fn free_busy_is_asked_for_whole_days_of_the_zone() {
    let provider = answering(ResponseTemplate::new(200).set_body_json(free_busy(&json!([])))).await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    let check = async |inputs: Value, expect: Value| {
        test_hub.execute("calendar_get_availability", fixtures::CONNECTED, inputs).await.result();
        assert_eq!(json_of(&last(&provider).await), expect);
    };
    // Clocks go forward on the 30th.
    check(
        json!({"start_date": "2031-03-29", "end_date": "2031-03-30", "timezone": "Europe/Madrid"}),
        json!({
            "timeMin": "2031-03-29T00:00:00+01:00", "timeMax": "2031-03-31T00:00:00+02:00",
            "timeZone": "Europe/Madrid", "items": [{"id": "primary"}],
        }),
    )
    .await;
    check(
        json!({"start_date": "2031-03-04", "end_date": "2031-03-04", "timezone": "UTC"}),
        json!({
            "timeMin": "2031-03-04T00:00:00+00:00", "timeMax": "2031-03-05T00:00:00+00:00",
            "timeZone": "UTC", "items": [{"id": "primary"}],
        }),
    )
    .await;
}

#[tokio::test]
async fn mails_arrive_as_they_were_written() {
    let provider =
        answering(ResponseTemplate::new(200).set_body_json(json!({"id": "m", "threadId": "t"}))).await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    for (body_type, text) in [("text", "Hi Bo,\n\nsiehe unten: Grüße 🌱\n.\n"), ("html", "<p>Grüße</p>")]
    {
        let mail = json!({
            "to": ["bo@orchid.example", "cy@orchid.example"], "cc": ["di@orchid.example"],
            "bcc": ["ed@orchid.example"], "subject": "Zwei Punkte für Áña", "body": text,
            "body_type": body_type, "reply_to_message_id": null,
        });
        test_hub.execute("email_send", fixtures::CONNECTED, mail).await.result();
        let request = last(&provider).await;
        assert_eq!(request.url.path(), SENT);
        let sent = json_of(&request);
        assert!(sent.get("threadId").is_none());
        let raw = sent["raw"].as_str().expect("a mail");
        let raw = base64::engine::general_purpose::URL_SAFE.decode(raw).expect("base64url");
        let mail = MessageParser::default().parse(&raw).expect("a mail");
        let names = |addresses: Option<&mail_parser::Address<'_>>| -> Vec<String> {
            addresses
                .into_iter()
                .flat_map(mail_parser::Address::iter)
                .filter_map(|address| address.address().map(str::to_owned))
                .collect()
        };
        assert_eq!(names(mail.from()), ["connected@orchid.example"]);
        assert_eq!(names(mail.to()), ["bo@orchid.example", "cy@orchid.example"]);
        assert_eq!(names(mail.cc()), ["di@orchid.example"]);
        assert_eq!(names(mail.bcc()), ["ed@orchid.example"]);
        assert_eq!(mail.subject(), Some("Zwei Punkte für Áña"));
        let body = if body_type == "html" { mail.body_html(0) } else { mail.body_text(0) };
        assert_eq!(body.expect("a body").replace("\r\n", "\n").trim_end(), text.trim_end());
    }
}

#[tokio::test]
async fn a_reply_names_the_mails_before_it_and_their_thread() {
    let provider = MockServer::start().await;
    let original = json!({
        "id": "m1", "threadId": "t9", "internalDate": "1930000000000",
        "payload": {"headers": [
            {"name": "Message-Id", "value": "<two@x>"}, {"name": "References", "value": "<one@x>"},
        ]},
    });
    Mock::given(method("GET"))
        .and(path("/gmail/v1/users/me/messages/m1"))
        .respond_with(ResponseTemplate::new(200).set_body_json(original))
        .mount(&provider)
        .await;
    Mock::given(method("POST"))
        .and(path(SENT))
        .respond_with(ResponseTemplate::new(200).set_body_json(json!({"id": "m2", "threadId": "t9"})))
        .mount(&provider)
        .await;
    let test_hub = TestHub::at(&provider.uri(), |_config| ()).await;
    let reply = json!({"to": ["bo@x"], "subject": "Re: Two", "body": "Yes", "reply_to_message_id": "m1"});
    let answer = test_hub.execute("email_send", fixtures::CONNECTED, reply).await;
    assert_eq!(answer.result()["thread_id"], "t9");
    assert_eq!(answer.body["metadata"]["api_calls"], 2);
    let sent = json_of(&last(&provider).await);
    assert_eq!(sent["threadId"], "t9");
    let raw = base64::engine::general_purpose::URL_SAFE
        .decode(sent["raw"].as_str().expect("a mail"))
        .expect("base64url");
    let mail = MessageParser::default().parse(&raw).expect("a mail");
    assert_eq!(mail.in_reply_to().as_text(), Some("two@x"));
    assert_eq!(mail.references().as_text_list().map(|ids| ids.join(" ")).as_deref(), Some("one@x two@x"));
}

#[tokio::test]
async fn user_and_context_may_be_left_out() {
    let test_hub = TestHub::new().await;
    for members in [&["user_id"][..], &["context"], &["user_id", "context"]] {
        let mut request = body("email_search", fixtures::CONNECTED, &json!({"query": "harvest"}));
        request.as_object_mut().expect("an object").retain(|name, _| !members.contains(&name.as_str()));
        let secret = format!("ServiceSecret {}", super::support::SECRET);
        test_hub.send(test_hub.post().header("Authorization", secret).json(&request)).await.result();
    }
}
