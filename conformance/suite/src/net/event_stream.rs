//! Server-sent events as the HTML Standard has them read (§9.2.6, "Interpreting an event stream").
//!
//! `sse-stream`, which reads them elsewhere, ends a stream at a field that the standard has readers ignore.

/// Bytes of one event that are kept.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Reads the data of events out of the pieces in which they arrive.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a carriage return, so that a line feed is part of the same end of a line.
    follows_return: bool,
    began: bool,
}

/// One event is longer than is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

impl EventReader {
    /// The data of the events that these bytes complete. Events without data are none.
    ///
    /// # Errors
    /// An event that is longer than is kept.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
        let mut events = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.follows_return) => {}
                b'\n' | b'\r' => {
                    self.follows_return = *byte == b'\r';
                    events.extend(self.end_line());
                }
                _ => {
                    self.follows_return = false;
                    if self.line.len() + self.data.as_ref().map_or(0, String::len) >= MAX_EVENT {
                        return Err(TooLong);
                    }
                    self.line.push(*byte);
                }
            }
        }
        Ok(events)
    }

    /// Takes a whole line; the data of the event that it ends.
    fn end_line(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        let is_first = !std::mem::replace(&mut self.began, true);
        let line = if is_first { line.trim_start_matches('\u{feff}') } else { &line };
        if line.is_empty() {
            return self.data.take().filter(|data| !data.is_empty());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                Some(data) => data.extend(["\n", value]),
                None => self.data = Some(value.to_owned()),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The data of all events of a stream, which arrives in pieces of this length.
    fn read(stream: &str, length: usize) -> Vec<String> {
        let mut reader = EventReader::default();
        stream.as_bytes().chunks(length).flat_map(|piece| reader.read(piece).expect("short events")).collect()
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        for (stream, expect) in [
            ("data: {\"a\":1}\n\n", &["{\"a\":1}"] as &[&str]),
            ("data:one\ndata: two\n\n", &["one\ntwo"]),
            ("event: message\nid: 7\r\ndata: x\r\n\r\ndata: y\r\r", &["x", "y"]),
            // What a reader does not know, it ignores.
            (": ping\nx-trace: 7\nretry: soon\nnonsense\nevent: a\nevent: b\ndata: x\n\n", &["x"]),
            // An event that primes a stream has no data.
            ("id: 1\ndata\n\ndata:\n\n\n\ndata: x\n\n", &["x"]),
            ("\u{feff}data: żółć\n\n", &["żółć"]),
            ("data: \u{feff}x\n\n", &["\u{feff}x"]),
            ("data:  two blanks\n\n", &[" two blanks"]),
            // What is not complete when the stream ends is no event.
            ("data: x", &[]),
            ("data: x\n", &[]),
        ] {
            for length in [1, 2, 3, 1000] {
                assert_eq!(read(stream, length), expect, "{stream:?} in pieces of {length}");
            }
        }
    }

    #[test]
    fn an_event_has_its_bound() {
        let mut reader = EventReader::default();
        let piece = vec![b'x'; MAX_EVENT / 2];
        assert_eq!(reader.read(b"data: "), Ok(Vec::new()));
        assert_eq!(reader.read(&piece), Ok(Vec::new()));
        assert_eq!(reader.read(&piece), Err(TooLong));
    }
}
