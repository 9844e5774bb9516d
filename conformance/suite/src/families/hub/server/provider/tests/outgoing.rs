use serde_json::json;

use super::*;

const TEXT: &str = "To: Bo <bo@orchid.example>, ana@orchid.example\r\nCc: c@x.example\r\nBcc: d@x.example\r\n\
    Subject: =?utf-8?B?w4RwZmVsIG0x?=\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset=\"utf-8\"\r\n\
    Content-Transfer-Encoding: quoted-printable\r\n\r\nHi,=20\r\nsee b=C3=A9low.\r\n";

async fn mail_of(fixture: &ProviderFixture, raw: &str) -> Value {
    let transcript = fixture.follow("m1");
    let (status, body) = fixture.send(raw, None).await;
    assert_eq!(status, 200, "{body}");
    effect(&transcript)["mail"].clone()
}

#[tokio::test]
async fn a_mail_is_taken_apart() {
    let fixture = ProviderFixture::start().await;
    assert_eq!(
        mail_of(&fixture, TEXT).await,
        json!({
            "to": ["bo@orchid.example", "ana@orchid.example"], "cc": ["c@x.example"], "bcc": ["d@x.example"],
            "subject": "Äpfel m1", "body": "Hi, \nsee bélow.", "body_type": "text",
            "thread_id": null, "in_reply_to": null,
        })
    );
}

#[tokio::test]
async fn texts_come_in_three_kinds() {
    let fixture = ProviderFixture::start().await;
    let head = "To: bo@orchid.example\r\nSubject: m1\r\nMIME-Version: 1.0\r\n";
    let html = mail_of(&fixture, &format!("{head}Content-Type: text/html\r\n\r\n<p>Hi</p>\r\n")).await;
    assert_eq!((&html["body"], &html["body_type"]), (&json!("<p>Hi</p>"), &json!("html")));
    let parts = "--b\r\nContent-Type: text/plain\r\n\r\nHi\r\n--b\r\nContent-Type: text/html\r\n\
        Content-Transfer-Encoding: base64\r\n\r\nPHA+SGk8L3A+\r\n--b--\r\n";
    let both = format!("{head}Content-Type: multipart/alternative; boundary=b\r\n\r\n{parts}");
    let both = mail_of(&fixture, &both).await;
    assert_eq!(
        (&both["body"], &both["body_html"], &both["body_type"]),
        (&json!("Hi"), &json!("<p>Hi</p>"), &json!("both"))
    );
    // A mail with nothing but headers, written with bare line feeds.
    let bare = mail_of(&fixture, "To: bo@orchid.example\nSubject: m1\n\n").await;
    assert_eq!((&bare["body"], &bare["body_type"]), (&json!(""), &json!("text")));
}

#[tokio::test]
async fn what_was_sent_can_be_read() {
    let fixture = ProviderFixture::start().await;
    let (_, sent) = fixture.send(TEXT, None).await;
    assert_eq!(sent["labelIds"], json!(["SENT"]));
    assert_eq!(sent["id"], sent["threadId"]);
    let id = sent["id"].as_str().expect("an id");
    let message = fixture.good(&format!("{MESSAGES}/{id}")).await;
    let headers = message["payload"]["headers"].as_array().expect("headers");
    let value = |name: &str| {
        headers.iter().find(|header| header["name"] == name).map(|header| header["value"].clone())
    };
    assert_eq!(value("Subject"), Some(json!("Äpfel m1")));
    assert_eq!(value("From"), Some(json!("connected@garden.example")));
    assert!(value("Message-ID").is_some() && value("Date").is_some());
    assert_eq!(message["snippet"], "Hi, see bélow.");
}

#[tokio::test]
async fn replies_join_the_thread_of_what_they_answer() {
    let fixture = ProviderFixture::start().await;
    let (_, first) = fixture.send(TEXT, None).await;
    let place = format!(
        "{MESSAGES}/{}?format=metadata&metadataHeaders=Message-ID",
        first["id"].as_str().expect("id")
    );
    let message_id = fixture.good(&place).await["payload"]["headers"][0]["value"].clone();
    let message_id = message_id.as_str().expect("an id");
    let transcript = fixture.follow("m1");
    let reply =
        format!("To: bo@orchid.example\r\nSubject: Re: m1\r\nIn-Reply-To: {message_id}\r\n\r\nYes\r\n");
    let (_, by_header) = fixture.send(&reply, None).await;
    assert_eq!(by_header["threadId"], first["threadId"]);
    assert_ne!(by_header["id"], first["id"]);
    let mail = effect(&transcript)["mail"].clone();
    assert_eq!(mail["in_reply_to"], message_id.trim_matches(['<', '>']));
    assert_eq!(mail["thread_id"], Value::Null);
    let references = format!("To: bo@orchid.example\r\nReferences: <a@b>\r\n {message_id}\r\n\r\nYes\r\n");
    assert_eq!(fixture.send(&references, None).await.1["threadId"], first["threadId"]);

    let transcript = fixture.follow("m1");
    let thread = first["threadId"].as_str().expect("an id");
    let (_, by_id) = fixture.send("To: bo@orchid.example\r\nSubject: m1\r\n\r\nAnd\r\n", Some(thread)).await;
    assert_eq!(by_id["threadId"], first["threadId"]);
    assert_eq!(effect(&transcript)["mail"]["thread_id"], first["threadId"]);
    assert_eq!(fixture.send(TEXT, Some("19ffffffffffffff")).await.0, 404);
}

#[tokio::test]
async fn mails_are_uploaded() {
    let fixture = ProviderFixture::start().await;
    let thread = fixture.provider.fixtures().thread_id.expect("a thread");
    let upload = |kind: &str, content_type: &str, body: String| {
        let request = fixture.request(&Method::POST, &format!("/upload{MESSAGES}/send?uploadType={kind}"));
        answer(request.header("content-type", content_type).body(body))
    };
    let transcript = fixture.follow("m1");
    let (status, body) = upload("media", "message/rfc822", TEXT.to_owned()).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(effect(&transcript)["mail"]["bcc"], json!(["d@x.example"]));

    let transcript = fixture.follow("m1");
    let parts = format!(
        "--=b 1=\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{{\"threadId\":\"{thread}\"}}\r\n\
         --=b 1=\r\nContent-Type: message/rfc822\r\n\r\n{TEXT}\r\n--=b 1=--\r\n"
    );
    let (status, body) = upload("multipart", "multipart/related; boundary=\"=b 1=\"", parts).await;
    assert_eq!((status, &body["threadId"]), (200, &json!(thread)), "{body}");
    let mail = effect(&transcript)["mail"].clone();
    assert_eq!((&mail["thread_id"], &mail["body"]), (&json!(thread), &json!("Hi, \nsee bélow.")));

    let transcript = fixture.follow("m1");
    let begun = fixture.request(&Method::POST, &format!("/upload{MESSAGES}/send?uploadType=resumable"));
    let begun = begun.json(&json!({"threadId": thread})).send().await.expect("an answer");
    let location = begun.headers()["location"].to_str().expect("an address").to_owned();
    let mail = fixture.client.put(location).header("content-type", "message/rfc822").body(TEXT);
    let (status, body) = answer(mail).await;
    assert_eq!((status, &body["threadId"]), (200, &json!(thread)), "{body}");
    assert_eq!(effect(&transcript)["mail"]["bcc"], json!(["d@x.example"]));
    let unknown = fixture.request(&Method::PUT, &format!("/upload{MESSAGES}/send?upload_id=none"));
    assert_eq!(answer(unknown.body(TEXT)).await.0, 404);
}

#[tokio::test]
async fn drafts_are_made_and_sent() {
    let fixture = ProviderFixture::start().await;
    let drafts = "/gmail/v1/users/me/drafts";
    let transcript = fixture.follow("m1");
    let made = json!({"message": {"raw": URL_SAFE.encode(TEXT)}});
    let (status, draft) = fixture.post(drafts, made.clone()).await;
    assert_eq!((status, &draft["message"]["labelIds"]), (200, &json!(["DRAFT"])));
    assert!(bodies(&transcript).iter().all(|body| body["effect"] == "read"), "nothing was sent yet");
    let shown = fixture.good(&format!("{drafts}/{}", draft["id"].as_str().expect("an id"))).await;
    assert_eq!(shown["message"]["id"], draft["message"]["id"]);
    let (status, sent) = fixture.post(&format!("{drafts}/send"), json!({"id": draft["id"]})).await;
    assert_eq!((status, &sent["labelIds"]), (200, &json!(["SENT"])));
    assert_eq!(effect(&transcript)["mail"]["subject"], "Äpfel m1");
    assert_eq!(fixture.post(&format!("{drafts}/send"), json!({"id": draft["id"]})).await.0, 404);
    assert_eq!(fixture.good(drafts).await["drafts"], json!([]));
    let transcript = fixture.follow("m1");
    assert_eq!(fixture.post(&format!("{drafts}/send"), made).await.0, 200);
    assert_eq!(effect(&transcript)["effect"], "mail");
}

#[tokio::test]
async fn what_is_no_mail_is_not_sent() {
    let fixture = ProviderFixture::start().await;
    let send = format!("{MESSAGES}/send");
    for body in
        [json!({}), json!({"raw": ""}), json!({"raw": "?!"}), json!({"raw": 5}), json!({"message": TEXT})]
    {
        assert_eq!(fixture.post(&send, body.clone()).await.0, 400, "{body}");
    }
    let (status, body) = fixture.send("Subject: nobody\r\n\r\nHi\r\n", None).await;
    assert_eq!((status, &body["error"]["message"]), (400, &json!("Recipient address required")));
    // The other alphabet and missing padding are fine.
    let standard = base64::engine::general_purpose::STANDARD.encode(TEXT);
    assert_eq!(fixture.post(&send, json!({"raw": standard})).await.0, 200);
}
