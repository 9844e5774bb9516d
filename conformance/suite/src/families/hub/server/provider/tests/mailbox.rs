use serde_json::json;

use super::*;

fn ids(answer: &Value, list: &str) -> Vec<String> {
    let items = answer[list].as_array().cloned().unwrap_or_default();
    items.iter().map(|item| item["id"].as_str().unwrap_or_default().to_owned()).collect()
}

fn header(message: &Value, name: &str) -> String {
    let headers = message["payload"]["headers"].as_array().cloned().unwrap_or_default();
    let found = headers.iter().find(|header| header["name"] == name);
    found.and_then(|header| header["value"].as_str()).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_fixtures_are_there() {
    let fixture = ProviderFixture::start().await;
    let fixtures = fixture.provider.fixtures();
    let id = |id: Option<String>| id.expect("a fixture");
    let message = fixture.good(&format!("{MESSAGES}/{}", id(fixtures.message_id))).await;
    assert_eq!(message["payload"]["mimeType"], "text/plain");
    assert!(header(&message, "Subject").contains(&id(fixtures.subject_word)));
    assert!(header(&message, "From").contains(&id(fixtures.sender.clone())));
    let text = decoded(&message["payload"]["body"]["data"]);
    assert!(text.starts_with("Hello,"), "{text}");
    assert!(message["internalDate"].as_str().is_some_and(|date| date.parse::<i64>().is_ok()));

    let with_file = fixture.good(&format!("{MESSAGES}/{}", id(fixtures.message_with_attachment_id))).await;
    let file = &with_file["payload"]["parts"][1];
    assert_eq!((&file["filename"], &file["body"]["size"]), (&json!("plan.ods"), &json!(2048)));
    assert_eq!(file["mimeType"], "application/vnd.oasis.opendocument.spreadsheet");
    assert_eq!(file["partId"], "1");
    let second = &with_file["payload"]["parts"][2];
    assert_eq!((&second["filename"], &second["body"]["size"]), (&json!("rows 4-7.csv"), &json!(97)));
    let attached = file["body"]["attachmentId"].as_str().expect("an id");
    let place = format!("{MESSAGES}/{}/attachments/{attached}", with_file["id"].as_str().expect("an id"));
    let content = fixture.good(&place).await;
    assert_eq!(content["size"], 2048);
    assert!(decoded(&content["data"]).starts_with("PK\u{3}\u{4}mimetype"));

    for (thread, replies) in
        [(fixtures.thread_id, 2), (fixtures.other_thread_id, 1), (fixtures.thread_without_replies_id, 0)]
    {
        let thread = fixture.good(&format!("/gmail/v1/users/me/threads/{}", id(thread))).await;
        let messages = thread["messages"].as_array().expect("messages");
        assert_eq!(messages.len(), replies + 1);
        assert!(header(&messages[0], "From").contains("@garden.example"));
        let dates: Vec<&str> = messages.iter().filter_map(|each| each["internalDate"].as_str()).collect();
        assert!(dates.is_sorted());
    }
    let harvest = fixture.good(&format!("{MESSAGES}?q=from:{}", id(fixtures.sender))).await;
    assert_eq!(harvest["messages"].as_array().map(Vec::len), Some(3));
    let event = fixture.good(&format!("{EVENTS}/{}", id(fixtures.event_id))).await;
    assert_eq!(event["status"], "confirmed");
}

#[tokio::test]
async fn messages_are_nested_answer_others_and_go_to_several() {
    let fixture = ProviderFixture::start().await;
    let seeded = |subject: &str| fixture.provider.seeded(subject).expect("a message");
    let [id, thread_id] = seeded("Re: Heating");
    let answer = fixture.good(&format!("{MESSAGES}/{id}")).await;
    assert_eq!(answer["threadId"], Value::from(thread_id.clone()));
    assert_ne!(id, thread_id);
    let numbers = fixture.good(&format!("{MESSAGES}/{}", seeded("Numbers")[0])).await;
    assert_eq!(header(&numbers, "To"), "connected@garden.example, \"Reed, Cleo\" <cleo@fern.example>");
    let plan = fixture.good(&format!("{MESSAGES}/{}", seeded("The plan")[0])).await;
    let both = &plan["payload"]["parts"][0];
    let kinds = both["parts"].as_array().expect("parts").iter().map(|part| &part["mimeType"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["text/plain", "text/html"]);
    assert!(decoded(&both["parts"][0]["body"]["data"]).starts_with("The plan is attached"));
}

#[tokio::test]
async fn ids_are_the_same_in_every_run_and_look_like_theirs() {
    let (first, second) = (ProviderFixture::start().await, ProviderFixture::start().await);
    let (first, second) = (first.provider.fixtures(), second.provider.fixtures());
    assert_eq!(first.message_id, second.message_id);
    assert_eq!(first.event_id, second.event_id);
    let id = first.message_id.expect("an id");
    assert!(id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
}

#[tokio::test]
async fn mails_are_listed_newest_first_in_pages() {
    let fixture = ProviderFixture::start().await;
    let all = fixture.good(MESSAGES).await;
    assert_eq!(all["resultSizeEstimate"], 11);
    let first = fixture.good(&format!("{MESSAGES}?maxResults=4")).await;
    let token = first["nextPageToken"].as_str().expect("more");
    let second = fixture.good(&format!("{MESSAGES}?maxResults=400&pageToken={token}")).await;
    assert_eq!([ids(&first, "messages"), ids(&second, "messages")].concat(), ids(&all, "messages"));
    let none = fixture.good(&format!("{MESSAGES}?q=subject:nothinglikeit")).await;
    assert_eq!(none, json!({"resultSizeEstimate": 0}));
    let unread = fixture.good(&format!("{MESSAGES}?labelIds=UNREAD&labelIds=INBOX")).await;
    assert_eq!(ids(&unread, "messages").len(), 4);
    let threads = fixture.good("/gmail/v1/users/me/threads").await;
    assert_eq!(ids(&threads, "threads").len(), 8);
    assert_eq!(fixture.get(&format!("{MESSAGES}?maxResults=many")).await.0, 400);
}

#[tokio::test]
async fn a_mail_is_shown_in_four_formats() {
    let fixture = ProviderFixture::start().await;
    let id = fixture.provider.fixtures().message_id.expect("an id");
    let place = format!("{MESSAGES}/{id}");
    let minimal = fixture.good(&format!("{place}?format=minimal")).await;
    assert!(minimal.get("payload").is_none());
    assert!(minimal["snippet"].as_str().is_some_and(|snippet| snippet.starts_with("Hello, the first")));
    let two = "metadataHeaders=Subject&metadataHeaders=from";
    let metadata = fixture.good(&format!("{place}?format=metadata&{two}")).await;
    let names: Vec<&Value> = metadata["payload"]["headers"].as_array().expect("headers").iter().collect();
    assert_eq!(names.len(), 2);
    assert!(metadata["payload"].get("body").is_none());
    let raw = fixture.good(&format!("{place}?format=RAW")).await;
    assert!(decoded(&raw["raw"]).contains("\r\nSubject: First thoughts on the harvest\r\n"));
    assert_eq!(fixture.get(&format!("{place}?format=other")).await.0, 400);
}

#[tokio::test]
async fn labels_change_and_are_seen() {
    let fixture = ProviderFixture::start().await;
    let delivered = fixture.provider.deliver("m1", "m1");
    let id = &delivered.message_id;
    let place = format!("{MESSAGES}/{id}");
    let read = json!({"removeLabelIds": ["UNREAD"]});
    let seen = |added: Value, removed: Value| json!({"effect": "labels", "message_id": id, "added": added, "removed": removed, "account": "connected"});

    let transcript = fixture.follow("m1");
    assert!(
        fixture.good(&place).await["labelIds"].as_array().is_some_and(|all| all.contains(&json!("UNREAD")))
    );
    let (status, body) = fixture.post(&format!("{place}/modify"), read.clone()).await;
    assert_eq!((status, &body["labelIds"]), (200, &json!(["INBOX"])));
    assert_eq!(bodies(&transcript)[0], json!({"effect": "read", "request": null, "account": "connected"}));
    assert_eq!(effect(&transcript), seen(json!([]), json!(["UNREAD"])));

    let transcript = fixture.follow("m1");
    let batch = json!({"ids": [id], "addLabelIds": ["STARRED", "Label_1"]});
    assert_eq!(fixture.post(&format!("{MESSAGES}/batchModify"), batch).await.0, 204);
    assert_eq!(effect(&transcript), seen(json!(["STARRED", "Label_1"]), json!([])));

    let transcript = fixture.follow("m1");
    let thread = format!("/gmail/v1/users/me/threads/{}/modify", delivered.thread_id);
    assert_eq!(fixture.post(&thread, json!({"addLabelIds": ["UNREAD"]})).await.0, 200);
    assert_eq!(effect(&transcript), seen(json!(["UNREAD"]), json!([])));

    let transcript = fixture.follow("m1");
    assert_eq!(fixture.post(&format!("{place}/trash"), Value::Null).await.0, 200);
    assert_eq!(effect(&transcript), seen(json!(["TRASH"]), json!(["INBOX"])));
    assert_eq!(fixture.good(&format!("{MESSAGES}?q=m1")).await["resultSizeEstimate"], 0);
    assert_eq!(
        fixture.good(&format!("{MESSAGES}?q=m1&includeSpamTrash=true")).await["resultSizeEstimate"],
        1
    );

    assert_eq!(fixture.post(&format!("{place}/modify"), json!({"addLabelIds": ["Nothing"]})).await.0, 400);
    assert_eq!(fixture.post(&format!("{place}/modify"), json!({"addLabelIds": "INBOX"})).await.0, 400);
    assert_eq!(fixture.post(&format!("{place}/modify"), json!({})).await.0, 400);
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let fixture = ProviderFixture::start().await;
    let users = "/gmail/v1/users/me";
    for (path, expected) in [
        (format!("{MESSAGES}/19ffffffffffffff"), 404),
        (format!("{MESSAGES}/no-such-mail"), 400),
        (format!("{users}/threads/19ffffffffffffff"), 404),
        (format!("{users}/labels/Nothing"), 404),
        (format!("{users}/drafts/r1"), 404),
        (format!("{users}/history"), 404),
        ("/batch/gmail/v1".to_owned(), 404),
        ("/".to_owned(), 404),
    ] {
        let (status, body) = fixture.get(&path).await;
        assert_eq!(status, expected, "{path}");
        assert_eq!(body["error"]["code"], expected, "{path}");
    }
    let labels = fixture.good(&format!("{users}/labels")).await;
    assert!(
        labels["labels"].as_array().is_some_and(|labels| labels.iter().any(|label| label["id"] == "INBOX"))
    );
    let own = fixture.good("/gmail/v1/users/somebody%40garden.example/profile").await;
    assert_eq!(own["emailAddress"], "connected@garden.example");
}

#[tokio::test]
async fn several_requests_come_in_one() {
    let fixture = ProviderFixture::start().await;
    let message = fixture.provider.fixtures().message_id.expect("a message");
    let labels = json!({"addLabelIds": ["STARRED"]}).to_string();
    let body = format!(
        "--b\r\nContent-Type: application/http\r\nContent-ID: <a + 1>\r\n\r\n\
         GET {MESSAGES}/{message}?format=minimal HTTP/1.1\r\nAccept: application/json\r\n\r\n\r\n\
         --b\r\nContent-Type: application/http\r\nContent-ID: <a + 2>\r\n\r\n\
         POST {MESSAGES}/{message}/modify\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{labels}\r\n\
         --b\r\nContent-Type: application/http\r\n\r\nGET {MESSAGES}/19ffffffffffffff\r\n\r\n\
         --b\r\nContent-Type: application/http\r\n\r\n\r\n--b--\r\n",
        labels.len()
    );
    let request = fixture.request(&Method::POST, "/batch/gmail/v1");
    let request = request.header("content-type", "multipart/mixed; boundary=\"b\"").body(body);
    let (status, answer) = super::answer(request).await;
    let text = answer.as_str().expect("a text");
    let statuses: Vec<&str> =
        text.split("HTTP/1.1 ").skip(1).filter_map(|answer| answer.split(' ').next()).collect();
    assert_eq!((status, statuses), (200, vec!["200", "200", "404", "400"]), "{text}");
    assert!(text.contains("Content-ID: <response-a + 1>\r\n"), "{text}");
    let read = fixture.good(&format!("{MESSAGES}/{message}")).await;
    assert!(read["labelIds"].as_array().is_some_and(|labels| labels.contains(&json!("STARRED"))), "{read}");
    assert_eq!(fixture.post("/batch/gmail/v1", json!({})).await.0, 400);
}
