//! Which messages pass in one direction of a NATS connection.
//!
//! Only what routes a message is read: the line of a `PUB`, `HPUB`, `MSG` or `HMSG`, and a digest of the payload that
//! follows. Of whatever else comes, TLS among it, nothing is understood and nothing is changed.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// A control line that is longer is none. Servers allow 4 KiB unless they are configured for more.
const MAX_LINE: usize = 64 * 1024;
/// A payload that is longer is none: NATS has a limit of 64 MiB.
const MAX_PAYLOAD: usize = 64 * 1024 * 1024;

/// A message that passed, and to what it was addressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) subject: String,
    /// Of subject and payload ([`digest`]).
    pub(super) digest: u64,
}

/// What a message is found by again, wherever its bytes are seen.
pub(super) fn digest(subject: &str, payload: &[u8]) -> u64 {
    let mut hasher = begun(subject);
    hasher.write(payload);
    hasher.finish()
}

fn begun(subject: &str) -> DefaultHasher {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    hasher
}

/// Reads the bytes of one direction as they come.
#[derive(Default)]
pub(super) struct NatsStream {
    state: State,
}

#[derive(Default)]
enum State {
    /// Collects a control line.
    #[default]
    Start,
    Line(Vec<u8>),
    Payload(Payload),
    /// Not what it was taken for.
    Unknown,
}

struct Payload {
    subject: String,
    hasher: DefaultHasher,
    /// Bytes of headers that are still to come.
    headers: usize,
    /// Bytes after them.
    body: usize,
    /// Bytes of the line end that closes it.
    end: usize,
}

impl NatsStream {
    /// Takes the next bytes, and calls `passed` with each message that ends in them.
    pub(super) fn read(&mut self, mut bytes: &[u8], mut passed: impl FnMut(Passed)) {
        while !bytes.is_empty() {
            let state = std::mem::take(&mut self.state);
            (self.state, bytes) = match state {
                State::Unknown => (State::Unknown, &[][..]),
                State::Start => line(Vec::new(), bytes),
                State::Line(begun) => line(begun, bytes),
                State::Payload(payload) => payload.read(bytes, &mut passed),
            };
        }
    }
}

/// Takes bytes up to the end of the line.
fn line(mut begun: Vec<u8>, bytes: &[u8]) -> (State, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (own, rest) = bytes.split_at(end.map_or(bytes.len(), |end| end + 1));
    if begun.len() + own.len() > MAX_LINE {
        return (State::Unknown, rest);
    }
    begun.extend_from_slice(own);
    if end.is_none() {
        return (State::Line(begun), rest);
    }
    (after(&begun), rest)
}

/// What follows a control line.
fn after(line: &[u8]) -> State {
    let Ok(line) = std::str::from_utf8(line) else { return State::Unknown };
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let sized = |subject: &str, headers: &str, all: &str| {
        let (headers, all) = (headers.parse::<usize>().ok()?, all.parse::<usize>().ok()?);
        let body = all.checked_sub(headers).filter(|_| all <= MAX_PAYLOAD)?;
        let hasher = begun(subject);
        Some(Payload { subject: subject.to_owned(), hasher, headers, body, end: 2 })
    };
    let verb = words.first().map(|verb| verb.to_ascii_uppercase());
    let payload = match (verb.as_deref(), words.get(1..).unwrap_or_default()) {
        (Some("PUB"), [subject, size] | [subject, _, size])
        | (Some("MSG"), [subject, _, size] | [subject, _, _, size]) => sized(subject, "0", size),
        (Some("HPUB"), [subject, headers, size] | [subject, _, headers, size])
        | (Some("HMSG"), [subject, _, headers, size] | [subject, _, _, headers, size]) => {
            sized(subject, headers, size)
        }
        (
            Some("INFO" | "CONNECT" | "SUB" | "UNSUB" | "PING" | "PONG" | "+OK" | "-ERR" | "RS+" | "RS-")
            | None,
            _,
        ) => return State::Start,
        _ => None,
    };
    payload.map_or(State::Unknown, State::Payload)
}

impl Payload {
    fn read<'b>(mut self, bytes: &'b [u8], passed: &mut impl FnMut(Passed)) -> (State, &'b [u8]) {
        let (_, bytes) = bytes.split_at(take(&mut self.headers, bytes.len()));
        let (body, bytes) = bytes.split_at(take(&mut self.body, bytes.len()));
        self.hasher.write(body);
        let (_, bytes) = bytes.split_at(take(&mut self.end, bytes.len()));
        if self.end > 0 {
            return (State::Payload(self), bytes);
        }
        passed(Passed { digest: self.hasher.finish(), subject: self.subject });
        (State::Start, bytes)
    }
}

/// Takes as many of these bytes as there are.
fn take(left: &mut usize, there: usize) -> usize {
    let taken = (*left).min(there);
    *left -= taken;
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &[u8] = b"INFO {\"max_payload\":1048576}\r\nCONNECT {}\r\nPUB l0.v1.prj.cards.get _INBOX.1 2\r\n{}\r\n\
        HMSG cg.v1r4.prj.public.cmd.tool.a.b 7 12 17\r\nNATS/1.0\r\n\r\nhello\r\nPING\r\npub a 0\r\n\r\nMSG b 1 c 3\r\nxyz\r\n";

    fn seen(bytes: &[u8], at_a_time: usize) -> Vec<Passed> {
        let (mut stream, mut all) = (NatsStream::default(), Vec::new());
        for part in bytes.chunks(at_a_time) {
            stream.read(part, |passed| all.push(passed));
        }
        all
    }

    #[test]
    fn messages_are_seen_however_the_bytes_are_cut() {
        let expected: Vec<Passed> = [
            ("l0.v1.prj.cards.get", "{}"),
            ("cg.v1r4.prj.public.cmd.tool.a.b", "hello"),
            ("a", ""),
            ("b", "xyz"),
        ]
        .into_iter()
        .map(|(subject, payload)| Passed {
            subject: subject.to_owned(),
            digest: digest(subject, payload.as_bytes()),
        })
        .collect();
        for at_a_time in [1, 2, 3, 7, 64, ALL.len()] {
            assert_eq!(seen(ALL, at_a_time), expected, "{at_a_time} bytes at a time");
        }
    }

    #[test]
    fn what_is_not_nats_shows_nothing() {
        let tls = [0x16, 0x03, 0x01, 0x02, 0x00, b'\n', b'P', b'U', b'B'];
        assert_eq!(seen(&tls, 4), []);
        assert_eq!(seen(b"PUB a nine\r\nPUB b 0\r\n\r\n", 5), []);
        assert_eq!(seen(b"HPUB a 9 3\r\n", 64), []);
        assert_eq!(seen(format!("PUB a {}\r\n", usize::MAX).as_bytes(), 64), []);
        assert_eq!(seen(&vec![b'x'; MAX_LINE * 2], 4096), []);
    }
}
