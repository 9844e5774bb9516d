//! The contract on the wire: what no client library lets one do, and the exact frames.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::{on_each_broker, within};

/// The options of a client that reads everything.
const CONNECT: &str =
    "CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true,\"no_responders\":true}\r\n";

/// A connection that speaks bytes.
struct Wire(BufReader<TcpStream>);

impl Wire {
    /// Connects and reads `INFO`.
    async fn open(url: &str) -> (Self, String) {
        let address = url.strip_prefix("nats://").expect("a NATS URL");
        let stream = within("connecting", TcpStream::connect(address)).await;
        let mut wire = Self(BufReader::new(stream.expect("the broker listens")));
        let info = wire.read_until("\r\n").await;
        (wire, info)
    }

    async fn connected(url: &str) -> Self {
        let (mut wire, _) = Self::open(url).await;
        wire.send(CONNECT).await;
        wire
    }

    async fn send(&mut self, text: &str) {
        within("sending", self.0.write_all(text.as_bytes())).await.expect("the broker reads");
    }

    async fn read_until(&mut self, end: &str) -> String {
        let mut seen = Vec::new();
        let read = async {
            while !seen.ends_with(end.as_bytes()) {
                seen.push(self.0.read_u8().await.expect("the connection stays open"));
            }
        };
        within(end.trim_end(), read).await;
        String::from_utf8_lossy(&seen).into_owned()
    }

    /// Everything that the broker says up to and including its answer to a `PING` sent now.
    async fn received(&mut self) -> String {
        self.send("PING\r\n").await;
        let received = self.read_until("PONG\r\n").await;
        without_pings(received.trim_end_matches("PONG\r\n"))
    }

    /// Everything until the broker closes; a reset is a close.
    async fn last_words(&mut self) -> String {
        let mut seen = Vec::new();
        let mut scratch = vec![0; 1 << 16];
        let read = async {
            while let Ok(count @ 1..) = self.0.read(&mut scratch).await {
                seen.extend_from_slice(&scratch[..count.min(1 << 10)]);
            }
        };
        within("the close", read).await;
        without_pings(&String::from_utf8_lossy(&seen))
    }
}

/// A broker may ask for a sign of life at any time.
fn without_pings(received: &str) -> String {
    received.replace("PING\r\n", "")
}

async fn info(url: &str) {
    let (_wire, info) = Wire::open(url).await;
    for expect in ["INFO {", "\"headers\":true", "\"max_payload\":1048576", "\"proto\":1", "\"client_id\":"] {
        assert!(info.contains(expect), "no {expect} in {info}");
    }
}

async fn frames(url: &str) {
    let mut wire = Wire::connected(url).await;
    wire.send("SUB a.b 1\r\nPUB a.b 2\r\nhi\r\n").await;
    assert_eq!(wire.received().await, "MSG a.b 1 2\r\nhi\r\n");
    wire.send("pub\ta.b  re.ply 0\n\r\n").await;
    assert_eq!(wire.received().await, "MSG a.b 1 re.ply 0\r\n\r\n");
    wire.send("HPUB a.b re 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n").await;
    assert_eq!(wire.received().await, "HMSG a.b 1 re 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n");
    wire.send("SUB a.b 1\r\nSUB c 1\r\nPUB c 0\r\n\r\n").await;
    assert_eq!(wire.received().await, "", "a sid in use keeps its subscription");
    wire.send("UNSUB 1\r\nUNSUB 77\r\nPUB a.b 2\r\nhi\r\n").await;
    assert_eq!(wire.received().await, "");
}

async fn verbose_is_acknowledged(url: &str) {
    let (mut wire, _) = Wire::open(url).await;
    wire.send("CONNECT {\"verbose\":true,\"pedantic\":false}\r\n").await;
    wire.send("SUB v 1\r\nPUB v 1\r\nx\r\nUNSUB 1\r\n").await;
    let received = wire.received().await;
    assert_eq!(received, "+OK\r\n+OK\r\n+OK\r\nMSG v 1 1\r\nx\r\n+OK\r\n");
}

async fn a_client_without_headers_gets_the_payload_alone(url: &str) {
    let (mut plain, _) = Wire::open(url).await;
    plain.send("CONNECT {\"verbose\":false}\r\nSUB strip 1\r\n").await;
    plain.received().await;
    let mut sender = Wire::connected(url).await;
    sender.send("HPUB strip 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n").await;
    assert_eq!(plain.read_until("hi\r\n").await, "MSG strip 1 2\r\nhi\r\n");
}

async fn unsubscribe_with_a_maximum(url: &str) {
    let mut wire = Wire::connected(url).await;
    wire.send("SUB m 1\r\nPUB m 1\r\n1\r\nUNSUB 1 2\r\nPUB m 1\r\n2\r\nPUB m 1\r\n3\r\n").await;
    assert_eq!(wire.received().await, "MSG m 1 1\r\n1\r\nMSG m 1 1\r\n2\r\n");
    wire.send("SUB m 2\r\nPUB m 1\r\n4\r\nUNSUB 2 1\r\nPUB m 1\r\n5\r\n").await;
    assert_eq!(wire.received().await, "MSG m 2 1\r\n4\r\n", "the maximum was reached already");
}

async fn echo_can_be_switched_off(url: &str) {
    let (mut quiet, _) = Wire::open(url).await;
    quiet.send("CONNECT {\"verbose\":false,\"echo\":false}\r\nSUB e 1\r\nSUB e q 2\r\n").await;
    quiet.received().await;
    let mut other = Wire::connected(url).await;
    other.send("SUB e 1\r\n").await;
    other.received().await;
    quiet.send("PUB e 4\r\nmine\r\n").await;
    assert_eq!(quiet.received().await, "");
    assert_eq!(other.read_until("mine\r\n").await, "MSG e 1 4\r\nmine\r\n");
    other.send("PUB e 5\r\nyours\r\n").await;
    other.received().await;
    let received = quiet.received().await;
    assert_eq!(received.matches("yours\r\n").count(), 2, "{received}");
}

async fn no_responders_is_a_status(url: &str) {
    let mut wire = Wire::connected(url).await;
    wire.send("SUB re.* 9\r\nPUB nobody re.1 1\r\nx\r\n").await;
    let received = wire.received().await;
    // Newer servers add the subject as a header.
    assert!(received.starts_with("HMSG re.1 9 ") && received.contains("NATS/1.0 503\r\n"), "{received}");
    wire.send("PUB nobody 1\r\nx\r\nSUB somebody 1\r\nPUB somebody re.2 1\r\nx\r\n").await;
    assert_eq!(wire.received().await, "MSG somebody 1 re.2 1\r\nx\r\n");

    let (mut without, _) = Wire::open(url).await;
    without.send("CONNECT {\"verbose\":false}\r\nSUB re 9\r\nPUB nobody re 1\r\nx\r\n").await;
    assert_eq!(without.received().await, "", "only a client that asked for it is notified");

    let (mut impossible, _) = Wire::open(url).await;
    impossible.send("CONNECT {\"no_responders\":true}\r\n").await;
    let words = impossible.last_words().await;
    assert_eq!(words, "-ERR 'no responders requires headers support'\r\n");
}

async fn malformed_input_ends_the_connection(url: &str) {
    let too_long = format!("SUB {} 1\r\n", "a".repeat(5000));
    let cases: [(&str, &[&str]); 12] = [
        ("FOO bar\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        ("\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        ("\0\u{1}\u{2}\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        ("GET / HTTP/1.1\r\n\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        ("PUB a 1\r\nxyz\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        ("MSG a 1 1\r\nx\r\n", &["-ERR 'Unknown Protocol Operation'\r\n"]),
        (&too_long, &["-ERR 'maximum control line exceeded'\r\n"]),
        // Here the real server closes without a word, or says what it says to the above.
        ("PUB a\r\n", &["", "-ERR 'Parser Error'\r\n"]),
        ("PUB a x\r\n", &["", "-ERR 'Parser Error'\r\n"]),
        ("SUB a\r\n", &["", "-ERR 'Parser Error'\r\n"]),
        ("HPUB a 20 12\r\n", &["", "-ERR 'Parser Error'\r\n"]),
        ("CONNECT {no json\r\n", &["", "-ERR 'Parser Error'\r\n"]),
    ];
    for (input, expect) in cases {
        let mut wire = Wire::connected(url).await;
        assert_eq!(wire.received().await, "", "alive before {input:?}");
        wire.send(input).await;
        let words = wire.last_words().await;
        // A reset may swallow the words; the close is what counts.
        assert!(words.is_empty() || expect.contains(&words.as_str()), "{input:?}: {words:?}");
    }
    let mut survivor = Wire::connected(url).await;
    assert_eq!(survivor.received().await, "");
}

async fn an_oversize_payload_ends_the_connection(url: &str) {
    let mut wire = Wire::connected(url).await;
    wire.send("SUB big 1\r\nPUB big 1048576\r\n").await;
    wire.send(&"x".repeat(1_048_576)).await;
    wire.send("\r\n").await;
    let received = wire.received().await;
    assert_eq!(received.len(), "MSG big 1 1048576\r\n\r\n".len() + 1_048_576, "the largest passes");
    wire.send("PUB big 1048577\r\n").await;
    assert_eq!(wire.last_words().await, "-ERR 'Maximum Payload Violation'\r\n");
}

async fn an_invalid_subject_is_refused_and_the_connection_stays(url: &str) {
    let mut wire = Wire::connected(url).await;
    for subject in ["a..b", ".a", "a.", "a.>.b", ">.a"] {
        wire.send(&format!("SUB {subject} 1\r\n")).await;
        assert_eq!(wire.received().await, "-ERR 'Invalid Subject'\r\n", "`{subject}`");
    }
    wire.send("SUB > 1\r\nPUB a..b 1\r\nx\r\n").await;
    assert_eq!(wire.received().await, "", "what has an empty token reaches nobody");

    let (mut pedantic, _) = Wire::open(url).await;
    pedantic.send("CONNECT {\"verbose\":false,\"pedantic\":true}\r\nPUB a.* 1\r\nx\r\n").await;
    assert_eq!(pedantic.received().await, "-ERR 'Invalid Publish Subject'\r\n");
}

/// A subscriber that stops to read is cut off, and one that reads misses nothing meanwhile.
async fn a_slow_consumer_is_cut_off_and_stalls_nobody(url: &str) {
    // Beyond the 64 MiB that may be pending and what the system's socket buffers take.
    const MESSAGES: usize = 200;
    const SIZE: usize = 512 * 1024;
    let mut sleeper = Wire::connected(url).await;
    sleeper.send("SUB slow 1\r\n").await;
    sleeper.received().await;
    let mut reader = Wire::connected(url).await;
    reader.send("SUB slow 1\r\n").await;
    reader.received().await;

    let (read, mut acknowledged) = mpsc::channel(1);
    let reading = tokio::spawn(async move {
        let mut body = vec![0; SIZE + 2];
        for _ in 0..MESSAGES {
            while !reader.read_until("\r\n").await.starts_with("MSG slow 1 ") {}
            within("a message", reader.0.read_exact(&mut body)).await.expect("it stays connected");
            read.send(()).await.expect("the publisher waits for it");
        }
    });
    let mut publisher = Wire::connected(url).await;
    let message = format!("PUB slow {SIZE}\r\n{}\r\n", "x".repeat(SIZE));
    for _ in 0..MESSAGES {
        publisher.send(&message).await;
        // In step with the reader, so that only the sleeper is slow.
        within("the reader", acknowledged.recv()).await.expect("the reader goes on");
    }
    within("the reader's end", reading).await.expect("the reader missed nothing");
    assert_eq!(publisher.received().await, "");
    // Were it not cut off, it would read everything, wait for more and miss the deadline.
    sleeper.last_words().await;
}

/// One test for each check, named like it.
macro_rules! contract {
    ($($check:ident)*) => {
        mod wire_contract {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $check() {
                super::on_each_broker(super::$check).await;
            })*
        }
    };
}

contract! {
    info
    frames
    verbose_is_acknowledged
    a_client_without_headers_gets_the_payload_alone
    unsubscribe_with_a_maximum
    echo_can_be_switched_off
    no_responders_is_a_status
    malformed_input_ends_the_connection
    an_oversize_payload_ends_the_connection
    an_invalid_subject_is_refused_and_the_connection_stays
    a_slow_consumer_is_cut_off_and_stalls_nobody
}
