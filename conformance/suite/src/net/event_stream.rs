//! Server-sent events as the HTML Standard has them read (§9.2.6, "Interpreting an event stream").
//!
//! `sse-stream`, which reads them elsewhere, ends a stream at a field that the standard has readers ignore.

use std::time::Duration;

/// Bytes of one event that are kept.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// Reads the data of events out of the pieces in which they arrive.
#[derive(Debug, Default)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Option<String>,
    /// The id that the event being read has, or the one before it.
    id: Option<String>,
    last_id: Option<String>,
    retry: Option<Duration>,
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

    /// Id of the last event, by which a stream that was closed goes on. An empty one takes it back.
    pub(crate) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server wants to be left alone before the stream goes on.
    pub(crate) fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// The stream was closed; what comes next is of the one that goes on with it.
    pub(crate) fn reopen(&mut self) {
        let (last_id, retry) = (self.last_id.take(), self.retry);
        *self = Self { id: last_id.clone(), last_id, retry, ..Self::default() };
    }

    /// Takes a whole line; the data of the event that it ends.
    fn end_line(&mut self) -> Option<String> {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        let is_first = !std::mem::replace(&mut self.began, true);
        let line = if is_first { line.trim_start_matches('\u{feff}') } else { &line };
        if line.is_empty() {
            self.last_id.clone_from(&self.id);
            return self.data.take().filter(|data| !data.is_empty());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match (field, &mut self.data) {
            ("data", Some(data)) => data.extend(["\n", value]),
            ("data", None) => self.data = Some(value.to_owned()),
            ("id", _) if !value.contains('\0') => self.id = Some(value.to_owned()),
            ("retry", _) if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
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
    fn a_stream_goes_on_after_its_last_whole_event() {
        let check = |stream: &str, id: Option<&str>, retry: Option<u64>| {
            let mut reader = EventReader::default();
            reader.read(stream.as_bytes()).expect("short events");
            reader.reopen();
            assert_eq!(reader.last_id(), id, "{stream:?}");
            assert_eq!(reader.retry(), retry.map(Duration::from_millis), "{stream:?}");
            assert_eq!(reader.read(b"data: x\n\n"), Ok(vec!["x".to_owned()]), "{stream:?}");
            assert_eq!(reader.last_id(), id, "{stream:?}");
        };
        check("id: 1\nretry: 250\ndata:\n\n", Some("1"), Some(250));
        check("id: 1\ndata: a\n\ndata: b\n\n", Some("1"), None);
        check("id: 1\ndata: a\n\nid: 2\ndata: b\n", Some("1"), None);
        check("id: 1\n\nid\n\n", None, None);
        check("id: 1\u{0}\nretry: soon\nretry:\n\n", None, None);
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
