//! The contract as a client library sees it, at its default options.

use std::collections::BTreeMap;

use async_nats::{Client, HeaderMap, Message, RequestErrorKind, Subscriber};
use futures::StreamExt as _;

use super::{on_each_broker, within};

async fn connect(url: &str) -> Client {
    within("connecting", Box::pin(async_nats::connect(url))).await.expect("the broker accepts clients")
}

async fn subscribe(client: &Client, subject: &'static str) -> Subscriber {
    client.subscribe(subject).await.expect("the subject is valid")
}

/// Returns once the broker has acted on everything that the client has sent so far.
async fn settle(client: &Client) {
    // A request is answered (here: nobody listens) only after all that was sent before it.
    let nobody = within("the answer", client.request("contract.nobody", "".into())).await;
    nobody.expect_err("nobody listens");
}

async fn publish(client: &Client, subject: &'static str, payload: &str) {
    client.publish(subject, payload.to_owned().into()).await.expect("the client is connected");
}

async fn next(subscriber: &mut Subscriber) -> Message {
    within("a message", subscriber.next()).await.expect("the subscription goes on")
}

/// The payloads up to and including `end`, which was published last.
async fn payloads_until(subscriber: &mut Subscriber, end: &str) -> Vec<String> {
    let mut payloads = Vec::new();
    loop {
        let message = next(subscriber).await;
        let payload = String::from_utf8(message.payload.to_vec()).expect("text");
        if payload == end {
            return payloads;
        }
        payloads.push(payload);
    }
}

async fn publish_and_subscribe(url: &str) {
    let (alice, bob) = (connect(url).await, connect(url).await);
    let mut inbox = subscribe(&bob, "contract.plain").await;
    settle(&bob).await;
    publish(&alice, "contract.other", "not for bob").await;
    publish(&alice, "contract.plain", "hello").await;
    publish(&alice, "contract.plain", "").await;
    let (first, second) = (next(&mut inbox).await, next(&mut inbox).await);
    assert_eq!(first.subject.as_str(), "contract.plain");
    assert_eq!(first.payload, "hello");
    assert_eq!(first.reply, None);
    assert!(second.payload.is_empty());
}

async fn wildcards(url: &str) {
    let client = connect(url).await;
    let cases: [(&'static str, &[&str]); 5] = [
        ("wild.*.b", &["1"]),
        ("wild.a.*", &["1", "2"]),
        ("wild.>", &["1", "2", "3", "4"]),
        ("wild.*.*.c", &["3"]),
        ("*.a", &["4"]),
    ];
    let mut subscribers = Vec::new();
    for (pattern, expect) in cases {
        subscribers.push((pattern, expect, subscribe(&client, pattern).await));
    }
    for (subject, payload) in [("wild.a.b", "1"), ("wild.a.d", "2"), ("wild.x.b.c", "3"), ("wild.a", "4")] {
        publish(&client, subject, payload).await;
    }
    settle(&client).await;
    for (pattern, expect, mut subscriber) in subscribers {
        for payload in expect {
            assert_eq!(next(&mut subscriber).await.payload, *payload, "`{pattern}`");
        }
        subscriber.unsubscribe().await.expect("the client is connected");
        let excess = within("the end", subscriber.next()).await;
        assert!(excess.is_none(), "`{pattern}` got {excess:?}");
    }
}

async fn queue_groups(url: &str) {
    const MESSAGES: usize = 60;
    let publisher = connect(url).await;
    let mut members = Vec::new();
    for queue in ["red", "red", "red", "blue", "blue"] {
        let client = connect(url).await;
        let member = client.queue_subscribe("queue.work", queue.to_owned()).await;
        settle(&client).await;
        members.push((queue, client, member.expect("the subject is valid")));
    }
    let mut witness = subscribe(&publisher, "queue.*").await;
    for number in 0..MESSAGES {
        publish(&publisher, "queue.work", &number.to_string()).await;
    }
    for number in 0..MESSAGES {
        assert_eq!(next(&mut witness).await.payload, number.to_string());
    }
    // The witness has seen all, so all is routed, and each member's queue holds its share.
    let mut given: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (queue, client, mut member) in members {
        settle(&client).await;
        member.unsubscribe().await.expect("the client is connected");
        let mut count = 0;
        while let Some(message) = within("the rest", member.next()).await {
            let number = std::str::from_utf8(&message.payload).ok().and_then(|n| n.parse().ok());
            given.entry(queue).or_default().push(number.expect("a number"));
            count += 1;
        }
        assert!(count > 0, "a member of `{queue}` never had a turn");
    }
    for (queue, mut numbers) in given {
        numbers.sort_unstable();
        let all: Vec<usize> = (0..MESSAGES).collect();
        assert_eq!(numbers, all, "every message reaches exactly one member of `{queue}`");
    }
}

async fn headers(url: &str) {
    let client = connect(url).await;
    let mut inbox = subscribe(&client, "headers.a").await;
    let mut sent = HeaderMap::new();
    sent.insert("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    sent.append("Tag", "one");
    sent.append("Tag", "two: with a colon");
    client
        .publish_with_headers("headers.a", sent.clone(), "body\r\nwith a line end".into())
        .await
        .expect("the client is connected");
    let message = next(&mut inbox).await;
    assert_eq!(message.headers, Some(sent));
    assert_eq!(message.payload, "body\r\nwith a line end");
}

async fn request_and_reply(url: &str) {
    let (asker, answerer) = (connect(url).await, connect(url).await);
    let mut questions = subscribe(&answerer, "ask.echo").await;
    settle(&answerer).await;
    let answering = tokio::spawn(async move {
        for _ in 0..20 {
            let question = next(&mut questions).await;
            let reply = question.reply.expect("a request has a reply subject");
            answerer.publish(reply, question.payload).await.expect("the client is connected");
        }
        settle(&answerer).await;
    });
    let ask = |number: usize| {
        let asker = asker.clone();
        async move { (number, asker.request("ask.echo", number.to_string().into()).await) }
    };
    for (number, answer) in within("all answers", futures::future::join_all((0..20).map(ask))).await {
        assert_eq!(answer.expect("it is answered").payload, number.to_string());
    }
    within("the answerer's end", answering).await.expect("the answerer ends well");
}

async fn no_responders(url: &str) {
    let client = connect(url).await;
    let nobody = within("the answer", client.request("ask.nobody", "".into())).await;
    assert_eq!(nobody.expect_err("nobody listens").kind(), RequestErrorKind::NoResponders);

    let listener = subscribe(&client, "ask.somebody").await;
    settle(&client).await;
    drop(listener);
    // Dropping unsubscribes in the background; what matters is that it is noticed at all.
    let gone = async {
        loop {
            let request = async_nats::Request::new()
                .payload("".into())
                .timeout(Some(std::time::Duration::from_millis(50)));
            match client.send_request("ask.somebody", request).await {
                Err(error) if error.kind() == RequestErrorKind::NoResponders => return,
                Err(error) => assert_eq!(error.kind(), RequestErrorKind::TimedOut),
                Ok(message) => panic!("nobody answers, but {message:?}"),
            }
        }
    };
    within("the end of the subscription", gone).await;
}

async fn unsubscribe_after(url: &str) {
    let client = connect(url).await;
    let mut counted = subscribe(&client, "count.a").await;
    let mut all = subscribe(&client, "count.*").await;
    publish(&client, "count.a", "1").await;
    assert_eq!(next(&mut counted).await.payload, "1");
    counted.unsubscribe_after(3).await.expect("the client is connected");
    for payload in ["2", "3", "4", "5", "end"] {
        publish(&client, "count.a", payload).await;
    }
    assert_eq!(payloads_until(&mut all, "end").await, ["1", "2", "3", "4", "5"]);
    assert_eq!(next(&mut counted).await.payload, "2");
    assert_eq!(next(&mut counted).await.payload, "3");
    let fourth = within("the end", counted.next()).await;
    assert!(fourth.is_none(), "the maximum is three, but {fourth:?}");
}

async fn order_is_kept(url: &str) {
    const MESSAGES: usize = 20_000;
    let (publisher, subscriber) = (connect(url).await, connect(url).await);
    let mut literal = subscribe(&subscriber, "order.a").await;
    let mut wild = subscribe(&subscriber, "order.>").await;
    settle(&subscriber).await;
    let publishing = tokio::spawn(async move {
        for number in 0..MESSAGES {
            // Sizes on both sides of whatever a broker treats as large.
            let padding = if number % 500 == 0 { 40_000 } else { number % 50 };
            let payload = format!("{number} {}", "x".repeat(padding));
            publisher.publish("order.a", payload.into()).await.expect("the client is connected");
        }
        publisher.flush().await.expect("the client is connected");
    });
    for number in 0..MESSAGES {
        for subscriber in [&mut literal, &mut wild] {
            let payload = next(subscriber).await.payload;
            let text = std::str::from_utf8(&payload).expect("text");
            assert_eq!(text.split(' ').next(), Some(number.to_string().as_str()));
        }
    }
    within("the publisher's end", publishing).await.expect("the publisher ends well");
}

/// One test for each check, named like it.
macro_rules! contract {
    ($($check:ident)*) => {
        mod client_contract {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::on_each_broker(super::$check).await;
            })*
        }
    };
}

contract! {
    publish_and_subscribe
    wildcards
    queue_groups
    headers
    request_and_reply
    no_responders
    unsubscribe_after
    order_is_kept
}
