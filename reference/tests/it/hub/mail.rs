//! The mail tools, against the stand-in.

use callmark_reference::hub::fixtures;
use serde_json::{Value, json};

use super::support::TestHub;

async fn run(test_hub: &TestHub, tool: &str, inputs: Value) -> Value {
    test_hub.execute(tool, fixtures::CONNECTED, inputs).await.result().clone()
}

#[tokio::test]
async fn a_search_finds_what_was_asked_for_and_no_more() {
    let test_hub = TestHub::new().await;
    let found =
        run(&test_hub, "email_search", json!({"query": "from:ana@orchid.example subject:harvest"})).await;
    assert_eq!(found["total_results"], 3);
    let expect = json!({
        "message_id": "msg-harvest-2", "thread_id": "thread-sheet", "from": "ana@orchid.example",
        "to": ["connected@orchid.example"], "subject": "Harvest numbers",
        "snippet": "The numbers are in the sheet.", "date": "2026-03-03T09:30:00Z", "has_attachments": true,
    });
    assert_eq!(found["messages"][1], expect);
    assert_eq!(found["messages"][0]["has_attachments"], false);
    let one = run(
        &test_hub,
        "email_search",
        json!({"query": "subject:harvest", "max_results": 1, "include_body": true}),
    )
    .await;
    assert_eq!(one["messages"].as_array().map(Vec::len), Some(1));
    assert_eq!(one["messages"][0]["body"], "We could begin on the 9th.");
    assert!(one["total_results"].as_u64().is_some_and(|total| total > 1));
    let none = run(&test_hub, "email_search", json!({"query": "nothing like this"})).await;
    assert_eq!(none, json!({"messages": [], "total_results": 0}));
}

#[tokio::test]
async fn a_message_is_read_and_marked_only_if_that_is_asked_for() {
    let test_hub = TestHub::new().await;
    let unread =
        async || run(&test_hub, "email_search", json!({"query": "is:unread"})).await["total_results"].clone();
    let before = unread().await;
    let expect = json!({
        "message_id": "msg-harvest-2", "thread_id": "thread-sheet", "from": "ana@orchid.example",
        "to": ["connected@orchid.example"], "subject": "Harvest numbers",
        "body": "The numbers are in the sheet.", "date": "2026-03-03T09:30:00Z",
        "attachments": [{
            "filename": "plan.ods", "size": 2048,
            "mime_type": "application/vnd.oasis.opendocument.spreadsheet",
        }],
    });
    let id = fixtures::MESSAGE_WITH_ATTACHMENT_ID;
    let read = run(&test_hub, "email_read", json!({"message_id": id, "mark_as_read": false})).await;
    assert_eq!(read, expect);
    assert_eq!(unread().await, before);
    run(&test_hub, "email_read", json!({"message_id": id, "mark_as_read": true})).await;
    assert_ne!(unread().await, before);
    let unknown =
        test_hub.execute("email_read", fixtures::CONNECTED, json!({"message_id": "msg-none"})).await;
    assert_eq!(unknown.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn replies_are_of_others_of_the_thread_and_new() {
    let test_hub = TestHub::new().await;
    let check = async |thread: &str, since: &str| {
        run(&test_hub, "email_check_replies", json!({"thread_id": thread, "since": since})).await
    };
    let bo = json!({
        "message_id": "msg-harvest-1-bo", "from": "bo@orchid.example", "snippet": "Fine with me.",
        "date": "2026-03-03T10:15:00Z",
    });
    let none = json!({"has_new_replies": false, "replies": []});
    assert_eq!(
        check(fixtures::THREAD_ID, "2026-03-01T00:00:00Z").await,
        json!({"has_new_replies": true, "replies": [bo]})
    );
    assert_eq!(check(fixtures::THREAD_ID, "2026-03-03T10:15:00Z").await, none);
    assert_eq!(check(fixtures::THREAD_ID, "2026-03-03T12:00:00+02:00").await["has_new_replies"], true);
    assert_eq!(check(fixtures::THREAD_WITHOUT_REPLIES_ID, "2020-01-01T00:00:00Z").await, none);
    let other = check(fixtures::OTHER_THREAD_ID, "2020-01-01T00:00:00Z").await;
    assert_eq!(other["replies"][0]["message_id"], "msg-seeds-2");
    let unknown = test_hub
        .execute(
            "email_check_replies",
            fixtures::CONNECTED,
            json!({"thread_id": "none", "since": "2020-01-01T00:00:00Z"}),
        )
        .await;
    assert_eq!(unknown.code(), (404, "NOT_FOUND"));
}

#[tokio::test]
async fn a_mail_that_was_sent_can_be_found_read_and_answered() {
    let test_hub = TestHub::new().await;
    let mail = json!({
        "to": ["bo@orchid.example"], "cc": [], "bcc": [], "subject": "Über zwei Punkte",
        "body": "<p>Grüße</p>", "body_type": "html", "reply_to_message_id": null,
    });
    let sent = run(&test_hub, "email_send", mail).await;
    assert_eq!(sent["status"], "sent");
    let read = run(&test_hub, "email_read", json!({"message_id": sent["message_id"]})).await;
    assert_eq!(read["subject"], "Über zwei Punkte");
    assert_eq!(read["body"].as_str().map(str::trim), Some("<p>Grüße</p>"));
    assert_eq!(read["thread_id"], sent["thread_id"]);
    let answer = json!({
        "to": ["bo@orchid.example"], "subject": "Re: Über zwei Punkte", "body": "More",
        "reply_to_message_id": sent["message_id"],
    });
    let answered = run(&test_hub, "email_send", answer).await;
    assert_eq!(answered["thread_id"], sent["thread_id"]);
    assert_ne!(answered["message_id"], sent["message_id"]);
    let unknown = json!({
        "to": ["bo@orchid.example"], "subject": "Re", "body": "", "reply_to_message_id": "msg-none",
    });
    let unknown = test_hub.execute("email_send", fixtures::CONNECTED, unknown).await;
    assert_eq!(unknown.code(), (404, "NOT_FOUND"));
}
