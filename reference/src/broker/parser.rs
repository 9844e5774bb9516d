//! The client's half of the NATS protocol: bytes in, operations out.
//!
//! Neighbours: [`super::connection`] feeds it and acts on what it returns.
//! Deliberately absent: sockets, clocks, and any meaning of an operation. The parser keeps no
//! bytes of its own; payloads and subjects are slices of the buffer that it was given.

use bytes::{Bytes, BytesMut};

/// The longest control line, terminator excluded, as in `nats-server`.
const MAX_CONTROL_LINE: usize = 4096;

/// The most arguments that any operation takes, `HPUB` with a reply, and one to detect excess.
const MAX_ARGUMENTS: usize = 5;

/// One operation of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// `CONNECT`, with its options as the JSON text that arrived.
    Connect(Bytes),
    /// `PING`.
    Ping,
    /// `PONG`, and the other lines that a client may send without effect.
    Pong,
    /// `PUB` or `HPUB`.
    Publish(Message),
    /// `SUB`.
    Subscribe {
        /// With or without wildcards; not yet checked.
        subject: Bytes,
        /// The queue group, if any.
        queue: Option<Bytes>,
        /// The client's own name for the subscription.
        sid: Bytes,
    },
    /// `UNSUB`.
    Unsubscribe {
        /// The client's own name for the subscription.
        sid: Bytes,
        /// Deliver until this many since the subscription began; none means end now.
        max: Option<u64>,
    },
    /// The client reports an error (`-ERR`) and expects the connection to end.
    Farewell,
}

/// A message as published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// Where to; not yet checked.
    pub(super) subject: Bytes,
    /// Where an answer goes.
    pub(super) reply: Option<Bytes>,
    /// How many bytes at the start of `body` are the header block; none for `PUB`.
    pub(super) header_length: Option<usize>,
    /// The header block, if any, and the payload.
    pub(super) body: Bytes,
}

/// What makes a connection unusable. Each is answered with its text and a close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Violation {
    /// Not the name of an operation, or a payload that does not end where it should.
    UnknownOperation,
    /// A known operation with arguments that cannot be.
    Malformed,
    /// No line end within the limit.
    ControlLineTooLong,
    /// More bytes announced than a message may have.
    PayloadTooLarge,
}

impl Violation {
    /// The text between the quotes of `-ERR`. `nats-server` closes without a word on
    /// [`Violation::Malformed`]; a word costs nothing and helps to debug a client.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::UnknownOperation => "Unknown Protocol Operation",
            Self::Malformed => "Parser Error",
            Self::ControlLineTooLong => "maximum control line exceeded",
            Self::PayloadTooLarge => "Maximum Payload Violation",
        }
    }
}

/// The parser of one connection.
#[derive(Debug)]
pub(super) struct Parser {
    max_payload: usize,
    /// A publish whose line has arrived and whose body has not.
    awaiting: Option<Announced>,
}

/// The arguments of a `PUB` or `HPUB` line.
#[derive(Debug)]
struct Announced {
    subject: Bytes,
    reply: Option<Bytes>,
    header_length: Option<usize>,
    total: usize,
}

impl Parser {
    pub(super) fn new(max_payload: usize) -> Self {
        Self { max_payload, awaiting: None }
    }

    /// How many bytes beyond `held` the announced body still needs; a hint for the read buffer.
    pub(super) fn missing(&self, held: usize) -> usize {
        self.awaiting.as_ref().map_or(0, |announced| (announced.total + 2).saturating_sub(held))
    }

    /// Takes the next whole operation off the front of `buffer`; none when more bytes are needed.
    ///
    /// # Errors
    ///
    /// A [`Violation`]; the parser and the buffer are of no further use then.
    pub(super) fn next(&mut self, buffer: &mut BytesMut) -> Result<Option<Operation>, Violation> {
        if self.awaiting.is_none() {
            let Some(line) = take_line(buffer)? else {
                return Ok(None);
            };
            match self.line(&line)? {
                Line::Whole(operation) => return Ok(Some(operation)),
                Line::Announces(announced) => self.awaiting = Some(announced),
            }
        }
        Ok(self.body(buffer)?.map(Operation::Publish))
    }

    fn body(&mut self, buffer: &mut BytesMut) -> Result<Option<Message>, Violation> {
        let Some(announced) = self.awaiting.take_if(|a| buffer.len() >= a.total + 2) else {
            return Ok(None);
        };
        let Announced { subject, reply, header_length, total } = announced;
        let mut body = buffer.split_to(total + 2).freeze();
        if !body.ends_with(b"\r\n") {
            return Err(Violation::UnknownOperation);
        }
        body.truncate(total);
        Ok(Some(Message { subject, reply, header_length, body }))
    }

    fn line(&self, line: &Bytes) -> Result<Line, Violation> {
        let end = line.iter().position(|byte| is_blank(*byte)).unwrap_or(line.len());
        let (name, rest) = line.split_at(end);
        let is = |expected: &str| name.eq_ignore_ascii_case(expected.as_bytes());
        // In the order of how often each is sent.
        let operation = if is("PUB") {
            return self.publish(line, rest).map(Line::Announces);
        } else if is("HPUB") {
            return self.publish_with_headers(line, rest).map(Line::Announces);
        } else if is("PING") {
            Operation::Ping
        } else if is("PONG") || is("+OK") || is("INFO") {
            Operation::Pong
        } else if is("SUB") {
            subscribe(line, rest)?
        } else if is("UNSUB") {
            unsubscribe(line, rest)?
        } else if is("CONNECT") {
            Operation::Connect(line.slice_ref(rest.trim_ascii()))
        } else if is("-ERR") {
            Operation::Farewell
        } else {
            return Err(Violation::UnknownOperation);
        };
        Ok(Line::Whole(operation))
    }

    fn publish(&self, line: &Bytes, rest: &[u8]) -> Result<Announced, Violation> {
        let (subject, reply, total) = match OperationArguments::of(rest).as_slice() {
            [subject, total] => (*subject, None, *total),
            [subject, reply, total] => (*subject, Some(*reply), *total),
            _ => return Err(Violation::Malformed),
        };
        let total = self.total(total)?;
        Ok(Announced {
            subject: line.slice_ref(subject),
            reply: reply.map(|reply| line.slice_ref(reply)),
            header_length: None,
            total,
        })
    }

    fn publish_with_headers(&self, line: &Bytes, rest: &[u8]) -> Result<Announced, Violation> {
        let (subject, reply, headers, total) = match OperationArguments::of(rest).as_slice() {
            [subject, headers, total] => (*subject, None, *headers, *total),
            [subject, reply, headers, total] => (*subject, Some(*reply), *headers, *total),
            _ => return Err(Violation::Malformed),
        };
        let header_length = number(headers).ok_or(Violation::Malformed)?;
        let total = self.total(total)?;
        if header_length > total {
            return Err(Violation::Malformed);
        }
        Ok(Announced {
            subject: line.slice_ref(subject),
            reply: reply.map(|reply| line.slice_ref(reply)),
            // Clients with an empty set of headers write this; there are none then.
            header_length: (header_length > 0).then_some(header_length),
            total,
        })
    }

    fn total(&self, digits: &[u8]) -> Result<usize, Violation> {
        let total = number(digits).ok_or(Violation::Malformed)?;
        if total > self.max_payload { Err(Violation::PayloadTooLarge) } else { Ok(total) }
    }
}

/// What a control line amounts to.
enum Line {
    Whole(Operation),
    Announces(Announced),
}

/// The blank-separated arguments of a line, in a fixed place: a publish allocates nothing here.
struct OperationArguments<'l> {
    found: [&'l [u8]; MAX_ARGUMENTS],
    count: usize,
}

impl<'l> OperationArguments<'l> {
    fn of(rest: &'l [u8]) -> Self {
        let mut arguments = Self { found: [&[]; MAX_ARGUMENTS], count: 0 };
        let words = rest.split(|byte| is_blank(*byte)).filter(|word| !word.is_empty());
        // Filling the last place is already one too many for every operation, so more can go.
        for (place, word) in arguments.found.iter_mut().zip(words) {
            *place = word;
            arguments.count += 1;
        }
        arguments
    }

    fn as_slice(&self) -> &[&'l [u8]] {
        &self.found[..self.count]
    }
}

fn subscribe(line: &Bytes, rest: &[u8]) -> Result<Operation, Violation> {
    let (subject, queue, sid) = match OperationArguments::of(rest).as_slice() {
        [subject, sid] => (*subject, None, *sid),
        [subject, queue, sid] => (*subject, Some(*queue), *sid),
        _ => return Err(Violation::Malformed),
    };
    Ok(Operation::Subscribe {
        subject: line.slice_ref(subject),
        queue: queue.map(|queue| line.slice_ref(queue)),
        sid: line.slice_ref(sid),
    })
}

fn unsubscribe(line: &Bytes, rest: &[u8]) -> Result<Operation, Violation> {
    let (sid, max) = match OperationArguments::of(rest).as_slice() {
        [sid] => (*sid, None),
        // A maximum that is no number means "now", as it does to `nats-server`.
        [sid, max] => (*sid, number(max).and_then(|max| u64::try_from(max).ok())),
        [] => return Err(Violation::UnknownOperation),
        _ => return Err(Violation::Malformed),
    };
    Ok(Operation::Unsubscribe { sid: line.slice_ref(sid), max: max.filter(|max| *max > 0) })
}

/// Takes a line off the buffer and strips its end, which is `\n` or `\r\n`.
fn take_line(buffer: &mut BytesMut) -> Result<Option<Bytes>, Violation> {
    let window = &buffer[..buffer.len().min(MAX_CONTROL_LINE + 2)];
    let Some(end) = window.iter().position(|byte| *byte == b'\n') else {
        // Looking only at the window keeps the verdict apart from how the bytes were chunked.
        let full = window.len() == MAX_CONTROL_LINE + 2;
        return if full { Err(Violation::ControlLineTooLong) } else { Ok(None) };
    };
    let mut line = buffer.split_to(end + 1).freeze();
    line.truncate(end);
    if line.ends_with(b"\r") {
        line.truncate(end - 1);
    }
    if line.len() > MAX_CONTROL_LINE { Err(Violation::ControlLineTooLong) } else { Ok(Some(line)) }
}

fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// A decimal number of at most nine digits, which is beyond every limit and cannot overflow.
fn number(digits: &[u8]) -> Option<usize> {
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    Some(digits.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

#[cfg(test)]
#[path = "parser_tests.rs"]
mod tests;
