//! `transcript.jsonl` of a run: the messages of each scenario are one window.
//!
//! The reading thread looks only at the first members of a line, which is where a run writes the scenario and the number
//! of the message; whole lines are parsed by the thread that judges them.

use std::io::BufRead;

use serde::Deserialize;

use super::error::RecordingError;
use super::lines::{Line, Lines};
use super::sink::Sink;
use super::{At, MAX_WINDOW};

/// Scenarios that are open at a time, where their lines are interleaved.
const OPEN: usize = 64;
/// Bytes of all open scenarios.
const HELD: usize = 2 * MAX_WINDOW;

/// What of a line says where it belongs.
#[derive(Deserialize)]
struct Head {
    scenario: String,
    frame: Number,
}

#[derive(Deserialize)]
struct Number {
    n: u32,
}

/// A scenario whose lines are gathered.
struct Open {
    scenario: String,
    last: u32,
    bytes: Vec<u8>,
    lines: Vec<(usize, u64)>,
    at: At,
    /// Whether all of it is kept: it began with its first message, and is not too large.
    is_whole: bool,
}

/// Reads a transcript.
pub(super) fn read(from: impl BufRead, file: usize, sink: &mut Sink<'_>) -> Result<(), RecordingError> {
    let mut lines = Lines::new(from, b'\n');
    let mut line = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut held = 0;
    loop {
        let next = lines.next_text(&mut line, || sink.too_long());
        let Some(next) = next.map_err(|error| RecordingError::Read { file, error })? else { break };
        let at = At { file, line: lines.number };
        if next == Line::Last && serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_err() {
            sink.cut_short(at);
            continue;
        }
        sink.message();
        let (scenario, n) = head(&line, at)?;
        let known = open.iter().rposition(|own| own.scenario == *scenario);
        let index = match known {
            Some(index) if open[index].last < n => index,
            known => {
                // The same scenario once more, of another run.
                if let Some(index) = known {
                    held -= close(open.remove(index), sink);
                }
                while open.len() >= OPEN {
                    held -= close(open.remove(0), sink);
                }
                let is_whole = n == 1;
                open.push(Open {
                    scenario: scenario.into_owned(),
                    last: 0,
                    bytes: Vec::new(),
                    lines: Vec::new(),
                    at,
                    is_whole,
                });
                open.len() - 1
            }
        };
        held += open[index].add(&line, n, at.line, sink);
        while held > HELD && open.len() > 1 {
            // What comes after belongs to something whose beginning is gone.
            held -= close(open.remove(0), sink);
        }
    }
    for own in open {
        close(own, sink);
    }
    sink.bytes(lines.bytes);
    Ok(())
}

impl Open {
    /// Keeps a line; answers by how many bytes more is held.
    fn add(&mut self, line: &[u8], n: u32, number: u64, sink: &mut Sink<'_>) -> usize {
        self.last = n;
        if self.is_whole && self.bytes.len() + line.len() > MAX_WINDOW {
            self.is_whole = false;
            sink.unattributed(self.lines.len() as u64);
            self.lines.clear();
        }
        if !self.is_whole {
            sink.unattributed(1);
            return 0;
        }
        self.bytes.extend_from_slice(line);
        self.lines.push((line.len(), number));
        line.len()
    }
}

/// Has a scenario judged; answers how many bytes it held.
fn close(own: Open, sink: &mut Sink<'_>) -> usize {
    let bytes = own.bytes.len();
    if own.is_whole {
        sink.scenario(&own.scenario, own.bytes, own.lines, own.at);
    }
    bytes
}

/// Scenario and number of a line.
fn head(line: &[u8], at: At) -> Result<(std::borrow::Cow<'_, str>, u32), RecordingError> {
    if let Some((scenario, n)) = written(line) {
        return Ok((scenario.into(), n));
    }
    let head: Head = serde_json::from_slice(line).map_err(|error| RecordingError::parse(at, &error))?;
    Ok((head.scenario.into(), head.frame.n))
}

/// The same, of a line as a run writes it.
fn written(line: &[u8]) -> Option<(&str, u32)> {
    let rest = line.strip_prefix(b"{\"scenario\":\"")?;
    let end = memchr::memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
    let scenario = std::str::from_utf8(&rest[..end]).ok()?;
    let number = rest[end + 1..].strip_prefix(b",\"frame\":{\"n\":")?;
    let digits = number.iter().take_while(|byte| byte.is_ascii_digit()).count();
    Some((scenario, std::str::from_utf8(&number[..digits]).ok()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_of_a_line_is_found_however_it_is_written() {
        let check = |line: &str, expect: Option<(&str, u32)>| {
            let at = At::default();
            let found = head(line.as_bytes(), at).ok();
            assert_eq!(found.as_ref().map(|(id, n)| (&**id, *n)), expect, "{line}");
        };
        check(r#"{"scenario":"a/b/1","frame":{"n":12,"at_us":3}}"#, Some(("a/b/1", 12)));
        check(r#"{ "frame": {"at_us": 3, "n": 12}, "scenario": "a\"b" }"#, Some(("a\"b", 12)));
        check(r#"{"scenario":"a","frame":{"n":99999999999}}"#, None);
        check(r#"{"scenario":"a"}"#, None);
        check("{", None);
    }
}
