//! What the embedded broker bounds, with bounds small enough to reach, and how it ends.
//! Its protocol is tested next to the real server's, in the command line crate.

use std::time::Duration;

use callmark_reference::broker::{Broker, BrokerConfig};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(20);

async fn start(config: BrokerConfig) -> Broker {
    Broker::start(config).await.expect("a free loopback port")
}

async fn connect(broker: &Broker) -> TcpStream {
    TcpStream::connect(broker.address()).await.expect("the broker listens")
}

async fn send(client: &mut TcpStream, text: &str) {
    client.write_all(text.as_bytes()).await.expect("the broker reads");
}

/// Reads until this text was seen, and returns everything up to and including it.
async fn read_until(client: &mut TcpStream, end: &str) -> String {
    let read = async {
        let mut seen = Vec::new();
        while !seen.ends_with(end.as_bytes()) {
            seen.push(client.read_u8().await.expect("the connection stays open"));
        }
        String::from_utf8(seen).expect("text")
    };
    timeout(DEADLINE, read).await.expect("the text arrives in time")
}

/// Reads to the end of the connection, which a reset is as well.
async fn is_closed(client: &mut TcpStream) -> bool {
    let mut scratch = vec![0; 1 << 16];
    let end = async { while client.read(&mut scratch).await.is_ok_and(|count| count > 0) {} };
    timeout(DEADLINE, end).await.is_ok()
}

/// A subscriber to `flood` that does not read after it was confirmed.
async fn sleeper(broker: &Broker) -> TcpStream {
    let mut sleeper = connect(broker).await;
    send(&mut sleeper, "CONNECT {\"verbose\":false}\r\nSUB flood 1\r\nPING\r\n").await;
    read_until(&mut sleeper, "PONG\r\n").await;
    sleeper
}

/// Publishes this many megabytes to `flood` and returns when the broker has read them all.
async fn flood(broker: &Broker, megabytes: usize) {
    let mut publisher = connect(broker).await;
    send(&mut publisher, "CONNECT {\"verbose\":false}\r\n").await;
    let message = format!("PUB flood 65536\r\n{}\r\n", "x".repeat(65536));
    for _ in 0..megabytes * 16 {
        timeout(DEADLINE, publisher.write_all(message.as_bytes()))
            .await
            .expect("a publisher is never stalled by a subscriber")
            .expect("the broker reads");
    }
    send(&mut publisher, "PING\r\n").await;
    read_until(&mut publisher, "PONG\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_too_much_pending_is_cut_off_and_others_are_not() {
    let config = BrokerConfig { max_pending: 1 << 20, ..BrokerConfig::default() };
    let broker = start(config).await;
    let mut bystander = connect(&broker).await;
    let mut sleeper = sleeper(&broker).await;
    // Beyond the bound and whatever the system's socket buffers take.
    flood(&broker, 32).await;
    assert!(is_closed(&mut sleeper).await);
    send(&mut bystander, "PING\r\n").await;
    read_until(&mut bystander, "PONG\r\n").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_cut_off_at_the_deadline() {
    let config = BrokerConfig { write_deadline: Duration::from_millis(50), ..BrokerConfig::default() };
    let broker = start(config).await;
    let mut sleeper = sleeper(&broker).await;
    flood(&broker, 32).await;
    // Were it not cut off, reading on would bring all of it and then wait for more.
    let mut watcher = connect(&broker).await;
    send(&mut watcher, "CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\n").await;
    send(&mut watcher, "SUB gone 1\r\n").await;
    let cut_off = async {
        loop {
            // Nobody is subscribed to `flood` any more once the status comes.
            send(&mut watcher, "PUB flood gone 0\r\n\r\nPING\r\n").await;
            if read_until(&mut watcher, "PONG\r\n").await.contains("503") {
                return;
            }
        }
    };
    timeout(DEADLINE, cut_off).await.expect("the sleeper is cut off in time");
    assert!(is_closed(&mut sleeper).await);
}

#[tokio::test]
async fn the_largest_payload_passes_and_one_byte_more_does_not() {
    let broker = start(BrokerConfig { max_payload: 8, ..BrokerConfig::default() }).await;
    let mut client = connect(&broker).await;
    let info = read_until(&mut client, "\r\n").await;
    assert!(info.contains("\"max_payload\":8"), "{info}");
    send(&mut client, "CONNECT {\"verbose\":false}\r\nSUB a 1\r\nPUB a 8\r\n12345678\r\n").await;
    let seen = read_until(&mut client, "12345678\r\n").await;
    assert_eq!(seen, "MSG a 1 8\r\n12345678\r\n");
    send(&mut client, "PUB a 9\r\n123456789\r\n").await;
    let seen = read_until(&mut client, "\r\n").await;
    assert_eq!(seen, "-ERR 'Maximum Payload Violation'\r\n");
    assert!(is_closed(&mut client).await);
}

#[tokio::test]
async fn shutting_down_closes_every_connection_and_the_port() {
    let broker = start(BrokerConfig::default()).await;
    let address = broker.address();
    assert_eq!(broker.url(), format!("nats://{address}"));
    let mut client = connect(&broker).await;
    read_until(&mut client, "\r\n").await;
    broker.shutdown().await;
    assert!(is_closed(&mut client).await);
    TcpStream::connect(address).await.expect_err("nobody listens any more");
}

#[tokio::test]
async fn dropping_closes_every_connection() {
    let broker = start(BrokerConfig::default()).await;
    let mut client = connect(&broker).await;
    read_until(&mut client, "\r\n").await;
    drop(broker);
    assert!(is_closed(&mut client).await);
}

/// Order and completeness at the rate that the broker was built for, in the small.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_messages_arrive_in_order() {
    const COUNT: u32 = 100_000;
    let broker = start(BrokerConfig::default()).await;
    let mut subscriber = connect(&broker).await;
    send(&mut subscriber, "CONNECT {\"verbose\":false}\r\nSUB a.* 1\r\nPING\r\n").await;
    read_until(&mut subscriber, "PONG\r\n").await;
    let mut publisher = connect(&broker).await;
    send(&mut publisher, "CONNECT {\"verbose\":false}\r\n").await;
    let publish = tokio::spawn(async move {
        let lines = (0..COUNT).map(|number| format!("PUB a.b 6\r\n{number:06}\r\n"));
        let text = lines.collect::<String>();
        send(&mut publisher, &text).await;
        // Kept open until everything is read: closing is the test's to decide.
        publisher
    });
    let receive = async {
        let mut frame = [0; "MSG a.b 1 6\r\n000000\r\n".len()];
        let mut subscriber = tokio::io::BufReader::new(subscriber);
        for number in 0..COUNT {
            subscriber.read_exact(&mut frame).await.expect("the connection stays open");
            assert_eq!(frame.as_slice(), format!("MSG a.b 1 6\r\n{number:06}\r\n").as_bytes());
        }
    };
    timeout(DEADLINE, receive).await.expect("everything arrives in time");
    publish.await.expect("the publisher ends well");
}
