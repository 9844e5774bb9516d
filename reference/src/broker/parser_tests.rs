//! Laws and examples of the parser. The expected verdicts were taken from `nats-server` 2.9.10
//! and 2.15.1.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const MAX_PAYLOAD: usize = 64;

/// Everything that a parser returns for these bytes, and how it ended.
type Parsed = (Vec<Operation>, Option<Violation>);

fn parse(chunks: &[&[u8]]) -> Parsed {
    let mut parser = Parser::new(MAX_PAYLOAD);
    let mut buffer = BytesMut::new();
    let mut operations = Vec::new();
    for chunk in chunks {
        buffer.extend_from_slice(chunk);
        loop {
            match parser.next(&mut buffer) {
                Ok(Some(operation)) => operations.push(operation),
                Ok(None) => break,
                Err(violation) => return (operations, Some(violation)),
            }
        }
    }
    (operations, None)
}

fn check(input: &str, expect: Vec<Operation>) {
    assert_eq!(parse(&[input.as_bytes()]), (expect, None), "{input:?}");
}

fn check_violation(input: &str, expect: Violation) {
    assert_eq!(parse(&[input.as_bytes()]), (Vec::new(), Some(expect)), "{input:?}");
}

fn text(text: &str) -> Bytes {
    Bytes::copy_from_slice(text.as_bytes())
}

fn message(subject: &str, reply: Option<&str>, headers: Option<usize>, body: &str) -> Operation {
    Operation::Publish(Message {
        subject: text(subject),
        reply: reply.map(text),
        header_length: headers,
        body: text(body),
    })
}

fn subscription(subject: &str, queue: Option<&str>, sid: &str) -> Operation {
    Operation::Subscribe { subject: text(subject), queue: queue.map(text), sid: text(sid) }
}

fn end(sid: &str, max: Option<u64>) -> Operation {
    Operation::Unsubscribe { sid: text(sid), max }
}

#[test]
fn every_operation_is_read() {
    check("CONNECT {\"a\":1} \r\n", vec![Operation::Connect(text("{\"a\":1}"))]);
    check("PING\r\nPING with words\r\n", vec![Operation::Ping, Operation::Ping]);
    check("PONG\r\n+OK\r\nINFO {}\r\n", vec![Operation::Pong, Operation::Pong, Operation::Pong]);
    check(
        "SUB a.* 1\r\nSUB a q s-2\r\n",
        vec![subscription("a.*", None, "1"), subscription("a", Some("q"), "s-2")],
    );
    check(
        "UNSUB 1\r\nUNSUB 1 5\r\nUNSUB 1 x\r\nUNSUB 1 0\r\n",
        vec![end("1", None), end("1", Some(5)), end("1", None), end("1", None)],
    );
    check(
        "PUB a 2\r\nhi\r\nPUB a r 0\r\n\r\n",
        vec![message("a", None, None, "hi"), message("a", Some("r"), None, "")],
    );
    check(
        "HPUB a r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n",
        vec![message("a", Some("r"), Some(12), "NATS/1.0\r\n\r\nhi")],
    );
    check("-ERR 'x'\r\n", vec![Operation::Farewell]);
}

#[test]
fn case_blanks_and_bare_line_feeds_are_tolerated_as_by_the_real_server() {
    check("ping\nsub\ta  1 \n", vec![Operation::Ping, subscription("a", None, "1")]);
    check("pub a \t 1\nx\r\n", vec![message("a", None, None, "x")]);
}

#[test]
fn what_is_no_operation_ends_the_connection() {
    for input in ["FOO\r\n", "\r\n", " PING\r\n", "\0\u{ff}\r\n", "GET / HTTP/1.1\r\n", "UNSUB\r\n"] {
        check_violation(input, Violation::UnknownOperation);
    }
    for input in ["PUB a 1\r\nxyz", "PUB a 1\nx\n\n", "MSG a 1 1\r\nx\r\n"] {
        check_violation(input, Violation::UnknownOperation);
    }
}

#[test]
fn impossible_arguments_end_the_connection() {
    for input in [
        "PUB\r\n",
        "PUB a\r\n",
        "PUB a x\r\n",
        "PUB a -1\r\n",
        "PUB a b c 1\r\n",
        "PUB a b c d e f 1\r\n",
        "PUB a 9999999999\r\n",
        "HPUB a 1\r\n",
        "HPUB a 20 12\r\n",
        "SUB a\r\n",
        "SUB a b c d\r\n",
        "UNSUB 1 2 3\r\n",
    ] {
        check_violation(input, Violation::Malformed);
    }
}

#[test]
fn limits_are_exact() {
    let body = "x".repeat(MAX_PAYLOAD);
    let largest = format!("PUB a {MAX_PAYLOAD}\r\n{body}\r\n");
    check(&largest, vec![message("a", None, None, &body)]);
    check_violation(&format!("PUB a {}\r\n", MAX_PAYLOAD + 1), Violation::PayloadTooLarge);

    let subject = "s".repeat(MAX_CONTROL_LINE - "SUB  1".len());
    check(&format!("SUB {subject} 1\r\n"), vec![subscription(&subject, None, "1")]);
    check_violation(&format!("SUB {subject}s 1\r\n"), Violation::ControlLineTooLong);
    check_violation(&"s".repeat(MAX_CONTROL_LINE + 2), Violation::ControlLineTooLong);
}

#[test]
fn the_hint_says_what_the_body_lacks() {
    let mut parser = Parser::new(MAX_PAYLOAD);
    let mut buffer = BytesMut::from(&b"PUB a 10\r\nabc"[..]);
    assert_eq!(parser.missing(0), 0);
    assert_eq!(parser.next(&mut buffer), Ok(None));
    assert_eq!(parser.missing(buffer.len()), 9);
}

/// Input that is mostly protocol, so that the interesting branches are reached.
fn protocol_like() -> impl Strategy<Value = Vec<u8>> {
    let word = "[a-c.*>]{1,4}";
    let piece = prop_oneof![
        Just(b"PING\r\n".to_vec()),
        Just(b"CONNECT {}\r\n".to_vec()),
        word.prop_map(|subject| format!("SUB {subject} 1\r\n").into_bytes()),
        (word, 0_usize..70).prop_map(|(subject, length)| {
            format!("PUB {subject} {length}\r\n{}\r\n", "p".repeat(length)).into_bytes()
        }),
        (word, word, "[a-z\r\n]{0,20}").prop_map(|(subject, reply, payload)| {
            let total = 12 + payload.len();
            format!("HPUB {subject} {reply} 12 {total}\r\nNATS/1.0\r\n\r\n{payload}\r\n").into_bytes()
        }),
        vec(any::<u8>(), 0..6),
        "[A-Z]{2,4} [a-z0-9 ]{0,9}\r\n".prop_map(String::into_bytes),
    ];
    vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn chunked(bytes: &[u8], sizes: &[usize]) -> Parsed {
    let mut rest = bytes;
    let mut chunks = Vec::new();
    for size in sizes.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (chunk, after) = rest.split_at((*size).min(rest.len()));
        chunks.push(chunk);
        rest = after;
    }
    parse(&chunks)
}

proptest! {
    #[test]
    fn chunking_changes_nothing(bytes in protocol_like(), sizes in vec(1_usize..9, 1..6)) {
        prop_assert_eq!(chunked(&bytes, &sizes), parse(&[&bytes]));
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in vec(any::<u8>(), 0..6000), size in 1_usize..5000) {
        prop_assert_eq!(chunked(&bytes, &[size]), parse(&[&bytes]));
    }
}
