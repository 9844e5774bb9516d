//! Lines of a recording, each bounded.

use std::io::{self, BufRead};

use super::MAX_LINE;

/// What the next line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole one.
    Whole,
    /// The last one, without its end: the recording may be cut short.
    Last,
    /// Longer than [`MAX_LINE`]; its bytes were skipped.
    TooLong,
    /// There is none.
    End,
}

/// Reads lines and counts them.
pub(super) struct Lines<R> {
    from: R,
    ends_with: u8,
    /// Number of the last line, from 1.
    pub number: u64,
    /// Bytes read.
    pub bytes: u64,
}

impl<R: BufRead> Lines<R> {
    /// Lines that end with this byte.
    pub(super) fn new(from: R, ends_with: u8) -> Self {
        Self { from, ends_with, number: 0, bytes: 0 }
    }

    /// Reads the next line that holds something, without its end; nothing where there is none. Lines that are too long are
    /// passed over, and counted by `too_long`.
    pub(super) fn next_text(
        &mut self,
        line: &mut Vec<u8>,
        mut too_long: impl FnMut(),
    ) -> io::Result<Option<Line>> {
        loop {
            match self.next(line)? {
                Line::End => return Ok(None),
                Line::TooLong => too_long(),
                Line::Whole | Line::Last if line.trim_ascii().is_empty() => {}
                found => return Ok(Some(found)),
            }
        }
    }

    /// Reads the next line into `line`, without its end.
    pub(super) fn next(&mut self, line: &mut Vec<u8>) -> io::Result<Line> {
        line.clear();
        let mut is_long = false;
        let mut is_begun = false;
        loop {
            let read = match self.from.fill_buf() {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if read.is_empty() {
                if !is_begun {
                    return Ok(Line::End);
                }
                self.number += 1;
                return Ok(if is_long { Line::TooLong } else { Line::Last });
            }
            is_begun = true;
            let end = memchr::memchr(self.ends_with, read);
            let part = &read[..end.unwrap_or(read.len())];
            if is_long || line.len() + part.len() > MAX_LINE {
                is_long = true;
                line.clear();
            } else {
                line.extend_from_slice(part);
            }
            let taken = part.len() + usize::from(end.is_some());
            self.from.consume(taken);
            self.bytes += taken as u64;
            if end.is_some() {
                self.number += 1;
                return Ok(if is_long { Line::TooLong } else { Line::Whole });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_counted_and_bounded() {
        let mut text = b"one\n\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE + 1]);
        text.extend(b"\nlast");
        let mut lines = Lines::new(io::BufReader::with_capacity(7, &text[..]), b'\n');
        let mut line = Vec::new();
        let mut seen = Vec::new();
        loop {
            let next = lines.next(&mut line).expect("bytes in memory");
            if next == Line::End {
                break;
            }
            seen.push((next, String::from_utf8_lossy(&line).into_owned(), lines.number));
        }
        let expected =
            [(Line::Whole, "one", 1), (Line::Whole, "", 2), (Line::TooLong, "", 3), (Line::Last, "last", 4)];
        assert_eq!(seen, expected.map(|(line, text, number)| (line, text.to_owned(), number)));
        assert_eq!(lines.bytes, text.len() as u64);
    }
}
