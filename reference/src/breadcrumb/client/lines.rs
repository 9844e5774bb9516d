//! The lines of an event stream: only `data:` counts, an empty line ends an event, comments are passed over.
//!
//! A line or event that is too long is an error, since a stream has no end that would bound it.

/// No event may be longer.
const EVENT_BYTES: usize = 4 * 1024 * 1024;

/// Takes bytes as they come and gives the data of whole events.
#[derive(Debug, Default)]
pub(super) struct EventLines {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// The last byte was a carriage return; a line feed after it ends no further line.
    after_return: bool,
}

/// An event that was longer than any may be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

impl EventLines {
    /// The data of all events that these bytes complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, TooLong> {
        let mut events = Vec::new();
        for &byte in bytes {
            let feed_of_return = byte == b'\n' && self.after_return;
            self.after_return = byte == b'\r';
            match byte {
                b'\n' if feed_of_return => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                byte => {
                    if self.line.len() + self.data.len() >= EVENT_BYTES {
                        return Err(TooLong);
                    }
                    self.line.push(byte);
                }
            }
        }
        Ok(events)
    }

    fn end_line(&mut self) -> Option<Vec<u8>> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let has_data = std::mem::take(&mut self.has_data);
            let data = std::mem::take(&mut self.data);
            return has_data.then_some(data);
        }
        if let Some(rest) = line.strip_prefix(b"data") {
            let value = match rest {
                [] => Some(rest),
                [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
                _ => None,
            };
            if let Some(value) = value {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{EVENT_BYTES, EventLines, TooLong};

    fn events(text: &str) -> Vec<String> {
        let events = EventLines::default().take(text.as_bytes()).expect("events");
        events.into_iter().map(|event| String::from_utf8(event).expect("text")).collect()
    }

    #[test]
    fn events_are_their_data() {
        fn check(text: &str, expect: &[&str]) {
            assert_eq!(events(text), expect, "{text:?}");
        }
        check("data: a\n\n", &["a"]);
        check("data:a\r\n\r\ndata: b\r\r", &["a", "b"]);
        check("data: a\ndata: b\n\n", &["a\nb"]);
        check(": comment\nid: 3\nevent: x\ndata: a\n\n", &["a"]);
        check("event: x\n\n", &[]);
        check("data: a\n", &[]);
        check("data\n\n", &[""]);
        check("database: a\n\n", &[]);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let long = vec![b'x'; EVENT_BYTES + 1];
        assert_eq!(EventLines::default().take(&long), Err(TooLong));
        let mut lines = EventLines::default();
        let many = b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n".repeat(EVENT_BYTES / 32);
        assert_eq!(lines.take(&many), Err(TooLong));
    }

    proptest! {
        #[test]
        fn how_the_bytes_are_cut_does_not_matter(text in "(data: [a-c]{0,3}|:x|)(\r\n|\n|\r)+", cut in 0usize..12) {
            let text = text.repeat(3);
            let whole = EventLines::default().take(text.as_bytes());
            let (left, right) = text.as_bytes().split_at(cut.min(text.len()));
            let mut lines = EventLines::default();
            let mut parts = lines.take(left).expect("events");
            parts.extend(lines.take(right).expect("events"));
            prop_assert_eq!(whole, Ok(parts));
        }
    }
}
