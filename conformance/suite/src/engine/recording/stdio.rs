//! The lines of both directions between an MCP client and a server: JSON-RPC, one message or one batch a line.
//!
//! Which side sent a line follows from the line. Whatever else stands between them, for example a log, is not theirs.

use std::io::BufRead;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::At;
use super::error::RecordingError;
use super::lines::{Line, Lines};
use super::observer::{Seen, Traffic};
use super::sink::Gathering;

/// Reads them.
pub(super) fn read(
    from: impl BufRead,
    file: usize,
    gathering: &mut Gathering<'_, '_>,
) -> Result<(), RecordingError> {
    let mut lines = Lines::new(from, b'\n');
    let mut line = Vec::new();
    loop {
        let next = lines.next_text(&mut line, || gathering.sink.too_long());
        let Some(next) = next.map_err(|error| RecordingError::Read { file, error })? else { break };
        let at = At { file, line: lines.number };
        match serde_json::from_slice::<Value>(&line) {
            Ok(body) => gathering.take(&Seen { at, traffic: Traffic::Rpc(body) }, line.len()),
            Err(_) if next == Line::Last => gathering.sink.cut_short(at),
            // Half of a surrogate pair, a number of another size, more levels than are read. Other calls have ids of their own.
            Err(_) if is_json(&line) => gathering.unreadable(),
            Err(error) => return Err(RecordingError::parse(at, &error)),
        }
    }
    gathering.sink.bytes(lines.bytes);
    Ok(())
}

/// Whether a line has the form of JSON, whatever it holds.
fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(line).is_ok()
}

#[cfg(test)]
mod tests {
    use super::is_json;

    #[test]
    fn what_cannot_be_held_may_be_json() {
        for text in [r#"{"a":"\ud83d"}"#, "[1e400]", &format!("{}{}", "[".repeat(200), "]".repeat(200))] {
            assert!(
                serde_json::from_str::<serde_json::Value>(text).is_err() && is_json(text.as_bytes()),
                "{text}"
            );
        }
        assert!(!is_json(b"{\"a\":}") && !is_json(b"ready") && !is_json(b"[NaN]"));
    }
}
