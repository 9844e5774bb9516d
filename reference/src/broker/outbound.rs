//! What waits to be written to one client: encoding, order and bound.
//!
//! Small frames are gathered into large chunks, so that one write carries many messages; large
//! bodies are queued as they arrived, without a copy.
//! Neighbours: [`super::connection`] keeps it behind a lock, fills it from the publishers' tasks
//! and drains it from the client's own.
//! Deliberately absent: the socket, wakeups and deadlines.

use std::collections::VecDeque;

use bytes::{BufMut as _, Bytes, BytesMut};

use super::parser::Message;

/// A body from this size on is queued by reference. Below, the copy is cheaper than the
/// bookkeeping, and a reference would keep a whole read buffer alive for a few bytes.
const SHARED_FROM: usize = 16 * 1024;

/// The size at which gathered frames become a chunk of their own.
const CHUNK: usize = 64 * 1024;

/// The answer to a request without subscribers (NATS client protocol, no responders).
const NO_RESPONDERS: &[u8] = b"NATS/1.0 503\r\n\r\n";

/// More waits than may: the client is a slow consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overflow;

/// The frames that wait for one client.
#[derive(Debug)]
pub(super) struct Outbound {
    ready: VecDeque<Bytes>,
    gathering: BytesMut,
    /// Bytes that were appended and are not yet written, the writer's share included.
    pending: usize,
    max_pending: usize,
    /// Nothing more is taken: the connection is over.
    closed: bool,
}

impl Outbound {
    pub(super) fn new(max_pending: usize) -> Self {
        Self { ready: VecDeque::new(), gathering: BytesMut::new(), pending: 0, max_pending, closed: false }
    }

    /// Whether anything waits that the writer has not yet taken.
    pub(super) fn has_waiting(&self) -> bool {
        !self.gathering.is_empty() || !self.ready.is_empty()
    }

    /// Appends a frame without a body, line ends included.
    pub(super) fn line(&mut self, line: &[u8]) -> Result<(), Overflow> {
        self.reserve(line.len())?;
        self.gathering.put_slice(line);
        self.seal_if_full();
        Ok(())
    }

    /// Appends `MSG` or `HMSG`. A client without headers gets the payload alone.
    pub(super) fn message(
        &mut self,
        message: &Message,
        sid: &[u8],
        with_headers: bool,
    ) -> Result<(), Overflow> {
        let Message { subject, reply, header_length, body } = message;
        let reply = reply.as_deref();
        match header_length {
            Some(length) if with_headers => self.frame(b"HMSG ", subject, sid, reply, Some(*length), body),
            Some(length) => self.frame(b"MSG ", subject, sid, reply, None, &body.slice(*length..)),
            None => self.frame(b"MSG ", subject, sid, reply, None, body),
        }
    }

    /// Appends the status that answers a request without responders.
    pub(super) fn no_responders(&mut self, subject: &[u8], sid: &[u8]) -> Result<(), Overflow> {
        let body = Bytes::from_static(NO_RESPONDERS);
        self.frame(b"HMSG ", subject, sid, None, Some(NO_RESPONDERS.len()), &body)
    }

    /// Moves what waits into `batch`, oldest first. It counts as pending until it is written.
    pub(super) fn take(&mut self, batch: &mut VecDeque<Bytes>) {
        batch.append(&mut self.ready);
        if !self.gathering.is_empty() {
            batch.push_back(self.gathering.split().freeze());
        }
    }

    /// The writer got rid of this many bytes.
    pub(super) fn written(&mut self, count: usize) {
        self.pending = self.pending.saturating_sub(count);
    }

    /// Drops what waits and takes nothing more.
    pub(super) fn close(&mut self) {
        self.closed = true;
        self.ready = VecDeque::new();
        self.gathering = BytesMut::new();
    }

    fn frame(
        &mut self,
        operation: &[u8],
        subject: &[u8],
        sid: &[u8],
        reply: Option<&[u8]>,
        header_length: Option<usize>,
        body: &Bytes,
    ) -> Result<(), Overflow> {
        // Line and body are appended together or not at all; the line is short next to the bound.
        self.reserve(body.len())?;
        let before = self.gathering.len();
        self.gathering.put_slice(operation);
        for word in [Some(subject), Some(sid), reply].into_iter().flatten() {
            self.gathering.put_slice(word);
            self.gathering.put_u8(b' ');
        }
        if let Some(length) = header_length {
            put_number(&mut self.gathering, length);
            self.gathering.put_u8(b' ');
        }
        put_number(&mut self.gathering, body.len());
        self.gathering.put_slice(b"\r\n");
        self.pending += self.gathering.len() - before + 2;
        if body.len() < SHARED_FROM {
            self.gathering.put_slice(body);
        } else {
            self.ready.push_back(self.gathering.split().freeze());
            self.ready.push_back(body.clone());
        }
        self.gathering.put_slice(b"\r\n");
        self.seal_if_full();
        Ok(())
    }

    /// Counts bytes that are about to be appended, if there is room for them.
    fn reserve(&mut self, count: usize) -> Result<(), Overflow> {
        if self.closed || self.pending + count > self.max_pending {
            return Err(Overflow);
        }
        self.pending += count;
        Ok(())
    }

    fn seal_if_full(&mut self) {
        if self.gathering.len() >= CHUNK {
            self.ready.push_back(self.gathering.split().freeze());
        }
    }
}

/// Appends a decimal number. `write!` would do, at several times the cost, once per message.
fn put_number(buffer: &mut BytesMut, mut number: usize) {
    let mut digits = [0_u8; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b"0123456789"[number % 10];
        number /= 10;
        if number == 0 {
            break;
        }
    }
    buffer.put_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(reply: Option<&'static str>, headers: Option<usize>, body: &[u8]) -> Message {
        Message {
            subject: Bytes::from_static(b"a.b"),
            reply: reply.map(|reply| Bytes::from_static(reply.as_bytes())),
            header_length: headers,
            body: Bytes::copy_from_slice(body),
        }
    }

    fn drain(outbound: &mut Outbound) -> String {
        let mut batch = VecDeque::new();
        outbound.take(&mut batch);
        String::from_utf8_lossy(&batch.into_iter().flatten().collect::<Vec<u8>>()).into_owned()
    }

    fn check(message: &Message, with_headers: bool, expect: &str) {
        let mut outbound = Outbound::new(1 << 20);
        outbound.message(message, b"7", with_headers).expect("there is room");
        let pending = outbound.pending;
        let text = drain(&mut outbound);
        assert_eq!(text, expect);
        assert_eq!(pending, text.len(), "every byte is counted");
    }

    #[test]
    fn frames_are_encoded() {
        check(&message(None, None, b"hello"), true, "MSG a.b 7 5\r\nhello\r\n");
        check(&message(Some("r"), None, b""), true, "MSG a.b 7 r 0\r\n\r\n");
        let with_headers = message(Some("r"), Some(12), b"NATS/1.0\r\n\r\nhi");
        check(&with_headers, true, "HMSG a.b 7 r 12 14\r\nNATS/1.0\r\n\r\nhi\r\n");
        check(&with_headers, false, "MSG a.b 7 r 2\r\nhi\r\n");
        let large = "x".repeat(SHARED_FROM);
        check(
            &message(None, None, large.as_bytes()),
            true,
            &format!("MSG a.b 7 {SHARED_FROM}\r\n{large}\r\n"),
        );
    }

    #[test]
    fn order_is_kept_across_small_and_large() {
        let mut outbound = Outbound::new(1 << 20);
        let sizes = [1, SHARED_FROM, 2, CHUNK, 3, 10_000, 10_000];
        let mut expect = Vec::new();
        for size in sizes {
            let body = "y".repeat(size);
            outbound.message(&message(None, None, body.as_bytes()), b"1", true).expect("room");
            expect.push(format!("MSG a.b 1 {size}\r\n{body}\r\n"));
        }
        assert!(outbound.has_waiting());
        assert_eq!(drain(&mut outbound), expect.concat());
        assert!(!outbound.has_waiting());
    }

    #[test]
    fn what_is_not_yet_written_counts_against_the_bound() {
        let mut outbound = Outbound::new(10);
        assert_eq!(outbound.line(b"12345678"), Ok(()));
        drain(&mut outbound);
        assert_eq!(outbound.line(b"123"), Err(Overflow));
        outbound.written(8);
        assert_eq!(outbound.line(b"123"), Ok(()));
        outbound.close();
        assert_eq!(outbound.line(b"1"), Err(Overflow));
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 9, 10, 1_048_576, usize::MAX] {
            let mut buffer = BytesMut::new();
            put_number(&mut buffer, number);
            assert_eq!(buffer, number.to_string());
        }
    }
}
